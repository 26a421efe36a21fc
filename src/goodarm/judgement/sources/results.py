"""Results of evaluation tools as a log: one row per arm, case and repetition.

promptfoo : `promptfoo eval --output results.json`. An arm is a prompt with a provider. Test cases with the same
            variables and assertions are one case, so `--repeat` gives repetitions.
inspect   : logs of Inspect, JSON or .eval. An arm is a model, with its task and solver if these differ between logs.
lm-eval   : `samples_*.jsonl` of `lm-eval --log_samples`. An arm is the folder of the file, which lm-eval names after
            the model.

A case that the tool could not evaluate has no reward (None); `judge(nulls=...)` says how to treat it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from goodarm.errors import InvalidValue, MissingExtra, UnknownName, UnreadableTable

Row = tuple[str, str, float | None, int]
"""Arm, case, reward, number of the repetition."""

INSPECT_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's letters: correct, partially correct, incorrect, no answer."""


def read_results(place: str | Path, kind: str, metric: str | None = None) -> dict[str, list[Any]]:
    """Columns `arm`, `case`, `reward` and `repeat` of the result files of an evaluation tool.

    place  : a file, or a folder of files
    kind   : "promptfoo", "inspect" or "lm-eval"
    metric : the score to use as the reward, if there are several. promptfoo: "success" (default), "score" or a named
             score; inspect: a scorer's name; lm-eval: a metric, "exact_match" or "exact_match,strict-match" with its
             filter
    """
    if kind not in READERS:
        raise UnknownName("format", kind, list(READERS))
    pattern, reader = READERS[kind]
    files = _files(Path(place), pattern)
    seen: dict[tuple[str, str, int], Path] = {}
    columns: dict[str, list[Any]] = {"arm": [], "case": [], "reward": [], "repeat": []}
    for file, rows in reader(files, metric):
        for arm, case, reward, repeat in rows:
            known = seen.setdefault((arm, case, repeat), file)
            if known != file:
                raise InvalidValue(
                    f"{known.name} and {file.name} both have results of {arm!r} on case {case!r}. "
                    "Keep one of them, or judge the files separately."
                )
            for name, value in zip(columns, (arm, case, reward, repeat), strict=True):
                columns[name].append(value)
    if not columns["arm"]:
        raise UnreadableTable(f"{place} has no results of {kind}.")
    return columns


def _files(place: Path, pattern: str) -> list[Path]:
    if place.is_dir():
        found = sorted(file for each in pattern.split() for file in place.rglob(each))
        if not found:
            raise UnreadableTable(f"{place} has no files named {' or '.join(pattern.split())}.")
        return found
    if not place.exists():
        raise UnreadableTable(f"there is no file {place}.")
    return [place]


def _parsed(file: Path, text: str | None = None) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8") if text is None else text)
    except (ValueError, OSError) as reason:
        raise UnreadableTable(f"{file} is not a complete JSON file: {reason}.") from None


def _number(value: Any, file: Path, what: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    raise UnreadableTable(f"{file}: {what} must be a number; got {value!r}.")


# promptfoo


def _promptfoo(files: list[Path], metric: str | None) -> Iterator[tuple[Path, Iterable[Row]]]:
    for file in files:
        found = _parsed(file)
        results = found.get("results") if isinstance(found, dict) else None
        rows = results.get("results") if isinstance(results, dict) else None
        if not isinstance(rows, list):
            raise UnreadableTable(
                f"{file} is not a result file of promptfoo. Write one with: promptfoo eval --output results.json"
            )
        yield file, _promptfoo_rows(file, rows, metric or "success")


def _promptfoo_rows(file: Path, rows: list[dict[str, Any]], metric: str) -> Iterator[Row]:
    cases: dict[str, str] = {}
    repeats: dict[tuple[str, str], int] = {}
    for row in rows:
        try:
            arm = f"{row['prompt']['label']} / {row['provider'].get('label') or row['provider']['id']}"
            test = row["testCase"]
            key = json.dumps([test.get("vars"), test.get("assert")], sort_keys=True)
            failed_to_run = row.get("failureReason") == 2
            value = row[metric] if metric in ("success", "score") else row["namedScores"].get(metric)
        except (KeyError, TypeError, AttributeError) as reason:
            raise UnreadableTable(
                f"{file}: a result lacks {reason}. Is it a file of promptfoo 0.100 or newer?"
            ) from None
        case = cases.setdefault(key, f"case {len(cases) + 1}")
        repeats[arm, case] = repeats.get((arm, case), 0) + 1
        yield arm, case, None if failed_to_run else _number(value, file, metric), repeats[arm, case]


# Inspect


def _inspect(files: list[Path], metric: str | None) -> Iterator[tuple[Path, Iterable[Row]]]:
    logs = [(file, _inspect_log(file)) for file in files]
    parts = [_inspect_parts(log["eval"]) for _, log in logs]
    differing = [k for k in range(3) if len({part[k] for part in parts}) > 1] or [0]
    for (file, log), part in zip(logs, parts, strict=True):
        arm = " / ".join(part[k] for k in differing)
        yield file, _inspect_rows(file, log, arm, metric)


def _inspect_log(file: Path) -> dict[str, Any]:
    if file.suffix == ".eval":
        try:
            from inspect_ai.log import read_eval_log
        except ImportError:
            raise MissingExtra(f"{file.name}, a compressed log of Inspect,", "inspect") from None
        log = _parsed(file, read_eval_log(str(file)).model_dump_json())
    else:
        log = _parsed(file)
    if not (isinstance(log, dict) and "eval" in log and "samples" in log):
        raise UnreadableTable(f"{file} is not a log of Inspect with its samples.")
    return log


def _inspect_parts(spec: dict[str, Any]) -> tuple[str, str, str]:
    """Model, task and solver, each with its arguments."""
    return (
        str(spec["model"]),
        _called(spec["task"], spec.get("task_args_passed") or {}),
        _called(spec.get("solver") or "", spec.get("solver_args_passed") or {}),
    )


def _called(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value}' for key, value in arguments.items())})" if arguments else name


def _inspect_rows(file: Path, log: dict[str, Any], arm: str, metric: str | None) -> Iterator[Row]:
    for sample in log["samples"] or []:
        scores = sample.get("scores") or {}
        name = metric or next(iter(scores), None)
        if metric is not None and scores and metric not in scores:
            raise UnknownName("metric", metric, list(scores))
        value = scores[name]["value"] if name in scores and not sample.get("error") else None
        grade = INSPECT_GRADES.get(value) if isinstance(value, str) else _number(value, file, f"score {name}")
        if isinstance(value, str) and grade is None:
            raise UnreadableTable(f"{file}: the score {value!r} of sample {sample['id']} is not a grade of Inspect.")
        yield arm, str(sample["id"]), grade, int(sample.get("epoch", 1))


# lm-eval


def _lm_eval(files: list[Path], metric: str | None) -> Iterator[tuple[Path, Iterable[Row]]]:
    for file in files:
        yield file, _lm_eval_rows(file, metric)


def _lm_eval_rows(file: Path, metric: str | None) -> Iterator[Row]:
    task = re.sub(r"^samples_|_\d{4}-\d\d-\d\dT[\d.-]+$", "", file.stem)
    wanted, _, filtered = (metric or "").partition(",")
    filters: set[str] = set()
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            row = _parsed(file, line)
            if not isinstance(row, dict) or "doc_id" not in row:
                raise UnreadableTable(f"{file} is not a file of samples. Write one with: lm-eval run --log_samples")
            if filtered and row.get("filter", "none") != filtered:
                continue
            filters.add(row.get("filter", "none"))
            if len(filters) > 1:
                raise InvalidValue(
                    f"{file.name} has results of the filters {' and '.join(sorted(filters))}. "
                    f"Choose one: metric='{wanted or 'exact_match'},{sorted(filters)[0]}'."
                )
            names = row.get("metrics") or []
            name = wanted or (names[0] if names else "")
            if name not in row:
                raise UnknownName("metric", name, [str(each) for each in names])
            yield file.parent.name, f"{task} {row['doc_id']}", _number(row[name], file, name), 1
    if filtered and not filters:
        raise InvalidValue(f"{file.name} has no results of the filter {filtered!r}.")


Reader = Callable[[list[Path], str | None], Iterator[tuple[Path, Iterable[Row]]]]
READERS: dict[str, tuple[str, Reader]] = {
    "promptfoo": ("*.json", _promptfoo),
    "inspect": ("*.json *.eval", _inspect),
    "lm-eval": ("samples_*.jsonl", _lm_eval),
}
"""Names of the files in a folder, and how they are read."""
