"""The API's JSON views of a `Campaign`."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from goodarm.campaign import journal
from goodarm.campaign.intervals import decides_by_intervals
from goodarm.campaign.rows import Finish, plain
from goodarm.campaign.words import headline
from goodarm.engine.totals import evidence_from_totals, interval_from_totals
from goodarm.rules.parameters import take
from goodarm.service.trail import ArmTrail, Trail

if TYPE_CHECKING:
    from goodarm.campaign import Campaign
    from goodarm.planning import Remaining
    from goodarm.service.hosted import Hosted
    from goodarm.simulation.stop import Stop

REST = 20.0
"""Pause between two estimates, as a multiple of the time that the last one took. It limits the load."""
OUTDATED = 2
"""An estimate is outdated once the journal has grown by this factor."""
MOST_BEHIND = 5000
"""Maximum number of missed entries that a stream catches up on. With more, it starts again with all arms."""
FEW = 20
"""Maximum number of changed arms that are sent one by one."""
FIGURES = ("good", "bad", "open", "told", "pending", "ended", "spent")
"""Counts sent with every change."""


class Due(NamedTuple):
    """A due estimate: the journal's number, and the function that computes it."""

    number: int
    estimate: Callable[[Stop], Finish | None]


class Guess(NamedTuple):
    """An estimate of the remaining samples, and when it was made."""

    again_at: float
    number: int
    value: Finish | None

    def is_outdated(self, campaign: Campaign) -> bool:
        """Whether the campaign has grown much since then, or rewards have replaced the plan's assumption."""
        if campaign.number > OUTDATED * self.number:
            return True
        return self.value is not None and self.value.guess != "" and campaign.tally().told > 0


_guesses: WeakKeyDictionary[Campaign, Guess] = WeakKeyDictionary()
_summaries: WeakKeyDictionary[Campaign, dict[str, Any]] = WeakKeyDictionary()
_created: WeakKeyDictionary[Campaign, tuple[str, str | None]] = WeakKeyDictionary()


def counts(campaign: Campaign) -> dict[str, Any]:
    """Fields of a summary that change."""
    tally, more = campaign.tally(), estimated(campaign)
    return {
        "number": campaign.number,
        **{name: getattr(tally, name) for name in FIGURES},
        "asked": tally.told + tally.pending,
        "closed": tally.ended,
        "sentence": headline(campaign.terms, tally, more, campaign.terms.names),
        "remaining": None if more is None else plain(more.median),
        "finish": None if more is None else more.as_json(),
        "bounds": campaign.bounds().as_json(),
    }


def summary(campaign: Campaign) -> dict[str, Any]:
    """Summary of a campaign, cached until its journal grows or its estimate is renewed."""
    more = estimated(campaign)
    now = (campaign.number, None if more is None else more.as_json())
    known = _summaries.get(campaign)
    if known is None or (known["number"], known["finish"]) != now or campaign.terms.after is not None:
        _summaries[campaign] = known = _summary(campaign)
    return known


def overdue(campaign: Campaign) -> int:
    """Number of overdue tickets. It changes with the clock, without an entry in the journal."""
    return campaign.tally().overdue if campaign.terms.after is not None else 0


def _summary(campaign: Campaign) -> dict[str, Any]:
    if campaign not in _created:
        _created[campaign] = _origin(campaign)
    at, by = _created[campaign]
    tally = campaign.tally()
    return {
        "name": campaign.name,
        "created_at": at,
        "changed_at": next((entry["at"] for entry in campaign.history(after=campaign.number - 1)), at),
        "created_by": by,
        **campaign.terms.shown(),
        **counts(campaign),
        "arms": tally.arms,
        "tally": tally._asdict(),
    }


def _origin(campaign: Campaign) -> tuple[str, str | None]:
    """When the campaign was created, and by whom: the first entry, and a note among the next two."""
    created, *following = campaign.history(limit=3)
    notes = [entry.get("content", {}) for entry in following if entry["kind"] == journal.NOTE]
    return created["at"], next((note.get("by") for note in notes if note.get("note") == journal.CREATED), None)


def estimated(campaign: Campaign) -> Finish | None:
    """The latest estimate of the samples until every arm is decided."""
    guess = _guesses.get(campaign)
    return None if guess is None or guess.is_outdated(campaign) else guess.value


def estimate_due(campaign: Hosted) -> Due | None:
    """The input of a new estimate; None if none is due.

    One is due if the last is outdated, or if something has changed and the last was short compared with the time
    since then.
    """
    number, guess = campaign.number, _guesses.get(campaign)
    if guess is None or guess.is_outdated(campaign):
        return Due(number, campaign.finishing())
    is_early = guess.number == number or time.monotonic() < guess.again_at
    return None if is_early else Due(number, campaign.finishing())


def keep_estimate(campaign: Hosted, number: int, value: Finish | None, took: float) -> None:
    """Store an estimate that was computed in `took` seconds."""
    _guesses[campaign] = Guess(time.monotonic() + REST * took, number, value)


def verdicts(campaign: Campaign) -> dict[str, Any]:
    """Every arm against the bar."""
    now = counts(campaign)
    shown = {name: now[name] for name in ("number", "good", "bad", "open", "sentence")}
    return shown | {"arms": [arm.brief() for arm in campaign.arms()]}


COLUMNS = ("arm", "label", "verdict", "pulls", "mean", "low", "high", "own_mean", "guarantee", "decided_at", "state",
           "cost", "failed")  # fmt: skip
"""Columns of the verdicts as CSV; with several bars there are three more per metric."""
ENDS = ("mean", "low", "high")
SIGNS = {"good": 1, "bad": -1, "open": 0}
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet run a text as a formula."""


def verdict_table(campaign: Campaign, only: str | None = None) -> str:
    """The verdicts as CSV; with `only` one verdict, controls are left out."""
    judges = campaign.terms.question.judges
    file = io.StringIO()
    lines = csv.writer(file)
    rows = campaign.arms()
    metrics = [f"{each['metric']} {end}" for row in rows[:1] for each in row.metrics for end in ENDS]
    lines.writerow([*COLUMNS, *map(cell, metrics)])
    for row in rows:
        if only is None or (row.sign == SIGNS[only] and judges(row.arm)):
            known = row.brief()
            values = [plain(each[end]) for each in row.metrics for end in ENDS]
            lines.writerow([*(cell(known[name]) for name in COLUMNS), *values])
    return file.getvalue()


def cell(value: Any) -> Any:
    """Convert a value for CSV: put a quote before text that a spreadsheet would run as a formula.

    >>> cell("=1+1"), cell("calm"), cell(-0.5), cell(None)
    ("'=1+1", 'calm', -0.5, None)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def arm_table(campaign: Campaign) -> dict[str, Any]:
    """All arms with all their fields."""
    return {"number": campaign.number, "arms": [arm.as_json() for arm in campaign.arms()]}


def forecast(remaining: Remaining, arms: list[str]) -> dict[str, Any]:
    """Expected further samples of each arm, in the order of their ids in `arms`."""
    left = remaining._asdict()
    lists = {
        name: [plain(float(each)) for each in values] for name, values in left.items() if name not in ("limit", "arms")
    }
    return {"arms": arms} | lists | {"limit": left["limit"]}


def waiting_tickets(campaign: Campaign, limit: int) -> dict[str, Any]:
    """Outstanding tickets and their number."""
    tally = campaign.tally()
    rows = [ticket._asdict() for ticket in campaign.waiting(limit)]
    return {"pending": tally.pending, "overdue": tally.overdue, "after": campaign.terms.after, "tickets": rows}


def changes(campaign: Campaign, after: int | None) -> dict[str, Any] | None:
    """The figures and the arms that changed after an entry (all if None); None if nothing changed."""
    number = campaign.number
    if after is not None and after >= number:
        return None if after == number else changes(campaign, None)
    if after is None or number - after > MOST_BEHIND:
        return counts(campaign) | {"arms": [arm.brief() for arm in campaign.arms()]}
    changed: dict[str, None] = {}
    for event in campaign.history(after=after):
        if event["kind"] in ("block", "part"):
            changed.update(dict.fromkeys(event["content"]["arms"]))
        elif event["kind"] == "added":
            changed.update(dict.fromkeys(arm["id"] for arm in event["content"]["arms"]))
        elif "arm" in event:
            changed[event["arm"]] = None
        elif event["kind"] == "rest":
            return counts(campaign) | {"arms": [arm.brief() for arm in campaign.arms()]}
    found = (
        map(campaign.arm, changed) if len(changed) <= FEW else (arm for arm in campaign.arms() if arm.arm in changed)
    )
    return counts(campaign) | {"arms": [arm.brief() for arm in found]}


def arm_page(campaign: Hosted, trail: Trail, arm: str) -> dict[str, Any]:
    """One arm: its row, its history, the audit of its verdict."""
    found = campaign.arm(arm)
    audit = campaign.audit(arm)
    way = path(campaign, trail.arms.get(campaign.number_of(arm)) or ArmTrail(), found.weight)
    return found.as_json() | {"path": way, "audit": audit, "bounds": campaign.bounds(arm).as_json()}


def path(campaign: Campaign, trail: ArmTrail, weight: float) -> list[dict[str, Any]]:
    """History of mean, interval and evidence, with pending samples at their worst as in the verdict.

    Unbounded rewards have no worst value; for them only told rewards count.
    """
    points = trail.points()
    if not points:
        return []
    asked, told, total = np.array(points).T
    terms = campaign.terms
    unknown = np.full(len(points), np.nan)
    ends = dict.fromkeys(("low", "high", "for_good", "for_bad"), unknown)
    if decides_by_intervals(terms) and terms.question.own_path:
        rule, bar = terms.made.identification, terms.problem.bar
        values = take(terms.made.setting.identification, rule.defaults)
        asked = asked if terms.by_totals else told
        worst = total + (asked - told)
        need = math.log(1.0 / (terms.delta * weight))
        debt = bar.budget - need  # the evidence of an arm with a smaller share starts below 0
        ends = {
            "low": interval_from_totals(rule, asked, total, bar, need, values)[0],
            "high": interval_from_totals(rule, asked, worst, bar, need, values)[1],
            "for_good": evidence_from_totals(rule, asked, total, bar, values)[0] + debt,
            "for_bad": evidence_from_totals(rule, asked, worst, bar, values)[1] + debt,
        }
    return [
        {"pulls": int(told[i]), "mean": plain(float(total[i] / told[i])) if told[i] else None}
        | {name: plain(float(values[i])) for name, values in ends.items()}
        for i in range(len(points))
    ]


def progress(trail: Trail) -> dict[str, Any]:
    """Verdicts over time."""
    return {"points": [point._asdict() for point in trail.points()]}


def history(campaign: Campaign, after: int, limit: int, kind: str | None) -> dict[str, Any]:
    """A range of the journal, optionally filtered by kind."""
    events = list(campaign.history(after=after, limit=limit))
    last = events[-1]["number"] if events else after
    shown = [event for event in events if kind is None or event["kind"] == kind]
    return {"events": shown, "next": last if last < campaign.number else None, "last": last}
