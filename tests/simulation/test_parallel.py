"""Same results whatever the workers, the backend and the batches; same rewards whatever the policy."""

import importlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from goodarm import Runs, bernoulli, policy, simulate
from goodarm.engine.loop import Tables
from goodarm.simulation.run import assembly_of, play
from goodarm.simulation.specification import Specification

pytestmark = pytest.mark.slow

SETTING = {"runs": 7, "horizon": 2000, "seed": 3}


def same(a: Runs, b: Runs) -> None:
    assert [r.number for r in a.runs] == [r.number for r in b.runs] == list(range(len(a)))
    for one, other in zip(a.runs, b.runs, strict=True):
        for name in ("means", "verdicts", "verdict_rounds", "pulls", "evidence"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
        assert (one.reward, one.learned) == (other.reward, other.learned)


@pytest.fixture(scope="module")
def alone() -> Runs:
    return simulate("tt-ts+kt", "synth-small", **SETTING)


@pytest.mark.parametrize(("backend", "workers"), [("threading", 2), ("threading", 5), ("loky", 2), ("dask", 2)])
def test_backends_and_workers(alone: Runs, backend: str, workers: int) -> None:
    """`dask` starts a real cluster of processes on this machine."""
    same(alone, simulate("tt-ts+kt", "synth-small", backend=backend, workers=workers, **SETTING))


@pytest.mark.parametrize("rounds", [1, 4000, 10**9])
def test_batches(alone: Runs, rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = importlib.import_module("goodarm.simulation.simulate")
    monkeypatch.setattr(engine, "ROUNDS_PER_TASK", rounds)
    same(alone, simulate("tt-ts+kt", "synth-small", workers=2, **SETTING))


def test_more_runs_begin_with_the_same_runs(alone: Runs) -> None:
    longer = simulate("tt-ts+kt", "synth-small", **SETTING | {"runs": 9})
    same(alone, Runs(longer.spec, longer.runs[:7]))


def test_each_run_draws_its_own_means(alone: Runs) -> None:
    means = np.array([run.means for run in alone.runs])
    assert len(np.unique(means)) == means.size
    assert (means >= 0.475).all()
    assert (means <= 0.55).all()
    other = simulate("uniform+kt", "synth-small", **SETTING)
    assert np.array_equal(means, [run.means for run in other.runs])


def rewards_seen(name: str, run: int = 0) -> dict[tuple[int, int], float]:
    """(arm, n) -> the n-th reward of that arm, read off the table of arms after every round."""
    environment = bernoulli([0.3, 0.5, 0.7], 0.5)
    spec = Specification(policy(name, "none"), environment, environment.problem(), 120, seed=4, trajectory=120)
    assembly, seen, before = assembly_of(spec), {}, np.zeros((3, 2))

    def watched(state: Tables, *arguments: Any) -> Any:
        result = assembly.loop(state, *arguments)
        (arm,) = np.flatnonzero(state.arms[:, 0] != before[:, 0])
        seen[int(arm), int(state.arms[arm, 0])] = state.arms[arm, 1] - before[arm, 1]
        before[:] = state.arms[:, :2]
        return result

    play(spec, run, replace(assembly, loop=watched))
    return seen


def test_the_nth_reward_of_an_arm_is_the_same_whatever_the_policy() -> None:
    """And another one in another run."""
    uniform, hdoc, thompson = map(rewards_seen, ("uniform", "hdoc", "thompson"))
    common = set(uniform) & set(hdoc) & set(thompson)
    assert len(common) > 30
    assert all(uniform[key] == hdoc[key] == thompson[key] for key in common)
    assert uniform != rewards_seen("uniform", run=1)
