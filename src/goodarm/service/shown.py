"""The bodies of answers, as OpenAPI shows them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

RoleName = Literal["reader", "writer", "admin"]


class Shown(BaseModel):
    """What a client is shown."""


class Summary(Shown):
    """A campaign at a glance."""

    name: str
    threshold: float = Field(description="the bar; against a control, the margin that differences are compared with")
    delta: float
    criterion: str
    policy: str
    arms: int
    good: int
    bad: int
    open: int
    asked: int
    told: int
    pending: int
    closed: bool
    created_at: str
    number: int = Field(description="the journal's last number")
    sentence: str = Field(description="the state in words")
    remaining: float | None = Field(description="expected further pulls")
    rewards: str | None = None
    metadata: dict[str, Any] | None = None
    tally: dict[str, Any] | None = Field(None, description="how many arms and tickets are in each state")
    control: str | None = Field(None, description="the arm that the others are compared with, if there is one")
    margin: float | None = None
    question: dict[str, Any] = Field(description="what is asked of each arm: its kind, its fields and its words")


class Campaigns(Shown):
    """All campaigns of the store."""

    campaigns: list[Summary]


class Row(Shown):
    """One arm."""

    arm: str
    label: str | None
    verdict: str = Field(description="good, bad or open; against a control better, worse or open, and control")
    guarantee: str | None
    pulls: int
    pending: int
    mean: float | None
    low: float | None
    high: float | None
    evidence: float | None
    needed: float | None
    decided_at: str | None
    state: str | None = Field(None, description="paused or retired")


class FullRow(Row):
    """One arm with everything that is known about it."""

    status: str
    total: float
    weight: float
    missing: int
    void: int
    metadata: dict[str, Any]
    overdue: int = Field(0, description="tickets that have been out for longer than `after`")
    held_back: str = Field("", description="the verdict that they hold back; empty: none")


class ArmTable(Shown):
    """Every arm with everything that is known about it."""

    number: int
    arms: list[FullRow]


class RemainingShown(Shown):
    """Expected further pulls, one entry per arm, as `goodarm.planning.remaining`."""

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
    """What was known about an arm after this many pulls."""

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


class ProgressPoint(Shown):
    """The campaign after this many entries."""

    number: int
    at: str
    asked: int
    told: int
    good: int
    bad: int


class ProgressPage(Shown):
    """Verdicts over time."""

    points: list[ProgressPoint]


class History(Shown):
    """A piece of the journal."""

    events: list[dict[str, Any]]
    next: int | None = Field(description="pass as after to read on; null at the end")
    last: int = Field(description="the number of the last entry that was looked at")


class TicketShown(Shown):
    """A ticket and the arm to pull for it."""

    ticket: str
    arm: str


class Tickets(Shown):
    """The tickets; fewer than asked for where the campaign needs fewer."""

    tickets: list[TicketShown]


class Told(Shown):
    """The verdicts that fell with these rewards, and the tickets that came too late to count."""

    verdicts: list[FullRow]
    late: list[str]


class Stepped(Shown):
    """The verdicts that fell, and the next ticket; null when nothing is left to ask."""

    verdicts: list[FullRow]
    ticket: TicketShown | None


class WaitingRow(Shown):
    """A ticket, or a block, that is out."""

    ticket: str
    arm: str | None = Field(description="null for a block")
    pulls: int = Field(description="rewards that are missing; 1 for a ticket")
    asked_at: str
    seconds: float = Field(description="how long it has been out")
    overdue: bool


class WaitingShown(Shown):
    """The tickets that are out, oldest first."""

    pending: int
    overdue: int
    after: float | None = Field(description="seconds after which a ticket is overdue; null: never")
    tickets: list[WaitingRow]


class BlockShown(Shown):
    """Many pulls under one ticket: how often each arm is to be pulled."""

    ticket: str
    pulls: dict[str, int]


class PlanShown(Shown):
    """How many pulls it will take until that share of the arms is decided; null for what nobody would wait for."""

    sentence: str
    half: float | None
    eighty: float | None
    ninety: float | None
    rounds: dict[str, float | None] = Field(description="median and high: until no arm is open")
    guess: str = Field(description="what was assumed about the means")


class Checked(Shown):
    """Whether the journal agrees with its replay."""

    ok: bool
    events: int
    problem: str | None = Field(None, description="the first entry that differs")
    note: str | None = None


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
    """What was sent, and what is still to be sent."""

    deliveries: list[dict[str, Any]]


class Health(Shown):
    """The server's state."""

    status: Literal["ok", "unready"]
    detail: str | None = None
