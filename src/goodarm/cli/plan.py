"""`goodarm plan`: how many samples will a campaign need?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from goodarm.arguments import checked_number, percentage
from goodarm.cli._options import Delta, Json, Seed, SeveralBars, Workers, cores, number, option, some_path, whole
from goodarm.cli._show import console, in_options, print_json, progress_bar, say_written
from goodarm.minutes import every_minute

if TYPE_CHECKING:
    from goodarm.planning import CampaignPlan
    from goodarm.planning.players import Progress
    from goodarm.simulation.specification import CostsGiven

EXAMPLES = (
    "goodarm plan --arms 200 --threshold 0.02 --gap 0.01 --budget 1e6",
    "goodarm plan --arms 300 --threshold 0.02 --prior beta:3,197 --out plan",
    "goodarm plan --arms 20 --versus 0.05 --margin 0.005 --gap 0.02",
    "goodarm plan --arms 40 --cases 500 --threshold 0.8 --prior beta:8,2",
    "goodarm plan --arms 20 --bars 'correct >= 90%, slow <= 5%' --gap 'correct=0.05, slow=0.03'",
    "goodarm plan --means guesses.csv --threshold 0.5 --budget 5000    # a column cost has the arms' costs",
)

Bar = Annotated[
    float | None, option("The bar that a good arm's mean must reach; rewards are in [0, 1].", "X", parser=number)
]
Versus = Annotated[
    float | None,
    option(
        "In place of a threshold: the mean of the control to compare with.",
        "X",
        "--versus",
        "--control",
        parser=number,
    ),
]
Margin = Annotated[float, option("Amount by which an arm must exceed the control.", "M", parser=number)]
Arms = Annotated[int | None, option("Number of arms; not needed with --means.", "K", parser=whole)]
Gap = Annotated[
    str | None, option("Assumed distance of every mean from the threshold, half above; or a=G,b=G by bar.", "G")
]
Means = Annotated[
    Path | None,
    option("Means from the columns arm and mean of a CSV or Parquet file; costs from its column cost.", "FILE"),
]
Prior = Annotated[str | None, option("Means drawn from beta:A,B or uniform:LOW,HIGH; by bar 'a=P; b=P'.", "P")]
OnePolicy = Annotated[str, option("A policy, such as value or 'hdoc+kt'.", "P", "--policy", "-p")]
OnCases = Annotated[
    int | None, option("A fixed test set of N cases, each drawn once per arm.", "N", "--cases", parser=whole)
]
Budget = Annotated[float | None, option("Maximum number of samples; with --cost, of money.", "T", parser=number)]
Cost = Annotated[str | None, option("Cost of a sample; by arm 1,1,20 or banner=20. Adds costs to the plan.", "C")]
Simulated = Annotated[
    int | None,
    option("Simulated runs of each setting.", "R", "--runs", parser=whole, shown="as many as fit into a few seconds"),
]
Out = Annotated[Path | None, option("Folder for plan.json and the figure.", "DIR", "--out", parser=some_path)]


def plan(
    threshold: Bar = None,
    arms: Arms = None,
    versus: Versus = None,
    margin: Margin = 0.0,
    bars: SeveralBars = None,
    delta: Delta = 0.05,
    gap: Gap = None,
    means: Means = None,
    prior: Prior = None,
    cases: OnCases = None,
    policy: OnePolicy = "value+gap-mixture",
    budget: Budget = None,
    cost: Cost = None,
    runs: Simulated = None,
    seed: Seed = 0,
    workers: Workers = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Estimate how many samples a campaign needs, in all and per arm, and how many fewer a looser goal needs."""
    from goodarm.planning import plan as make_plan
    from goodarm.report.files import plan_about, refuse_other_results, results_folder, write_plan

    with results_folder(out), _progress() as progress:
        made = make_plan(
            threshold=threshold,
            arms=arms,
            delta=delta,
            gap=gap,
            means=means,
            prior=prior,
            policy=policy,
            budget=int(budget) if budget is not None and cost is None and budget == int(budget) else budget,
            cost=None if cost is None else _costs(cost),
            bars=bars,
            runs=runs,
            seed=seed,
            control=versus,
            margin=margin,
            cases=cases,
            workers=cores() if workers is None else workers,
            progress=progress,
        )
        if out is not None:
            refuse_other_results(out, "plan.json", plan_about(made))
        written = [] if out is None else write_plan(made, out)
    if json:
        from goodarm.report.plan_text import as_json

        print_json(as_json(made))
    else:
        _print(made)
    say_written(written, stderr=True)


def _costs(text: str) -> CostsGiven:
    """One number, one per arm separated by commas, or id=cost pairs.

    >>> _costs("0.5"), _costs("1, 1, 20"), _costs("banner=20")
    (0.5, [1.0, 1.0, 20.0], {'banner': 20.0})
    """
    from goodarm.campaign.arm_files import read_costs

    if "," in text and "=" not in text:
        return [checked_number("cost", percentage(part)) for part in text.split(",")]
    return read_costs(text)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A progress bar of simulated runs; without a terminal, one line per minute."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TextColumn("runs"), TimeRemainingColumn())
    with progress_bar(*columns) as bars:
        task = bars.add_task("", total=None)
        say = every_minute()

        def update(ended: int, in_all: int) -> None:
            bars.update(task, completed=ended, total=in_all)
            say(f"simulated {ended:,} of {in_all:,} runs", last=ended == in_all)

        yield update


def _print(made: CampaignPlan) -> None:
    from goodarm.report.plan_text import answer, headline, rest, table

    screen = console()
    for line in headline(made):
        screen.print(in_options(line), style="dim")
    for line in answer(made):
        screen.print(line, style="bold")
    if made.asked is not None:
        screen.print(table(made))
    for line in (*rest(made), *made.notes):
        screen.print(in_options(line))
