"""Every sampling rule with every identification rule, and every policy that has a name: discovered, not listed."""

import pytest

from goodarm.errors import UnsoundPairing
from goodarm.policies import PAIRINGS as NAMED
from goodarm.policies import Policy, policy
from goodarm.policies.names import identification_names, identification_rule, sampling_names
from goodarm.problem import Gaussian
from goodarm.testing import Subject, Violation
from goodarm.testing import checks as pairing_checks
from goodarm.testing.kit import properties
from goodarm.testing.slow_checks import in_a_new_process
from goodarm.testing.subject import usual_environment, usual_environments
from goodarm.verdict import Guarantee

CERTIFIED = Guarantee.CERTIFIED


def made(sampling: str, identification: str) -> Policy | None:
    """The pairing, or None where it is refused."""
    try:
        return policy(sampling, identification)
    except UnsoundPairing:
        return None


INDEPENDENT = [name for name in identification_names() if made("uniform", name)]
"""Rules for arms without features."""

PAIRINGS = {f"{s}+{i}": pairing for s in sampling_names() for i in INDEPENDENT if (pairing := made(s, i))}


def violations(subject: Subject) -> list[str]:
    """What the policy does not do, of all that every policy must do."""
    found = []
    for name, check in properties(pairing_checks).items():
        try:
            check(subject)
        except Violation as violation:
            found.append(f"{name}: {violation}")
    return found


def representative() -> set[str]:
    """Pairings for the fast lane: every rule once or twice, each with another partner."""
    found: set[str] = set()
    for place, rule in enumerate([*sampling_names(), *INDEPENDENT]):
        partners = [name for name in PAIRINGS if name.startswith(f"{rule}+") or name.endswith(f"+{rule}")]
        if not found.intersection(partners):
            found.add(partners[place % len(partners)])
    return found


FAST = representative()
LONG, SHORT = 150, 75
"""Rounds of the representative pairings and of the others. Most pairings have a verdict within 75 rounds."""
BY_LANE = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in PAIRINGS]


@pytest.mark.parametrize("name", BY_LANE)
def test_every_pairing_conforms(name: str) -> None:
    """The engine's own loop and trees, played as plain Python: compiling each pairing would take minutes."""
    pairing, horizon = PAIRINGS[name], LONG if name in FAST else SHORT
    assert not violations(Subject(pairing, usual_environment(pairing), horizon=horizon, compiled=False))


@pytest.mark.parametrize("name", [name for name in INDEPENDENT if identification_rule(name).valid_for(Gaussian(0.5))])
def test_every_rule_for_gaussian_rewards_conforms_on_them(name: str) -> None:
    rule = identification_rule(name)
    environment = usual_environments(rule)[-1]
    made_for_them = policy("ucb", rule, rewards=environment.rewards)
    assert isinstance(environment.rewards, Gaussian)
    assert not violations(Subject(made_for_them, environment, horizon=LONG, compiled=False))


@pytest.mark.parametrize("name", [name for name in INDEPENDENT if identification_rule(name).guarantee is CERTIFIED])
def test_the_checks_look_at_verdicts(name: str) -> None:
    """Without a verdict most of them would look at nothing."""
    pairing = PAIRINGS[f"ucb+{name}"]
    assert Subject(pairing, usual_environment(pairing), horizon=LONG, compiled=False).first.verdicts.any()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_every_named_policy_conforms_compiled(name: str) -> None:
    """Every sampling rule is compared with Python, arm by arm and compiled, in tests/engine/test_agreement.py."""
    named = policy(name)
    assert not violations(Subject(named, usual_environment(named)))


def test_most_pairings_are_allowed() -> None:
    """A rule that refuses every partner would escape the tests above."""
    for rule in sampling_names():
        assert any(name.startswith(f"{rule}+") for name in PAIRINGS), rule
    for rule in INDEPENDENT:
        assert any(name.endswith(f"+{rule}") for name in PAIRINGS), rule


@pytest.mark.slow
def test_a_spawned_process_plays_the_same_runs() -> None:
    subjects = [Subject(policy(name), usual_environment(policy(name))) for name in NAMED]
    for subject, run in zip(subjects, in_a_new_process(subjects), strict=True):
        assert run.trace.tolist() == subject.first.trace.tolist(), subject.policy.name
        assert run.verdicts.tolist() == subject.first.verdicts.tolist(), subject.policy.name
