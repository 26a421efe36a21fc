"""How many times a bound was calibrated for a family: repeated attempts, of which one is kept, must be surer each.

Counted are the attempts of this process and those that the earlier policy file says. The same call again is the same
attempt: its runs are the same, and nothing is learned from them twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from goodarm.errors import InvalidValue, UnreadablePolicy
from goodarm.policies.file import read_policy
from goodarm.simulation.specification import Specification

_made: dict[str, list[str]] = {}
"""Family -> calls of this process, in their order."""


class Attempt(NamedTuple):
    """One attempt at calibrating: its number, and what tells its family and itself from others."""

    number: int
    family: str
    call: str


def count_attempt(spec: Specification, given: int, earlier: str | Path | None, *call: object) -> Attempt:
    """Which attempt this is: the largest of what is `given`, what this process has seen and what a file says."""
    if given < 1:
        raise InvalidValue(f"attempt must be at least 1; got {given}. It counts the calibrations of this family.")
    made, problem = spec.policy, spec.problem
    model = made.model.name if made.model else ""
    family = _short(
        spec.environment.description, problem.threshold, problem.delta, spec.horizon, made.sampling.name, model
    )
    this = _short(made.description, spec.seed, *call)
    calls = _made.setdefault(family, [])
    if this not in calls:
        calls.append(this)
    return Attempt(max(given, calls.index(this) + 1, _after(earlier, family, this)), family, this)


def _after(earlier: str | Path | None, family: str, call: str) -> int:
    """The number that follows the attempt of an earlier file; 1 where that was of another family, or is no policy."""
    if earlier is None or not Path(earlier).exists():
        return 1
    try:
        told: Mapping[str, Any] = read_policy(earlier).learned_on.get("attempt") or {}
    except UnreadablePolicy:
        return 1
    if told.get("family") != family:
        return 1
    return int(told["number"]) + int(told["call"] != call)


def _short(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
