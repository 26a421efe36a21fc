"""Write a comparison to disk: rows as Parquet, summary as JSON, figures. Files are complete or absent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goodarm.errors import MissingExtra, UnusableFolder
from goodarm.planning import CampaignPlan
from goodarm.report import plan_figure, rewards, verdicts_over_time
from goodarm.report.drawing import save
from goodarm.report.learned_bounds import draw_bound, draw_learning
from goodarm.report.numbers import json_text
from goodarm.report.plan_text import as_json as plan_as_json
from goodarm.simulation.compare import Comparison
from goodarm.simulation.runs import Runs
from goodarm.simulation.summary import Summary, as_json
from goodarm.whole_files import explained, whole, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS_PER_GROUP = 1_000_000
SUMMARY = "summary.json"


@contextmanager
def results_folder(folder: Path | None) -> Iterator[None]:
    """Check that results can be written before they are computed. Leaves no empty folder behind."""
    if folder is None:
        yield
        return
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    prepare_folder(folder)
    try:
        yield
    finally:
        for each in missing:  # innermost first
            with suppress(OSError):  # not empty: it is in use
                each.rmdir()


def prepare_folder(folder: Path) -> None:
    """Create the folder and check that files can be written into it."""
    if find_spec("pyarrow") is None or find_spec("matplotlib") is None:
        raise MissingExtra("writing results", "report")
    if folder.exists() and not folder.is_dir():
        raise UnusableFolder(f"{folder} is a file, not a folder. Give `out` a folder; it is created if missing.")
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".goodarm-probe"
        probe.touch()
        probe.unlink()


def refuse_other_results(folder: Path, name: str, about: Mapping[str, Any]) -> None:
    """Refuse a folder whose file `name` belongs to other results."""
    try:
        kept = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return  # nothing to lose
    wanted = json.loads(json_text(dict(about)))
    other = next((key for key, value in wanted.items() if not isinstance(kept, dict) or kept.get(key) != value), None)
    if other is None:
        return
    was, now = (short_text(each.get(other) if isinstance(each, dict) else None) for each in (kept, wanted))
    raise UnusableFolder(
        f"{folder} holds other results: {other} there is {was}, and now {now}. Give `out` another folder, or delete "
        f"{folder / name}."
    )


def short_text(value: Any) -> str:
    """A value as short text for a message."""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def write_files(results: Comparison, summary: Summary, folder: Path) -> list[Path]:
    """Write all files of a comparison; returns their paths."""
    figures = {"verdicts": verdicts_over_time.draw(verdicts_over_time.info(results))}
    if results.finished:
        here = [
            runs for runs, where in zip(results.finished, results.settings, strict=True) if where == results.settings[0]
        ]
        if not here[0].spec.live:  # the compiled loop is played again to record what these show
            figures |= {"learning": draw_learning(here), "bound": draw_bound(here[0])}
    return _write(results, as_json(summary), figures, folder)


def write_rewards(results: Comparison, summary: rewards.RewardSummary, folder: Path) -> list[Path]:
    """Write the files of a comparison by reward; returns their paths."""
    figure = rewards.draw(rewards.info(results))
    return _write(results, rewards.as_json(summary), {"rewards": figure}, folder)


def _write(results: Comparison, summary: dict[str, Any], figures: dict[str, Figure], folder: Path) -> list[Path]:
    writers: dict[str, Callable[[Path], None]] = {
        "rows.parquet": lambda path: write_rows(results.finished, path),
        "summary.json": lambda path: write_text(path, json_text(summary) + "\n"),
    }
    for name, figure in figures.items():
        for kind in ("svg", "png"):
            writers[f"{name}.{kind}"] = partial(save, figure)
    with explained(folder):
        return [whole(folder / file, write) for file, write in writers.items()]


def plan_about(made: CampaignPlan) -> dict[str, Any]:
    """Fields that identify a plan in a folder."""
    names = ["arms", "threshold", "delta", "means", "policy", "budget", "seed"]
    on_set = ["cases"] if made.cases is not None else []
    in_money = [name for name in ("costs", "money") if getattr(made, name)]
    return {name: getattr(made, name) for name in [*names, *made.planned.about, *on_set, *in_money]}


def write_plan(made: CampaignPlan, folder: Path) -> list[Path]:
    """Write a plan and its figure; returns the paths."""
    figure = plan_figure.draw(plan_figure.info(made))
    writers: dict[str, Callable[[Path], None]] = {
        "plan.json": lambda path: write_text(path, json_text(plan_as_json(made)) + "\n"),
        "plan.svg": lambda path: save(figure, path),
        "plan.png": lambda path: save(figure, path),
    }
    with explained(folder):
        return [whole(folder / name, write) for name, write in writers.items()]


def write_rows(finished: tuple[Runs, ...], path: Path) -> None:
    """Write one row per arm, run and policy, by columns, without Python objects per arm."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    text, whole = pa.string(), pa.int64()
    types = {
        "environment": text,
        "policy": text,
        "guarantee": text,
        "criterion": text,
        "decided_by": text,
        "seed": whole,
        "run": whole,
        "arm": whole,
        "label": text,
        "mean": pa.float64(),
        "verdict": text,
        "verdict_round": whole,
        "pulls": whole,
    }
    for runs in finished[:1]:
        types |= {name: text if name == "failed" else pa.float64() for name in runs.metric_columns}
    schema = pa.schema(list(types.items()))
    with parquet.ParquetWriter(path, schema) as writer:
        for runs in finished:
            for block in runs.columns(ROWS_PER_GROUP):
                size = len(block["arm"])
                columns = [
                    pa.array(block[name], kind)
                    if isinstance(block[name], np.ndarray)
                    else pa.repeat(pa.scalar(block[name], kind), size)
                    for name, kind in types.items()
                ]
                writer.write_table(pa.table(columns, schema=schema))
