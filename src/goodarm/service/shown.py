"""Bodies of answers, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import BaseModel, Field, create_model

from goodarm.campaign import rows
from goodarm.engine.evidence import MetricState
from goodarm.planning import Remaining
from goodarm.service import trail
from goodarm.service.views import FIGURES

RoleName = Literal["reader", "writer", "admin"]


class Shown(BaseModel):
    """An answer's body."""


Model = TypeVar("Model", bound=Shown)


def wire(value: Any) -> Any:
    """The type of a field in JSON: a number that may be unknown is null."""
    if value is rows.ArmRow:
        return FullRow
    of: Any = get_origin(value)
    if of is np.ndarray:
        return list[float | None]
    if of is list:
        return of[wire(*get_args(value))]
    return float | None if value is float else dict[str, Any] if of is Mapping else value


def of_row(
    row: type[Any], only: Sequence[str] | None = None, *, known: Sequence[str] = ()
) -> Callable[[type[Model]], type[Model]]:
    """Give a model the fields of a row of the library, with their descriptions. Its own fields take precedence.

    only  : the fields; all if None
    known : numbers that are never null
    """

    def derived(model: type[Model]) -> type[Model]:
        found: dict[str, Any] = {}
        for field, hint in get_type_hints(row, include_extras=True).items():
            if (only is None or field in only) and field not in model.model_fields:
                kind, *words = get_args(hint) if get_origin(hint) is Annotated else (hint,)
                found[field] = (
                    kind if field in known else wire(kind),
                    Field(description=words[0] if words else None),
                )
        doc = model.__doc__ or (row.__doc__ or "").split("\n")[0]
        return create_model(model.__name__, __base__=model, __doc__=doc, __module__=__name__, **found)

    return derived


@of_row(MetricState, known=("bar",))
class Metric(Shown): ...


class Arm(Shown):
    """Fields of an arm that follow from the others."""

    state: str | None = Field(description="suspended or retired; null while the arm may be asked for")
    own_mean: float | None = Field(
        description="the arm's own mean; in comparisons with a control, `mean` is the difference"
    )
    metrics: list[Metric] = Field(description="with several bars: mean, interval and evidence of each metric")


@of_row(rows.ArmRow, rows.BRIEF)
class Row(Arm): ...


@of_row(rows.ArmRow)
class FullRow(Arm): ...


@of_row(rows.Tally)
class Tally(Shown): ...


@of_row(rows.Bounds)
class Bounds(Shown): ...


@of_row(rows.Finish)
class Finish(Shown): ...


@of_row(trail.Point)
class ProgressPoint(Shown): ...


@of_row(rows.Tally, ("arms", *FIGURES), known=("spent",))
@of_row(rows.TermsRow, known=("threshold", "delta"))
class Summary(Shown):
    """Summary of a campaign."""

    name: str
    asked: int
    closed: bool = Field(deprecated=True, description="the same as ended")
    created_at: str
    changed_at: str = Field(description="when the newest entry of the journal was written")
    created_by: str | None = Field(description="the creator, usually the id of a token; null if it was not recorded")
    number: int = Field(description="the number of the journal's newest entry")
    sentence: str = Field(description="the state in words")
    remaining: float | None = Field(description="the median of `finish`")
    finish: Finish | None = Field(
        description="further samples until every arm is decided, or every arm that is not `near` the bar; null if "
        "there is no estimate"
    )
    bounds: Bounds
    tally: Tally


class Campaigns(Shown):
    """All campaigns of the store."""

    campaigns: list[Summary]


class ArmTable(Shown):
    """All arms with all their fields."""

    number: int
    arms: list[FullRow]


@of_row(Remaining)
class RemainingShown(Shown):
    """Expected further pulls, one entry per arm, as `goodarm.planning.remaining`."""

    arms: list[str] = Field(description="the ids of the arms, in the order of the other lists")
    limit: float


class Verdicts(Shown):
    """Every arm against the bar."""

    number: int
    good: int
    bad: int
    open: int
    sentence: str
    arms: list[Row]


class PathPoint(Shown):
    """Data of an arm after this many samples."""

    pulls: int
    mean: float | None
    low: float | None
    high: float | None
    for_good: float | None
    for_bad: float | None


class ArmPage(FullRow):
    """One arm with its history up to the verdict."""

    path: list[PathPoint]
    audit: dict[str, Any] | None
    bounds: Bounds


class ProgressPage(Shown):
    """Verdicts over time."""

    points: list[ProgressPoint]


class ScoreShown(Shown):
    """A simulated campaign against its true means, beside a dashboard with 95% intervals read after every reward."""

    verdicts: int
    wrong: int = Field(description="verdicts that the true means prove wrong")
    claims: int = Field(description="arms whose 95% interval has excluded the bar at some time, on the same rewards")
    wrong_claims: int


class History(Shown):
    """A piece of the journal."""

    events: list[dict[str, Any]]
    next: int | None = Field(description="pass this as `after` to continue; null at the end")
    last: int = Field(description="the number of the last entry that was examined")


class TicketShown(Shown):
    """A ticket, the arm to sample for it, and on a fixed test set the case."""

    ticket: str
    arm: str
    case: str | None = Field(None, description="absent without a fixed test set")


class Tickets(Shown):
    """The tickets; fewer than requested if the campaign needs fewer."""

    tickets: list[TicketShown]
    ended: bool = Field(description="true if there is no ticket because the campaign has ended")


@of_row(rows.Told)
class Told(Shown): ...


class Stepped(Shown):
    """The new verdicts and the next ticket, which is null when nothing is left to ask."""

    verdicts: list[FullRow]
    ticket: TicketShown | None


@of_row(rows.PendingTicket, known=("seconds",))
class WaitingRow(Shown): ...


class WaitingShown(Shown):
    """The pending tickets, oldest first."""

    pending: int
    overdue: int
    after: float | None = Field(description="seconds after which a ticket is overdue; null: never")
    tickets: list[WaitingRow]


class BlockShown(Shown):
    """Many samples under one ticket: the number for each arm and, on a fixed test set, the cases of each."""

    ticket: str
    pulls: dict[str, int]
    cases: dict[str, list[str]] | None = Field(None, description="absent without a fixed test set")


class PlanNumbers(Shown):
    """Samples until these shares of the arms are decided; null above a trillion."""

    half: float | None = Field(description="the same as `half_decided`, under its earlier name")
    half_decided: float | None = Field(
        description="until half of all arms are decided; `goodarm plan` counts until half of the good arms are found"
    )
    eighty: float | None
    ninety: float | None
    rounds: dict[str, float | None] = Field(description="median, low and high: until no arm is undecided")


class PlanMoney(PlanNumbers):
    """The numbers of a plan as costs."""


class PlanShown(PlanNumbers):
    """The numbers of a plan in samples, and their basis."""

    sentence: str
    guess: str = Field(description="the assumption about the means")
    money: PlanMoney | None = Field(None, description="the same numbers as costs; absent without `cost`")


class Checked(Shown):
    """Result of comparing the journal with its replay."""

    ok: bool
    events: int
    problem: str | None = Field(None, description="the first entry that differs")
    note: str | None = None


class HeadShown(Shown):
    """The newest entry of a journal."""

    number: int
    chain: str = Field(description="depends on every entry up to this one", examples=[16 * "5c"])


class Me(Shown):
    """The caller."""

    role: RoleName


class WebhookShown(Shown):
    """A webhook; its secret is shown once, when it is made."""

    id: str
    url: str
    created_at: float
    ended_at: float | None = None
    secret: str | None = None


class Webhooks(Shown):
    """The webhooks of a campaign."""

    webhooks: list[WebhookShown]


class Deliveries(Shown):
    """Past and pending deliveries."""

    deliveries: list[dict[str, Any]]


class Health(Shown):
    """The server's state."""

    status: Literal["ok", "unready"]
    detail: str | None = None
