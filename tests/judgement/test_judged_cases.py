"""Logs of a fixed test set: certain where every case is known, certified where some are missing."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from goodarm import judge
from goodarm.cli import app
from goodarm.errors import GoodarmError, InvalidValue, UnreadableTable

RATES = {"a": 0.9, "b": 0.78, "c": 0.5}
CASES = 200
WIDE = {"COLUMNS": "160"}


def log(seed: int = 0, kept: int = CASES) -> dict[str, list]:
    """Results of each arm on `kept` cases, drawn at random; `b` fails just enough to lie below 80%."""
    world = np.random.default_rng(seed)
    columns: dict[str, list] = {"prompt": [], "case": [], "passed": []}
    for arm, rate in RATES.items():
        results = world.permutation(np.arange(CASES) < rate * CASES)
        for case in world.permutation(CASES)[:kept].tolist():
            columns["prompt"].append(arm)
            columns["case"].append(f"q{case}")
            columns["passed"].append(float(results[case]))
    return columns


def judged(columns: object, **more: object):
    return judge(columns, threshold=0.8, arm="prompt", reward="passed", case="case", **more)


def test_a_whole_test_set_is_decided_for_certain() -> None:
    found = judged(log())
    assert (found.good, found.bad, found.open) == (["a"], ["b", "c"], [])
    means = dict(zip(found.arms.arm, found.arms.mean, strict=True))
    assert means == {arm: pytest.approx(rate) for arm, rate in RATES.items()}
    for low, high, mean in zip(found.arms.low, found.arms.high, found.arms.mean, strict=True):
        assert low == pytest.approx(mean)
        assert high == pytest.approx(mean)
    # without knowing that there are only 200 cases, most of this is undecided
    rows = judge(log(), threshold=0.8, arm="prompt", reward="passed")
    assert "b" in rows.open


@pytest.mark.slow
def test_a_part_of_it_is_judged_without_replacement() -> None:
    """Of 60 logs with half of the cases, at most 8 have a wrong verdict: P(Binomial(60, 0.05) > 8) < 0.003."""
    wrong, decided = 0, 0
    for seed in range(60):
        found = judged(log(seed, kept=100), cases=CASES)
        wrong += bool(set(found.good) & {"b", "c"} or set(found.bad) & {"a"})
        decided += len(found.good) + len(found.bad)
    assert wrong <= 8
    assert decided > 100


def test_the_size_of_the_set_is_asked_for_where_it_can_not_be_known() -> None:
    """Arms with as many cases each, but different ones, do not make up a whole set."""
    with pytest.raises(
        InvalidValue, match=r"has results on 100 of the \d+ cases in the log. Give the size of the test set"
    ):
        judged(log(kept=100))
    with pytest.raises(InvalidValue, match="has 200 different cases, more than the 150 of the test set"):
        judged(log(), cases=150)


def test_duplicate_cells_are_refused() -> None:
    columns = log()
    for values in columns.values():
        values.append(values[0])
    with pytest.raises(UnreadableTable, match="'a' has 201 rows on 200 values of case"):
        judged(columns)


def test_grades_of_a_whole_set_are_decided_for_certain() -> None:
    columns = log()
    columns["passed"] = [0.9 if x else 0.3 for x in columns["passed"]]
    found = judge(columns, threshold=0.768, arm="prompt", reward="passed", case="case")
    assert (found.good, found.bad) == (["a", "b"], ["c"])  # means 0.84, 0.768 and 0.6
    assert found.rule == "bet-mixture"
    columns = log(kept=100)
    columns["passed"][:2] = [0.5, 0.5]  # their sum is a whole number
    with pytest.raises(InvalidValue, match="Name the column with that order: `order=COLUMN`"):
        judged(columns, cases=CASES)


def in_order(kept: int = 120, **more: object) -> dict[str, list]:
    """The same rows with the order of the draws as a column, listed the other way round."""
    columns = log(1, kept)
    columns["time"] = [j % kept for j in range(len(columns["case"]))]
    return {name: values[::-1] for name, values in columns.items()}


def test_a_part_is_judged_in_the_order_of_the_draws() -> None:
    columns = in_order()
    found = judged(columns, cases=CASES, order="time")
    assert "c" in found.bad
    assert set(found.good) <= {"a"}
    left = {arm: need for arm, need in zip(found.arms.arm, found.arms.needs, strict=True) if arm in found.open}
    assert set(left.values()) <= {80.0}
    assert np.isnan(found.arms.low).all()


@pytest.mark.parametrize("kept", [CASES, 120])
def test_paired_against_a_control(kept: int) -> None:
    """Against `a` on the same cases: exact where every case is there, certified where cases are missing."""
    whole = in_order(CASES)
    kept_rows = [j for j, arm in enumerate(whole["prompt"]) if arm == "a" or whole["time"][j] < kept]
    columns = {name: [values[j] for j in kept_rows] for name, values in whole.items()}
    found = judge(
        columns, arm="prompt", reward="passed", case="case", cases=CASES, versus="a", margin=-0.2, order="time"
    )
    verdicts = dict(zip(found.arms.arm, found.arms.verdict, strict=True))
    assert set(verdicts) == {"b", "c"}
    assert verdicts["c"] == -1  # 0.5 - 0.9 = -0.4
    assert verdicts["b"] in ((1,) if kept == CASES else (0, 1))  # 0.78 - 0.9 = -0.12
    means = dict(zip(found.arms.arm, found.arms.mean, strict=True))
    assert kept < CASES or means == {"b": pytest.approx(-0.12), "c": pytest.approx(-0.4)}


@pytest.mark.slow
def test_a_control_that_lacks_cases_is_named_with_the_pairs_that_wait(tmp_path: Path) -> None:
    """`b` draws case 0, 1, 2, ...; the control lacks cases 3 and 7, so that the pairs 4, 5, 6, 8 and 9 wait."""
    rows = [("now", case, 0, case) for case in range(10) if case not in (3, 7)]
    rows += [("b", case, case % 2, case) for case in range(10)]

    def notes(rows: list[tuple[str, int, int, int]]) -> str:
        columns = dict(zip(("arm", "case", "passed", "time"), map(list, zip(*rows, strict=True)), strict=True))
        found = judge(columns, arm="arm", reward="passed", case="case", cases=100, versus="now", order="time")
        assert found.open == ["b"]
        return "\n".join(found.notes)

    assert "now has no result on 2 of the 10 cases on which other arms have one" in notes(rows)
    assert "5 complete cases of 1 undecided arm can't count yet" in notes(rows)
    complete = notes([*rows, ("now", 3, 0, 3), ("now", 7, 0, 7)])
    assert "has no result" not in complete
    assert "can't count yet" not in complete
    lines = ["arm,case,passed,time", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    words = ["judge", str(tmp_path / "log.csv"), "--arm", "arm", "--reward", "passed", "--case", "case"]
    paired = CliRunner().invoke(app, [*words, "--cases", "100", "--order", "time", "--versus", "now"], env=WIDE)
    assert "needs at most" in paired.stdout
    assert "92 more" in paired.stdout
    assert "now has no result on 2 of the 10 cases" in paired.stdout
    totals = CliRunner().invoke(app, [*words, "--cases", "100", "--threshold", "0.3"], env=WIDE)
    assert "needs about" in totals.stdout


def test_cells_from_a_file_are_judged_alike(tmp_path: Path) -> None:
    columns = in_order()
    columns["score"] = [0.9 if x else 0.2 for x in columns["passed"]]
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    for more in ({"versus": "a"}, {"threshold": 0.8}):
        given = {"arm": "prompt", "reward": "passed", "case": "case", "cases": CASES, "order": "time", **more}
        from_file, from_table = (judge(data, **given).as_dict()["arms"] for data in (tmp_path / "log.csv", columns))
        assert from_file == from_table


def test_pairs_without_an_order_need_every_case() -> None:
    del (columns := in_order())["time"]
    with pytest.raises(InvalidValue, match="lacks results on some of the 200 cases"):
        judge(columns, arm="prompt", reward="passed", case="case", cases=CASES, versus="a")


def test_repetitions_count_by_their_mean(tmp_path: Path) -> None:
    columns = {name: values * 2 for name, values in log().items()}
    half = len(columns["passed"]) // 2
    columns["passed"][half:] = [0.0] * half
    with pytest.raises(UnreadableTable, match="'a' has 400 rows on 200 values of case"):
        judged(columns)
    found = judge(columns, threshold=0.4, arm="prompt", reward="passed", case="case", repeats=2)
    assert (found.good, found.bad) == (["a"], ["b", "c"])  # means 0.45, 0.39 and 0.25
    with pytest.raises(UnreadableTable, match=r"'a' has 2 results on case 'q\d+', and each case counts once"):
        judged(columns, repeats=1)
    with pytest.raises(InvalidValue, match="repeats"):
        judged(columns, repeats=0)


def test_a_judge_and_few_labels() -> None:
    """Every case has a score, 80 of 200 a label: a good judge decides what labels alone do not."""
    columns = in_order(CASES)
    columns["score"] = [0.95 if x else 0.05 for x in columns["passed"]]
    columns["passed"] = [x if t < 80 else None for x, t in zip(columns["passed"], columns["time"], strict=True)]
    found = judged(columns, order="time", score="score")
    assert (found.good, found.bad) == (["a"], ["c"])
    assert found.rule == "score-bets"
    columns["score"][3] = None
    with pytest.raises(UnreadableTable, match="has no score on 'q"):
        judged(columns, order="time", score="score")


@pytest.mark.parametrize(
    "more",
    [
        {"by": "case"},
        {"unit": "case"},
        {"rewards": "gaussian:1"},
        {"cases": 0},
        {"versus": "a", "threshold": None, "score": "passed"},
        {"versus": "a", "threshold": None, "criterion": "fdr"},
        {"versus": "nobody", "threshold": None},
        {"repeats": 2, "rule": "kt"},
        {"score": "nothing"},
        {"case": None, "score": "passed"},
    ],
)
def test_what_does_not_fit_is_refused(more: dict[str, object]) -> None:
    given = {"threshold": 0.8, "arm": "prompt", "reward": "passed", "case": "case", **more}
    with pytest.raises(GoodarmError):
        judge(log(), **given)
    with pytest.raises(InvalidValue, match="Name its column as well"):
        judge(log(), threshold=0.8, arm="prompt", reward="passed", cases=200)


def test_the_same_from_a_file(tmp_path: Path) -> None:
    columns = log(kept=100)
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    from_file, from_table = judged(tmp_path / "log.csv", cases=CASES), judged(columns, cases=CASES)
    assert from_file.as_dict()["arms"] == from_table.as_dict()["arms"]


def test_result_files_of_other_tools() -> None:
    here = Path(__file__).parent / "results"
    assert judge(here / "lm-eval", threshold=0.5, format="lm-eval").good == ["dummy"]
    with pytest.raises(UnreadableTable, match="'plain / careful' has 6 rows on 3 values of case"):
        judge(here / "promptfoo.json", threshold=0.5, format="promptfoo")
    twice = judge(here / "promptfoo.json", threshold=0.5, format="promptfoo", repeats=2)
    assert (twice.good, twice.bad) == (["plain / careful", "terse / careful"], ["plain / hasty", "terse / hasty"])
    with pytest.raises(InvalidValue, match="Name the tool as well"):
        judge(here / "promptfoo.json", threshold=0.5, metric="score")


def test_real_models_on_gsm8k(data_folder: Path) -> None:
    """30 models with a quarter of the 1,000 questions each, in random order: no wrong verdict, most of them decided."""
    from goodarm.environments.matrix import read_matrix

    names, table = read_matrix(data_folder / "evals" / "gsm_models.csv.gz")
    world, rows = np.random.default_rng(1), []
    for arm, results in zip(names, table, strict=True):
        rows += [(arm, f"q{case}", results[case]) for case in world.permutation(results.size)[:250]]
    columns = dict(zip(("prompt", "case", "passed"), map(list, zip(*rows, strict=True)), strict=True))
    found = judge(columns, threshold=0.68, arm="prompt", reward="passed", case="case", cases=table.shape[1])
    truth = dict(zip(names, table.mean(axis=1) >= 0.68, strict=True))
    assert all(truth[arm] for arm in found.good)
    assert not any(truth[arm] for arm in found.bad)
    assert len(found.good) + len(found.bad) >= 20
