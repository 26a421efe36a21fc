"""`Campaign.run`: a pool of workers, with functions that fail, processes that are killed, and Ctrl-C."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from goodarm import Campaign
from goodarm.campaign.tickets import Ticket
from goodarm.errors import EvaluationFailed, InvalidValue

RATES = {"a": 0.9, "b": 0.1, "c": 0.85}


def campaign(store: str = "memory:", **terms: object) -> Campaign:
    return Campaign.create(store, "prompts", list(RATES), threshold=0.5, **terms)


def outcome(arm: str, count: int) -> float:
    """The n-th result of an arm: a fixed pattern with the arm's rate."""
    return float((count * 7) % 20 < 20 * RATES[arm])


class Program:
    """A deterministic program under test, which counts its calls and how many run at once."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.at_once = self.most = 0
        self.lock = threading.Lock()

    def __call__(self, ticket) -> float:
        with self.lock:
            self.calls[ticket.arm] += 1
            count = self.calls[ticket.arm]
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        time.sleep(0.001)
        with self.lock:
            self.at_once -= 1
        return outcome(ticket.arm, count)

    async def later(self, ticket) -> float:
        self.calls[ticket.arm] += 1
        count = self.calls[ticket.arm]
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.001)
        self.at_once -= 1
        return outcome(ticket.arm, count)


@pytest.mark.parametrize("kind", ["threads", "async"])
def test_every_arm_is_decided(kind: str) -> None:
    program = Program()
    with campaign() as running:
        found = running.run(program if kind == "threads" else program.later, workers=4, progress=False)
        assert {row.arm: row.verdict for row in found.arms} == {"a": "good", "b": "bad", "c": "good"}
        assert running.tally().told == sum(program.calls.values())
        assert running.tally().pending == 0
        assert 2 <= program.most <= 4


def test_in_a_running_loop() -> None:
    """A notebook already runs an event loop."""

    async def cell() -> int:
        with campaign() as running:
            return running.run(Program(), workers=2, progress=False).good

    assert asyncio.run(cell()) == 2


def test_ask_and_tell_in_a_loop() -> None:
    async def work(running: Campaign, program: Program) -> None:
        while tickets := await running.aask(3):
            for ticket in tickets:
                await running.atell(ticket, await program.later(ticket))

    with campaign() as running:
        asyncio.run(work(running, Program()))
        assert running.verdicts().open == 0


def test_a_limit_leaves_nothing_out() -> None:
    program = Program()
    with campaign() as running:
        running.run(program, workers=3, limit=10, progress=False)
        assert sum(program.calls.values()) == 10
        assert running.tally()[:4] == (3, 0, 0, 3)
        assert running.tally().pending == 0
        running.run(program, workers=3, limit=0, progress=False)
        assert sum(program.calls.values()) == 10


def failing(times: int):
    """Raise this many times for every ticket, then answer."""
    attempts: Counter[str] = Counter()

    def evaluate(ticket) -> float:
        attempts[ticket.ticket] += 1
        if attempts[ticket.ticket] <= times:
            raise ConnectionError("no answer")
        return outcome(ticket.arm, attempts.total())

    return evaluate


def test_retries() -> None:
    with campaign() as running:
        assert running.run(failing(2), workers=2, retries=2, pause=0.0, progress=False).open == 0


def test_a_failure_stops_and_its_ticket_stays_out() -> None:
    with campaign() as running:
        with pytest.raises(EvaluationFailed, match="failed 2 times, at last with ConnectionError: no answer"):
            running.run(failing(99), workers=1, retries=1, pause=0.0, progress=False)
        assert running.tally().pending == 1
        assert running.run(Program(), workers=2, progress=False).open == 0
        assert running.tally().pending == 0


def test_a_refused_reward_is_told_without_frames_of_asyncio() -> None:
    campaign = Campaign.create("memory:", "graded", ["a"], threshold=0.5, cases=20)
    with pytest.raises(InvalidValue, match="GradedCases") as refused:
        campaign.run(lambda ticket: 0.3)
    assert not any("asyncio" in str(entry.path) for entry in refused.traceback)


def test_failures_may_be_voided_or_told() -> None:
    def fails_once_in_three(ticket) -> float:
        if int(ticket.ticket.split("-")[0]) % 3 == 0:
            raise TimeoutError
        return float(RATES[ticket.arm] > 0.5)

    with campaign() as running:
        running.run(fails_once_in_three, workers=2, retries=0, failed="void", progress=False)
        tally = running.tally()
        assert tally.open == 0
        assert tally.void > 0
    with campaign() as running:
        running.run(fails_once_in_three, workers=2, retries=0, failed=0.0, progress=False)
        assert running.tally().void == 0


@pytest.mark.parametrize(
    "wrong", [{"workers": 0}, {"retries": -1}, {"failed": "skip"}, {"limit": -1}, {"pause": "soon"}]
)
def test_wrong_arguments_ask_for_nothing(wrong: dict[str, object]) -> None:
    with campaign() as running:
        with pytest.raises(InvalidValue):
            running.run(Program(), progress=False, **wrong)
        assert running.number == 1


@pytest.mark.parametrize("result", [None, "yes"])
def test_a_result_that_is_no_number_is_not_paid_for_again(result: object) -> None:
    calls = []
    with Campaign.create("memory:", "c", ["a", "b"], threshold=0.5) as campaign:
        with pytest.raises(EvaluationFailed, match=f"evaluate returned {result!r}; return a number, True or False"):
            campaign.run(lambda ticket: calls.append(ticket) or result, workers=1, progress=False)  # type: ignore[arg-type,return-value,func-returns-value]  # that is the point
        assert len(calls) == campaign.tally().pending == 1


def test_a_result_that_is_no_reward_is_refused() -> None:
    with campaign() as running:
        with pytest.raises(InvalidValue, match="a reward must lie in"):
            running.run(lambda ticket: 7.0, workers=1, progress=False)
        assert running.tally().pending == 1


SCRIPT = """
import asyncio, sys
from goodarm import Campaign

async def evaluate(ticket):
    with open(sys.argv[2], "a") as log:
        log.write(f"{ticket.arm}/{ticket.case}\\n")
    await asyncio.sleep(0.01)
    return float((int(ticket.case) * 7) % 20 < (17 if ticket.arm == "a" else 9))

with Campaign.open(sys.argv[1], "prompts") as campaign:
    print(campaign.run(evaluate, workers=8, progress=False).open)
"""


def started(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    log = tmp_path / "evaluated"
    log.touch()
    store = f"sqlite:///{tmp_path / 'store.db'}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, store, str(log)], text=True, **pipes), log


def lines_in(log: Path) -> list[str]:
    return log.read_text().split()


def wait_for(log: Path, lines: int) -> None:
    while len(lines_in(log)) < lines:
        time.sleep(0.01)


@pytest.mark.slow
def test_killed_and_resumed(tmp_path: Path) -> None:
    """kill -9 in the middle, twice: nothing is lost, and only cells under way are evaluated a second time."""
    campaign(f"sqlite:///{tmp_path / 'store.db'}", cases=100).close()
    for lines in (15, 40):
        process, log = started(tmp_path)
        wait_for(log, lines)
        process.kill()
        process.communicate()
    process, log = started(tmp_path)
    out, _ = process.communicate(timeout=300)
    assert out.strip() == "0"
    times = Counter(lines_in(log))
    with Campaign.open(f"sqlite:///{tmp_path / 'store.db'}", "prompts") as finished:
        assert finished.tally().told == len(times)
        assert finished.tally().pending == 0
        assert finished.check().ok
    assert sum(count - 1 for count in times.values()) <= 2 * 8


@pytest.mark.slow
def test_ctrl_c_tells_what_is_under_way(tmp_path: Path) -> None:
    campaign(f"sqlite:///{tmp_path / 'store.db'}", cases=100).close()
    process, log = started(tmp_path)
    wait_for(log, 20)
    process.send_signal(signal.SIGINT)
    _, shown = process.communicate(timeout=300)
    assert process.returncode != 0
    assert shown.count("Traceback") == 1
    assert shown.strip().endswith("KeyboardInterrupt: The results so far are kept. Run again to continue.")
    with Campaign.open(f"sqlite:///{tmp_path / 'store.db'}", "prompts") as stopped:
        assert stopped.tally().pending == 0
        assert stopped.tally().told == len(lines_in(log))


def test_somebody_ends_the_campaign_while_it_runs() -> None:
    """Workers tell what they have in hand and stop; another run of the ended campaign does nothing."""
    live, program = campaign(), Program()

    def evaluate(ticket: Ticket) -> float:
        if sum(program.calls.values()) == 20:
            live.end("enough")
        return program(ticket)

    live.run(evaluate, workers=4, progress=False)
    tally = live.tally()
    assert (tally.ended, tally.pending) == (True, 0)
    assert tally.told == sum(program.calls.values()) < 30
    live.run(evaluate, workers=4, progress=False)
    assert live.tally() == tally
