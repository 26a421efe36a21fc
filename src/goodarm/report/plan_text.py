"""A plan in words and as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from goodarm.plan import CampaignPlan, Outlook
from goodarm.report.numbers import percent, short
from goodarm.simulation.runs import Estimate

if TYPE_CHECKING:
    from rich.table import Table


def headline(plan: CampaignPlan) -> list[str]:
    """What was asked, and the two answers: of theory and of simulation."""
    low, median, high = map(_bound, plan.arm_bound)
    spread = "" if low == high else f" ({low} to {high} for the middle half of the arms)"
    lines = [
        f"{plan.arms:,} arms, threshold {plan.threshold:g}, delta {plan.delta:g}"
        + (f", budget {plan.budget:,} rounds" if plan.budget is not None else ""),
        plan.means,
        f"any policy needs on average at least: {median} pulls of an arm{spread}, "
        f"{_bound(plan.lower_bound)} rounds in all",
    ]
    if plan.asked is None:
        return lines
    return [
        *lines,
        f"{plan.policy} ({plan.guarantee}) takes, by {plan.runs} simulated runs: {_expected(plan, plan.asked)}",
    ]


def table(plan: CampaignPlan) -> Table:
    """One row a setting: as asked, and what a looser wish would buy.

    Columns: lower bound on the rounds; simulated rounds until no arm is open; share of the arms decided, and of the
    good arms found, by the last round; runs with a wrong verdict.
    """
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    made.add_column("setting", style="bold", no_wrap=True)
    for heading in ("at least", "all decided after", f"decided by {short(plan.last_round, 3)}", "found", "wrong runs"):
        made.add_column(heading, justify="right", no_wrap="after" in heading)
    for outlook in (plan.asked, *plan.alternatives):
        if outlook is not None:
            made.add_row(
                outlook.words, _bound(outlook.lower_bound), _rounds(outlook.rounds), _share(outlook.decided),
                _share(outlook.found), f"{outlook.wrong_runs}/{outlook.decided.runs}",
            )  # fmt: skip
    return made


def _expected(plan: CampaignPlan, asked: Outlook) -> str:
    each = plan.pulls_per_arm
    if each is None or asked.rounds is None:
        return f"more than {plan.last_round:,} rounds; {percent(asked.decided.mean)} of the arms are decided by then"
    return f"{_rounds(each)} pulls of an arm, {_rounds(asked.rounds)} rounds in all"


def _bound(value: float) -> str:
    return short(value) if math.isfinite(value) else "infinitely many"


def _rounds(value: Estimate | None) -> str:
    """A mean with its 95% interval."""
    if value is None:
        return "not reached"
    interval = f" [{short(max(value.low, 0.0), 3)}, {short(value.high, 3)}]" if math.isfinite(value.low) else ""
    return f"{short(value.mean, 3)}{interval}"


def _share(value: Estimate | None) -> str:
    return "no good arm" if value is None else percent(value.mean)
