"""Sampling rules choose the next open arm to pull. Three kinds differ in the events that change an index.

`IndexRule`   an arm's index moves only when that arm is pulled (or the pool is fitted again): no scan over the arms;
`LineRule`    mean + clock(round) * slope: every index moves with the round, each along a line: no scan either;
`ChoiceRule`  any other rule; it sees the whole table and may draw at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from goodarm.rules.parameters import Formula, Rule, parameters_of


@dataclass(frozen=True)
class SamplingRule(Rule):
    """A rule that chooses the next open arm to pull.

    blind      : the rule uses only pulls and widths, never anything that depends on rewards
    each_first : each arm is pulled once before the rule chooses, even with a model; without a model this is always the
                 case
    prefers    : the verdicts that the rule reaches first: "quick" ones, good or bad, or "good" ones, while arms that
                 look bad wait; empty if there is no such order. Forecasts depend on it
    """

    blind: bool = False
    each_first: bool = False
    prefers: Literal["", "quick", "good"] = ""


@dataclass(frozen=True, kw_only=True)
class IndexRule(SamplingRule):
    """Pull the open arm with the largest index(arm, pool, bar, *parameters); ties go to the lowest number.

    The index may read the pool's learned values but not its round: it is evaluated only after a pull of the arm.

    index_of_kept : the same index, read from the likelihoods that the identification rule keeps in `arm.memory`
                  (`EvidenceRule.keeps_likelihoods`), which need not be computed again; for rewards that never run out
    stays_ahead   : stays_ahead(arm, pool, bar, rival, hint, *parameters): -1, or a number of 0 or more if
                  `index_of_kept` is certainly larger than `rival`, the largest index of all other arms. The number is
                  arbitrary; the next search receives it as `hint`, to be shorter
    index_of_model : the same index for arms whose mean and width come from a model; the engine compiles it in place of
                  `index`, in less time
    upper_bound   : the index is mean + beta sd0 width, so that beta can be read from it
    """

    index: Formula
    index_of_kept: Formula | None = None
    stays_ahead: Formula | None = None
    index_of_model: Formula | None = None
    upper_bound: bool = False

    @property
    def formula(self) -> Formula:
        return self.index


@dataclass(frozen=True, kw_only=True)
class LineRule(SamplingRule):
    """Pull the open arm with the largest arm.mean + clock(round, bar) * slope(arm, bar); clock never falls."""

    slope: Formula
    clock: Formula

    @property
    def formula(self) -> Formula:
        return self.slope

    @property
    def defaults(self) -> dict[str, float]:
        return parameters_of(self.slope, skip=2) | parameters_of(self.clock, skip=2)


@dataclass(frozen=True, kw_only=True)
class ChoiceRule(SamplingRule):
    """Pull the arm that choose(arms, pool, bar, generator, *parameters) returns; it must be an open one."""

    choose: Formula
    beliefs: ClassVar[int] = 4

    @property
    def formula(self) -> Formula:
        return self.choose
