"""The kit itself: a rule that breaks a property must fail the check of that property, and no sound one may."""

import math

import numpy as np
import pytest

from goodarm import bernoulli, policy
from goodarm.errors import InvalidValue
from goodarm.rules.identification import RadiusRule
from goodarm.rules.sampling import ChoiceRule, IndexRule, LineRule
from goodarm.testing import Violation, check_policy
from goodarm.testing.checks import check_permuted_arms_permute_the_result
from goodarm.testing.subject import Subject, usual_environment


def always_the_first(arms, pool, bar, generator):
    """Pulls arm 6 although it may be decided."""
    return 6


def beyond(arms, pool, bar, generator):
    return len(arms)


def not_the_lowest(arms, pool, bar, generator):
    """Round robin with ties to the highest arm."""
    best = -1
    for i in range(len(arms)):
        if arms[i, 7] == 0.0 and (best < 0 or arms[i, 0] <= arms[best, 0]):
            best = i
    return best


def by_number(arms, pool, bar, generator):
    """Prefers an arm for its number, not for its rewards."""
    best = -1
    for i in range(len(arms)):
        if arms[i, 7] == 0.0 and (best < 0 or (i * 2654435761) % 7 > (best * 2654435761) % 7):
            best = i
    return best


def moving_index(arm, pool, bar):
    return arm.mean + math.sqrt(math.log(pool.round + 1.0) / arm.pulls)


def missing_index(arm, pool, bar):
    return arm.mean if arm.pulls > 3.0 else -math.inf


def backwards(now, bar):
    return 1.0 / now


def unit_slope(arm, bar):
    return arm.width


MEMORY = np.zeros(1)


def remembers(arms, pool, bar, generator):
    """Keeps something from run to run: every fifth call it takes another arm."""
    MEMORY[0] += 1.0
    best = -1
    for i in range(len(arms)):
        if arms[i, 7] == 0.0 and (best < 0 or MEMORY[0] % 5.0 == 0.0):
            best = i
    return best


def undefined_radius(arm, pool, bar):
    return math.nan if arm.pulls < 3.0 else 1.0


BROKEN = {
    "never_pulls_a_decided_arm": (ChoiceRule(name="x", choose=always_the_first), "kt"),
    "ties_go_to_the_lowest_arm": (ChoiceRule(name="x", choose=not_the_lowest), "kt"),
    "permuted_arms_permute_the_result": (ChoiceRule(name="x", choose=by_number), "kt"),
    "same_seed_same_trace": (ChoiceRule(name="x", choose=remembers), "kt"),
    "an_index_is_finite_and_does_not_read_the_round": (IndexRule(name="x", index=moving_index), "kt"),
    "a_clock_never_falls": (LineRule(name="x", slope=unit_slope, clock=backwards), "kt"),
    "a_radius_is_a_number": ("ucb", RadiusRule(name="x", radius=undefined_radius)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_fails_its_check(name: str) -> None:
    (check,) = (check for check in check_policy(policy(*BROKEN[name]), compiled=False) if check.name == name)
    with pytest.raises(Violation):
        check()


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [True, False])
def test_a_choice_outside_of_the_arms_is_refused(compiled: bool) -> None:
    """Compiled code would read and write beyond the table."""
    made = policy(ChoiceRule(name="x", choose=beyond), "kt")
    with pytest.raises(InvalidValue, match="does not exist"):
        Subject(made, usual_environment(made), compiled=compiled).play()


def test_an_index_that_is_missing_fails() -> None:
    made = policy(IndexRule(name="x", index=missing_index), "kt")
    (check,) = (check for check in check_policy(made, compiled=False) if check.name.startswith("an_index"))
    with pytest.raises(Violation, match="finite"):
        check()


def test_a_tree_that_disagrees_with_the_scan_fails() -> None:
    """An index that reads the round is stale in a winner tree and fresh in a scan."""
    made = policy(IndexRule(name="x", index=moving_index), "kt")
    (check,) = (check for check in check_policy(made, compiled=False) if check.name == "tree_and_scans_agree")
    with pytest.raises(Violation, match="between tree and scan"):
        check()


def test_permutation_is_left_out_where_ties_decide() -> None:
    made = policy("uniform+kt")
    subject = Subject(made, usual_environment(made), compiled=False, horizon=60)
    assert subject.by_scan.ties > 10
    check_permuted_arms_permute_the_result(subject)


@pytest.mark.slow
def test_all_checks_of_a_sound_policy_pass() -> None:
    """With the slow ones: two loops are compiled and a process is started."""
    names = [check.name for check in check_policy("hdoc+kt", bernoulli([0.1, 0.5, 0.9], 0.5)) if check() is None]
    assert len(names) == len(set(names)) >= 14
    assert {"tree_and_scans_agree", "same_in_a_new_process", "evidence_is_a_fair_game"} <= set(names)
