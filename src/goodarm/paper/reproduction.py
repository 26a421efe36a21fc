"""`reproduce`: play all unfinished tasks, and return the results of all tasks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

from goodarm.errors import NotCalibrated
from goodarm.paper.finished_tasks import FinishedTask, read_finished, write_finished
from goodarm.paper.scope import Request
from goodarm.paper.tasks import Task, perform, tasks_of
from goodarm.simulation.stop import Stop

Progress = Callable[[int, int, str], None]
"""(number of finished tasks, number of all tasks, name of the latest finished task)"""


class FinishedWork(NamedTuple):
    """The finished tasks of a request."""

    request: Request
    tasks: list[FinishedTask]
    played: int  # newly played tasks; the others were found on disk


def reproduce(
    request: Request, folder: Path, progress: Progress = lambda done, all_of_them, what: None
) -> FinishedWork:
    """Play the tasks missing in `folder`/finished. Ctrl-C abandons running tasks; another call continues.

    A finished task's name contains a hash of the task and of the code, so results of another task or other code are not
    used.
    """
    request.check()
    tasks = tasks_of(request)
    kept = folder / "finished"
    kept.mkdir(parents=True, exist_ok=True)
    missing = [task for task in tasks if read_finished(kept / task.key) is None]
    done = len(tasks) - len(missing)
    progress(done, len(tasks), "")

    def told(task: Task) -> None:
        nonlocal done
        done += 1
        progress(done, len(tasks), f"{task.entry} on {task.dataset}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCalibrated)  # the table then says "heuristic"
        for phase in _phases(missing):
            _play(phase, kept, request.workers, told)
    found = [read_finished(kept / task.key) for task in tasks]
    return FinishedWork(request, [task for task in found if task is not None], len(missing))


def _phases(tasks: Iterable[Task]) -> tuple[list[Task], list[Task]]:
    """Tasks without prerequisites, and tasks whose policy must be learned first."""
    listed = list(tasks)
    return [task for task in listed if task.learned is None], [task for task in listed if task.learned is not None]


def _play(tasks: list[Task], kept: Path, workers: int, told: Callable[[Task], None]) -> None:
    """Play tasks in threads. Ctrl-C then reaches the main thread while it waits, not inside a compiled call."""
    stop = Stop()

    def work(task: Task) -> None:
        if not stop.is_set():
            write_finished(kept / task.key, perform(task, kept, stop))

    pool = ThreadPoolExecutor(workers)
    waiting: dict[Future[None], Task] = {pool.submit(work, task): task for task in tasks}
    try:
        while waiting:
            over, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in over:
                future.result()
                told(waiting.pop(future))
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
