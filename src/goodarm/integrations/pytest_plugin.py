"""`@pytest.mark.goodarm(threshold=0.8)`: a test that may fail sometimes, if its pass rate is high enough.

The marked test is called repeatedly until its pass rate is certainly above the threshold (the test passes) or
certainly below it (the test fails). A call without a failed assertion is a sample of 1, a call with one a sample of 0.
A test may also return its sample, a number in [0, 1]. Any other exception is an error and ends the test at once.

All marked tests of a session share delta: the probability that any of their verdicts is wrong is at most delta. This
holds if calls of one test are independent of each other. Fixtures are set up once per test, not once per call.

    @pytest.mark.goodarm(threshold=0.8, max_samples=500)
    def test_answers_in_french(): ...

    [pytest]
    goodarm_delta = 0.05
"""

from __future__ import annotations

import asyncio
import inspect
import math
import numbers
from dataclasses import dataclass
from typing import Any

import pytest

MARK = "goodarm"
DELTA = "goodarm_delta"
MAX_SAMPLES = 1000
"""Samples after which a test without a verdict fails as undecided, unless the mark sets another number."""

_marked_tests = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(DELTA, "probability that any verdict on the tests marked `goodarm` is wrong", default="0.05")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARK}(threshold, max_samples={MAX_SAMPLES}): call the test until its pass rate is certainly above or below "
        "the threshold",
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Count the tests that share delta. Every worker of pytest-xdist collects all tests, so all workers agree."""
    session.config.stash[_marked_tests] = sum(item.get_closest_marker(MARK) is not None for item in session.items)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Call a marked test until its verdict; leave all other tests to pytest."""
    mark = pyfuncitem.get_closest_marker(MARK)
    if mark is None:
        return None
    trial = Trial(_problem(pyfuncitem, mark), _max_samples(pyfuncitem, mark))
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    while trial.verdict is None and trial.samples < trial.max_samples:
        trial.add(*_sample(pyfuncitem, arguments))
    pyfuncitem.user_properties += trial.properties()
    if trial.verdict != "good":
        pytest.fail(trial.failure(), pytrace=False)
    return True


@dataclass
class Trial:
    """The samples of one test, and the verdict on its pass rate.

    >>> from goodarm.problem import Problem
    >>> trial = Trial(Problem(threshold=0.8, arms=1), max_samples=100)
    >>> while trial.verdict is None:
    ...     trial.add(1.0)
    >>> print(trial)
    good: pass rate above 80%; 25 samples, mean 100%, interval 80.7% to 100%; certified
    """

    problem: Any
    max_samples: int
    samples: int = 0
    total: float = 0.0
    verdict: str | None = None
    last_failure: str = ""

    def add(self, reward: float, failure: str = "") -> None:
        """Add one sample."""
        from goodarm.rules.identification.gap_mixture import totals

        self.samples += 1
        self.total += reward
        self.last_failure = failure or self.last_failure
        for_good, for_bad = totals(float(self.samples), self.total, self.problem.bar)
        if for_good >= self.problem.bar.budget:
            self.verdict = "good"
        elif for_bad >= self.problem.bar.budget:
            self.verdict = "bad"

    def interval(self) -> tuple[float, float]:
        """Pass rates that the samples do not refute at the test's share of delta."""
        import numpy as np

        from goodarm.engine.totals import interval_from_totals
        from goodarm.rules.identification.gap_mixture import gap_mixture

        counts = np.array([float(self.samples)]), np.array([self.total])
        low, high = interval_from_totals(gap_mixture, *counts, self.problem.bar, self.problem.bar.budget)
        return float(low[0]), float(high[0])

    def __str__(self) -> str:
        words = {
            "good": "pass rate above",
            "bad": "pass rate below",
            None: "can't tell yet whether the pass rate is above",
        }
        low, high = self.interval()
        return (
            f"{self.verdict or 'undecided'}: {words[self.verdict]} {_percent(self.problem.threshold)}; "
            f"{self.samples} samples, mean {_percent(self.total / self.samples)}, "
            f"interval {_percent(low)} to {_percent(high)}; {'certified' if self.verdict else 'no verdict'}"
        )

    def failure(self) -> str:
        """The reason for the test's failure."""
        advice = (
            ""
            if self.verdict
            else f"\nThe limit of {self.max_samples} samples was reached. Raise max_samples, or move the threshold "
            "away from the pass rate."
        )
        last = f"\nThe last failing call:\n{self.last_failure}" if self.last_failure else ""
        return f"{self}{advice}{last}"

    def properties(self) -> list[tuple[str, object]]:
        """Properties of the test for reports, JUnit files and the summary."""
        low, high = self.interval()
        return [
            ("goodarm", str(self)),
            ("goodarm_verdict", self.verdict or "undecided"),
            ("goodarm_samples", self.samples),
            ("goodarm_mean", self.total / self.samples),
            ("goodarm_low", low),
            ("goodarm_high", high),
            ("goodarm_guarantee", "certified" if self.verdict else "none"),
            ("goodarm_delta", self.problem.delta),
            ("goodarm_tests", self.problem.arms),
        ]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """One line per marked test, and their common guarantee."""
    lines, delta, tests = [], math.nan, 0
    for reports in terminalreporter.stats.values():
        for report in reports:
            found = dict(getattr(report, "user_properties", ()))
            if "goodarm" in found and getattr(report, "when", "") == "call":
                lines.append(f"{report.nodeid}\n  {found['goodarm']}")
                delta, tests = found["goodarm_delta"], found["goodarm_tests"]
    if lines:
        terminalreporter.section("goodarm")
        for line in lines:
            terminalreporter.line(line)
        terminalreporter.line(
            f"The probability that any verdict on the {tests} marked tests is wrong is at most {_percent(delta)}, if "
            "calls of a test are independent."
        )


def _sample(item: pytest.Function, arguments: dict[str, Any]) -> tuple[float, str]:
    """One call of the test: its sample, and the reason if it failed."""
    try:
        result = item.obj(**arguments)
        if inspect.isawaitable(result):
            result = asyncio.run(_awaited(result))
    except (AssertionError, pytest.fail.Exception) as failure:
        return 0.0, f"{type(failure).__name__}: {failure}"
    if result is None:
        return 1.0, ""
    if not isinstance(result, numbers.Real) or not 0.0 <= float(result) <= 1.0:
        pytest.fail(
            f"a test marked `goodarm` returns nothing, or its sample, a number in [0, 1]; got {result!r}.",
            pytrace=False,
        )
    return float(result), ""


async def _awaited(result: Any) -> Any:
    return await result


def _problem(item: pytest.Function, mark: pytest.Mark) -> Any:
    from goodarm.errors import GoodarmError
    from goodarm.problem import Problem

    threshold = mark.kwargs.get("threshold", mark.args[0] if mark.args else None)
    unknown = sorted(set(mark.kwargs) - {"threshold", "max_samples"})
    if threshold is None or len(mark.args) > 1 or unknown:
        pytest.fail(
            f"mark the test with @pytest.mark.goodarm(threshold=0.8, max_samples={MAX_SAMPLES}); "
            f"got {', '.join(unknown) or 'no threshold'}.",
            pytrace=False,
        )
    written = str(item.config.getini(DELTA))
    try:
        return Problem(threshold=threshold, arms=item.config.stash[_marked_tests], delta=float(written))
    except (GoodarmError, ValueError) as refused:
        reason = refused if isinstance(refused, GoodarmError) else f"{DELTA} must be a number; got {written!r}."
        pytest.fail(str(reason), pytrace=False)


def _max_samples(item: pytest.Function, mark: pytest.Mark) -> int:
    found = mark.kwargs.get("max_samples", MAX_SAMPLES)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        pytest.fail(f"max_samples must be a whole number of at least 1; got {found!r}.", pytrace=False)
    return found


def _percent(rate: float) -> str:
    return f"{100.0 * rate:.3g}%"
