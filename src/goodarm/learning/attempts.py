"""Count the calibration attempts for a family. If several attempts are made and one is kept, each needs a higher
confidence.

The count includes the attempts of this process and those recorded in the earlier policy file. A repeated call is the
same attempt, since it plays the same runs.
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
"""Calls of this process by family, in order."""


class Attempt(NamedTuple):
    """One calibration attempt: its number, and the identities of its family and call."""

    number: int
    family: str
    call: str


def count_attempt(spec: Specification, given: int, earlier: str | Path | None, *call: object) -> Attempt:
    """The number of this attempt: the largest of `given`, this process's count and the file's count."""
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
    """The number after the attempt in an earlier file; 1 if the file is of another family or not a policy."""
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
