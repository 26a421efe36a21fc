"""A step as bytes and back: what a campaign's snapshot is made of. Arrays and numbers only, never a pickle.

What can be derived is not kept: the selector is made ready from scratch, which chooses the same arms. Of a model of the
arms the whole belief is kept, what follows from the features too: another machine's linear algebra might turn them
the other way round.
"""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from goodarm.engine.control import ControlState, ControlStep
from goodarm.engine.live import live_sampling
from goodarm.engine.loop import Tables
from goodarm.engine.selectors import tree_for
from goodarm.engine.step import Step
from goodarm.problem import Bar
from goodarm.rules.beliefs import Pool

BELIEF = "belief_"
"""How the arrays of a model's belief are named."""
LARGEST_BELIEF = 32_000_000
"""Bytes of a model's belief that are worth writing again and again: a kernel over 1,400 arms."""


def can_be_packed(step: Step | ControlStep) -> bool:
    """Is it small enough to be kept?"""
    belief = None if isinstance(step, ControlStep) else step.state.belief
    return belief is None or sum(each.nbytes for each in belief) <= LARGEST_BELIEF


def pack_step(step: Step | ControlStep) -> bytes:
    """Everything that the next ask or told reward depends on."""
    if isinstance(step, ControlStep):
        return _packed(_control_numbers(step), arms=step.state.arms, index=step.index)
    tables, pool = step.state.tables, step.state.pool
    numbers = {
        "asks": step.asks,
        "stale": sorted(step.stale),
        "round": pool.round,
        "learned": _plain(pool.learned),
        "versions": [_plain(version) for version in step.versions],
        "generator": step.generator.bit_generator.state,
    }
    believed = {} if step.state.belief is None else step.state.belief._asdict()
    belief = {BELIEF + name: values for name, values in believed.items()}
    return _packed(
        numbers,
        arms=tables.arms,
        decided_at=tables.decided_at,
        progress=tables.progress,
        ledger=tables.ledger,
        **belief,
    )


def _packed(numbers: dict[str, Any], **arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, numbers=np.frombuffer(json.dumps(numbers).encode(), dtype=np.uint8), **arrays)
    return file.getvalue()


def _control_numbers(step: ControlStep) -> dict[str, Any]:
    return {
        "asks": step.asks,
        "rounds": step.rounds,
        "looked": step.looked,
        "bar": list(step.bar),
        "round": step.pool.round,
        "fit_due": step.fit_due,
        "learned": _plain(step.pool.learned),
    }


def _unpack_control(step: ControlStep, arrays: dict[str, Any], numbers: dict[str, Any]) -> None:
    step.state = ControlState(np.require(arrays["arms"], requirements=["C", "W"]))
    step.index = np.require(arrays["index"], requirements=["C", "W"])
    step.bar = Bar(*numbers["bar"])
    step.pool = Pool(numbers["round"], step.horizon, _like(step.pool.learned, numbers["learned"]))
    step.asks, step.rounds, step.looked = numbers["asks"], numbers["rounds"], numbers["looked"]
    step.fit_due, step.stale = numbers["fit_due"], True


def unpack_step(step: Step | ControlStep, body: bytes) -> None:
    """Put a step that was just made into the state that was packed."""
    with np.load(io.BytesIO(body), allow_pickle=False) as kept:
        arrays = {name: kept[name] for name in kept.files}
    numbers = json.loads(arrays["numbers"].tobytes())
    if isinstance(step, ControlStep):
        _unpack_control(step, arrays, numbers)
        return
    like = step.state.pool.learned
    count = len(arrays["arms"])
    old = step.state.tables
    modelled = step.state.belief is not None
    step.state.tables = Tables(
        np.require(arrays["arms"], requirements=["F" if modelled else "C", "W"]),
        arrays["decided_at"],
        tree_for(live_sampling(step.policy.sampling), count, False) if count != len(old.arms) else old.kept,
        arrays["progress"],
        arrays["ledger"],
        np.zeros(count if step.fdr else 0, dtype=np.int64),
    )
    step.state.pool = Pool(numbers["round"], step.horizon, _like(like, numbers["learned"]))
    step.versions = [_like(like, version) for version in numbers["versions"]]
    step.generator.bit_generator.state = numbers["generator"]
    step.asks = numbers["asks"]
    step.stale = set(numbers["stale"])
    if modelled:
        step.state.belief = type(step.state.belief)(*(arrays[BELIEF + name] for name in step.state.belief._fields))
    else:
        step._make_ready()


def _plain(value: Any) -> Any:
    """Numbers, tuples and arrays as JSON carries them; floats come back as they were."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return float(value)


def _like(example: Any, plain: Any) -> Any:
    """The same again, of the example's types."""
    if isinstance(example, np.ndarray):
        return np.array(plain, dtype=example.dtype).reshape(example.shape)
    if isinstance(example, tuple):
        values = [_like(each, found) for each, found in zip(example, plain, strict=True)]
        return type(example)(*values) if hasattr(example, "_fields") else tuple(values)
    return type(example)(plain)
