"""The reproduction in words and as Markdown tables."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from goodarm.environments.names import environment as find_environment
from goodarm.numerics import clopper_pearson
from goodarm.paper.report import DELTA, HDOC, OnDataset, PolicyScore, Reproduction, SweepLine
from goodarm.paper.scope import BATCH, DATASETS, STRUCTURED, SWEEP, SWEEP_HORIZON, PaperDataset, Request
from goodarm.report.numbers import NOTHING, percent, plain, short
from goodarm.streams import ENVIRONMENT, generator
from goodarm.theory import exploit_ceiling
from goodarm.verdict import Guarantee

if TYPE_CHECKING:
    from rich.table import Table

DRAWS = 50
"""Draws of the arms over which a ceiling is averaged."""

HEADINGS = (
    "policy",
    "wrong runs",
    "exploit score",
    "sd",
    "wrong verdicts per run",
    "of ceiling",
    "of limit",
    "ratio to HDoC",
    "printed score",
    "printed ratio",
    "good arms found",
    "runs",
    "guarantee",
)
"""In order of importance: narrow screens show only the policy, its wrong runs and its score."""

PRINTED = ("printed score", "printed ratio")
"""Columns that are shown only if runs are as long as the paper's."""


def times(value: float) -> str:
    """A ratio as text.

    >>> times(57.3), times(1.264), times(float("nan"))
    ('57x', '1.26x', '-')
    """
    if not math.isfinite(value):
        return NOTHING
    return f"{value:.0f}x" if abs(value) >= 10.0 else f"{value:.2f}x"


def cells(line: PolicyScore) -> list[str]:
    """One row of a dataset's table, in the order of HEADINGS."""
    return [
        line.entry,
        _wrong(line),
        short(line.mean, 3),
        short(line.sd, 2),
        plain(line.wrong_verdicts),
        percent(line.share_of_ceiling),
        percent(line.share_of_limit),
        times(line.ratio),
        short(line.printed, 2),
        times(line.printed_ratio),
        plain(line.found),
        str(line.runs),
        line.guarantee,
    ]


def _wrong(line: PolicyScore) -> str:
    """Wrong runs, out of the runs with at least one verdict."""
    return f"{line.wrong_runs}/{line.deciding_runs}" if line.deciding_runs else "no verdict"


def values(line: PolicyScore) -> list[float | str]:
    """The values by which the cells are sorted."""
    return [
        line.entry,
        line.wrong_runs / line.runs,
        line.mean,
        line.sd,
        line.wrong_verdicts,
        line.share_of_ceiling,
        line.share_of_limit,
        line.ratio,
        line.printed,
        line.printed_ratio,
        line.found,
        line.runs,
        line.guarantee,
    ]


def shown(on: OnDataset) -> list[int]:
    """Indices of the columns to show. Printed scores and ratios are left out if a dataset has none."""
    left_out: set[str] = set()
    if not any(math.isfinite(line.printed) for line in on.lines):
        left_out |= set(PRINTED)
    if not any(math.isfinite(line.ratio) for line in on.lines):
        left_out.add("ratio to HDoC")
    return [place for place, heading in enumerate(HEADINGS) if heading not in left_out]


def setting(on: OnDataset) -> str:
    """Arms, threshold, rounds, ceiling and limit of a dataset."""
    shortened = f" (its own: {on.own_horizon:,})" if on.horizon != on.own_horizon else ""
    return (
        f"{on.arms:,} arms, {plain(on.good_arms)} good; threshold {on.threshold:.4g}; "
        f"{on.horizon:,} rounds{shortened}; ceiling {short(on.ceiling, 3)}, limit of an oracle {short(on.limit, 3)}"
    )


def markdown(found: Reproduction) -> str:
    """The file table1.md: the answer, the settings, and the table of every dataset."""
    lines = ["# Table 1, reproduced", "", *(f"{line}\n" for line in answer(found)), f"`{found.request.command()}`", ""]
    lines += [f"{note}\n" for note in notes(found)]
    for on in found.datasets:
        if not on.lines:
            continue
        model = f" Model: {on.model}; hdoc does not use it." if on.model else ""
        lines += [f"## {on.name}", "", f"{setting(on)}.{model}", f"Reading: {on.reading}.", ""]
        columns = shown(on)
        lines += [_row([HEADINGS[c] for c in columns]), _row(["---"] + ["---:"] * (len(columns) - 1))]
        lines += [_row([cells(line)[c] for c in columns]) for line in on.lines] + [""]
    if found.sweep:
        lines += ["## The constraint D", "", f"{SWEPT}", "", *sweep_rows(found), ""]
    return "\n".join(lines)


SWEPT = (
    f"The paper's training on {SWEEP} with {SWEEP_HORIZON:,} rounds and eta1 = eta2 = eta. D is as printed, "
    "alpha U - |mu - m|, or has the opposite, covering sign, |mu - m| - alpha U. The learned alpha and beta are then "
    "tested on fresh rewards."
)
SWEEP_HEADINGS = ("D", "eta", "alpha", "beta", "wrong runs", "wrong verdicts per run", "of ceiling", "runs")


def sweep_cells(line: SweepLine) -> list[str]:
    """One row of the sweep over eta, in the order of SWEEP_HEADINGS."""
    return [
        line.sign,
        f"{line.eta:g}",
        f"{line.alpha:.3g}",
        f"{line.beta:.3g}",
        f"{line.wrong_runs}/{line.deciding_runs}" if line.deciding_runs else "no verdict",
        plain(line.wrong_verdicts),
        percent(line.share_of_ceiling),
        str(line.runs),
    ]


def sweep_rows(found: Reproduction) -> Iterator[str]:
    """The sweep as a Markdown table."""
    yield _row(SWEEP_HEADINGS)
    yield _row(["---"] + ["---:"] * (len(SWEEP_HEADINGS) - 1))
    for line in found.sweep:
        yield _row(sweep_cells(line))


def _row(words: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(words) + " |"


def _left_out(request: Request) -> str:
    """The problems with features that the quick reproduction leaves out, with a space after it; empty if none."""
    played = [each.name for each in request.datasets if each in STRUCTURED]
    others = [each.name for each in STRUCTURED if each.name not in played]
    if not played or not others:
        return ""
    return f"Of the problems whose arms have features it runs {' and '.join(played)}, not {' and '.join(others)}. "


def notes(found: Reproduction) -> Iterator[str]:
    """Settings of the runs, and definitions of the columns."""
    request, scale = found.request, found.request.scale
    if request.quick:
        yield (
            "This is the quick reproduction, with fewer repetitions and shorter horizons than the paper. Its scores "
            "can't be compared with the printed ones, and no bound is calibrated. "
            f"{_left_out(request)}Leave out --quick for the full reproduction."
        )
    yield (
        f"Seed {request.seed}, delta 0.05. Each policy has {_counted(scale.runs)}, with these exceptions: tt-ts, which "
        f"evaluates every arm in every round, has {scale.slow_runs} except on synth-small; tt-ts-printed has "
        f"{scale.slow_runs} and is run on synth-small only; policies with features have {scale.structured_runs}. In "
        f"Figure 4 each policy has {_counted(scale.reward_runs)}; thompson and dgai-reward-printed have "
        f"{scale.slow_reward_runs}."
    )
    yield (
        f"dgai-offline is trained for {scale.epochs} epochs ({scale.structured_epochs} with features) of at most "
        f"{scale.training_horizon:,} rounds on the arms of the same run, with the gradient computed in one round of a "
        "thousand. It is then run once on fresh rewards. dgai-offline-covering is the same with the opposite sign of "
        f"D. dgai-online and softucb-g make a gradient step every {BATCH} rounds. dgai learns beta within each run. "
        f"dgai learned offline starts from the beta of {scale.budget} training runs on other seeds. dgai-spread "
        "computes beta by a formula."
    )
    yield (
        "Wrong runs are counted among the runs with at least one verdict. The score of a run is the sum, over the "
        "arms called good, of (rounds left) x (mean - threshold); a bad arm called good reduces it. The tables have "
        "its mean and standard deviation over the runs. The ceiling is the score if every good arm is known from the "
        "start. The limit is the score of an oracle that knows the means and still has to collect the evidence. The "
        "ratio is to HDoC's score on the same runs; it is left out (-) where HDoC scores less than 1% of the ceiling."
    )


def _counted(runs: int) -> str:
    return f"{runs} repetition{'s' * (runs != 1)}"


def answer(found: Reproduction) -> Iterator[str]:
    """Whether the paper's method keeps its error probability, and how many runs of certified policies were wrong."""
    lines = [line for on in found.datasets for line in on.lines]
    printed = [line for line in lines if line.kind == "paper"]
    certified = [line for line in lines if line.guarantee == str(Guarantee.CERTIFIED)]
    if printed:
        wrong, decided = sum(line.wrong_runs for line in printed), sum(line.deciding_runs for line in printed)
        low = clopper_pearson(wrong, decided, 0.95)[0] if decided else 0.0
        verdict = "The paper does not hold as printed" if low > DELTA else "Nothing here contradicts the paper"
        yield (
            f"{verdict}: its method gave wrong verdicts in {wrong} of the {decided} runs with a verdict, and delta "
            f"allows {DELTA:.0%}{_none(printed)}."
        )
    if certified:
        wrong, decided = sum(line.wrong_runs for line in certified), sum(line.deciding_runs for line in certified)
        yield (
            f"Certified policies, which include HDoC and ours, were wrong in {wrong} of the {decided} runs with a "
            f"verdict{_none(certified)}."
        )


def _none(lines: list[PolicyScore]) -> str:
    """The number of runs without a verdict, as the end of a sentence."""
    none = sum(line.runs - line.deciding_runs for line in lines)
    return f"; {none} runs gave no verdict" if none else ""


def findings(found: Reproduction) -> Iterator[str]:
    """One sentence per dataset: scores of HDoC, of the paper's method and of `value`, with their wrong verdicts."""
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


def _beside(line: PolicyScore) -> str:
    return f" (the paper prints {short(line.printed, 2)})" if math.isfinite(line.printed) else ""


def _times_hdoc(line: PolicyScore) -> str:
    return f", {times(line.ratio)} HDoC" if math.isfinite(line.ratio) else ""


def _paper_line(line: PolicyScore) -> str:
    printed = f"; printed {times(line.printed_ratio)}" if math.isfinite(line.printed_ratio) else ""
    ratio = f" ({times(line.ratio)} HDoC{printed})" if math.isfinite(line.ratio) else ""
    wrong = f"{plain(line.false_good)} bad arms called good and {plain(line.false_bad)} good arms called bad per run"
    if line.wrong_verdicts == 0.0:
        wrong = "no wrong verdict" if line.found else "no arm called good"
    return f"{line.entry} {short(line.mean, 3)}{ratio} with {wrong}"


def impossible(seed: int = 0) -> Iterator[str]:
    """For each dataset, the printed scores that no policy can reach, and the reason."""
    for dataset in DATASETS[:2]:
        ceiling = _ceiling(f"{dataset.name}-printed", seed)
        yield (
            f"{dataset.name}: with means in [0.49975, 0.5005] as printed, no policy can score more than "
            f"{short(ceiling.mean, 3)} ± {short(ceiling.sd, 2)} (mean and standard deviation over draws of the arms); "
            f"{_above(dataset, ceiling)}. After a million pulls of one arm the baselines' radius "
            "is still 0.004, eight times the largest distance of any mean from the threshold, so they can't decide any "
            f"arm. We use [0.475, 0.55], with a ceiling of {short(_ceiling(dataset.name, seed).mean, 2)}."
        )
    movielens, open_bandit, sample = DATASETS[2:5]
    most = _Ceiling(0.05 * 9527 * (1.0 - 0.071) * 1e5, 0.0)
    yield (
        "movielens: with the threshold at the 95th percentile, one arm in twenty lies above it, and with rewards in "
        f"[0, 1] no policy can score more than {short(most.mean, 2)} in 100,000 rounds; {_above(movielens, most)}. The "
        f"ceiling of our reading is {short(_ceiling(movielens.name, seed).mean, 2)}; "
        f"{_above(movielens, _ceiling(movielens.name, seed))}."
    )
    full = _ceiling(open_bandit.name, seed)
    yield (
        f"open-bandit: with the click rates of the full random log no policy can score more than {short(full.mean, 3)} "
        f"in ten million rounds; {_above(open_bandit, full)}. With the rates of the 10,000-row sample, which are "
        f"mostly noise, the ceiling is {short(_ceiling(sample.name, seed).mean, 4)}, and the largest printed score is "
        "1.5M: the paper very likely used the sample. We treat it as a separate dataset."
    )


class _Ceiling(NamedTuple):
    mean: float
    sd: float


def _ceiling(name: str, seed: int) -> _Ceiling:
    """The largest possible score: mean and standard deviation over draws of the arms, which differ from run to run."""
    environment = find_environment(name)
    draws = [environment.instance(generator(seed, run, ENVIRONMENT)).means for run in range(DRAWS)]
    found = [exploit_ceiling(means, environment.threshold, environment.horizon) for means in draws]
    return _Ceiling(statistics.fmean(found), statistics.stdev(found))


def _above(dataset: PaperDataset, ceiling: _Ceiling) -> str:
    """Printed scores that lie above the ceiling of all but a few draws of the arms."""
    above = [policy for policy, score in dataset.printed.items() if score > ceiling.mean + 2.0 * ceiling.sd]
    which = f" ({', '.join(above)})" if 0 < len(above) < len(dataset.printed) else ""
    lie = "lies" if len(above) == 1 else "lie"
    return f"{len(above)} of the {len(dataset.printed)} printed scores {lie} above it{which}"


READINGS = (
    "The experiments pull the arm with the largest probability; Algorithm 2 draws an arm. We pull the largest.",
    "The confidence level inside gamma is not delta: with 0.05, gamma is negative for up to 18 arms. We use 0.99.",
    "beta starts at 0.001, not at the printed 0, where the index divides by 0. alpha starts at 0 as printed.",
    "Objectives are means over rounds, and penalties are means over arms. Sums would step by hundreds at rate 0.1.",
    "Means are shrunk towards the threshold, not towards 0, by V_0 = I.",
    f"The batch size b of online learning is not given. We make a step every {BATCH} rounds.",
    "apt-g pulls the arm with the smallest sqrt(N) |mean - threshold|, as in Kano et al. apt-g-printed pulls the one "
    "with the largest mean + sqrt(N) |mean - threshold|, as printed, which stays on one arm until it is decided.",
    "tt-ts is randomised as in Russo 2016; tt-ts-printed pulls the arm that is second most likely to be the best.",
    "D in the identification objective is as printed, which pushes alpha down; dgai-offline-covering reverses it.",
    "Each arm is pulled once, then only the pulled arm is judged (Algorithm 1), with and without a model.",
)
"""Our choices where the paper is ambiguous or can't be meant literally. docs/replication.md has the details."""


ON_SCREEN = (
    ("policy", "policy"),
    ("wrong runs", "wrong runs"),
    ("exploit score", "score"),
    ("sd", "sd"),
    ("of ceiling", "of ceiling"),
    ("ratio to HDoC", "to HDoC"),
    ("printed score", "printed"),
    ("printed ratio", "to HDoC"),
)
"""Columns for a terminal of 80 characters, and their headings there."""


def replication_table(on: OnDataset) -> Table:
    """A dataset's table for a terminal, with the columns that fit."""
    from rich import box
    from rich.table import Table

    title = f"{on.name}: {setting(on)}"
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, title=title, title_justify="left")
    here = [(HEADINGS.index(heading), words) for heading, words in ON_SCREEN if HEADINGS.index(heading) in shown(on)]
    for number, (_, words) in enumerate(here):
        drawn.add_column(words, justify="right" if number else "left", no_wrap=not number)
    places = [place for place, _ in here]
    for line in on.lines:
        row = cells(line)
        drawn.add_row(*(row[place] for place in places))
    return drawn
