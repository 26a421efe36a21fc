"""`LiveStep`: the engine's interface for live campaigns, for every kind of question.

`ThresholdStep` compares each arm with a bar, `ControlStep` with another arm, `BarsStep` with a bar per metric. A step's
arrays are private; callers read them through `row` and `pulls`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goodarm.engine.rule_parts import Drawn
from goodarm.rules.parameters import Formula

Counts = NDArray[np.int64]
Tenths = Sequence[Sequence[int]]
"""For each arm, the tenth of [0, 1] in which the score of each of its cases lies."""

ASK, TELL, GIVE = 0, 1, 2
"""Kinds of events of a replay. `GIVE` is the ask of a reward without a ticket, which the policy did not choose."""


class Asked(NamedTuple):
    """Information at the time of asking that the pull's bet may depend on. Kept with the ticket.

    round       : number of the ask, counted from 1
    version     : version of the pool
    mean, width : mean and width of the arm from the model of the arms; 0 without a model
    tenth       : tenth of the score of the case that was drawn, if cases have scores
    """

    round: int
    version: int
    mean: float = 0.0
    width: float = 0.0
    tenth: int = 0


class ArmState(NamedTuple):
    """Summary of one arm.

    pulls, total           : rewards that were absorbed, and their sum
    pending                : pulls that were asked for and not yet answered
    for_good, for_bad      : evidence, pending pulls at their worst
    needed_good, needed_bad: the evidence that a verdict needs, or needed at the verdict
    offset                 : log(w K), where the evidence started; w is the arm's share of the error probability
    verdict                : 1 good, -1 bad, 0 none
    suspended              : whether the arm is excluded from choices for now
    """

    pulls: float
    total: float
    pending: float
    for_good: float
    for_bad: float
    needed_good: float
    needed_bad: float
    offset: float
    verdict: int
    suspended: bool


class Again(NamedTuple):
    """Result of a replay that repeats every choice.

    another : place of the first ask whose arm differs from the chosen one, -1 if there is none
    decided : arms that the last event decides
    early   : whether an earlier event decides an arm
    """

    another: int
    decided: list[int]
    early: bool


class Account(NamedTuple):
    """Costs of a simulated campaign's samples, and times of its verdicts. Money is counted in whole units.

    prices    : price of a pull of each arm
    budget    : budget of the whole run, one number; `goodarm.engine.loop.NEVER` without one
    spent     : money spent so far, one number
    rounds_at : number of pulls of all arms by the time of each arm's verdict, 0 while it has none
    spent_at  : money spent by the time of each arm's verdict
    sums      : sums of the rewards of each metric and arm, as they were drawn
    """

    prices: NDArray[Any]
    budget: NDArray[Any]
    spent: NDArray[Any]
    rounds_at: NDArray[np.int64]
    spent_at: NDArray[Any]
    sums: NDArray[np.float64]

    def pays(self, arm: int) -> bool:
        """Whether the remaining budget covers a pull of this arm."""
        return bool(self.spent[0] + self.prices[arm] <= self.budget[0])


@dataclass(frozen=True)
class CompiledPlay:
    """Plays rounds of a simulated campaign.

    loop : the compiled loop, the first argument of `play`
    """

    loop: Any
    play: Callable[..., bool]

    def __call__(
        self, sources: tuple[Drawn, ...], account: Account, wanted: int, until: int, trace: NDArray[np.int64]
    ) -> bool:
        """Whether the run goes on after these rounds.

        It plays until the pulls of all arms are `until`, `wanted` arms are good, every arm is decided, or the money
        does not cover the next pull, and writes the arms of the rounds into `trace` unless it is empty.

        sources : sources of the rewards of each metric
        """
        return self.play(self.loop, sources, account, wanted, until, trace)


class LiveStep(Protocol):
    """A policy on a problem, advanced by one ask or one told reward at a time. Arms are numbers.

    by_totals  : whether rewards may be absorbed in any order; if not, those of an arm must come in the order of asking
    replayable : whether `replay` can be used
    """

    by_totals: bool

    @property
    def replayable(self) -> bool: ...

    def choose(self) -> int:
        """The next arm to ask for, -1 if every arm is decided."""

    def ticket(self, arm: int) -> Asked:
        """Information to keep with this arm's next ticket."""

    def ask(self, arm: int, pulls: int = 1) -> None:
        """Record more pending pulls of this arm."""

    def choose_block(self, pulls: int) -> Counts:
        """Choose and ask many times; returns the pulls of each arm, fewer in total only if every arm is decided."""

    def ask_block(self, counts: Counts) -> None:
        """Record a pending block that another process chose."""

    def absorb(self, arm: int, reward: Any, asked: Asked | None = None) -> list[int]:
        """Absorb the reward of a pending pull, in the question's form; returns the arms that it decides.

        asked : the result of `ticket` when the pull was asked for; without it, the pull was the latest one
        """

    def absorb_block(self, told: ArrayLike, totals: ArrayLike) -> list[int]:
        """Absorb many rewards, given as a count and a sum for each arm; returns the arms that they decide."""

    def void(self, arm: int, pulls: int = 1) -> list[int]:
        """Withdraw pulls for a reason unrelated to their rewards; returns the arms decided."""

    def replay(self, kinds: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> None:
        """Replay asks and tells of a journal in order. Kinds are `ASK`, `GIVE` or `TELL`; only tells have rewards."""

    def replay_choices(self, kinds: ArrayLike, arms: ArrayLike, rewards: ArrayLike) -> Again:
        """Replay, and compare every choice with the policy's."""

    def player(self, draws: tuple[Formula, ...], rounds: int) -> CompiledPlay | None:
        """Compiled code that plays rounds with rewards drawn at once: the same bits as single steps.

        None if this many rounds should be played by single steps: there is no such code, or it is not due yet.

        draws : functions that draw the rewards of each metric, (i, pulls, source) -> reward
        """

    def add_arms(self, weights: Sequence[float], tenths: Tenths = (), costs: Sequence[float] | None = None) -> None:
        """Add arms, each with its share of the error probability. The problem keeps its K and delta.

        tenths : tenths of the scores of the new arms' cases, if cases have scores
        costs : cost of a pull of each new arm; 1 by default
        """

    def suspend(self, arm: int) -> None:
        """Do not choose this arm until it is reopened. Its rewards still count; suspending gives no verdict."""

    def reopen(self, arm: int) -> None:
        """Choose a suspended arm again."""

    def rest(self) -> None:
        """Postpone preparations for choosing until the next choice, for example while a journal is read."""

    def row(self, arm: int) -> ArmState:
        """Summary of an arm."""

    def pulls(self) -> NDArray[np.float64]:
        """The number of absorbed rewards of every arm."""

    def bounds(self, arm: int | None = None) -> dict[str, float]:
        """Current alpha and beta, and other scalars that the policy has learned; empty if none apply.

        arm : arm to evaluate the bounds at; None for the undecided arm with the most samples
        """

    def verdict_without(self, arm: int, pulls: int) -> int:
        """The verdict that the arm would have without this many of its pending pulls; 0 if none, or not known."""

    def pack(self) -> bytes | None:
        """The state as bytes; None if it is too large to be written often."""

    def unpack(self, body: bytes) -> None:
        """Restore a packed state into a new step."""


# Steps as bytes: arrays and numbers only, never a pickle.


def packed(numbers: dict[str, Any], **arrays: Any) -> bytes:
    """Numbers and arrays as one .npz file."""
    file = io.BytesIO()
    np.savez(file, numbers=np.frombuffer(json.dumps(numbers).encode(), dtype=np.uint8), **arrays)
    return file.getvalue()


def unpacked(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inverse of `packed`: numbers, arrays."""
    with np.load(io.BytesIO(body), allow_pickle=False) as kept:
        arrays = {name: kept[name] for name in kept.files}
    return json.loads(arrays.pop("numbers").tobytes()), arrays


def as_plain(value: Any) -> Any:
    """Numbers, tuples and arrays as JSON values. Floats survive the round trip unchanged."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [as_plain(each) for each in value]
    return float(value)


def like(example: Any, plain: Any) -> Any:
    """The inverse of `as_plain`, with the types of an example."""
    if isinstance(example, np.ndarray):
        return np.array(plain, dtype=example.dtype).reshape(example.shape)
    if isinstance(example, tuple):
        values = [like(each, found) for each, found in zip(example, plain, strict=True)]
        return type(example)(*values) if hasattr(example, "_fields") else tuple(values)
    return type(example)(plain)
