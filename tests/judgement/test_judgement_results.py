"""Result files of evaluation tools, written by the tools themselves (results/README.md)."""

import importlib.util
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from goodarm.errors import GoodarmError, InvalidValue, MissingExtra, UnknownName, UnreadableTable
from goodarm.judgement.sources.results import read_results

HERE = Path(__file__).parent / "results"


def rates(columns: dict[str, list]) -> dict[str, float]:
    passed, rows = Counter(), Counter(columns["arm"])
    for arm, reward in zip(columns["arm"], columns["reward"], strict=True):
        passed[arm] += reward
    return {arm: passed[arm] / rows[arm] for arm in rows}


def test_promptfoo() -> None:
    found = read_results(HERE / "promptfoo.json", "promptfoo")
    assert rates(found) == {
        "plain / careful": pytest.approx(2 / 3),
        "plain / hasty": pytest.approx(1 / 3),
        "terse / careful": pytest.approx(2 / 3),
        "terse / hasty": pytest.approx(1 / 3),
    }
    assert len(set(found["case"])) == 3
    assert set(found["repeat"]) == {1, 2}
    assert len(set(zip(found["arm"], found["case"], found["repeat"], strict=True))) == len(found["arm"]) == 24
    assert read_results(HERE / "promptfoo.json", "promptfoo", "score")["reward"] == found["reward"]


def test_a_case_that_could_not_be_run_has_no_reward(tmp_path: Path) -> None:
    results = json.loads((HERE / "promptfoo.json").read_text())
    results["results"]["results"][0] |= {"failureReason": 2, "success": False}
    (tmp_path / "results.json").write_text(json.dumps(results))
    assert read_results(tmp_path / "results.json", "promptfoo")["reward"].count(None) == 1


def test_inspect() -> None:
    found = read_results(HERE / "inspect.json", "inspect")
    assert rates(found) == {"mockllm/model": 0.75}
    assert set(found["case"]) == {"1", "2", "3", "4"}
    assert set(found["repeat"]) == {1, 2}


@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is None, reason="inspect-ai is not installed")
def test_inspect_compressed() -> None:
    found = read_results(HERE / "inspect.eval", "inspect")
    assert rates(found) == {"mockllm/model": 0.5}


@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is not None, reason="inspect-ai is installed")
def test_inspect_compressed_says_what_to_install() -> None:
    with pytest.raises(MissingExtra, match="inspect"):
        read_results(HERE / "inspect.eval", "inspect")


def test_arms_of_inspect_are_named_by_what_differs(tmp_path: Path) -> None:
    log = json.loads((HERE / "inspect.json").read_text())
    (tmp_path / "a.json").write_text(json.dumps(log))
    log["eval"]["task_args_passed"] = {"slip": 4}
    (tmp_path / "b.json").write_text(json.dumps(log))
    assert set(read_results(tmp_path, "inspect")["arm"]) == {"arith(slip=9)", "arith(slip=4)"}


def test_lm_eval() -> None:
    found = read_results(HERE / "lm-eval", "lm-eval")
    assert rates(found) == {"dummy": pytest.approx(7 / 12)}
    assert found["case"][0] == "arith 0"
    assert read_results(HERE / "lm-eval", "lm-eval", "acc,none") == found


def test_filters_of_lm_eval_are_chosen(tmp_path: Path) -> None:
    lines = next((HERE / "lm-eval" / "dummy").iterdir()).read_text().splitlines()
    other = [json.dumps(json.loads(line) | {"filter": "strict-match", "acc": 0.0}) for line in lines]
    (tmp_path / "samples_arith_2026-11-18T01-47-04.933400.jsonl").write_text("\n".join(lines + other))
    with pytest.raises(InvalidValue, match="filters none and strict-match"):
        read_results(tmp_path, "lm-eval")
    assert sum(read_results(tmp_path, "lm-eval", "acc,strict-match")["reward"]) == 0.0
    with pytest.raises(InvalidValue, match="no results of the filter 'loose'"):
        read_results(tmp_path, "lm-eval", "acc,loose")


def test_the_same_cells_twice_are_refused(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        shutil.copy(HERE / "inspect.json", tmp_path / name)
    with pytest.raises(InvalidValue, match=r"a\.json and b\.json both have results of 'mockllm/model' on case '\d'"):
        read_results(tmp_path, "inspect")


@pytest.mark.parametrize("kind", ["promptfoo", "inspect", "lm-eval"])
@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "7", '{"results": 3}', '{"eval": {}}'])
def test_other_files_are_refused(tmp_path: Path, kind: str, content: str) -> None:
    file = tmp_path / "samples_x.jsonl"
    file.write_text(content)
    with pytest.raises(GoodarmError):
        read_results(file, kind)


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="promptfoo"):
        read_results(HERE / "promptfoo.json", "promtfoo")
    with pytest.raises(UnknownName, match="match"):
        read_results(HERE / "inspect.json", "inspect", "includes")
    with pytest.raises(UnreadableTable, match="there is no file"):
        read_results(tmp_path / "nothing.json", "inspect")
    with pytest.raises(UnreadableTable, match="no files named"):
        read_results(tmp_path, "inspect")
