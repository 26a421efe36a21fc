"""Nanoseconds per round of every sampling rule (with kt) and of every identification rule (with ucb)."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.section import Row, Section, Target
from benchmarks.timing import Contender, goodarm_contender, in_turns, median, plan_for, ratio
from goodarm.errors import UnsoundPairing
from goodarm.policies import policy
from goodarm.policies.names import identification_names, sampling_names
from goodarm.simulation.specification import Specification

SIZES = (50, 1000)
REPETITIONS = 3
SECONDS = 0.08
"""About how long one measurement takes; a rule that draws at random for each arm gets fewer rounds."""
MOST_ROUNDS = 1_000_000
REFERENCE = "ucb+kt"
PROMISED = {"value-normal": Target(at_most=2.0)}
COMPARED = {
    "value": ("value-normal", Target(at_most=3.0)),
    "settle": ("value-normal", Target(at_most=3.0)),
    "dgai": ("ucb+gap-mixture", Target(at_most=2.0)),
}
"""Whole policies, what a round of theirs is compared with, and the limit of that ratio."""


def run() -> Section:
    names = pairings()
    seconds = {arms: in_turns({name: contender(name, arms) for name in names}, REPETITIONS) for arms in SIZES}
    rows = [
        Row(
            {"policy": name, "K": arms, "ns per round": 1e9 * median(seconds[arms][name])},
            ratio(seconds[arms][name], seconds[arms][REFERENCE]),
            PROMISED.get(name),
        )
        for name in names
        for arms in SIZES
    ]
    rows += [
        Row(
            {"policy": f"{name}, of {base}", "K": arms, "ns per round": 1e9 * median(seconds[arms][name])},
            ratio(seconds[arms][name], seconds[arms][base]),
            target,
        )
        for name, (base, target) in COMPARED.items()
        for arms in SIZES
    ]
    return Section(
        "rules",
        "every rule, one thread",
        f"of {REFERENCE}",
        rows,
        [
            "`value` is value+learned-bets, `value-normal` value-normal+learned-bets-normal. "
            "Rules that draw at random look at every arm in every round. In the last rows the ratio is to the policy "
            "that they name.",
        ],
    )


def pairings() -> list[str]:
    """The reference first; without rules that stand only beside a model of the arms."""
    all_of_them = [f"{name}+kt" for name in sampling_names()] + [f"ucb+{name}" for name in identification_names()]
    return [
        REFERENCE,
        *(name for name in all_of_them if name != REFERENCE and stands_alone(name)),
        "value-normal",
        *COMPARED,
    ]


def stands_alone(name: str) -> bool:
    try:
        policy(name)
    except UnsoundPairing:
        return False
    return True


def contender(name: str, arms: int) -> Contender:
    """A pairing with as many rounds as fit into `SECONDS`."""
    spec: Specification = plan_for(name, arms, arms + 2_000)
    per_round = goodarm_contender(spec)()
    rounds = min(MOST_ROUNDS, max(arms + 2_000, int(SECONDS / per_round)))
    return goodarm_contender(replace(spec, horizon=rounds))
