"""`python -m benchmarks.structured_pulls [PART ...] [--runs N] [--json FILE]`: pulls that a model of the arms saves.

Parts: linear, misspecified, bumps, neural. Pulls until 95% of the arms in question have their verdict, means over runs
with the same arms and the same rewards; a ratio is the mean of the ratios of single runs, with its 95% interval.
Arms in question: those with a gap of at least 0.05, all of them or only the good ones.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.section import Row, Section, Target
from goodarm.models.misfit import ALARM
from goodarm.rules.beliefs import VERDICT
from goodarm.simulation.run import assembly_of, source_of
from goodarm.simulation.runs import estimate
from goodarm.simulation.specification import Specification, specify
from goodarm.streams import ENVIRONMENT, POLICY, generator

GAP, SHARE = 0.05, 0.95
STRIDE = 4096
SEED = 11


@dataclass(frozen=True)
class Part:
    """A comparison: candidates against the best of the references, run by run."""

    environment: str
    question: str  # which verdicts are counted: "decided" or "good"
    horizon: int
    references: tuple[str, ...]
    candidates: dict[str, Target | None] = field(default_factory=dict)


BEST_INDEPENDENT = (
    "value-normal",
    "value-normal+kt",
    "ucb(beta=1)+kt",
    "ucb(beta=1.5)+kt",
    "ucb(beta=2)+kt",
    "ucb(beta=3)+kt",
    "ucb(beta=2)+learned-bets-normal",
)
HALF, EIGHTH = Target(at_most=0.5), Target(at_most=0.125)
PARTS = {
    "linear": [
        Part("linear", "decided", 2_000_000, ("uniform+kt",), {
            "widest+design(norm=1)@linear": EIGHTH, "widest+self-normalised(norm=1)@linear": EIGHTH,
        }),
        Part("linear", "good", 800_000, BEST_INDEPENDENT, {
            "value-normal@linear": HALF, "ucb(beta=1)+learned-bets-normal@linear": None, "ucb(beta=1)+kt@linear": None,
            "ucb(beta=1)+learned-bets-normal@mixed": None,
        }),
    ],
    "misspecified": [
        Part("linear-misspecified", "good", 800_000, BEST_INDEPENDENT, {
            "value-normal@mixed": Target(at_most=1.2), "ucb(beta=1.5)+learned-bets-normal@mixed": Target(at_most=1.2),
        }),
        Part("linear-misspecified", "decided", 100_000, (), {
            "widest+design(norm=1)@linear": None, "widest+self-normalised(norm=1)@linear": None,
            "ucb(beta=1)+learned-bets-normal@linear": None,
        }),
    ],
    "bumps": [
        Part("bumps", "good", 500_000, BEST_INDEPENDENT, {
            "value-normal@kernel(gamma=4)": HALF, "ucb(beta=2)+kt@kernel(gamma=4)": None,
        }),
    ],
    "neural": [
        Part("bumps", "good", 500_000, BEST_INDEPENDENT, {"value-normal@neural": Target(at_most=1.0)}),
    ],
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """One run: pulls until the question was answered (inf: not by the horizon), wrong verdicts, misfit."""

    pulls: float
    wrong: int
    misfit: float


def outcome(spec: Specification, assembly: Any, number: int, question: str) -> Outcome:
    """Play a run until 95% of the arms in question are decided, or to the horizon."""
    instance = spec.environment.instance(generator(spec.seed, number, ENVIRONMENT))
    gap = instance.means - spec.problem.threshold
    asked = gap >= GAP if question == "good" else np.abs(gap) >= GAP
    needed = math.ceil(SHARE * asked.sum())
    state = assembly.start(float(spec.horizon))
    source, draws = source_of(spec, number, instance), generator(spec.seed, number, POLICY)
    trace = np.zeros(0, dtype=np.int64)
    while state.round < spec.horizon and state.open_arms > 0:
        assembly.advance(state, source, draws, min(spec.horizon, state.round + STRIDE), trace)
        if (state.decided_at[asked] > 0).sum() >= needed:
            break
    rounds = np.sort(state.decided_at[asked & (state.decided_at > 0)])
    wrong = ((gap >= 0.0) & (state.arms[:, VERDICT] < 0.0)) | ((gap < 0.0) & (state.arms[:, VERDICT] > 0.0))
    pulls = float(rounds[needed - 1]) if len(rounds) >= needed else math.inf
    return Outcome(pulls, int(wrong.sum()), assembly.misfit(state.arms))


def outcomes(part: Part, name: str, runs: int) -> list[Outcome]:
    print(f"  {part.environment}: {name}", file=sys.stderr, flush=True)
    spec = specify(name, part.environment, horizon=part.horizon, seed=SEED)
    assembly = assembly_of(spec)
    return [outcome(spec, assembly, number, part.question) for number in range(runs)]


def section(part: Part, runs: int) -> Section:
    """References first; the best of them in each run is what candidates are compared with."""
    found = {name: outcomes(part, name, runs) for name in (*part.references, *part.candidates)}
    best = np.array([min((found[name][j].pulls for name in part.references), default=math.nan) for j in range(runs)])
    rows = []
    for name, several in found.items():
        pulls = np.array([single.pulls for single in several])
        reached = bool(np.isfinite(pulls).all())
        ratio = estimate(pulls / best) if reached and np.isfinite(best).all() else None
        misfits = [single.misfit for single in several if not math.isnan(single.misfit)]
        cells = {
            "policy": name,
            "pulls": float(pulls.mean())
            if reached
            else f"> {part.horizon:,}"
            if np.isinf(pulls).all()
            else "some open",
            "wrong verdicts": sum(single.wrong for single in several),
            "wrong runs": sum(single.wrong > 0 for single in several),
            "warnings": f"{sum(z > ALARM for z in misfits)} of {runs}" if misfits else "",
            "ratio's interval": "" if ratio is None else f"{ratio.low:.3g} to {ratio.high:.3g}",
        }
        rows.append(Row(cells, None if ratio is None else ratio.mean, part.candidates.get(name)))
    arms = "good arms" if part.question == "good" else "arms"
    title = f"{part.environment}, pulls until 95% of the {arms} with gap >= {GAP} are decided, {runs} runs"
    return Section("structured", title, "of the best independent rule of each run", rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.structured_pulls", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    sections = []
    for name in options.parts or PARTS:
        for part in PARTS[name]:
            sections.append(section(part, options.runs))
            if options.markdown:
                print(sections[-1].markdown(), flush=True)
            else:
                sections[-1].print(Console(width=160))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([each.as_dict() for each in sections], file, indent=1)


if __name__ == "__main__":
    main()
