"""`goodarm learn`: a policy learned on an environment or on a log's totals, as a small JSON file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goodarm.cli._options import Delta, Horizon, Json, Seed, Threshold, Workers, cores, whole
from goodarm.cli._show import console, print_json
from goodarm.errors import InvalidValue

if TYPE_CHECKING:
    from goodarm.environments import Environment
    from goodarm.learning.train import LearnedPolicy, Watch

EnvironmentToLearn = Annotated[
    str | None,
    typer.Argument(
        metavar="ENVIRONMENT", help="A name of `goodarm environments`, table:FILE or replay:FILE; or give --from-table."
    ),
]
PolicyToLearn = Annotated[str, typer.Option("--policy", "-p", metavar="P", help="dgai, ucb, value or dgai-offline.")]
FromTable = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Learn on the family of a log: CSV or Parquet with the columns pulls and total."),
]
Objective = Annotated[
    str,
    typer.Option(
        metavar="score|paper|none",
        help="Learn the sampling parameter on the exploit score, train dgai-offline as the paper has it, or neither.",
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=X", help="An option of the paper's objective, as rate=0.05 or every=1000. Repeat."
    ),
]
Budget = Annotated[
    int, typer.Option(parser=whole, metavar="N", help="Runs that learning may take; with --objective paper, epochs.")
]
Calibrate = Annotated[bool, typer.Option("--calibrate", help="Learn the bound for deciding too, and test it.")]
LearningRuns = Annotated[int, typer.Option(parser=whole, metavar="N", help="Runs on which the bound is learned.")]
Tests = Annotated[int, typer.Option(parser=whole, metavar="N", help="Fresh runs on which the bound is tested.")]
PolicyFile = Annotated[Path, typer.Option("--out", metavar="FILE", help="The policy file; its figure lies beside it.")]


def learn(
    environment: EnvironmentToLearn = None,
    policy: PolicyToLearn = "dgai",
    from_table: FromTable = None,
    horizon: Horizon = None,
    threshold: Threshold = None,
    objective: Objective = "score",
    options: Options = None,
    budget: Budget = 52,
    calibrate: Calibrate = False,
    learning_runs: LearningRuns = 1000,
    tests: Tests = 1000,
    delta: Delta = 0.05,
    seed: Seed = 0,
    workers: Workers = None,
    out: PolicyFile = Path("policy.json"),
    json: Json = False,
) -> None:
    """Learn a policy's parameters before it is used, and write it as a file that any --policy accepts."""
    from goodarm.learning.train import learn as learn_policy

    _check_out(out)
    family = _family(environment, from_table, threshold, horizon)
    with _progress(budget if objective != "none" else 0, learning_runs + tests if calibrate else 0) as watch:
        learned = learn_policy(
            family, policy, horizon=horizon, objective=objective, options=_numbers(options or []), budget=budget,
            calibrate=calibrate, learning_runs=learning_runs, tests=tests, delta=delta, seed=seed,
            earlier=out, workers=cores() if workers is None else workers, watch=watch,
        )  # fmt: skip
    learned.save(out)
    written = [out, *_figure(learned, out)]
    if json:
        print_json(_as_json(learned, written))
    else:
        _print(learned, written, own_horizon=horizon is None)
        if environment is not None:
            given = {"--threshold": threshold, "--horizon": horizon, "--delta": None if delta == 0.05 else delta}
            words = "".join(f" {name} {value}" for name, value in given.items() if value is not None)
            console().print(f"use it: goodarm compare {environment} --policy {out}{words}", style="dim")


def _numbers(options: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for option in options:
        name, _, value = option.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise InvalidValue(f"--set wants NAME=NUMBER, as in --set rate=0.05; got {option!r}.") from None
    return found


def _check_out(out: Path) -> None:
    if out.suffix != ".json":
        raise InvalidValue(f"--out must end in .json, since that is how a policy file is recognised; got {str(out)!r}.")
    if not out.parent.is_dir():
        raise InvalidValue(f"the folder of --out does not exist: {out.parent}. Make it first.")
    if out.is_dir() or not os.access(out.parent, os.W_OK) or (out.exists() and not os.access(out, os.W_OK)):
        raise InvalidValue(f"can't write {out}: it is a folder, or its folder is not yours. Give --out another file.")


def _family(environment: str | None, table: Path | None, threshold: float | None, horizon: int | None) -> Environment:
    from goodarm.environments.names import environment as find_environment
    from goodarm.learning.family import family_from_table

    if (environment is None) == (table is None):
        raise InvalidValue("give either an ENVIRONMENT to learn on, or --from-table FILE with the totals of a log.")
    if environment is not None:
        return find_environment(environment, threshold=threshold)
    if threshold is None:
        raise InvalidValue(f"{table} has no threshold of its own. Give one, for example --threshold 0.05.")
    return family_from_table(table, threshold, **({} if horizon is None else {"horizon": horizon}))


@contextmanager
def _progress(steps: int, runs: int) -> Iterator[Watch]:
    """A bar on stderr that shows score and parameter as they move, only where someone is watching."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as bars:
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


def _figure(learned: LearnedPolicy, out: Path) -> list[Path]:
    """The learning curve beside the policy file, where there is something to draw and something to draw with."""
    from importlib.util import find_spec

    if not learned.history or find_spec("matplotlib") is None:
        return []
    from goodarm.report import learning_curve
    from goodarm.report.drawing import save
    from goodarm.report.files import explained
    from goodarm.report.files import whole as write_whole

    drawn = learning_curve.draw(learned)
    with explained(out.parent):
        return [write_whole(out.with_suffix(kind), lambda path: save(drawn, path)) for kind in (".svg", ".png")]


def _as_json(learned: LearnedPolicy, written: list[Path]) -> dict[str, Any]:
    from dataclasses import asdict

    certificate = learned.policy.certificate
    return {
        "policy": learned.policy.name,
        "guarantee": str(learned.policy.guarantee),
        "parameters": learned.parameters,
        "learned_on": {name: value for name, value in learned.learned_on.items() if name != "rewards"},
        "certificate": {**asdict(certificate), "limit": certificate.limit} if certificate else None,
        "history": [step._asdict() for step in learned.history],
        "written": [str(path) for path in written],
    }


def _print(learned: LearnedPolicy, written: list[Path], *, own_horizon: bool) -> None:
    screen = console()
    on = learned.learned_on
    screen.print(f"{learned.policy.name}: {learned.policy.promise}")
    screen.print(
        f"learned on {on['environment']} ({on['reading']}), {on['arms']:,} arms, threshold {on['threshold']:g}, "
        f"horizon {on['horizon']:,}, {on['runs']:,} runs, seed {on['seed']}"
    )
    certificate = learned.policy.certificate
    if on["objective"] == "paper":
        last = learned.history[-1]._asdict()
        screen.print(f"wrong in the last epoch: {last['wrong']} of {last['decided']} verdicts", style="bold")
    if certificate is not None:
        screen.print(
            f"certificate: {certificate.wrong_runs} of {certificate.runs:,} fresh runs had a wrong verdict; "
            f"error rate at most {certificate.limit:.4f} with 95% confidence, attempt {certificate.attempt}, "
            f"delta {certificate.delta:g}"
        )
    if own_horizon:
        screen.print(
            f"the horizon is {on['environment']}'s own, and what was learned suits it: give yours with --horizon",
            style="dim",
        )
    for path in written:
        screen.print(f"written: {path}")
