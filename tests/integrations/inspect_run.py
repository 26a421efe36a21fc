"""Evaluations by Inspect with early stopping, of a small adding program that slips on some numbers.

Run by test_inspect_stopping.py in an environment of its own, where inspect-ai is installed. Prints JSON.
"""

import json
import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import solver

from goodarm.integrations.inspect_stopping import stop_when_certain

CASES = 300


@solver
def adder(slip: int, crash: int = 0):
    async def solve(state, generate):
        left, right = (int(number) for number in state.input_text.rstrip("=").split("+"))
        if crash and left % crash == 0:
            raise ConnectionError("no answer")
        state.output = ModelOutput.from_content("program", str(left + right + (left % slip == 0)))
        return state

    return solve


def task(slip: int, stopping, crash: int = 0) -> Task:
    samples = [Sample(id=i + 1, input=f"{i}+{i}=", target=str(2 * i)) for i in range(CASES)]
    return Task(dataset=MemoryDataset(samples), solver=adder(slip, crash), scorer=match(), early_stopping=stopping)


def played(tasks, **options) -> list[dict]:
    logs = eval(tasks, model="mockllm/model", log_dir=sys.argv[1], display="none", **options)
    found = []
    for log in logs:
        stopped = log.results.early_stopping if log.results else None
        found.append(
            {
                "status": log.status,
                "error": log.error.message if log.error else None,
                "scored": sum(bool(sample.scores) for sample in log.samples or []),
                "stopped": len(stopped.early_stops) if stopped else 0,
                "reason": stopped.early_stops[0].reason if stopped and stopped.early_stops else None,
                **(stopped.metadata if stopped else {}),
            }
        )
    return found


shared = stop_when_certain(threshold=0.8, arms=3)
found = {
    "three": played([task(slip, shared) for slip in (30, 2, 5)], sample_shuffle=1, max_tasks=3, max_samples=4),
    "crashing": played(task(30, stop_when_certain(0.8, arms=1), crash=10), sample_shuffle=2, fail_on_error=False),
    "unshuffled": played(task(30, stop_when_certain(0.8, arms=1))),
    "too many": played([task(30, one := stop_when_certain(0.8, arms=1)), task(2, one)], sample_shuffle=1),
    "epochs": played(task(30, stop_when_certain(0.8, arms=1)), sample_shuffle=1, epochs=2),
}
print(json.dumps(found))
