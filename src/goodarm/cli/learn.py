"""`goodarm learn`: learn a policy on an environment or a log's totals, and save it as a small JSON file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goodarm.cli._options import Delta, Horizon, Json, Seed, Threshold, Workers, cores, some_path, whole
from goodarm.cli._show import console, print_json, progress_bar
from goodarm.errors import InvalidValue

if TYPE_CHECKING:
    from goodarm.environments import Environment
    from goodarm.learning.train import Watch

EXAMPLES = (
    "goodarm learn synth-small --horizon 100000 --out policy.json",
    "goodarm learn log.csv --arm headline --reward clicked --threshold 0.02 --horizon 200000 --policy dgai",
)

EnvironmentToLearn = Annotated[
    str | None,
    typer.Argument(
        metavar="ENVIRONMENT|LOG",
        help="A name of `goodarm environments`, table:FILE or replay:FILE; or your own log, a CSV or Parquet file with "
        "one row per reward, or with the columns pulls and total.",
    ),
]
PolicyToLearn = Annotated[str, typer.Option("--policy", "-p", metavar="P", help="value, dgai, ucb or dgai-offline.")]
FromTable = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A log; the same as LOG."),
]
LogArm = Annotated[str | None, typer.Option("--arm", metavar="COLUMN", help="For LOG: the column of arms.")]
LogReward = Annotated[str | None, typer.Option("--reward", metavar="COLUMN", help="For LOG: the column of rewards.")]
LogRewards = Annotated[
    str | None, typer.Option("--rewards", metavar="R", help="For LOG: bounded (in [0, 1]) or gaussian:SCALE.")
]
Objective = Annotated[
    str,
    typer.Option(
        metavar="score|paper|none",
        help="Learn the sampling parameter by the exploit score, train dgai-offline as printed in the paper, or "
        "neither.",
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=X",
        help="An option of the paper's objective, such as rate=0.05 or every=1000. Repeatable.",
    ),
]
Budget = Annotated[
    int,
    typer.Option(parser=whole, metavar="N", help="Maximum runs for learning, or epochs with --objective paper."),
]
Calibrate = Annotated[bool, typer.Option("--calibrate", help="Also learn the bound for deciding, and test it.")]
LearningRuns = Annotated[int, typer.Option(parser=whole, metavar="N", help="Runs on which the bound is learned.")]
Tests = Annotated[int, typer.Option(parser=whole, metavar="N", help="Fresh runs on which the bound is tested.")]
Check = Annotated[
    int,
    typer.Option(
        parser=whole,
        metavar="R",
        help="Number of fresh runs to measure the gain over the initial policy and over value.",
    ),
]
PolicyFile = Annotated[
    Path,
    typer.Option("--out", parser=some_path, metavar="FILE", help="The policy file. Its figure is written next to it."),
]


def learn(
    environment: EnvironmentToLearn = None,
    policy: PolicyToLearn = "value",
    from_table: FromTable = None,
    arm: LogArm = None,
    reward: LogReward = None,
    rewards: LogRewards = None,
    horizon: Horizon = None,
    threshold: Threshold = None,
    objective: Objective = "score",
    options: Options = None,
    budget: Budget = 52,
    calibrate: Calibrate = False,
    learning_runs: LearningRuns = 1000,
    tests: Tests = 1000,
    check: Check = 20,
    delta: Delta = 0.05,
    seed: Seed = 0,
    workers: Workers = None,
    out: PolicyFile = Path("policy.json"),
    json: Json = False,
) -> None:
    """Learn a policy's parameters offline, and write a file that any --policy accepts."""
    from goodarm.learning.gain import gains
    from goodarm.learning.train import learn as learn_policy
    from goodarm.report.learned import advice, as_json, check_file, lines, write

    check_file(out, from_table)
    if environment is not None and from_table is not None:
        raise InvalidValue(f"give either {environment} or --from-table {from_table}, not both.")
    log = from_table if environment is None else _log_of(environment)
    family = _family(environment, log, threshold, horizon, {"arm": arm, "reward": reward, "rewards": rewards})
    many = cores() if workers is None else workers
    with _progress(budget if objective != "none" else 0, learning_runs + tests if calibrate else 0) as watch:
        learned = learn_policy(
            family,
            policy,
            horizon=horizon,
            objective=objective,
            options=_numbers(options or []),
            budget=budget,
            calibrate=calibrate,
            learning_runs=learning_runs,
            tests=tests,
            delta=delta,
            seed=seed,
            earlier=out,
            workers=many,
            watch=watch,
        )
    written = write(learned, out)
    gained = gains(learned, runs=check, workers=many, progress=True) if check else []
    if json:
        print_json(as_json(learned, gained, written))
        return
    screen = console()
    for line in (*lines(learned, gained), *(f"written: {path}" for path in written)):
        screen.print(line)
    for line in advice(family.name, None if log else environment, out, threshold, horizon, delta):
        screen.print(line, style="dim")


def _numbers(options: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for option in options:
        name, _, value = option.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise InvalidValue(f"--set needs NAME=NUMBER, as in --set rate=0.05; got {option!r}.") from None
    return found


def _log_of(environment: str) -> Path | None:
    """The path of a log, if the argument is one: it ends like a table and has no `kind:` prefix."""
    path = Path(environment)
    return path if ":" not in environment and path.suffix in (".csv", ".tsv", ".txt", ".parquet") else None


def _family(
    environment: str | None,
    log: Path | None,
    threshold: float | None,
    horizon: int | None,
    columns: dict[str, str | None],
) -> Environment:
    from goodarm.environments.names import environment as find_environment
    from goodarm.learning.family import HORIZON, family_from_table
    from goodarm.problem import rewards_from_text

    given = {name: value for name, value in columns.items() if value is not None}
    if environment is None and log is None:
        raise InvalidValue("give an ENVIRONMENT to learn on, or a LOG, as in `goodarm learn log.csv --threshold 0.02`.")
    if log is None:
        assert environment is not None
        if given:
            raise InvalidValue(f"`{next(iter(given))}` requires a LOG, a CSV or Parquet file; got {environment}.")
        return find_environment(environment, threshold=threshold)
    if threshold is None:
        raise InvalidValue(f"{log} has no default threshold. Give one, for example --threshold 0.05.")
    return family_from_table(
        log,
        threshold,
        arm=given.get("arm"),
        reward=given.get("reward"),
        rewards=rewards_from_text(given.get("rewards", "bounded")),
        horizon=HORIZON if horizon is None else horizon,
    )


@contextmanager
def _progress(steps: int, runs: int) -> Iterator[Watch]:
    """A progress bar with score and parameter."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with progress_bar(*columns) as bars:
        task = bars.add_task("learning", total=steps + runs)

        def watch(what: str, value: Any) -> None:
            if what == "step":
                bars.update(
                    task, advance=value.runs, description=f"parameter {value.parameter:.3g}, score {value.score:.4g}"
                )
            elif what == "epoch":
                said = f"alpha {value.alpha:.3g}, beta {value.beta:.3g}, score {value.score:.4g}, wrong {value.wrong}"
                bars.update(task, advance=1, description=said)
            elif what == "alpha":
                bars.update(task, description=f"alpha {value:.3g}")
            elif what == "runs":
                bars.advance(task, value)

        yield watch
