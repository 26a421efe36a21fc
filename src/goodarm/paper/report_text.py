"""The replication in words and as Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from goodarm.environments.names import environment as find_environment
from goodarm.paper.report import HDOC, OnDataset, PolicyScore, Replication
from goodarm.paper.scope import BATCH, DATASETS, PaperDataset
from goodarm.report.numbers import NOTHING, percent, plain, short
from goodarm.streams import ENVIRONMENT, generator
from goodarm.theory import exploit_ceiling
from goodarm.verdict import Guarantee

if TYPE_CHECKING:
    from rich.table import Table

HEADINGS = (
    "policy", "exploit score", "sd", "wrong runs", "wrong verdicts a run", "of ceiling", "of limit", "ratio to HDoC",
    "printed score", "printed ratio", "good arms found", "runs", "guarantee",
)  # fmt: skip


def times(value: float) -> str:
    """A ratio.

    >>> times(57.3), times(1.264), times(float("nan"))
    ('57x', '1.26x', '-')
    """
    if not math.isfinite(value):
        return NOTHING
    return f"{value:.0f}x" if abs(value) >= 10.0 else f"{value:.2f}x"


def cells(line: PolicyScore) -> list[str]:
    """One row of a dataset's table, in the order of HEADINGS."""
    return [
        line.entry, short(line.mean, 3), short(line.sd, 2), f"{line.wrong_runs}/{line.runs}",
        plain(line.wrong_verdicts), percent(line.share_of_ceiling), percent(line.share_of_limit), times(line.ratio),
        short(line.printed, 2), times(line.printed_ratio), plain(line.found), str(line.runs), line.guarantee,
    ]  # fmt: skip


def values(line: PolicyScore) -> list[float | str]:
    """What the cells sort by."""
    return [
        line.entry, line.mean, line.sd, line.wrong_runs / line.runs, line.wrong_verdicts, line.share_of_ceiling,
        line.share_of_limit, line.ratio, line.printed, line.printed_ratio, line.found, line.runs, line.guarantee,
    ]  # fmt: skip


def setting(on: OnDataset) -> str:
    """Arms, threshold, rounds and yardsticks of a dataset."""
    shortened = f" (its own: {on.own_horizon:,})" if on.horizon != on.own_horizon else ""
    return (
        f"{on.arms:,} arms, {plain(on.good_arms)} good; threshold {on.threshold:.4g}; "
        f"{on.horizon:,} rounds{shortened}; ceiling {short(on.ceiling, 3)}, limit of an oracle {short(on.limit, 3)}"
    )


def markdown(found: Replication) -> str:
    """table1.md: every dataset's table, with what was asked."""
    lines = ["# Table 1, reproduced", "", f"`{found.request.command()}`", "", *(f"{note}\n" for note in notes(found))]
    for on in found.datasets:
        if not on.lines:
            continue
        lines += [f"## {on.name}", "", f"{setting(on)}.", f"Reading: {on.reading}.", ""]
        lines += [_row(HEADINGS), _row(["---"] + ["---:"] * (len(HEADINGS) - 1))]
        lines += [_row(cells(line)) for line in on.lines] + [""]
    return "\n".join(lines)


def _row(words: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(words) + " |"


def notes(found: Replication) -> Iterator[str]:
    """What was played, and what was not."""
    request, scale = found.request, found.request.scale
    if request.quick:
        yield (
            "This is the quick reproduction: fewer repetitions and shorter horizons than the paper's, so scores, and "
            "most of all ratios, are not those of the full one. No bound is calibrated. Leave out --quick for the rest."
        )
    yield (
        f"Seed {request.seed}, delta 0.05. {_counted(scale.runs)}; {_counted(scale.slow_runs)} of tt-ts, which looks "
        f"at every arm in every round, on all datasets but synth-small. Of Figure 4: {_counted(scale.reward_runs)}, "
        f"{scale.slow_reward_runs} of thompson and dgai-reward-printed."
    )
    yield (
        f"dgai-offline: {scale.epochs} epochs on the arms of the run itself, gradient at every {scale.every:,} rounds, "
        f"then one run on fresh rewards. dgai-online and softucb-g: a step every {BATCH} rounds. dgai learned: beta "
        f"from {scale.budget} runs on other seeds."
    )
    yield (
        "Score: sum over the arms called good of (rounds left) x (mean - threshold), mean and standard deviation over "
        "runs; a bad arm called good subtracts. Ceiling: every good arm known from the start. Limit: an oracle that "
        "knows the means and still has to collect the evidence. Ratio: to HDoC on the same runs; - where that is 0."
    )


def _counted(runs: int) -> str:
    return f"{runs} repetition{'s' * (runs != 1)}"


def findings(found: Replication) -> Iterator[str]:
    """What it comes to, then one sentence a dataset, from the numbers alone."""
    yield from _in_all([line for on in found.datasets for line in on.lines])
    for on in found.datasets:
        by_name = {line.entry: line for line in on.lines}
        if HDOC not in by_name or "value" not in by_name:
            continue
        hdoc, value = by_name[HDOC], by_name["value"]
        words = [f"{on.name}: HDoC scores {short(hdoc.mean, 3)}" + _beside(hdoc)]
        for name in ("dgai-online", "dgai-offline"):
            if name in by_name:
                words.append(_paper_line(by_name[name]))
        of = f"{percent(value.share_of_ceiling)} of the ceiling"
        words.append(
            f"value {short(value.mean, 3)} ({of}{_times_hdoc(value)}), {value.wrong_runs} of {value.runs} runs wrong"
        )
        yield "; ".join(words) + "."


def _in_all(lines: list[PolicyScore]) -> Iterator[str]:
    """How often the paper's method erred, and how often what is certified."""
    printed = [line for line in lines if line.kind == "paper"]
    certified = [line for line in lines if line.guarantee == str(Guarantee.CERTIFIED)]
    for words, mine in (("the paper's method, as printed", printed), ("certified policies", certified)):
        if mine:
            wrong, runs = sum(line.wrong_runs for line in mine), sum(line.runs for line in mine)
            yield f"{words}: wrong verdicts in {wrong} of {runs} runs."


def _beside(line: PolicyScore) -> str:
    return f" (the paper prints {short(line.printed, 2)})" if math.isfinite(line.printed) else ""


def _times_hdoc(line: PolicyScore) -> str:
    return f", {times(line.ratio)} HDoC" if math.isfinite(line.ratio) else ""


def _paper_line(line: PolicyScore) -> str:
    printed = f"; printed {times(line.printed_ratio)}" if math.isfinite(line.printed_ratio) else ""
    ratio = f" ({times(line.ratio)} HDoC{printed})" if math.isfinite(line.ratio) else ""
    wrong = f"{plain(line.false_good)} bad arms called good and {plain(line.false_bad)} good arms called bad a run"
    if line.wrong_verdicts == 0.0:
        wrong = "no wrong verdict" if line.found else "no arm called good"
    return f"{line.entry} {short(line.mean, 3)}{ratio} with {wrong}"


def impossible(seed: int = 0) -> Iterator[str]:
    """Where the printed numbers cannot be, with the numbers that say so."""
    for dataset in DATASETS[:2]:
        ceiling = _ceiling(f"{dataset.name}-printed", seed)
        yield (
            f"{dataset.name}: with means in [0.49975, 0.5005] as printed, no policy can score more than "
            f"{short(ceiling, 2)}; {_above(dataset, ceiling)}. After a million pulls of one arm the baselines' radius "
            "is still 0.004, eight times the largest distance of any mean from the threshold: they can decide "
            f"nothing. We take [0.475, 0.55], with a ceiling of {short(_ceiling(dataset.name, seed), 2)}."
        )
    movielens, open_bandit, sample = DATASETS[2:5]
    most = 0.05 * 9527 * (1.0 - 0.071) * 1e5
    yield (
        "movielens: with the threshold at the 95th percentile, one arm in twenty lies above it, and with rewards in "
        f"[0, 1] no policy can score more than {short(most, 2)} in 100,000 rounds; {_above(movielens, most)}. The "
        f"ceiling of our reading is {short(_ceiling(movielens.name, seed), 2)}; "
        f"{_above(movielens, _ceiling(movielens.name, seed))}."
    )
    full = _ceiling(open_bandit.name, seed)
    yield (
        f"open-bandit: with the click rates of the full random log no policy can score more than {short(full, 3)} in "
        f"ten million rounds; {_above(open_bandit, full)}. With the rates of the 10,000-row sample, which are mostly "
        f"noise, the ceiling is {short(_ceiling(sample.name, seed), 4)}, and the largest printed score is 1.5M: the "
        "sample is very likely what was used. It is a dataset of its own here."
    )


def _ceiling(name: str, seed: int) -> float:
    """The largest possible score, mean over ten draws of the arms."""
    environment = find_environment(name)
    draws = [environment.instance(generator(seed, run, ENVIRONMENT)).means for run in range(10)]
    return sum(exploit_ceiling(means, environment.threshold, environment.horizon) for means in draws) / len(draws)


def _above(dataset: PaperDataset, ceiling: float) -> str:
    above = [policy for policy, score in dataset.printed.items() if score > ceiling]
    which = f" ({', '.join(above)})" if 0 < len(above) < len(dataset.printed) else ""
    return f"{len(above)} of the {len(dataset.printed)} printed scores lie above{which}"


READINGS = (
    "The draw: the experiments take the arm of the largest probability, Algorithm 2 draws it. We take the largest.",
    "The confidence level inside gamma is not delta: with 0.05, gamma is negative for up to 18 arms. We use 0.99.",
    "beta starts at 0 as printed, raised to 0.001: at 0 the index divides by 0. alpha starts at 0 as printed.",
    "Objectives are means over rounds, and penalties means over arms: as sums they step by hundreds at rate 0.1.",
    "Means are shrunk towards the threshold, not towards 0, by V_0 = I.",
    f"The batch b of online learning is not given: we step every {BATCH} rounds.",
    "apt-g pulls the smallest sqrt(N) |mean - threshold| as in Kano et al.; the printed largest stays on one arm.",
)
"""What the text leaves open or cannot mean literally; docs/replication.md says more."""


ON_SCREEN = (
    ("policy", "policy"), ("exploit score", "score"), ("sd", "sd"), ("of ceiling", "of ceiling"),
    ("wrong runs", "wrong runs"), ("ratio to HDoC", "to HDoC"), ("printed score", "printed"),
    ("printed ratio", "to HDoC"),
)  # fmt: skip
"""Columns for a terminal of 80 characters, and what they are called there."""


def replication_table(on: OnDataset) -> Table:
    """A dataset's table for a terminal; the columns that it has room for."""
    from rich import box
    from rich.table import Table

    title = f"{on.name}: {setting(on)}"
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, title=title, title_justify="left")
    for place, (_, short_heading) in enumerate(ON_SCREEN):
        drawn.add_column(short_heading, justify="right" if place else "left", no_wrap=not place)
    places = [HEADINGS.index(heading) for heading, _ in ON_SCREEN]
    for line in on.lines:
        row = cells(line)
        drawn.add_row(*(row[place] for place in places))
    return drawn
