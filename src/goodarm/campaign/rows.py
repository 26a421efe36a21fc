"""The rows that a campaign shows: an arm, a verdict, the counts, and their JSON form. Each is declared once, here.

The terminal, the notebook, the JSON, the page and the client of a server use these rows. The second argument of each
`Annotated` is the description in the OpenAPI document.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from goodarm.plain_table import plain_table
from goodarm.question import OPEN, UNDECIDED
from goodarm.wire import jsonable, unknown_as_nan

if TYPE_CHECKING:
    from goodarm.campaign.terms import Terms
    from goodarm.judgement.written import Written

BRIEF = (
    "arm",
    "label",
    "verdict",
    "sign",
    "guarantee",
    "pulls",
    "pending",
    "mean",
    "low",
    "high",
    "evidence",
    "needed",
    "decided_at",
    "state",
    "own_mean",
    "cost",
    "metrics",
    "failed",
)
"""Fields of an arm in frequently sent lists."""


class ArmRow(NamedTuple):
    """One arm: its verdict, its totals and what it still needs. Unknown numbers are NaN, and null in JSON.

    low and high are NaN for rules in the order of asking (kt, betting, learned-bets), whose evidence at other
    thresholds does not follow from the totals. On a fixed test set both equal the mean once every case is told.
    """

    arm: str
    label: str
    verdict: Annotated[str, "the question's word for good or bad; open while undecided; control for the control"]
    status: Annotated[str, "open, suspended or retired"]
    guarantee: str
    pulls: Annotated[int, "rewards told, including expired tickets that count as 0"]
    pending: Annotated[int, "tickets that await their reward"]
    total: Annotated[float, "sum of the rewards"]
    mean: Annotated[float, "mean of the told rewards; against a control, the difference of the means"]
    low: Annotated[
        float,
        "lower end of the deciding interval; after a verdict, its value then; the mean once every case is told",
    ]
    high: float
    evidence: Annotated[float, "evidence for the verdict; the larger of the two sides while the arm is undecided"]
    needed: Annotated[float, "evidence needed for a verdict"]
    decided_at: Annotated[str | None, "when the verdict was journaled, as ISO 8601 in UTC"]
    weight: Annotated[float, "share of delta"]
    missing: Annotated[int, "expired tickets that counted as 0"]
    void: Annotated[int, "withdrawn tickets"]
    metadata: Mapping[str, Any]
    overdue: Annotated[int, "tickets without a reward for longer than `after`, or for 1,000 later tickets"] = 0
    held_back: Annotated[str, "the verdict that overdue tickets hold back; empty: none"] = ""
    sign: Annotated[int, "1 for good, -1 for bad, 0 while undecided, independent of the question's words"] = 0
    cost: Annotated[float, "of a sample"] = 1.0
    metrics: Annotated[Sequence[dict[str, Any]], "with several bars: mean, interval and evidence of each metric"] = ()
    failed: Annotated[str, "with several bars: the metric that a bad verdict names; empty: none"] = ""

    @property
    def state(self) -> str | None:
        """Statuses of arms that are not asked for."""
        return None if self.status == OPEN else self.status

    @property
    def own_mean(self) -> float:
        """The arm's own mean, even where `mean` is a difference; NaN without rewards."""
        return self.total / self.pulls if self.pulls else math.nan

    @property
    def verdict_words(self) -> str:
        """The verdict and the metric that failed, or why there is none."""
        if self.verdict == OPEN:
            return self.state or UNDECIDED
        return f"{self.verdict}: {self.failed}" if self.failed else self.verdict

    @property
    def interval_words(self) -> str:
        """The interval for a table; empty if it is unknown."""
        return interval_words(self.low, self.high)

    @property
    def evidence_words(self) -> str:
        """The evidence, and the evidence needed for a verdict, for a table; empty if unknown."""
        from goodarm.rules.identification.gap_mixture import (
            is_certain,
        )  # imported late: clients read rows without rules

        if math.isnan(self.evidence) or math.isnan(self.needed):
            return ""
        return "certain" if is_certain(self.evidence) else f"{self.evidence:.2f} of {self.needed:.2f}"

    def as_json(self) -> dict[str, Any]:
        """All fields as JSON."""
        known: dict[str, Any] = jsonable(self._asdict())
        return known | {"state": self.state, "own_mean": jsonable(self.own_mean)}

    def brief(self) -> dict[str, Any]:
        """The fields shown in lists, as JSON."""
        return {name: jsonable(getattr(self, name)) for name in BRIEF}

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> ArmRow:
        """The inverse of `as_json`."""
        known = {name: content[name] for name in ArmRow._fields if name in content}
        return ArmRow(**known | {name: unknown_as_nan(known[name]) for name in UNKNOWN})


UNKNOWN = ("total", "mean", "low", "high", "evidence", "needed")
"""Fields of a row that may be unknown."""


class Told(NamedTuple):
    """The verdicts that these rewards led to, and the tickets whose rewards or rows do not count."""

    verdicts: list[ArmRow]
    late: list[str]

    def as_json(self) -> dict[str, Any]:
        return {"verdicts": [row.as_json() for row in self.verdicts], "late": list(self.late)}

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Told:
        return Told([ArmRow.from_json(row) for row in content["verdicts"]], list(content.get("late", ())))


class Shown(NamedTuple):
    """Contents of the files of a campaign's verdicts besides its rows."""

    name: str
    terms: Terms
    tally: Tally


class Verdicts(NamedTuple):
    """Counts of good, bad and undecided arms, one row per arm, and the name of the quantity in `row.mean`.

    campaign : name, terms and counts of the campaign, for files
    """

    good: int
    bad: int
    open: int
    arms: list[ArmRow]
    estimate: str = "mean"
    campaign: Shown | None = None

    @property
    def written(self) -> Written:
        """The verdicts with their sentence and conditions, as a judgement of a log has them, for files and figures."""
        from goodarm.campaign.written import written  # imported late: clients read rows without judgements

        return written(self)

    def to_csv(self, path: str | Path) -> Path:
        """Write the table as CSV; returns the path."""
        return self.written.to_csv(path)

    def to_excel(self, path: str | Path) -> Path:
        """Write the table as an Excel workbook, with the sentence and the conditions on a second sheet."""
        return self.written.to_excel(path)

    def to_html(self, path: str | Path) -> Path:
        """Write the page: sentence, intervals and conditions in one HTML file that needs no network."""
        return self.written.to_html(path)

    def save(self, folder: str | Path) -> list[Path]:
        """Write everything into a folder, or one file if the path ends in .html, .xlsx, .csv or .parquet.

        Into a folder: the table as CSV and Parquet, the forest plot as SVG and PNG, and the page.
        """
        return self.written.save(folder)

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        return self.written.to_pandas()

    def as_json(self) -> dict[str, Any]:
        counts = {"good": self.good, "bad": self.bad, "open": self.open}
        return counts | {"arms": [row.brief() for row in self.arms]}

    def __str__(self) -> str:
        """A table for `print`."""
        return plain_table(
            ["arm", "verdict", "samples", "out", self.estimate, "interval"],
            [
                [
                    row.label,
                    row.verdict_words,
                    f"{row.pulls:,}",
                    f"{row.pending:,}",
                    figure(row.mean),
                    row.interval_words,
                ]
                for row in self.arms
            ],
        )


FOUND, FEWER = "found", "fewer"
"""Final answers of a campaign with `stop_after`."""


class Tally(NamedTuple):
    """Counts of arms and tickets by state."""

    arms: Annotated[int, "arms that can get a verdict"]
    good: int
    bad: int
    open: Annotated[int, "arms that are undecided and not retired"]
    suspended: Annotated[int, "undecided arms that are suspended"]
    retired: int
    pending: Annotated[int, "tickets that await their reward"]
    overdue: Annotated[int, "pending tickets without a reward for longer than `after`, or for 1,000 later tickets"]
    told: Annotated[int, "rewards"]
    missing: Annotated[int, "expired tickets that counted as 0"]
    void: Annotated[int, "withdrawn tickets"]
    late: Annotated[int, "rewards that came too late and were refused"]
    ended: Annotated[
        bool,
        "whether the campaign has ended: by request, with its good arms found, or with its budget used up",
    ]
    held_back: Annotated[int, "arms whose verdict overdue tickets hold back"] = 0
    waiting: Annotated[int, "told rewards that wait behind overdue tickets, for rules in the order of asking"] = 0
    doubt: Annotated[str, "evidence against what was declared about the rewards, in words; empty: none"] = ""
    answer: Annotated[str, "with `stop_after`: found, or fewer once every arm is decided; empty until then"] = ""
    spent: Annotated[float, "total cost of the samples asked for, excluding void ones"] = 0.0
    budget: Annotated[float | None, "maximum total cost of all samples; null: unlimited"] = None
    used_up: Annotated[bool, "whether the campaign has ended because the next sample would exceed the budget"] = False


class TermsRow(NamedTuple):
    """The terms of a campaign as shown to people."""

    question: Annotated[Mapping[str, Any], "the question: its kind, its fields and its words"]
    threshold: Annotated[float, "the bar; with a control, the margin that differences are compared with"]
    control: Annotated[str | None, "the arm that the others are compared with, if there is one"]
    margin: float | None
    delta: float
    criterion: str
    policy: str
    rewards: str
    stop_after: Annotated[int | None, "the number of good arms after which the campaign ends; null: none"]
    cases: Annotated[int | None, "the number of cases of a fixed test set; null: samples never run out"]
    repeats: Annotated[int, "number of evaluations of an arm on each case"]
    budget: Annotated[float | None, "maximum total cost of all samples; null: unlimited"]
    units: Annotated[
        Mapping[str, Any] | None,
        "how the rows of a person, session or machine become one reward; null: each ticket is one",
    ]
    metadata: Mapping[str, Any]


class Bounds(NamedTuple):
    """The policy's two bounds, in standard errors of an arm. Unknown bounds are NaN, and null in JSON."""

    alpha: Annotated[
        float, "how far above the bar the mean of the arm (by default the undecided one with the most samples) must be"
    ]
    beta: Annotated[float, "what the sampling rule adds to the mean of that arm"]
    learned: Annotated[bool, "whether the policy learns while the campaign runs"]

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = jsonable(self._asdict())
        return found

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Bounds:
        """The inverse of `as_json`."""
        return Bounds(unknown_as_nan(content["alpha"]), unknown_as_nan(content["beta"]), content["learned"])


def figure(value: float) -> str:
    """Format a number for a table with four digits; empty if it is unknown."""
    return f"{value:.4g}" if math.isfinite(value) else ""


def interval_words(low: float, high: float) -> str:
    """An interval for a table; empty if it is unknown.

    >>> interval_words(0.25, 0.5), interval_words(-math.inf, 0.5), interval_words(math.nan, math.nan)
    ('0.25 to 0.5', 'up to 0.5', '')
    """
    if math.isfinite(low) and math.isfinite(high):
        return f"{figure(low)} to {figure(high)}"
    if math.isfinite(high):
        return f"up to {figure(high)}"
    return f"from {figure(low)}" if math.isfinite(low) else ""


class Finish(NamedTuple):
    """Further samples until every arm is decided: more than `low` with probability 0.9, more than `high` with 0.1.

    `high` is inf if an arm may lie so close to the bar that only `low` can be estimated.
    """

    median: float
    low: float
    high: Annotated[float, "null if an arm may lie so close to the bar that only `low` can be told"]
    guess: Annotated[str, "the plan's assumption about the means; empty once there are rewards"] = ""
    share: Annotated[float, "share of arms decided by then; below 1 if the end can't be estimated"] = 1.0
    near: Annotated[int, "undecided arms too close to the bar for a forecast; the samples are those of the others"] = 0
    waiting: Annotated[int, "undecided arms that look bad, if most do and the policy looks for good arms"] = 0
    waiting_samples: Annotated[float, "median number of samples until all of these arms are decided"] = 0.0
    half: Annotated[float, "samples that half of the undecided arms need, the median; null if unknown"] = math.inf
    ninety: Annotated[float, "samples that nine in ten of them need, the median; null if unknown"] = math.inf

    def as_json(self) -> dict[str, Any]:
        """As JSON, with null for infinity."""
        found: dict[str, Any] = jsonable(self._asdict())
        return found

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Finish:
        """The inverse of `as_json`."""
        known: dict[str, Any] = {name: content[name] for name in Finish._fields if name in content}
        known |= {name: math.inf for name, value in known.items() if value is None}
        return Finish(**known)


def iso(at: float) -> str:
    """A time as ISO 8601 in UTC.

    >>> iso(0.0)
    '1970-01-01T00:00:00.000+00:00'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


class PendingTicket(NamedTuple):
    """A ticket, or a block, that is pending."""

    ticket: str
    arm: Annotated[str | None, "null for a block"]
    pulls: Annotated[int, "number of missing rewards; 1 for a ticket"]
    asked_at: Annotated[str, "as ISO 8601 in UTC"]
    seconds: Annotated[float, "seconds since it was handed out"]
    overdue: Annotated[bool, "whether the reward is missing for longer than `after`, or for 1,000 later tickets"]
    case: Annotated[str | None, "null without a fixed test set"] = None
    unit: Annotated[str | None, "the ticket's unit, in a campaign of units"] = None
