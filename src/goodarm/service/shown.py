"""Bodies of answers, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model

from goodarm.campaign.rows import BRIEF, ArmRow, Bounds, Finish, Tally
from goodarm.service.trail import Point

RoleName = Literal["reader", "writer", "admin"]


class Shown(BaseModel):
    """An answer's body."""


def wire(value: Any) -> Any:
    """The type of a field in JSON: a number that may be unknown is null."""
    return float | None if value is float else dict[str, Any] if value == Mapping[str, Any] else value


def model_of(row: type[Any], name: str, only: Sequence[str] | None = None, **more: Any) -> type[Shown]:
    """The JSON form of a row of `goodarm.campaign.rows`, with its descriptions."""
    found: dict[str, Any] = {}
    for field, hint in get_type_hints(row, include_extras=True).items():
        if only is None or field in only:
            kind, *words = get_args(hint) if get_origin(hint) is Annotated else (hint,)
            found[field] = (wire(kind), Field(description=words[0] if words else None))
    return create_model(name, __base__=Shown, __doc__=(row.__doc__ or "").split("\n")[0], **found, **more)


STATE = (str | None, Field(description="suspended or retired; null while the arm may be asked for"))
OWN_MEAN = (
    float | None,
    Field(description="the arm's own mean; in comparisons with a control, `mean` is the difference"),
)
Row: Any = model_of(ArmRow, "Row", BRIEF, state=STATE, own_mean=OWN_MEAN)
FullRow: Any = model_of(ArmRow, "FullRow", state=STATE, own_mean=OWN_MEAN)
TallyShown: Any = model_of(Tally, "Tally")
BoundsShown: Any = model_of(Bounds, "Bounds")
FinishShown: Any = model_of(Finish, "Finish")
PointShown: Any = model_of(Point, "ProgressPoint")


class Summary(Shown):
    """Summary of a campaign."""

    name: str
    question: dict[str, Any] = Field(description="the question: its kind, its fields and its words")
    threshold: float = Field(description="the bar; with a control, the margin that differences are compared with")
    control: str | None = Field(description="the arm that the others are compared with, if there is one")
    margin: float | None
    delta: float
    criterion: str
    policy: str
    rewards: str
    cases: int | None = Field(description="the number of cases of a fixed test set; null: samples never run out")
    repeats: int = Field(description="number of evaluations of an arm on each case")
    stop_after: int | None = Field(description="the number of good arms after which the campaign ends; null: none")
    budget: float | None = Field(description="maximum total cost of all samples; null: unlimited")
    units: dict[str, Any] | None = Field(
        None, description="how the rows of a person, session or machine become one reward; null: each ticket is one"
    )
    spent: float = Field(description="total cost of the samples asked for, excluding void ones")
    metadata: dict[str, Any]
    arms: int
    good: int
    bad: int
    open: int
    asked: int
    told: int
    pending: int
    ended: bool
    closed: bool = Field(deprecated=True, description="the same as ended")
    created_at: str
    changed_at: str = Field(description="when the newest entry of the journal was written")
    created_by: str | None = Field(description="the creator, usually the id of a token; null if it was not recorded")
    number: int = Field(description="the number of the journal's newest entry")
    sentence: str = Field(description="the state in words")
    remaining: float | None = Field(description="the median of `finish`")
    finish: FinishShown | None = Field(
        description="further samples until every arm is decided, or every arm that is not `near` the bar; null if "
        "there is no estimate"
    )
    bounds: BoundsShown
    tally: TallyShown


class Campaigns(Shown):
    """All campaigns of the store."""

    campaigns: list[Summary]


class ArmTable(Shown):
    """All arms with all their fields."""

    number: int
    arms: list[FullRow]


class RemainingShown(Shown):
    """Expected further pulls, one entry per arm, as `goodarm.planning.remaining`."""

    arms: list[str] = Field(description="the ids of the arms, in the order of the other lists")
    median: list[float | None]
    low: list[float | None]
    high: list[float | None]
    expected: list[float | None]
    beyond: list[float | None]
    good: list[float | None]
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


class ArmPage(FullRow):  # type: ignore[misc]  # the row is declared by `model_of`
    """One arm with its history up to the verdict."""

    path: list[PathPoint]
    audit: dict[str, Any] | None
    bounds: BoundsShown


class ProgressPage(Shown):
    """Verdicts over time."""

    points: list[PointShown]


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


class Told(Shown):
    """The verdicts that these rewards led to, and the tickets whose rewards or rows do not count."""

    verdicts: list[FullRow]
    late: list[str]


class Stepped(Shown):
    """The new verdicts and the next ticket, which is null when nothing is left to ask."""

    verdicts: list[FullRow]
    ticket: TicketShown | None


class WaitingRow(Shown):
    """An outstanding ticket or block."""

    ticket: str
    arm: str | None = Field(description="null for a block")
    pulls: int = Field(description="number of missing rewards; 1 for a ticket")
    asked_at: str
    seconds: float = Field(description="seconds since it was handed out")
    overdue: bool
    case: str | None = Field(description="null without a fixed test set")
    unit: str | None = Field(None, description="the ticket's unit, in a campaign of units")


class WaitingShown(Shown):
    """The outstanding tickets, oldest first."""

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
