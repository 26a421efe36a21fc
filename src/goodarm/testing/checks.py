"""Properties of every pairing of rules. One function per property. `check_policy` finds them by name.

Each function checks one `Subject` and raises `Violation` with the values it found. Each applies to all rules.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.assemble import first_fit
from goodarm.environments import beta, gaussian
from goodarm.errors import InvalidValue
from goodarm.policies import Policy
from goodarm.problem import Bounded
from goodarm.simulation.run import Run
from goodarm.streams import ENVIRONMENT, generator
from goodarm.testing.subject import Subject, draws_at_random


class Violation(AssertionError):
    """A rule or store lacks a required property."""


def require(holds: object, message: str) -> None:
    """Raise a `Violation` unless it holds."""
    if not holds:
        raise Violation(message)


def require_same(first: Run, second: Run, when: str) -> None:
    """Require that two runs agree in everything except durations."""
    for name in ("trace", "verdicts", "verdict_rounds", "pulls"):
        a, b = getattr(first, name), getattr(second, name)
        require(np.array_equal(a, b, equal_nan=True), f"{name} differs {when}: {a} and {b}")
    require(first.learned == second.learned, f"what was learned differs {when}: {first.learned} and {second.learned}")
    require(first.reward == second.reward, f"reward differs {when}: {first.reward} and {second.reward}")


def check_each_arm_is_pulled_once_first(subject: Subject) -> None:
    """The first K rounds pull the arms in order."""
    arms = subject.spec.problem.arms
    require(
        subject.first.trace[:arms].tolist() == list(range(arms)), f"the first pulls are {subject.first.trace[:arms]}"
    )


def check_counts_agree(subject: Subject) -> None:
    """Pulls, rounds, open arms and verdict rounds agree with the trace."""
    run = subject.first
    counted = np.bincount(run.trace, minlength=len(run.pulls))
    require(np.array_equal(counted, run.pulls), f"pulls are {run.pulls}, the trace has {counted}")
    require(
        run.rounds == len(run.trace) == run.pulls.sum(), f"{run.rounds} rounds, {len(run.trace)} pulls in the trace"
    )
    require(run.open_arms == (run.verdicts == 0).sum(), f"{run.open_arms} open arms, verdicts {run.verdicts}")
    require(((run.verdicts == 0) == (run.verdict_rounds == 0)).all(), "a verdict without its round, or the reverse")
    require(run.open_arms == 0 or run.rounds == subject.horizon, "the run ended early with open arms")


def check_never_pulls_a_decided_arm(subject: Subject) -> None:
    """An arm is not pulled after its verdict."""
    try:
        runs = (subject.first, subject.play(1))
    except InvalidValue as error:
        raise Violation(str(error)) from None
    for run in runs:
        rounds = np.arange(1, run.rounds + 1)
        decided = run.verdict_rounds[run.trace]
        late = (decided > 0) & (rounds > decided)
        require(not late.any(), f"arm {run.trace[late][:1]} was pulled in round {rounds[late][:1]}, after its verdict")


def check_verdicts_are_final(subject: Subject) -> None:
    """Verdicts and their rounds do not change."""
    seen = subject.watch(points=min(60, subject.horizon))
    for (verdicts, rounds), (later, later_rounds) in pairwise(seen):
        decided = verdicts != 0.0
        require(np.array_equal(verdicts[decided], later[decided]), f"verdicts went from {verdicts} to {later}")
        require(np.array_equal(rounds[decided], later_rounds[decided]), f"rounds went from {rounds} to {later_rounds}")


def check_stops_and_goes_on(subject: Subject) -> None:
    """A run that is interrupted at many points gives the same result as an uninterrupted one."""
    require_same(subject.first, subject.play(points=17), "when the run is played in 17 pieces")


def check_same_seed_same_trace(subject: Subject) -> None:
    """Playing a run again, alone or after others, gives the same result; another run number gives a different one."""
    alone = subject.play(1)
    require_same(subject.first, subject.play(0), "when the run is played again")
    require_same(alone, subject.play(1), "when another run is played before it")
    require(alone.reward != subject.first.reward, "two runs have the same rewards")


def check_no_input_is_changed(subject: Subject) -> None:
    """Policy, environment and means are unchanged after a run."""
    instance = subject.environment.instance(generator(subject.seed, 0, ENVIRONMENT))
    arrays = (instance.means, instance.extra, instance.streams)
    before, settings = pickle.dumps(arrays), subject.policy.parameters
    subject.play(0, instance)
    require(
        pickle.dumps(arrays) == before, "the means, the extra numbers or the streams of the environment were changed"
    )
    require(subject.policy.parameters == settings, "the policy's parameters were changed")


def check_permuted_arms_permute_the_result(subject: Subject) -> None:
    """Permuting the arms with their rewards permutes the result, unless a tie is involved.

    Each arm's first pull comes in another round, so a rule that bets by the rounds left plays without its deadline.
    """
    subject = replace(subject, policy=_without_deadline(subject.policy))
    if draws_at_random(subject.policy) or _learns_in_the_first_rounds(subject) or subject.by_scan.ties:
        return
    order = np.random.default_rng(1).permutation(subject.environment.arms)
    instance = subject.environment.instance(generator(subject.seed, 0, ENVIRONMENT))
    plain, permuted = subject.first, subject.play(0, instance.permuted(order))
    arms = subject.environment.arms
    require(
        np.array_equal(plain.verdicts[order], permuted.verdicts), f"{plain.verdicts[order]} became {permuted.verdicts}"
    )
    require(np.array_equal(plain.pulls[order], permuted.pulls), f"pulls {plain.pulls[order]} became {permuted.pulls}")
    require(np.array_equal(plain.trace[arms:], order[permuted.trace[arms:]]), "the arms are pulled in another order")


def _without_deadline(policy: Policy) -> Policy:
    """The policy with the largest deadline that its rule allows, which no run reaches."""
    setting, largest = policy.setting, {name: high for name, _, high in policy.identification.limits}
    if "deadline" not in setting.identification or "deadline" not in largest:
        return policy
    identification = {**setting.identification, "deadline": largest["deadline"]}
    return replace(policy, setting=replace(setting, identification=identification))


def check_ties_go_to_the_lowest_arm(subject: Subject) -> None:
    """Of two open arms with equal beliefs, the one with the lower number is pulled."""
    if draws_at_random(subject.policy) or _learns_in_the_first_rounds(subject):
        return
    bounded = isinstance(subject.environment.rewards, Bounded)
    # all rewards are the same, so arms with the same number of pulls are equal
    same = beta([1.0] * 9, 0.5) if bounded else gaussian([0.0] * 9, 0.0, scale=0.5)
    elsewhere = subject.on(same)
    run = elsewhere.play(
        0, None if bounded else same.instance(generator(0, 0, ENVIRONMENT))._replace(extra=np.zeros(1))
    )
    wrong = _passed_over(run, 9)
    require(wrong is None, f"round, arm pulled, lower equal arm: {wrong}")


def _passed_over(run: Run, arms: int) -> tuple[int, int, int] | None:
    """The first round in which a lower open arm with as many pulls was passed over."""
    pulls: NDArray[np.int64] = np.zeros(arms, dtype=np.int64)
    for now, arm in enumerate(run.trace.tolist(), start=1):
        for lower in range(arm):
            still_open = run.verdict_rounds[lower] == 0 or run.verdict_rounds[lower] >= now
            if now > arms and still_open and pulls[lower] == pulls[arm]:
                return now, arm, lower
        pulls[arm] += 1
    return None


def _learns_in_the_first_rounds(subject: Subject) -> bool:
    """Whether the learner fits before each arm was pulled once; the order of the arms then matters."""
    return first_fit(subject.policy, subject.spec.problem.bar) < subject.environment.arms
