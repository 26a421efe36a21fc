"""Real counts: the verdicts pinned, beside the naive answer (a 95% interval per arm, no correction)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import goodarm
from goodarm.environments.datasets._tables import counts
from goodarm.judgement import Judgement
from goodarm.judgement.decide import Look, decide
from goodarm.judgement.options import LogOptions
from goodarm.question import Threshold

pytestmark = pytest.mark.slow

Counts = NDArray[np.int64]


def open_bandit() -> tuple[Counts, Counts, float]:
    table = counts("open_bandit.csv")
    return table["random_full_impressions"], table["random_full_clicks"], 0.005


def caption_651() -> tuple[Counts, Counts, float]:
    table = counts("caption_651.csv")
    votes, amusing = (np.repeat(table[name], table["captions"]) for name in ("votes", "amusing"))
    return votes, amusing, float(np.quantile(amusing / votes, 0.95))


def movielens() -> tuple[Counts, Counts, float]:
    table = counts("movielens.csv")
    ratings = np.repeat(table["ratings"], table["movies"])
    return np.full(ratings.size, 610), ratings, 0.071


def naive(pulls: Counts, totals: Counts, threshold: float) -> Counts:
    """Wilson's 95% interval of each arm by itself: 1 above, -1 below, 0 neither."""
    z = 1.96
    mean = totals / pulls
    middle = (mean + z * z / (2 * pulls)) / (1 + z * z / pulls)
    half = z * np.sqrt(mean * (1 - mean) / pulls + z * z / (4 * pulls**2)) / (1 + z * z / pulls)
    return np.where(middle - half > threshold, 1, np.where(middle + half < threshold, -1, 0))


def judged(pulls: Counts, totals: Counts, threshold: float, **options: str) -> Judgement:
    names = [f"{i:05d}" for i in range(pulls.size)]
    return goodarm.judge({"arm": names, "pulls": pulls, "total": totals}, threshold=threshold, **options)


def in_place(found: Judgement) -> Counts:
    verdicts = np.zeros(found.arms.arm.size, dtype=np.int64)
    verdicts[[int(name) for name in found.arms.arm]] = found.arms.verdict
    return verdicts


def numbers(verdicts: Counts) -> tuple[int, int, int]:
    return int((verdicts == 1).sum()), int((verdicts == -1).sum()), int((verdicts == 0).sum())


PINNED = {
    open_bandit: ((2, 36, 42), (2, 44, 34), (5, 52, 23)),
    caption_651: ((1, 2294, 6955), (2, 5847, 3401), (92, 7336, 1822)),
    movielens: ((206, 7980, 1538), (246, 8748, 730), (383, 8864, 477)),
}
"""good, bad, open: with fwer, with fdr, and the naive answer."""
LOGS = 20
WRONG = {open_bandit: 1, caption_651: 131, movielens: 59}
"""Wrong verdicts of the naive answer in `LOGS` simulated logs; docs/judge.md has them per log."""


@pytest.mark.parametrize("case", PINNED, ids=lambda case: case.__name__)
def test_verdicts_on_real_counts(case: object) -> None:
    pulls, totals, threshold = case()
    fwer, fdr, plain = PINNED[case]
    found = in_place(judged(pulls, totals, threshold))
    assert numbers(found) == fwer
    assert numbers(in_place(judged(pulls, totals, threshold, criterion="fdr"))) == fdr
    assert numbers(naive(pulls, totals, threshold)) == plain
    assert (naive(pulls, totals, threshold)[found != 0] == found[found != 0]).all()


@pytest.mark.parametrize("case", PINNED, ids=lambda case: case.__name__)
def test_in_a_simulation_of_the_same_rates_the_naive_answer_errs(case: object) -> None:
    """The rates of the log are the truth now: how many verdicts are wrong in new logs of the same size?"""
    pulls, totals, threshold = case()
    truth = totals / pulls
    chance = np.random.default_rng(3)
    wrong_naive = wrong = 0
    for _ in range(LOGS):
        again = chance.binomial(pulls, truth)
        for verdicts, ours in (
            (naive(pulls, again, threshold), False),
            (in_place(judged(pulls, again, threshold)), True),
        ):
            errors = int(
                ((verdicts == 1) & (truth < threshold)).sum() + ((verdicts == -1) & (truth >= threshold)).sum()
            )
            wrong, wrong_naive = (wrong + errors, wrong_naive) if ours else (wrong, wrong_naive + errors)
    assert wrong == 0
    assert wrong_naive == WRONG[case]


def offsets(arms: int) -> dict[str, NDArray[np.float64]]:
    """log(K w) under the ways to share delta among arms that may appear over time; arms appear in the table's order."""
    k = np.arange(1.0, arms + 1.0)
    first = arms // 2
    later = 0.1 * first / ((k - 1.0) * k + (k == 1.0))
    return {
        "ledger, all arms at the first look": np.full(arms, np.log(0.9)),
        "ledger, half of the arms later": np.log(arms * np.where(k <= first, 0.9 / first, later)),
        "max-arms, twice the arms": np.full(arms, np.log(0.5)),
        "max-arms, ten times the arms": np.full(arms, np.log(0.1)),
        "by-appearance": np.log(arms / (k * (k + 1.0))),
    }


PRICES = {
    open_bandit: [(1, 35, 44), (1, 35, 44), (1, 35, 44), (0, 33, 47), (0, 34, 46)],
    caption_651: [(1, 2262, 6987), (0, 2462, 6788), (1, 2089, 7160), (0, 1687, 7563), (0, 1237, 8013)],
    movielens: [(206, 7980, 1538), (186, 7757, 1781), (200, 7980, 1544), (189, 7757, 1778), (150, 7053, 2521)],
}
"""good, bad, open under each way to share delta, in the order of `offsets`; without any: PINNED."""


@pytest.mark.parametrize("case", PINNED, ids=lambda case: case.__name__)
def test_the_price_of_arms_that_may_appear_later(case: object) -> None:
    pulls, totals, threshold = case()
    options = LogOptions(Threshold(threshold))
    problem = options.problem(pulls.size)
    found = [
        numbers(decide(Look(options, problem, offset), pulls.astype(float), totals.astype(float)).verdict)
        for offset in offsets(pulls.size).values()
    ]
    assert found == PRICES[case]


def test_a_larger_log_on_what_the_sample_said() -> None:
    """10,000 rows of Open Bandit: the naive answer calls two items good; by the full log one of them is not."""
    table = counts("open_bandit.csv")
    pulls, clicks = table["random_sample_impressions"], table["random_sample_clicks"]
    full = table["random_full_clicks"] / table["random_full_impressions"]
    said = naive(pulls, clicks, 0.005)
    assert numbers(said) == (2, 0, 78)
    assert int((full[said == 1] < 0.005).sum()) == 1
    assert numbers(in_place(judged(pulls, clicks, 0.005))) == (0, 0, 80)


def test_the_sample_log_itself_with_and_without_propensities(data_folder: Path) -> None:
    log = data_folder / "obd" / "log_random_all.csv.gz"
    found = goodarm.judge(log, arm="item_id", reward="click", threshold=0.005)
    assert (found.rows, found.arms.arm.size, found.good, found.bad) == (10_000, 80, [], [])
    assert any("propensity_score" in note for note in found.notes)
    weighted = goodarm.judge(
        log, arm="item_id", reward="click", threshold=0.005, propensity="propensity_score", cap=100
    )
    assert not any("only some of the rows" in note for note in weighted.notes)
    assert weighted.rows == 10_000
    assert (weighted.arms.low <= weighted.arms.mean).all()


def test_movielens_ratings_on_their_own_scale(data_folder: Path) -> None:
    log = data_folder / "movielens_latest_small" / "ratings.csv"
    found = goodarm.judge(log, threshold=3.5, rewards="bounded:0.5,5", criterion="fdr")
    assert (found.rows, found.arms.arm.size, found.noun) == (100_836, 9724, "movies")
    assert (len(found.good), len(found.bad)) == MOVIES_BY_STARS


MOVIES_BY_STARS = (77, 50)
