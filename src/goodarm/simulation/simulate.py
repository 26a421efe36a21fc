"""`simulate`: many runs of a policy on an environment, on threads, processes or a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from goodarm.arguments import check_whole
from goodarm.environments import Environment
from goodarm.errors import InvalidValue, MissingExtra, UnknownName
from goodarm.policies import DEFAULT_POLICY, Policy
from goodarm.question import BarsGiven
from goodarm.simulation.live_run import play_live_runs
from goodarm.simulation.progress import say_if_compiling
from goodarm.simulation.run import Run, assembly_of, play_runs
from goodarm.simulation.runs import Runs
from goodarm.simulation.specification import CostsGiven, Specification, specify
from goodarm.simulation.stop import Interrupted, Stop, listening
from goodarm.verdict import Criterion

BACKENDS = ("threading", "loky", "dask", "ray")
MOST_WORKERS = 1000
MOST_RUNS = 1_000_000
"""Maximum number of runs. All runs stay in memory, 1.7 KB each with two arms."""
ROUNDS_PER_TASK = 4_000_000
"""Approximate rounds per batch of runs, large enough to hide the overhead of dispatching."""


def simulate(
    policy: str | Policy = DEFAULT_POLICY,
    environment: str | Environment = "kano-1",
    *,
    horizon: int | None = None,
    runs: int = 1,
    seed: int = 0,
    delta: float = 0.05,
    criterion: str | Criterion | None = None,
    workers: int = 1,
    backend: str = "threading",
    trajectory: int = 0,
    trace: bool = False,
    scan: bool = False,
    stop_after: int | None = None,
    bars: BarsGiven | None = None,
    cost: CostsGiven | None = None,
    budget: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Runs:
    """Play `runs` runs and return their results.

    The result depends only on the seed, not on the number of workers, the backend, or the other policies compared.

    horizon    : last round; the environment's by default
    criterion  : the error that delta bounds, "fwer" or "fdr"; None means the policy's, which is "fwer" by default
    trajectory : number of evenly spread points to record of each run
    trace      : record the arm of every round
    scan       : scan all arms in every round instead of using a tree; same arms, much slower
    stop_after : end a run after this many good verdicts; 1 finds one good arm or shows that there is none
                 (`Runs.answers`)
    bars       : several bars, for an environment whose rewards have several metrics (`several_metrics`)
    cost       : cost of a sample: for all arms, {arm: cost}, or one number per arm; sampling divides indices by
                 costs, as a campaign does
    budget     : maximum total cost of the samples of a run, which ends when the next one would exceed it
    progress   : called with the number of runs that have just ended

    With several bars, costs or a budget, runs are played by the step of a live campaign. Its first 100,000 rounds run
    as Python, and the rest as compiled code; later calls load that code from the disk.

    >>> result = simulate("hdoc", "kano-1", runs=20, seed=1)
    >>> result.wrong_runs, round(result.output_at[0].mean)
    (0, 105)
    """
    spec = specify(
        policy,
        environment,
        horizon=horizon,
        seed=seed,
        delta=delta,
        criterion=criterion,
        trajectory=trajectory,
        trace=trace,
        scan=scan,
        stop_after=stop_after,
        bars=bars,
        cost=cost,
        budget=budget,
    )
    result = collect(spec, runs, workers=workers, backend=backend, progress=progress)
    result.warn()
    return result


def collect(
    spec: Specification,
    runs: int,
    *,
    first: int = 0,
    workers: int = 1,
    backend: str = "threading",
    progress: Callable[[int], None] | None = None,
    finished: list[Run] | None = None,
    stop: Stop | None = None,
) -> Runs:
    """Play runs number `first` to `first + runs - 1` and collect the batches as they end.

    progress : called with the number of runs that have just ended
    finished : a list to which runs are added, to keep those that ended before Ctrl-C
    """
    kept = [] if finished is None else finished
    with closing(play_in_parallel(spec, runs, first=first, workers=workers, backend=backend, stop=stop)) as batches:
        for batch in batches:
            kept.extend(batch)
            if progress is not None:
                progress(len(batch))
    return Runs(spec, tuple(kept))


def check_workload(runs: int, workers: int, backend: str) -> None:
    """Refuse an invalid number of runs or workers, or an unknown backend."""
    check_whole("runs", runs)
    check_whole("workers", workers)
    if runs < 1:
        raise InvalidValue(f"runs must be at least 1; got {runs}.")
    if runs > MOST_RUNS:
        raise InvalidValue(
            f"runs must be at most {MOST_RUNS:,}, since all are kept in memory; got {runs:,}. Far fewer give narrow "
            "intervals. Use fewer, or several calls with different seeds."
        )
    if workers < 1:
        raise InvalidValue(f"workers must be at least 1; got {workers}.")
    if workers > MOST_WORKERS:
        raise InvalidValue(
            f"workers must be at most {MOST_WORKERS}; got {workers}. Using more workers than cores gains little."
        )
    if backend not in BACKENDS:
        raise UnknownName("backend", backend, BACKENDS)


def play_in_parallel(
    spec: Specification,
    runs: int,
    *,
    first: int = 0,
    workers: int = 1,
    backend: str = "threading",
    stop: Stop | None = None,
) -> Generator[list[Run], None, None]:
    """Finished batches of runs, in order from run `first`. Ctrl-C and `stop` end it and abandon running batches."""
    check_workload(runs, workers, backend)
    size = 1 if spec.live else max(1, min(ROUNDS_PER_TASK // spec.horizon, -(-runs // max(workers, 1))))
    last = first + runs
    batches = [range(start, min(start + size, last)) for start in range(first, last, size)]
    own = stop is None
    stop, play = stop or Stop(), player(spec)
    here = backend == "threading" or (workers == 1 and backend == "loky")
    if here and not spec.live:  # the step of a live campaign starts as Python
        say_if_compiling(spec.policy.name, assembly_of(spec).loop)
    try:
        if workers == 1 and backend in ("threading", "loky"):
            with listening(stop):
                yield from (play(spec, batch, stop) for batch in batches)
        else:
            yield from _spread(spec, batches, workers, backend, stop)
    except (KeyboardInterrupt, Interrupted):
        stop.set()
        raise KeyboardInterrupt from None
    except GeneratorExit:
        if own:  # the consumer has stopped reading: stop running workers
            stop.set()
        raise


def player(spec: Specification) -> Callable[..., list[Run]]:
    """The function that plays runs of a specification: by the compiled loop, or by the step of a live campaign."""
    return play_live_runs if spec.live else play_runs


def _spread(spec: Specification, batches: list[range], workers: int, backend: str, stop: Stop) -> Iterator[list[Run]]:
    from joblib import Parallel, delayed, parallel_config

    if backend == "threading" and not spec.live:
        assembly_of(spec)  # compile here first: two threads must not register the same functions at once
    # only joblib's own backends can return results one by one
    return_as = "generator" if backend in ("threading", "loky") else "list"
    # joblib accepts the clusters' backends only by configuration, not as an argument of Parallel
    with _backend(backend, workers), parallel_config(backend=backend, n_jobs=workers):
        parallel = Parallel(return_as=return_as, batch_size=1)
        # a token reaches only threads of this process; other processes receive Ctrl-C themselves
        token = stop if backend == "threading" else None
        yield from parallel(delayed(player(spec))(spec, batch, token) for batch in batches)


def _backend(name: str, workers: int) -> AbstractContextManager[Any]:
    """Context that starts a backend for joblib."""
    return {"dask": _dask, "ray": _ray}.get(name, lambda workers: nullcontext())(workers)


def _check_main_guard() -> None:
    """Refuse a script without a main guard: Dask's processes import the script and would start processes again."""
    main = sys.modules.get("__main__")
    script = getattr(main, "__file__", None)
    if script is None or getattr(main, "__spec__", None) is not None or not script.endswith(".py"):
        return
    try:
        source = Path(script).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    if "__name__" not in source:
        raise InvalidValue(
            f"{script} starts Dask's processes, and each of them imports {Path(script).name} again. Put its "
            'actions below the line: if __name__ == "__main__":'
        )


@contextmanager
def _dask(workers: int) -> Iterator[None]:
    """The existing Dask client, or a new cluster of processes on this machine."""
    try:
        from distributed import Client, default_client
    except ImportError:
        raise MissingExtra("`backend=dask`", "cluster") from None
    try:
        default_client()  # type: ignore[no-untyped-call]  # dask has no types
    except ValueError:
        _check_main_guard()
        with Client(n_workers=workers, threads_per_worker=1, dashboard_address=None):  # type: ignore[no-untyped-call]  # the same
            yield
    else:
        yield


@contextmanager
def _ray(workers: int) -> Iterator[None]:
    try:
        from ray.util.joblib import register_ray
    except ImportError:
        raise MissingExtra("`backend=ray`", "ray") from None
    register_ray()
    yield
