"""A model of the arms without the engine: tell it rewards, read means and widths."""

from __future__ import annotations

import math

from goodarm.errors import InvalidValue
from goodarm.models import Model
from goodarm.models._base import first_upkeep, new_table
from goodarm.models.features import Floats
from goodarm.problem import Bar
from goodarm.rules.beliefs import MEAN, PULLS, TOTAL, WIDTH, Table, read_arm


class Tracker:
    """A model in use outside of the engine: tell it rewards, read means and widths.

    >>> from goodarm.models.linear import Linear
    >>> from goodarm.problem import Problem
    >>> tracker = Tracker(Linear([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), Problem(threshold=0.5, arms=3).bar)
    >>> tracker.tell(0, 1.0)
    >>> tracker.mean.round(3).tolist(), tracker.width.round(3).tolist()
    ([0.75, 0.5, 0.75], [0.707, 1.0, 1.225])
    """

    def __init__(self, model: Model, bar: Bar) -> None:
        self.model = model.bind(None, int(bar.arms))
        self.bar = bar
        self.table: Table = new_table(int(bar.arms))
        self.belief = self.model.start(bar)
        self.round = 0
        self.due = first_upkeep(self.model, self.belief, self.table, bar)

    def tell(self, arm: int, reward: float) -> None:
        """One reward of one arm."""
        if not (0 <= arm < len(self.table) and math.isfinite(reward)):
            raise InvalidValue(
                f"tell needs an arm from 0 to {len(self.table) - 1} and a finite reward; got {arm}, {reward}."
            )
        wants = type(self.model).absorb(self.belief, self.table, arm, read_arm(self.table, arm), reward, self.bar)
        self.table[arm, PULLS] += 1.0
        self.table[arm, TOTAL] += reward
        self.round += 1
        if wants or self.round >= self.due:
            self.due = self.model.upkeep(self.belief, self.table, self.round, self.bar)

    @property
    def mean(self) -> Floats:
        return self.table[:, MEAN].copy()

    @property
    def width(self) -> Floats:
        return self.table[:, WIDTH].copy()
