"""`reproduce`: play every task that has no finished part yet, and hand back all parts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

from goodarm.errors import NotCalibrated
from goodarm.paper.kept import Part, read_part, write_part
from goodarm.paper.scope import Request
from goodarm.paper.tasks import Task, perform, tasks_of
from goodarm.simulation.stop import Stop

Progress = Callable[[int, int, str], None]
"""(parts that are finished, parts in all, what has just finished)"""


class Reproduction(NamedTuple):
    """Everything that was asked for, finished."""

    request: Request
    parts: list[Part]
    played: int  # parts that were played now; the others were found


def reproduce(
    request: Request, folder: Path, progress: Progress = lambda done, all_of_them, what: None
) -> Reproduction:
    """Play what is missing in `folder`/parts. Ctrl-C gives up what is under way; called again, it goes on from there.

    A part is kept under a name that holds a hash of its task and of the code: one that was made otherwise is not seen.
    """
    request.check()
    tasks = tasks_of(request)
    parts = folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    missing = [task for task in tasks if read_part(parts / task.key) is None]
    done = len(tasks) - len(missing)
    progress(done, len(tasks), "")

    def finished(task: Task) -> None:
        nonlocal done
        done += 1
        progress(done, len(tasks), f"{task.entry} on {task.dataset}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCalibrated)  # the table then says "heuristic"
        for phase in _phases(missing):
            _play(phase, parts, request.workers, finished)
    found = [read_part(parts / task.key) for task in tasks]
    return Reproduction(request, [part for part in found if part is not None], len(missing))


def _phases(tasks: Iterable[Task]) -> tuple[list[Task], list[Task]]:
    """What waits for nothing, and what plays a policy that is learned first."""
    listed = list(tasks)
    return [task for task in listed if task.learned is None], [task for task in listed if task.learned is not None]


def _play(tasks: list[Task], parts: Path, workers: int, finished: Callable[[Task], None]) -> None:
    """On threads, never on the main one: Ctrl-C reaches it while it waits, and not inside a compiled call."""
    stop = Stop()

    def work(task: Task) -> None:
        if not stop.is_set():
            write_part(parts / task.key, perform(task, parts, stop))

    pool = ThreadPoolExecutor(workers)
    waiting: dict[Future[None], Task] = {pool.submit(work, task): task for task in tasks}
    try:
        while waiting:
            over, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in over:
                future.result()
                finished(waiting.pop(future))
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
