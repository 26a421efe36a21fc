"""Ctrl-C waits for the end of a compiled call: raised while numba unpacks its arguments, it would crash the process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from goodarm import bernoulli, simulate
from goodarm.simulation.run import play_runs
from goodarm.simulation.simulate import play_in_parallel
from goodarm.simulation.specification import specify
from goodarm.simulation.stop import Interrupted, Stop

pytestmark = pytest.mark.slow

LONG = bernoulli([0.5, 0.5], threshold=0.5, horizon=4_000_000)
"""One run per batch, and none ends early."""


@pytest.fixture(autouse=True)
def python_s_own_handler() -> Iterator[None]:
    """Whatever other tests of this process have left behind."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before or signal.default_int_handler)


def test_the_first_ctrl_c_raises_nothing_here_and_ends_the_play() -> None:
    batches = play_in_parallel(specify("hdoc", LONG, horizon=2_000_000), 1000)
    next(batches)
    os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "the second one raises as usual"
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_after_a_simulation_ctrl_c_is_what_it_was_before() -> None:
    simulate("hdoc", LONG, horizon=10)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_simulation_that_is_stopped_does_not_stop_another() -> None:
    spec, stopped, running = specify("hdoc", LONG, horizon=10), Stop(), Stop()
    stopped.set()
    with pytest.raises(Interrupted):
        play_runs(spec, [0], stopped)
    assert play_runs(spec, [0], running)[0].rounds == 10


def test_a_handler_of_ones_own_is_kept() -> None:
    heard = []

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)

    before = signal.signal(signal.SIGINT, hear)
    try:
        for _ in play_in_parallel(specify("hdoc", LONG, horizon=10), 3):
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]
