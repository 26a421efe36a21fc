"""The exact error of rules by totals: right, exact to the last percent, and as the documents say."""

import itertools
import math
import os
from pathlib import Path

import pytest
from broken_rules import fixed_sample
from suite import certified

from goodarm import policy
from goodarm.engine.assemble import start_pool
from goodarm.problem import Bounded, Problem
from goodarm.rules.identification import EvidenceRule, IdentificationRule, RadiusRule
from goodarm.rules.identification.beta_mixture import totals as mixture
from goodarm.testing import Violation
from goodarm.testing.error_rates import detectable_share
from goodarm.testing.exact_error import can_be_computed, exact_error
from goodarm.testing.fair_game import NOTHING
from goodarm.testing.identification import LONG, SHORT, require_exact_error, require_monotone
from goodarm.testing.model_rules import MODEL_TRIALS
from goodarm.testing.reference import pulled
from goodarm.verdict import Guarantee

pytestmark = pytest.mark.slow

BY_TOTALS = [rule for rule in certified() if rule.by_totals and rule.valid_for(Bounded())]


def with_head_start(pulls, total, bar, head=0.0):
    """`beta-mixture` that starts from more evidence than 1."""
    for_good, for_bad = mixture(pulls, total, bar)
    return for_good + head, for_bad + head


def by_the_round(arm, pool, bar):
    """The fixed-sample bound, its time read from the pool: no longer a function of the totals."""
    return math.sqrt(math.log(2.0 * bar.arms / bar.delta) / (2.0 * pool.round))


def restless(arm, pool, bar):
    """A radius that comes and goes with the total."""
    return 0.01 if arm.total % 2.0 == 0.0 else 9.0


HEAD_START = EvidenceRule(name="head start", guarantee=Guarantee.CERTIFIED, totals=with_head_start)


@pytest.mark.parametrize("rule", BY_TOTALS, ids=lambda rule: rule.name)
def test_it_is_the_sum_over_all_sequences_of_rewards(rule: IdentificationRule) -> None:
    """All 2^11 of them, played by the plain reference; delta is large, so that there are verdicts."""
    threshold, pulls, delta = 0.3, 11, 0.9
    made, bar = policy("uniform", rule), Problem(threshold=threshold, arms=1, delta=delta).bar
    pool = start_pool(made, bar, 100.0)
    found = {1.0: 0.0, -1.0: 0.0, 0.0: 0.0}
    for rewards in itertools.product((0.0, 1.0), repeat=pulls):
        arm = NOTHING
        for reward in rewards:
            if arm.verdict == 0.0:
                arm = pulled(made, arm, reward, pool, bar)
        found[arm.verdict] += math.prod(threshold if reward else 1.0 - threshold for reward in rewards)
    exact = exact_error(rule, threshold, delta=delta, pulls=pulls)
    assert exact.good == pytest.approx(found[1.0], abs=1e-12)
    assert exact.bad == pytest.approx(found[-1.0], abs=1e-12)


def test_an_error_rate_one_percent_too_large_is_seen() -> None:
    """A head start is made larger until the error is just above delta: below it the check passes, above it fails."""
    delta, pulls = 0.1, 3000
    low, high = 0.0, 1.0
    for _ in range(40):
        head = 0.5 * (low + high)
        enough = exact_error(HEAD_START, 0.5, delta=delta, pulls=pulls, head=head).worst > delta
        low, high = (low, head) if enough else (head, high)
    assert delta < exact_error(HEAD_START, 0.5, delta=delta, pulls=pulls, head=high).worst < 1.01 * delta
    require_exact_error(HEAD_START, 0.5, 1, pulls, delta, head=low)
    with pytest.raises(Violation, match="union bound over the numbers of pulls"):
        require_exact_error(HEAD_START, 0.5, 1, pulls, delta, head=high)


def test_the_fixed_sample_bound_needs_many_pulls_to_be_caught() -> None:
    """It keeps its promise for some hundred pulls, and breaks it twofold within a hundred thousand."""
    rule = RadiusRule(name="fixed sample", guarantee=Guarantee.CERTIFIED, radius=fixed_sample)
    require_exact_error(rule, 0.5, 10, 300)
    with pytest.raises(Violation, match=r"within 100,000 pulls; with 10 arms and delta 0\.1 at most 0\.01"):
        require_exact_error(rule, 0.5, 10, 100_000)


def test_a_radius_that_reads_the_time_is_computed_too() -> None:
    rule = RadiusRule(name="by the round", guarantee=Guarantee.CERTIFIED, radius=by_the_round)
    assert can_be_computed(rule)
    with pytest.raises(Violation, match="one arm at the threshold"):
        require_exact_error(rule, 0.5, 1, 30_000)


def test_a_verdict_that_is_not_monotone_is_refused() -> None:
    with pytest.raises(Violation, match="larger total looks worse"):
        require_monotone(RadiusRule(name="restless", radius=restless))


PAGE = Path(__file__).parents[2] / "docs" / "guarantees.md"
BEGIN, END = "<!-- begin figures -->\n", "<!-- end figures -->"


def figures() -> str:
    """What docs/guarantees.md says of the tests and of the rules by totals."""
    lines = [
        "| test | fails a sound rule with probability at most | detects with probability 0.9 |",
        "| --- | --- | --- |",
    ]
    for name, trial in (
        ("runs under the adversary", SHORT),
        ("long runs", LONG),
        ("runs under the model", MODEL_TRIALS[0]),
        ("runs under the model", MODEL_TRIALS[1]),
    ):
        lines.append(
            f"| {trial.runs} {name}, {trial.horizon:,} rounds | {trial.level:g} (from {trial.critical} wrong) | "
            f"an error rate of {trial.detectable():.3f}, where {trial.delta:g} is permitted |"
        )
    lines += [
        f"| false discovery rate, {SHORT.runs} runs | {SHORT.level:g} | a rate of {detectable_share(SHORT):.3f} |",
        "| exact fairness, exact error | 0 | everything above what is permitted |",
        "",
        "| rule by totals | exact error of one arm at threshold 0.5 within 1000 pulls | 10,000 | 100,000 |",
        "| --- | --- | --- | --- |",
    ]
    for rule in sorted(BY_TOTALS, key=lambda rule: rule.name):
        errors = [exact_error(rule, 0.5, pulls=pulls).worst for pulls in (1000, 10_000, 100_000)]
        lines.append(f"| `{rule.name}` | " + " | ".join(f"{100.0 * error:.2g}%" for error in errors) + " |")
    return "\n".join([*lines, ""])


def test_the_documents_state_the_figures_of_this_suite() -> None:
    """After a new rule: GOODARM_WRITE_DOCUMENTS=1 pytest tests/statistical/test_exact_error.py"""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    stated, after = rest.split(END)
    if os.environ.get("GOODARM_WRITE_DOCUMENTS"):
        PAGE.write_text(before + BEGIN + figures() + END + after, encoding="utf-8")
    else:
        assert stated == figures()
