"""`goodarm campaign`: live campaigns from the shell. Each verb takes the store and the campaign's name first."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goodarm.cli._options import (
    Budget,
    Costs,
    Delta,
    ErrorCriterion,
    Json,
    Seed,
    SeveralBars,
    StopAfter,
    VerdictsOut,
    check_out,
    number,
    some_path,
    whole,
)
from goodarm.cli._show import console, on_one_line, print_json
from goodarm.cli._verb import STORE_VARIABLE
from goodarm.cli.serve import read_store
from goodarm.errors import DamagedJournal, InvalidValue, Refused, UnknownName, UnsoundPairing

if TYPE_CHECKING:
    from goodarm.campaign import Campaign, Told

NOT_AS_IT_SAYS = 1
"""Exit code of `check` if the journal fails it."""

EXAMPLES = (
    "goodarm campaign create sqlite:///my.db prompts --arms a,b,c --threshold 0.7",
    "goodarm campaign ask sqlite:///my.db prompts -n 5",
    "goodarm campaign verdicts sqlite:///my.db prompts",
)

campaign = typer.Typer(
    no_args_is_help=True, help="Live campaigns: ask which arm to sample, tell its reward, get certified verdicts."
)

StoreAddress = Annotated[
    str,
    typer.Argument(
        metavar="STORE",
        envvar=STORE_VARIABLE,
        callback=read_store,
        help="sqlite:///FILE, postgresql://USER@HOST/DATABASE, a path ending in .db, or file:PATH, which contains one.",
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The campaign's name.")]
Arms = Annotated[
    str,
    typer.Option(
        metavar="FILE|a,b,c", help="Ids: a .csv (column id, or the first), a .txt with one per line, or a list."
    ),
]
Bar = Annotated[
    float | None, typer.Option(parser=number, metavar="X", help="The bar that a good arm's mean must reach.")
]
Control = Annotated[str | None, typer.Option(metavar="ID", help="In place of a threshold: the arm to compare with.")]
Margin = Annotated[
    float, typer.Option(parser=number, metavar="M", help="Amount by which an arm must exceed the control.")
]
OnePolicy = Annotated[str, typer.Option("--policy", "-p", metavar="P", help="A policy, such as value+gap-mixture.")]
RewardFamily = Annotated[
    str, typer.Option(metavar="R", help="bounded (in [0, 1]), nonnegative[:CAP], gaussian:SCALE or sub-gaussian:SCALE.")
]
Horizon = Annotated[int | None, typer.Option(parser=whole, metavar="T", help="Approximate number of samples.")]
Reserve = Annotated[float, typer.Option(parser=number, metavar="R", help="Share of delta kept for arms added later.")]
After = Annotated[
    str | None, typer.Option(metavar="TIME", help="Time after which a ticket is overdue: 90s, 30min, 2h, 7d.")
]
Unanswered = Annotated[str, typer.Option(metavar="wait|zero|void", help="How to treat overdue tickets.")]
TestSet = Annotated[
    str | None,
    typer.Option(
        metavar="N|FILE", help="A fixed test set: the number of its cases, or a .csv or .jsonl with one per row."
    ),
]
Scores = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="With --cases: a judge's scores, a .csv or .jsonl with arm, case and score."),
]
Repeats = Annotated[int, typer.Option(parser=whole, metavar="R", help="Number of evaluations of an arm on each case.")]
PerUnit = Annotated[
    str | None,
    typer.Option(metavar="mean|any|sum|ratio", help="One reward from all rows of a person, session or machine."),
]
Window = Annotated[
    str | None, typer.Option(metavar="TIME", help="Time after its ask during which a unit's rows count, such as 7d.")
]
UnitLimit = Annotated[
    float | None, typer.Option(parser=number, metavar="D", help="For ratios: maximum rows of a unit, or sum of --of.")
]
OneUnit = Annotated[str | None, typer.Option(metavar="ID", help="In a campaign of units: the id of the unit.")]
Count = Annotated[int, typer.Option("-n", "--number", parser=whole, metavar="N", help="Number of tickets.")]
RequestKey = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Any text; repeating it prints the same tickets again.")
]
OneTicket = Annotated[str | None, typer.Argument(metavar="TICKET", help="The ticket, as printed by ask.")]
OneReward = Annotated[
    str | None, typer.Argument(metavar="REWARD", help="A number; with several bars a record such as correct=1,slow=0.")
]
LONGEST_WAIT = 86_400
SINK = {"ignore_unknown_options": True}
"""A negative reward is a value, not an option."""


@contextmanager
def _opened(store: str, name: str) -> Iterator[Campaign]:
    # OpenBLAS starts its threads with numpy. By default an idle one spins for about 0.1 s before it sleeps.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    from goodarm.campaign import Campaign

    with Campaign.open(store, name) as found:
        yield found


@campaign.command()
def create(
    store: StoreAddress,
    name: Name,
    arms: Arms,
    threshold: Bar = None,
    control: Control = None,
    margin: Margin = 0.0,
    delta: Delta = 0.05,
    policy: OnePolicy = "value+gap-mixture",
    rewards: RewardFamily = "bounded",
    horizon: Horizon = None,
    reserve: Reserve = 0.0,
    after: After = None,
    unanswered: Unanswered = "wait",
    criterion: ErrorCriterion = "fwer",
    cases: TestSet = None,
    scores: Scores = None,
    repeats: Repeats = 1,
    stop_after: StopAfter = None,
    bars: SeveralBars = None,
    cost: Costs = None,
    budget: Budget = None,
    per_unit: PerUnit = None,
    window: Window = None,
    unit_limit: UnitLimit = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Create a campaign."""
    from goodarm.campaign import Campaign
    from goodarm.campaign.arm_files import arms_from_text, read_costs
    from goodarm.problem import rewards_from_text

    with Campaign.create(
        store,
        name,
        arms_from_text(arms, lambda message: typer.echo(f"goodarm: {message}", err=True)),
        threshold,
        delta=delta,
        policy=policy,
        rewards=rewards_from_text(rewards),
        cases=None if cases is None else int(cases) if cases.isdecimal() else cases,
        scores=scores,
        repeats=repeats,
        horizon=horizon,
        reserve=reserve,
        after=after,
        unanswered=unanswered,
        criterion=criterion,
        stop_after=stop_after,
        seed=seed,
        control=control,
        margin=margin,
        bars=bars,
        cost=None if cost is None else read_costs(cost),
        budget=budget,
        per_unit=per_unit,
        window=window,
        unit_limit=unit_limit,
    ) as made:
        if json:
            print_json({"campaign": name, "arms": made.tally().arms, "headline": made.headline()})
        else:
            console().print(str(made), soft_wrap=True)


@campaign.command()
def ask(
    store: StoreAddress,
    name: Name,
    number: Count = 1,
    key: RequestKey = None,
    unit: OneUnit = None,
    json: Json = False,
) -> None:
    """Ask which arms to sample next: one ticket per line, or JSON."""
    with _opened(store, name) as found:
        tickets = found.ask(number, key=key, unit=unit)
    if json:
        print_json({"tickets": [ticket.as_json() for ticket in tickets]})
        return
    for ticket in tickets:
        typer.echo("\t".join(map(on_one_line, ticket.as_json().values())))


@campaign.command(context_settings=SINK)
def tell(
    store: StoreAddress, name: Name, ticket: OneTicket = None, reward: OneReward = None, json: Json = False
) -> None:
    """Tell rewards: TICKET REWARD, or lines `ticket reward` from standard input."""
    if ticket is not None and reward is None:
        raise InvalidValue(f"the reward of {ticket} is missing. Write: goodarm campaign tell STORE NAME TICKET REWARD.")
    pairs = _lines() if ticket is None else [(ticket, _reward(reward))]
    with _opened(store, name) as found:
        told = found.tell_many(pairs) if ticket is None else found.tell(*pairs[0])
    _print_verdicts(told, json, told=len(pairs) - len(told.late), late=told.late)
    if told.late and not json:
        typer.echo(
            f"goodarm: {len(told.late)} rewards came too late and do not count: {', '.join(told.late)}", err=True
        )


def _print_verdicts(found: Told, json: bool, **counts: Any) -> None:
    """Print the new verdicts, one per line, or JSON with these counts."""
    if json:
        print_json({**counts, "verdicts": [{"arm": row.arm, "verdict": row.verdict} for row in found.verdicts]})
        return
    for row in found.verdicts:
        typer.echo(f"{on_one_line(row.arm)}\t{row.verdict}")


@campaign.command("tell-unit", context_settings=SINK)
def tell_unit(
    store: StoreAddress,
    name: Name,
    unit: Annotated[str | None, typer.Argument(metavar="UNIT", help="The unit's id, as given to ask.")] = None,
    reward: Annotated[str | None, typer.Argument(metavar="REWARD", help="A number.")] = None,
    of: Annotated[float, typer.Option(parser=number, metavar="D", help="For ratios: the denominator.")] = 1.0,
    row: Annotated[
        str | None, typer.Option(metavar="TEXT", help="An id of the row; repeats with the same id count once.")
    ] = None,
    json: Json = False,
) -> None:
    """Tell a row of a unit: UNIT REWARD, or lines `unit<TAB>reward[<TAB>denominator[<TAB>id]]` from standard input."""
    if unit is not None and reward is None:
        raise InvalidValue(
            f"the reward of {unit!r} is missing. Write: goodarm campaign tell-unit STORE NAME UNIT REWARD."
        )
    rows = _unit_lines() if unit is None else [(unit, _reward(reward), of, row)]
    with _opened(store, name) as found:
        told = found.tell_units(rows)
    _print_verdicts(told, json, rows=len(rows), late=told.late)
    if told.late and not json:
        typer.echo(
            f"goodarm: rows of {len(told.late)} units do not count: their window is over, or they are full", err=True
        )


def _unit_lines() -> list[tuple[Any, ...]]:
    """Rows of units from standard input, one per line, fields separated by tabs."""
    rows: list[tuple[Any, ...]] = []
    for line in sys.stdin:
        fields = line.rstrip("\r\n").split("\t")
        if fields == [""]:
            continue
        if not 2 <= len(fields) <= 4:
            raise InvalidValue(f"a line has a unit, a tab and a reward, as in 'user 7<TAB>1'; got {line.strip()!r}.")
        rows.append((fields[0], *map(_reward, fields[1:3]), *fields[3:]))
    return rows


@campaign.command("close-units")
def close_units(
    store: StoreAddress,
    name: Name,
    units: Annotated[list[str] | None, typer.Argument(metavar="[UNIT]...", help="Ids of complete units.")] = None,
    json: Json = False,
) -> None:
    """Close complete units and tell their rewards; without arguments, those whose window is over."""
    with _opened(store, name) as found:
        told = found.close_units(*(units or ()))
        out = found.tally().pending
    _print_verdicts(told, json, open=out)


def _lines() -> list[tuple[str, Any]]:
    """Pairs from standard input, one per line."""
    pairs = []
    for line in sys.stdin:
        words = line.split()
        if words and len(words) != 2:
            raise InvalidValue(f"a line has a ticket and a reward, as in '17-5c2e 1'; got {line.strip()!r}.")
        if words:
            pairs.append((words[0], _reward(words[1])))
    return pairs


def _reward(text: str | None) -> Any:
    """A number, or a record: correct=1,slow=0."""
    parts = [part.rpartition("=") for part in (text or "").split(",")]
    try:
        if all(sign for _, sign, _ in parts):
            return {name.strip(): float(value) for name, _, value in parts}
        return float(text or "")
    except ValueError:
        raise InvalidValue(f"a reward must be a number; got {text!r}. Write 1 for a success and 0 for none.") from None


@campaign.command()
def void(
    store: StoreAddress,
    name: Name,
    ticket: Annotated[str, typer.Argument(metavar="TICKET", help="The ticket, as printed by ask.")],
    reason: Annotated[str, typer.Option(metavar="WHY", help="Why it was lost; the audit shows it.")],
) -> None:
    """Withdraw a ticket, as if it had never been handed out."""
    with _opened(store, name) as found:
        found.void(ticket, reason)


OneArm = Annotated[str, typer.Argument(metavar="ARM", help="The arm's id.")]


@campaign.command()
def suspend(store: StoreAddress, name: Name, arm: OneArm) -> None:
    """Do not ask for an arm until it is resumed."""
    with _opened(store, name) as found:
        found.suspend(arm)


@campaign.command()
def resume(store: StoreAddress, name: Name, arm: OneArm) -> None:
    """Ask for a suspended arm again."""
    with _opened(store, name) as found:
        found.resume(arm)


@campaign.command()
def retire(store: StoreAddress, name: Name, arm: OneArm) -> None:
    """Never ask for an arm again. It gets no verdict."""
    with _opened(store, name) as found:
        found.retire(arm)


@campaign.command()
def end(
    store: StoreAddress,
    name: Name,
    reason: Annotated[str, typer.Option(metavar="WHY", help="Why it ends; the journal keeps it.")] = "",
) -> None:
    """End a campaign. Rewards of pending tickets may still be told."""
    with _opened(store, name) as found:
        found.end(reason)


@campaign.command()
def verdicts(
    store: StoreAddress,
    name: Name,
    out: VerdictsOut = None,
    json: Json = False,
) -> None:
    """List good, bad and undecided arms, or write them to a file."""
    from goodarm.cli._campaign_table import table

    check_out(out)
    with _opened(store, name) as found:
        result = found.verdicts()
        if json:
            print_json(result.as_json() | {"headline": found.headline()})
        else:
            console().print(str(found), soft_wrap=True)
            decided = [row for row in found.arms() if row.sign]
            if decided:
                console().print(table(decided, found.terms.question.labels.estimate))
    for path in [] if out is None else result.save(out):
        typer.echo(f"written: {path}", err=True)


@campaign.command()
def arms(store: StoreAddress, name: Name, json: Json = False) -> None:
    """All arms with all their fields."""
    from goodarm.cli._campaign_table import table

    with _opened(store, name) as found:
        rows = found.arms()
        if json:
            print_json({"headline": found.headline(), "arms": [row.as_json() for row in rows]})
            return
        console().print(table(rows, found.terms.question.labels.estimate))


@campaign.command()
def results(
    store: StoreAddress,
    name: Name,
    out: Annotated[
        Path | None, typer.Option(parser=some_path, metavar="FILE", help="Write all rows to this CSV file.")
    ] = None,
    json: Json = False,
) -> None:
    """Rewards of all tickets with their arms and cases: a table, JSON, or a CSV file for `goodarm judge`."""
    with _opened(store, name) as found:
        rows = found.results()
    if json:
        print_json(rows.as_json())
    elif out is None:
        typer.echo(str(rows))
    if out is not None:
        written = rows.to_csv(out)
        typer.echo(f"written: {written} ({len(rows):,} result{'' if len(rows) == 1 else 's'})", err=True)
    if json or out is not None:
        for note in rows.notes:
            typer.echo(f"goodarm: {note}", err=True)


@campaign.command()
def history(
    store: StoreAddress,
    name: Name,
    after: Annotated[int, typer.Option(parser=whole, metavar="N", help="Start after this entry.")] = 0,
    limit: Annotated[int | None, typer.Option(parser=whole, metavar="N", help="Maximum number of entries.")] = None,
    json: Json = False,
) -> None:
    """The journal, one entry per line; with --json one JSON object per line."""
    from goodarm.cli._campaign_table import entry_text

    with _opened(store, name) as found:
        for entry in found.history(after, limit):
            typer.echo(entry_text(entry, json))


@campaign.command()
def head(store: StoreAddress, name: Name, json: Json = False) -> None:
    """The newest entry's number and chain. Save them: `check --head` compares the journal with them."""
    with _opened(store, name) as found:
        newest = found.head()
    if json:
        print_json({"campaign": name, **newest._asdict()})
    else:
        typer.echo(str(newest))


@campaign.command()
def check(
    store: StoreAddress,
    name: Name,
    head: Annotated[
        str | None, typer.Option(metavar="N:CHAIN", help="An earlier output of `goodarm campaign head`.")
    ] = None,
    json: Json = False,
) -> None:
    """Replay the journal and compare; the exit code is 1 if anything differs."""
    from goodarm.campaign import open_store
    from goodarm.campaign.check import check_named
    from goodarm.campaign.journal import Head

    since = None if head is None else Head.read(head)
    with open_store(store, create=False) as opened:
        result = check_named(opened, name, head=since)
    if json:
        print_json(result.as_json())
    else:
        typer.echo(
            f"{'ok' if result.ok else 'NOT OK'}: {result.events:,} entries. {result.problem}{result.note}".strip()
        )
    if not result.ok:
        raise typer.Exit(NOT_AS_IT_SAYS)


@campaign.command()
def export(
    store: StoreAddress,
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that ends in .jsonl or .parquet.")],
) -> None:
    """Write the journal, chain included, to a file."""
    with _opened(store, name) as found:
        entries = found.export(file)
    typer.echo(f"written: {file} ({entries:,} entries)", err=True)


@campaign.command("import")
def import_(
    store: StoreAddress,
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file written by export.")],
) -> None:
    """Import an exported campaign into a store under a name."""
    from goodarm.campaign import Campaign

    with Campaign.import_from(store, file, name) as found:
        typer.echo(f"imported: {name} ({found.number:,} entries)", err=True)


@campaign.command("list")
def list_(store: StoreAddress, json: Json = False) -> None:
    """The campaigns of a store, with their progress."""
    from goodarm.campaign import Campaign, open_store

    with open_store(store, create=False) as opened:
        found: list[dict[str, Any]] = []
        for name in opened.names():
            try:
                with Campaign.open(opened, name) as each:
                    tally = each.tally()
                    found.append({"campaign": name, "headline": each.headline(), **tally._asdict()})
            except (DamagedJournal, Refused, UnsoundPairing, UnknownName) as error:  # the others can still be read
                found.append({"campaign": name, "headline": f"can't be opened: {error}"})
    if json:
        print_json({"campaigns": found})
        return
    for entry in found:
        typer.echo(f"{entry['campaign']}: {entry['headline']}")


@campaign.command()
def watch(
    store: StoreAddress,
    name: Name,
    every: Annotated[float, typer.Option(parser=number, metavar="SECONDS", help="Time between two updates.")] = 1.0,
    json: Json = False,
) -> None:
    """A live table until every arm is decided: the sentence, the progress, the arms closest to a verdict."""
    from goodarm.cli._campaign_table import watch_json, watch_table

    if not 0.0 < every <= LONGEST_WAIT:
        raise InvalidValue(f"--every must be a number of seconds between 0 and {LONGEST_WAIT:,}; got {every:g}.")
    with _opened(store, name) as found:
        if json:
            watch_json(found, every)
        else:
            watch_table(found, every)
