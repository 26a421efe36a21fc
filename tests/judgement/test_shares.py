"""Logs whose arms appear over time: how delta is shared, what is promised, and what the ledger keeps."""

from __future__ import annotations

import json
import math
import multiprocessing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import goodarm
from goodarm.cli import app
from goodarm.engine.compile import ALWAYS
from goodarm.engine.totals import evidence_from_totals
from goodarm.errors import GoodarmError, InvalidValue, UnusableStore
from goodarm.judgement.options import BY_TOTALS
from goodarm.judgement.page import page
from goodarm.judgement.shares import Ledger
from goodarm.numerics import binomial_tail
from goodarm.policies.names import identification_rule
from goodarm.problem import Problem
from goodarm.testing.error_rates import LAW_LEVEL

ARMS, EACH, EVERY = 40, 500, 5
"""Arms that appear one after another, rows of each before the next one appears, rows between two looks."""


def growing(chance: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Pulls and totals of each arm at every look before the next arm appears, shapes (arms, looks); means are 1/2."""
    totals = np.cumsum(chance.random((ARMS, EACH)) < 0.5, axis=1)[:, EVERY - 1 :: EVERY].astype(float)
    return np.broadcast_to(np.arange(EVERY, EACH + 1.0, EVERY), totals.shape), totals


def log_shares(case: str) -> np.ndarray:
    """log of the share of delta that the k-th arm has until the next one appears."""
    k = np.arange(1.0, ARMS + 1.0)
    later = 0.1 / (k * np.maximum(k - 1.0, 1.0))
    return {
        "fixed": -np.log(k),
        "max-arms": np.full(ARMS, -math.log(ARMS)),
        "ledger": np.log(np.where(k == 1.0, 0.9, later)),
        "by-appearance": -np.log(k * (k + 1.0)),
    }[case]


def wrong_runs(case: str, runs: int, delta: float) -> int:
    """Runs in which any look called any arm bad; an arm at the threshold is good."""
    chance, wrong = np.random.default_rng(1), 0
    bar = Problem(threshold=0.5, arms=1, delta=delta).bar
    for _ in range(runs):
        _, for_bad = evidence_from_totals(identification_rule(BY_TOTALS), *growing(chance), bar, patience=ALWAYS)
        wrong += bool((for_bad.max(axis=1) + log_shares(case) >= bar.budget).any())
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("case", ["max-arms", "ledger", "by-appearance"])
def test_the_promise_while_arms_appear(case: str) -> None:
    """A look every five rows, 40 arms one after another: wrong in at most delta of the runs."""
    assert binomial_tail(wrong_runs(case, 400, 0.2), 400, 0.2) > LAW_LEVEL


@pytest.mark.slow
def test_without_a_word_about_later_arms_the_promise_is_broken() -> None:
    """The broken twin of the test above: dividing by the arms seen so far. This is why the condition is printed."""
    assert binomial_tail(wrong_runs("fixed", 800, 0.2), 800, 0.2) < LAW_LEVEL
    found = goodarm.judge({"arm": ["a", "b"], "reward": [1, 0]}, threshold=0.5)
    assert any("the set of arms was fixed in advance" in each for each in found.conditions)


ROWS = 60
"""Rows of each arm in the logs below."""


def looked(rows: int, **options: Any) -> Any:
    """A look at the first rows of a log in which arms appear one after another."""
    log = {
        "arm": [f"a{i:02d}" for i in range(rows // ROWS + 1) for _ in range(min(ROWS, rows - i * ROWS))],
        "at": list(range(rows)),
    }
    log["reward"] = [1.0] * rows
    return goodarm.judge(log, threshold=0.5, **options)


def needed(found: Any) -> dict[str, float]:
    """The share of delta of each arm, by its interval: that of an arm alone with this share is the same."""
    shares = {}
    for i, arm in enumerate(found.arms.arm):
        pulls = float(found.arms.pulls[i])
        for share in (0.9, 0.45, 0.1, 0.05, 1 / 2, 1 / 6, 1 / 20, 1 / 30):
            alone = goodarm.judge({"arm": ["x"], "pulls": [pulls], "total": [pulls]}, threshold=0.5, delta=0.05 * share)
            if math.isclose(alone.arms.low[0], found.arms.low[i], abs_tol=1e-9):
                shares[arm] = share
    return shares


@pytest.mark.slow
def test_the_shares_that_decide() -> None:
    assert needed(looked(2 * ROWS)) == {"a00": 0.5, "a01": 0.5}
    assert needed(looked(2 * ROWS, max_arms=20)) == {"a00": 0.05, "a01": 0.05}
    assert needed(looked(2 * ROWS, by_appearance=True, time="at")) == {"a00": 0.5, "a01": 1 / 6}


@pytest.mark.slow
def test_a_ledger_remembers_shares(tmp_path: Path) -> None:
    """(1 - r)/K0 at first, then r K0/((K0 + m - 1)(K0 + m)) for the m-th later arm: 0.1/2 for the first with K0 = 1."""
    ledger = tmp_path / "looks.json"
    assert needed(looked(ROWS, ledger=ledger)) == {"a00": 0.9}
    assert needed(looked(2 * ROWS, ledger=ledger)) == {"a00": 0.9, "a01": 0.05}
    again = looked(2 * ROWS, ledger=str(ledger))
    assert needed(again) == {"a00": 0.9, "a01": 0.05}
    assert (again.case, again.as_dict()["ledger"]) == ("ledger", str(ledger))
    assert any(str(ledger) in each for each in again.conditions)
    kept = json.loads(ledger.read_text())
    assert [len(look["arms"]) for look in kept["looks"]] == [1, 1, 0]
    assert kept["asked"]["threshold"] == 0.5
    assert not list(tmp_path.glob(".partial*"))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"by": "shop"}, {"criterion": "fdr"}, {"order": "at"}, {"versus": "a00"}])
@pytest.mark.parametrize("case", ["max_arms", "ledger", "by_appearance"])
def test_segments_fdr_order_and_controls_follow_the_same_shares(
    tmp_path: Path, options: dict[str, Any], case: str
) -> None:
    chance = np.random.default_rng(3)
    rows = 6000
    log = pl.DataFrame(
        {
            "arm": [f"a{i:02d}" for i in chance.integers(0, 6, rows)], "at": np.arange(rows),
            "shop": np.where(chance.random(rows) < 0.5, "x", "y"),
            "reward": (chance.random(rows) < 0.5).astype(int),
        }
    )  # fmt: skip
    value: Any = {"max_arms": 5000, "ledger": tmp_path / "looks.json", "by_appearance": True}[case]
    asked = dict(options) if "versus" in options else {"threshold": 0.45, **options}
    if "order" not in options and case == "by_appearance":
        asked["time"] = "at"
    if "order" in options:
        asked["rule"] = "gap-mixture"
    plain, shared = goodarm.judge(log, **asked), goodarm.judge(log, **asked, **{case: value})
    width = {(*map(str, key), arm): high - low for *key, arm, low, high in _rows(plain)}
    wider = {(*map(str, key), arm): high - low for *key, arm, low, high in _rows(shared)}
    ratio = np.array([wider[key] / width[key] for key in width])
    if case == "by_appearance":
        assert ratio.min() < 1.0 < ratio.max()
    else:
        assert (ratio > 1.0).all()


def _rows(found: Any) -> Any:
    return zip(*found.arms.segment, found.arms.arm, found.arms.low, found.arms.high, strict=True)


@pytest.mark.slow
def test_verdicts_in_order_come_later_with_a_smaller_share() -> None:
    rows = 2000
    log = {"arm": ["a", "b"] * (rows // 2), "at": list(range(rows)), "reward": [1, 0, 1, 0, 0, 1, 1, 0] * (rows // 8)}
    plain = goodarm.judge(log, threshold=0.4, order="at", rule="kt")
    for options in ({"max_arms": 100}, {"by_appearance": True}):
        shared = goodarm.judge(log, threshold=0.4, order="at", rule="kt", **options)
        assert shared.good == plain.good
        later = dict(zip(shared.arms.arm, shared.arms.when, strict=True))
        for arm, when in zip(plain.arms.arm, plain.arms.when, strict=True):
            assert later[arm] > when if when is not None and (arm, options) != ("a", {"by_appearance": True}) else True


@pytest.mark.parametrize("kind", ["csv", "parquet", "polars", "pandas", "duckdb"])
@pytest.mark.filterwarnings("ignore::goodarm.errors.LogWarning")
def test_arms_that_appear_late_are_told(tmp_path: Path, kind: str) -> None:
    """Where a time is known and an arm first appears after a tenth of the rows, the options are named."""
    import duckdb

    day = np.datetime64("2026-05-01", "us")
    at = day + np.arange(100) * np.timedelta64(3_600_000_000, "us")
    for first, told in ((5, False), (30, True)):
        arm = np.where(np.arange(100) < first, "old", np.where(np.arange(100) % 2, "old", "new"))
        log = pl.DataFrame({"arm": arm, "reward": np.arange(100) % 2, "at": at})
        log.write_csv(tmp_path / "log.csv")
        log.write_parquet(tmp_path / "log.parquet")
        data = {
            "csv": tmp_path / "log.csv", "parquet": tmp_path / "log.parquet", "polars": log, "pandas": log.to_pandas(),
            "duckdb": duckdb.connect().from_arrow(log.to_arrow()),
        }[kind]  # fmt: skip
        time = {"time": "at"} if kind == "csv" else {}
        notes = goodarm.judge(data, threshold=0.5, arm="arm", reward="reward", **time).notes
        late = [note for note in notes if "not all arms exist from the beginning" in note]
        assert bool(late) == told
        if told:
            assert "after 30% of the rows" in late[0]
            assert "`max_arms=N`, `ledger=FILE` or `by_appearance=True`" in late[0]
        said = goodarm.judge(data, threshold=0.5, arm="arm", reward="reward", **time, max_arms=4).notes
        assert not any("from the beginning" in note for note in said)


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": 0.4}, {"delta": 0.01}, {"criterion": "fdr"}, {"where": "arm <> 'z'"}, {"rule": "beta-mixture"},
        {"rewards": "bounded:0,2"}, {"reward": "other"}, {"by": "shop"},
    ],
    ids=str,
)  # fmt: skip
def test_a_ledger_refuses_another_question(tmp_path: Path, change: dict[str, Any]) -> None:
    log = {
        "arm": ["a", "b"] * 5, "reward": [1, 0] * 5, "other": [1, 0] * 5, "at": list(range(10)), "shop": ["x"] * 10,
    }  # fmt: skip
    ledger, options = tmp_path / "looks.json", {"threshold": 0.5, "reward": "reward"}
    goodarm.judge(log, ledger=ledger, **options)
    before = ledger.read_text()
    with pytest.raises(InvalidValue, match=f"had {next(iter(change))}="):
        goodarm.judge(log, ledger=ledger, **{**options, **change})
    assert ledger.read_text() == before


def test_a_ledger_refuses_another_control_or_margin(tmp_path: Path) -> None:
    log = {"arm": ["a", "b", "c"], "pulls": [100] * 3, "total": [50] * 3}
    goodarm.judge(log, versus="a", ledger=tmp_path / "looks.json")
    with pytest.raises(InvalidValue, match="had control='a', and this look has control='b'"):
        goodarm.judge(log, versus="b", ledger=tmp_path / "looks.json")
    with pytest.raises(InvalidValue, match=r"had margin=0\.0, and this look has margin=0\.1"):
        goodarm.judge(log, versus="a", margin=0.1, ledger=tmp_path / "looks.json")


def test_a_ledger_refuses_another_window_or_test_set(tmp_path: Path) -> None:
    log = {
        "arm": ["a", "b"] * 5, "reward": [1, 0] * 5, "user": list(range(10)), "at": list(range(10)),
        "later": list(range(10)),
    }  # fmt: skip
    for j, (options, change) in enumerate(
        (
            ({"unit": "user", "window": 5.0, "time": "at"}, {"time": "later"}),
            ({"unit": "user", "window": 5.0, "time": "at"}, {"window": 6.0}),
            ({"case": "user", "cases": 50}, {"cases": 60}),
        )
    ):
        ledger = tmp_path / f"{j}.json"
        goodarm.judge(log, threshold=0.5, ledger=ledger, **options)
        with pytest.raises(InvalidValue, match="The question must be fixed before the first look"):
            goodarm.judge(log, threshold=0.5, ledger=ledger, **{**options, **change})
    kept = json.loads(ledger.read_text())
    del kept["asked"]["cases"], kept["asked"]["time"]  # a ledger of an earlier version goes on
    kept["asked"]["unit"] = None
    ledger.write_text(json.dumps(kept))
    plain = {name: values for name, values in log.items() if name in ("arm", "reward")}
    kept["asked"]["per_unit"] = None
    ledger.write_text(json.dumps(kept))
    assert goodarm.judge(plain, threshold=0.5, ledger=ledger).case == "ledger"


def test_a_look_that_fails_writes_nothing(tmp_path: Path) -> None:
    log = {"arm": ["a", "b"], "reward": [1, 0], "at": [1.0, None]}
    with pytest.raises(GoodarmError, match="so their place in the order is unknown"):
        goodarm.judge(log, threshold=0.5, order="at", ledger=tmp_path / "looks.json")
    assert not (tmp_path / "looks.json").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is damaged: it is not a complete ledger"),
        ("[]", "is damaged: it is not a complete ledger"),
        ('{"what": "something else", "version": 1}', "is damaged: it is not a ledger"),
        ("cut", "is damaged: it is not a complete ledger"),
        ("greedy", "its shares are not shares of one delta"),
        ("twice", "an arm has two shares"),
        ("reserve", "its first look has used the reserve"),
    ],
)
def test_a_damaged_ledger_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    ledger, log = tmp_path / "looks.json", {"arm": ["a", "b"], "reward": [1, 0]}
    goodarm.judge(log, threshold=0.5, ledger=ledger)
    whole = ledger.read_text()
    changed = {
        "cut": whole[: len(whole) // 2],
        "greedy": whole.replace('"share": 0.45', '"share": 0.95'),
        "twice": whole.replace('"b"', '"a"'),
        "reserve": whole.replace('"reserve": 0.1', '"reserve": 0.5'),
    }.get(text, text)
    assert changed != whole
    ledger.write_text(changed)
    with pytest.raises(UnusableStore, match=reason):
        goodarm.judge(log, threshold=0.5, ledger=ledger)
    assert ledger.read_text() == changed
    with pytest.raises(UnusableStore, match="in a folder that exists"):
        goodarm.judge(log, threshold=0.5, ledger=tmp_path / "absent" / "looks.json")


def _one_look(path: str, arm: int) -> None:
    for rows in range(5):
        with Ledger(path).look({"threshold": 0.5}, [(f"a{arm}-{rows}",)], rows):
            pass


@pytest.mark.slow
def test_looks_at_the_same_time_share_one_delta(tmp_path: Path) -> None:
    path = tmp_path / "looks.json"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_one_look, args=(str(path), arm)) for arm in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    looks = json.loads(path.read_text())["looks"]
    shares = [entry["share"] for look in looks for entry in look["arms"]]
    assert (len(looks), len(shares)) == (15, 15)
    assert sum(shares) == pytest.approx(0.9 + 0.1 * 14 / 15)


def test_what_is_refused() -> None:
    log = {"arm": ["a", "b"], "reward": [1, 0]}
    for options, message in (
        ({"max_arms": 1}, "the log has 2 arms to judge, more than `max_arms=1`"),
        ({"max_arms": 0}, "max_arms must be a whole number of at least 1"),
        ({"by_appearance": True}, "needs the time of each row"),
        ({"max_arms": 4, "ledger": "x"}, "`max_arms` and `ledger` divide delta"),
    ):
        with pytest.raises(InvalidValue, match=message):
            goodarm.judge(log, threshold=0.5, **options)


@pytest.mark.slow
def test_the_verb_says_how_delta_is_shared(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("arm,reward,at\n" + "".join(f"a{i % 3},{i % 2},{i}\n" for i in range(60)))
    for options, said in (
        (["--max-arms", "50"], "at most 50 arms are ever judged"),
        (["--ledger", f"{tmp_path}/looks.json"], f"every look used the ledger {tmp_path}/looks.json"),
        (["--by-appearance", "--time", "at"], "any number of arms may come later"),
        ([], "If arms may come later, give --max-arms N, --ledger FILE or --by-appearance"),
    ):
        ran = CliRunner().invoke(app, ["judge", str(path), "--threshold", "0.5", *options], env={"COLUMNS": "500"})
        assert ran.exit_code == 0, ran.output
        assert said in " ".join(ran.stdout.split())
    found = goodarm.judge(path, threshold=0.5, max_arms=50)
    assert (found.as_dict()["shares"], found.as_dict()["max_arms"]) == ("max-arms", 50)
    assert "at most 50 arms are ever judged" in page(found)


# --- verdicts that a ledger keeps ------------------------------------------------------------------------------------

FIRST = {"arm": ["a", "b"], "pulls": [2000, 2000], "total": [66, 20]}
LATER = {"arm": ["a", "b"], "pulls": [6000, 6000], "total": [150, 60]}


def test_a_ledger_keeps_verdicts(tmp_path: Path) -> None:
    """By validity at every time, a verdict once reached stays certified; today's rows alone leave the arm undecided."""
    ledger = tmp_path / "looks.json"
    assert goodarm.judge(FIRST, threshold=0.02, ledger=ledger).good == ["a"]
    assert goodarm.judge(LATER, threshold=0.02).good == []
    found = goodarm.judge(LATER, threshold=0.02, ledger=ledger)
    assert (found.good, found.bad, found.guarantee) == (["a"], ["b"], "certified")
    (row,) = [row for row in found.as_dict()["arms"] if row["arm"] == "a"]
    assert row["verdict"] == "good"
    assert row["since"] == json.loads(ledger.read_text())["looks"][0]["at"]
    assert row["low"] < 0.02 < row["high"]
    assert any("1 verdict of earlier looks is kept" in note for note in found.notes)
    assert f"since {row['since'][:10]}" in str(found.arms)
    assert f"since {row['since'][:10]}" in page(found)
    assert "since" in found.columns()
    assert "since" not in goodarm.judge(LATER, threshold=0.02).columns()
    again = goodarm.judge(LATER, threshold=0.02, ledger=ledger)  # the first look stays the source
    assert again.as_dict()["arms"] == found.as_dict()["arms"]


def test_a_contradiction_of_an_earlier_verdict_is_a_warning(tmp_path: Path) -> None:
    ledger = tmp_path / "looks.json"
    goodarm.judge(FIRST, threshold=0.02, ledger=ledger)
    changed = {"arm": ["a", "b"], "pulls": [60000, 6000], "total": [700, 60]}
    for _ in range(2):  # at every later look, and it is never recorded
        with pytest.warns(goodarm.errors.LogWarning, match="a was good at the look of .*, and is bad now"):
            found = goodarm.judge(changed, threshold=0.02, ledger=ledger)
        assert "certified only if the mean of a did not change" in found.guarantee
    assert [len(look["verdicts"]) for look in json.loads(ledger.read_text())["looks"]] == [2, 0, 0]


def test_verdicts_are_kept_only_where_that_is_proven(tmp_path: Path) -> None:
    """Not under fdr, which bounds the share of wrong calls at each look; nor from a look with a warning."""
    goodarm.judge(FIRST, threshold=0.02, ledger=tmp_path / "fdr.json", criterion="fdr")
    doubtful = {"arm": ["a", "A"], "pulls": [2000, 2000], "total": [66, 20]}
    with pytest.warns(goodarm.errors.LogWarning, match="differ only"):
        goodarm.judge(doubtful, threshold=0.02, ledger=tmp_path / "doubt.json")
    for name in ("fdr", "doubt"):
        assert [look["verdicts"] for look in json.loads((tmp_path / f"{name}.json").read_text())["looks"]] == [[]]


def test_a_ledger_of_an_older_version_has_no_verdicts(tmp_path: Path) -> None:
    ledger = tmp_path / "looks.json"
    goodarm.judge(FIRST, threshold=0.02, ledger=ledger)
    kept = json.loads(ledger.read_text())
    for look in kept["looks"]:
        del look["verdicts"]
    ledger.write_text(json.dumps(kept))
    assert goodarm.judge(LATER, threshold=0.02, ledger=ledger).good == []
