"""The API's JSON views of a `Campaign`."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from goodarm.campaign.words import headline
from goodarm.engine.evidence import Seen
from goodarm.service.trail import ArmTrail, Trail
from goodarm.spreadsheet import cell
from goodarm.wire import jsonable

if TYPE_CHECKING:
    from goodarm.campaign import Campaign
    from goodarm.planning import Remaining
    from goodarm.service.hosted import Hosted

MOST_BEHIND = 5000
"""Maximum number of missed entries that a stream catches up on. With more, it starts again with all arms."""
FEW = 20
"""Maximum number of changed arms that are sent one by one."""
FIGURES = ("good", "bad", "open", "told", "pending", "ended", "spent")
"""Counts sent with every change."""


def counts(campaign: Hosted) -> dict[str, Any]:
    """Fields of a summary that change."""
    tally, more = campaign.tally(), campaign.estimate
    return {
        "number": campaign.number,
        **{name: getattr(tally, name) for name in FIGURES},
        "asked": tally.told + tally.pending,
        "closed": tally.ended,
        "sentence": headline(campaign.terms, tally, more, campaign.terms.names),
        "remaining": None if more is None else jsonable(more.median),
        "finish": None if more is None else more.as_json(),
        "bounds": campaign.bounds().as_json(),
    }


def summary(campaign: Hosted) -> dict[str, Any]:
    """Summary of a campaign, cached until its journal grows or its estimate is renewed."""
    more = campaign.estimate
    now = (campaign.number, None if more is None else more.as_json())
    known = campaign.kept_summary
    if known is None or (known["number"], known["finish"]) != now or campaign.terms.after is not None:
        campaign.kept_summary = known = _summary(campaign)
    return known


def overdue(campaign: Campaign) -> int:
    """Number of overdue tickets. It changes with the clock, without an entry in the journal."""
    return campaign.tally().overdue if campaign.terms.after is not None else 0


def _summary(campaign: Hosted) -> dict[str, Any]:
    at, by = campaign.origin
    tally = campaign.tally()
    return {
        "name": campaign.name,
        "created_at": at,
        "changed_at": next((entry["at"] for entry in campaign.history(after=campaign.number - 1)), at),
        "created_by": by,
        **campaign.terms.shown()._asdict(),
        **counts(campaign),
        "arms": tally.arms,
        "tally": tally._asdict(),
    }


def verdicts(campaign: Hosted) -> dict[str, Any]:
    """Every arm against the bar."""
    now = counts(campaign)
    shown = {name: now[name] for name in ("number", "good", "bad", "open", "sentence")}
    return shown | {"arms": [arm.brief() for arm in campaign.arms()]}


COLUMNS = ("arm", "label", "verdict", "pulls", "mean", "low", "high", "own_mean", "guarantee", "decided_at", "state",
           "cost", "failed")  # fmt: skip
"""Columns of the verdicts as CSV; with several bars there are three more per metric."""
ENDS = ("mean", "low", "high")
SIGNS = {"good": 1, "bad": -1, "open": 0}


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
            values = [jsonable(each[end]) for each in row.metrics for end in ENDS]
            lines.writerow([*(cell(known[name]) for name in COLUMNS), *values])
    return file.getvalue()


def arm_table(campaign: Campaign) -> dict[str, Any]:
    """All arms with all their fields."""
    return {"number": campaign.number, "arms": [arm.as_json() for arm in campaign.arms()]}


def forecast(remaining: Remaining, arms: list[str]) -> dict[str, Any]:
    """Expected further samples of each arm, in the order of their ids in `arms`."""
    left = remaining._asdict()
    lists = {
        name: [jsonable(float(each)) for each in values]
        for name, values in left.items()
        if name not in ("limit", "arms")
    }
    return {"arms": arms} | lists | {"limit": left["limit"]}


def pending_tickets(campaign: Campaign, limit: int) -> dict[str, Any]:
    """Pending tickets and their number."""
    tally = campaign.tally()
    rows = [ticket._asdict() for ticket in campaign.waiting(limit)]
    return {"pending": tally.pending, "overdue": tally.overdue, "after": campaign.terms.after, "tickets": rows}


def changes(campaign: Hosted, after: int | None) -> dict[str, Any] | None:
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
    """History of mean, interval and evidence."""
    points, terms = trail.points(), campaign.terms
    if not points:
        return []
    seen = [Seen(told, total, asked - told) for asked, told, total in points]
    found = terms.evidence.path(terms.made, terms.problem, seen, weight)
    return [
        {"pulls": int(told), "mean": jsonable(total / told) if told else None}
        | {name: jsonable(value) for name, value in zip(found._fields, values, strict=True)}
        for (_, told, total), *values in zip(points, *found, strict=True)
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
