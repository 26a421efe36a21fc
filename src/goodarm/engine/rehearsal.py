"""A live campaign of somebody else's rules, played in small: what can't be compiled is found before the first ask."""

from __future__ import annotations

import numpy as np

from goodarm.engine.native import asking
from goodarm.engine.step import Step
from goodarm.engine.told import ASK, TELL
from goodarm.fingerprint import functions_in, package_of
from goodarm.policies import Policy
from goodarm.problem import Problem
from goodarm.rules.beliefs import at_round


def rehearse(policy: Policy, problem: Problem) -> None:
    """Compile what blocks and replays of a long journal will need, where the rules are not ours.

    Single steps run as Python, so that without this a rule that can't be compiled would be noticed when the journal
    has become long. Ours are known to compile, and models of the arms are compiled at the first step.
    """
    rules = (policy.sampling.formula, policy.identification.formula)
    if policy.estimator is not None or all(package_of(each) == "goodarm" for each in functions_in(rules)):
        return
    step = Step(policy, Problem(problem.threshold, 2, problem.delta, problem.rewards))
    if step.replayable:
        step.replay([ASK, TELL, ASK, TELL], [0, 0, 1, 1], [0.0, 1.0, 0.0, 0.0])
    parts, state, assembly = step.parts, step.state, step.assembly
    asking(parts.prepare, parts.select, parts.update)(
        state.tables,
        at_round(state.pool, 2.0),
        assembly.bar,
        step.generator,
        assembly.parameters[0],
        1,
        np.zeros(2, dtype=np.int64),
    )
