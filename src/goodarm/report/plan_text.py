"""A plan in words, as a table and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from goodarm.planning import CampaignPlan, Forecast, Outlook
from goodarm.planning.outlook import Money
from goodarm.report.numbers import counted, percent, short
from goodarm.simulation.runs import Estimate

if TYPE_CHECKING:
    from rich.table import Table

ENOUGH = 10
"""Minimum number of simulated campaigns for a statement about nine in ten."""

_NOT_SHOWN = ("decided_at", "finds")


def headline(plan: CampaignPlan) -> Iterator[str]:
    """The question of the plan, in words."""
    budget = f", budget {plan.budget:,} samples" if plan.budget is not None else ""
    if plan.cost is not None:
        budget += f" at {plan.cost:g} each"
        budget += f" ({money(plan.budget * plan.cost)} in money)" if plan.budget is not None else ""
    if plan.costs:
        budget += f", samples cost {money(min(plan.costs))} to {money(max(plan.costs))}, by arm"
        budget += f", budget {money(plan.money)} in money" if plan.money is not None else ""
    yield f"{counted(plan.arms, 'arm')}, {plan.planned.words}, delta {plan.delta:g}{budget}; {plan.means}"
    if plan.asked is not None:
        simulated = counted(plan.runs, "simulated campaign")
        most = f"{plan.last_round:,} samples" if plan.money is None else f"{money(plan.money)} in money"
        yield f"{plan.policy} ({plan.guarantee}), {simulated} of at most {most}"


def answer(plan: CampaignPlan) -> Iterator[str]:
    """The main answer: samples until most good arms are found, in one campaign, and the effect of a budget."""
    asked, kind = plan.asked, plan.question.good
    if asked is None:
        return
    if not asked.milestones:
        yield f"No arm is {kind} here: there is nothing to find."
    else:
        typical = [(each.share, each.samples.median) for each in asked.milestones]
        most = [(each.share, each.samples.high) for each in asked.milestones]
        yield f"To find {_reached(typical)} of the {kind} arms: {_until(typical, plan)} in the median campaign."
        if any(math.isfinite(at) for _, at in most):
            yield f"{_most(plan.runs)} {_reached(most)} within {_until(most, plan)}."
    if (plan.budget is not None or plan.money is not None) and asked.found is not None and asked.found_once is not None:
        low, high = percent(asked.found_once.low), percent(asked.found_once.high)
        once = f"{_once(plan.runs)} between {low} and {high}" if low != high else "the same in every campaign"
        yield f"The budget finds {percent(asked.found.mean)} of the {kind} arms on average; {once}."
    if not math.isfinite(asked.end.median):
        yield f"A verdict on every arm takes {_beyond(plan, ' samples')} in the median campaign."
    else:
        yield f"Every arm has its verdict after {_range(asked.end, plan)}."
    if asked.money is not None:
        yield _in_money(asked, asked.money, plan)


def _in_money(asked: Outlook, spent: Money, plan: CampaignPlan) -> str:
    """The cost of each goal in the median campaign and in most campaigns, as far as it was simulated."""
    kind = plan.question.good
    shares = [f"{_share_words(each.share)} of the {kind} arms" for each in asked.milestones]
    goals = list(zip([*shares, "every verdict"], [*spent.milestones, spent.end], strict=True))
    last = "" if plan.cost is None else money(plan.last_round * plan.cost)
    if plan.money is not None:
        last = money(plan.money)
    most = "nine in ten" if plan.runs >= ENOUGH else "the longest"
    beyond_most = f" ({most}: > {last})" if last else ""
    known = [
        f"{goal} {money(sum.median)}"
        + (f" ({most}: at most {money(sum.high)})" if math.isfinite(sum.high) else beyond_most)
        for goal, sum in goals
        if math.isfinite(sum.median)
    ]
    beyond = [goal for goal, sum in goals if not math.isfinite(sum.median)]
    if beyond:
        known.append(f"{', '.join(beyond)}: {f'more than {last}' if last else 'not reached in the simulation'}")
    return f"In money: {'; '.join(known)}. The table is in {'money' if plan.costs else 'samples'}."


def money(value: float) -> str:
    """A sum, to three figures."""
    return f"{float(f'{value:.3g}'):,.10g}"


def rest(plan: CampaignPlan) -> Iterator[str]:
    """The theoretical lower bound; on a fixed test set, the cost of full evaluation."""
    if plan.full_evaluation is not None:
        full, asked = plan.full_evaluation, plan.asked
        share = ""
        if asked is not None and math.isfinite(asked.end.median):
            share = f"; the median campaign takes {percent(asked.end.median / full)} of that"
        yield f"Evaluating every arm on all {plan.cases:,} cases takes {full:,} samples{share}."
        return
    low, median, high = map(_bound, plan.arm_bound)
    spread = "" if low == high else f" ({low} to {high} for the middle half of the arms)"
    yield (
        f"For a verdict on every arm any policy needs on average at least {_bound(plan.lower_bound)} samples, "
        f"{median} for the median arm{spread}{plan.planned.knowing}."
    )
    if plan.costs and plan.lower_cost is not None:
        yield f"In money that is at least {money(plan.lower_cost) if math.isfinite(plan.lower_cost) else 'infinite'}."


def in_words(plan: CampaignPlan) -> list[str]:
    """All sentences, one or a few per line."""
    return [*headline(plan), *answer(plan), *rest(plan), *plan.notes]


def table(plan: CampaignPlan) -> Table:
    """One row per setting: the given one and looser ones.

    Columns: samples until half, 80% and 90% of the good arms are found, in the median campaign, or money if costs
             differ; shares of the good arms found and of all arms decided at the end, which is the budget or the
             default limit; campaigns with any wrong verdict.
    """
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    made.add_column("setting", style="bold", no_wrap=True)
    for heading in ("half found", "80%", "90%", "found by the end", "decided", "wrong"):
        made.add_column(heading, justify="right")
    for outlook in (plan.asked, *plan.alternatives):
        if outlook is not None:
            made.add_row(
                outlook.words,
                *_milestones(outlook, plan),
                _share(outlook.found),
                _share(outlook.decided),
                f"{outlook.wrong_runs}/{outlook.decided.runs}",
            )
    return made


def as_json(made: CampaignPlan) -> dict[str, Any]:
    """Everything except the individual verdicts."""
    names = [each.name for each in fields(made) if each.name != "planned"]
    shown = {
        name: getattr(made, name)
        for name in [*names, "threshold", "bars", "control", "margin", "cases", "full_evaluation"]
    }
    shown["pulls_per_arm"] = _tuple(made.pulls_per_arm)
    shown["asked"] = _outlook(made.asked) if made.asked else None
    shown["alternatives"] = [_outlook(each) for each in made.alternatives]
    return shown


def _outlook(outlook: Outlook) -> dict[str, Any]:
    shown = {each.name: getattr(outlook, each.name) for each in fields(outlook) if each.name not in _NOT_SHOWN}
    shown |= {name: _tuple(shown[name]) for name in ("rounds", "decided", "found", "end", "found_once")}
    if outlook.money is not None:
        reached = zip(outlook.milestones, outlook.money.milestones, strict=True)
        milestones = [{"share": each.share, **spent._asdict()} for each, spent in reached]
        shown["money"] = {"milestones": milestones, "end": _tuple(outlook.money.end)}
    shown["milestones"] = [{"share": each.share, **each.samples._asdict()} for each in outlook.milestones]
    return shown


def _tuple(value: Estimate | Forecast | None) -> dict[str, Any] | None:
    return None if value is None else value._asdict()


def _share_words(share: float) -> str:
    return "half" if share == 0.5 else f"{share:.0%}"


def _reached(milestones: list[tuple[float, float]]) -> str:
    """The shares that are reached; all of them if none is."""
    within = [share for share, at in milestones if math.isfinite(at)] or [share for share, _ in milestones]
    return ", ".join(_share_words(share) for share in within)


def _until(milestones: list[tuple[float, float]], plan: CampaignPlan) -> str:
    """The samples at which they are reached, and those not reached by the last round."""
    within = [short(at, 3) for _, at in milestones if math.isfinite(at)]
    beyond = [_share_words(share) for share, at in milestones if not math.isfinite(at)]
    if not within:
        return _beyond(plan, " samples")
    return f"{', '.join(within)} samples" + (f" ({', '.join(beyond)}: {_beyond(plan)})" if beyond else "")


def _beyond(plan: CampaignPlan, unit: str = "") -> str:
    """Words for a value beyond the simulation."""
    return f"more than {short(plan.last_round, 3)}{unit}" if plan.money is None else "more than the budget"


def _most(runs: int) -> str:
    """Words for the campaigns that reach a share: nine in ten, if there are enough campaigns."""
    if runs >= ENOUGH:
        return "Nine campaigns in ten find"
    return f"All {runs} simulated ones find" if runs > 1 else "The simulated one finds"


def _once(runs: int) -> str:
    return "eight campaigns in ten" if runs >= ENOUGH else f"the {runs} simulated" if runs > 1 else "the one simulated"


def _samples(value: float, plan: CampaignPlan) -> str:
    return short(value, 3) if math.isfinite(value) else _beyond(plan)


def _range(value: Forecast, plan: CampaignPlan) -> str:
    last = (
        f"nine campaigns in ten end by {_samples(value.high, plan)}"
        if plan.runs >= ENOUGH
        else (f"the longest campaign by {_samples(value.high, plan)}")
    )
    return f"{short(value.median, 3)} samples in the median campaign; {last}"


def _milestones(outlook: Outlook, plan: CampaignPlan) -> list[str]:
    """Milestones in samples, or in money if costs differ."""
    if not outlook.milestones:
        return ["-"] * 3
    if plan.costs and outlook.money is not None:
        return [money(m.median) if math.isfinite(m.median) else "not found" for m in outlook.money.milestones]
    return [
        short(m.samples.median, 3) if math.isfinite(m.samples.median) else f"> {short(outlook.last_round, 3)}"
        for m in outlook.milestones
    ]


def _bound(value: float) -> str:
    return short(value) if math.isfinite(value) else "infinitely many"


def _share(value: Estimate | None) -> str:
    return "no good arm" if value is None else percent(value.mean)
