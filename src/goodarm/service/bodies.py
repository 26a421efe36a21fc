"""Bodies of requests, with the examples that OpenAPI shows."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool
from pydantic_core import PydanticCustomError

from goodarm.campaign.cases import MOST_SCORES
from goodarm.campaign.terms import MOST_REPEATS
from goodarm.campaign.units import LONGEST_ID
from goodarm.problem import MOST_CASES

MOST_ARMS, MOST_LABEL, MOST_BATCH, MOST_TICKET = 100_000, 500, 10_000, 200
MOST_BLOCK = 1_000_000
"""Maximum samples of one block. The writer thread chooses them while other requests wait."""
Name = Annotated[str, Field(min_length=1, max_length=200, examples=["headlines"])]
ArmId = Annotated[str, Field(min_length=1, max_length=200, examples=["calm"])]
WITHOUT_NUL = r"^[^\x00]*$"
NewArmId = Annotated[str, Field(min_length=1, max_length=200, pattern=WITHOUT_NUL, examples=["calm"])]
"""A string without NUL, which no URL can contain. As a pattern, it would have another meaning for the keys of
objects."""
UnitId = Annotated[str, Field(min_length=1, max_length=LONGEST_ID, examples=["user 7"])]
TicketId = Annotated[str, Field(min_length=1, max_length=MOST_TICKET, examples=["1"])]


def _writable(value: Any) -> Any:
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"metadata must be valid JSON: {error}") from None
    return value


Metadata = Annotated[dict[str, Any], AfterValidator(_writable), Field(examples=[{"team": "front page"}])]


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise PydanticCustomError("whole_number", "write a whole number")
    return value


POSITIVE = r"[0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,3})?"
FAMILIES = (
    f"bounded(:0,{POSITIVE})?|(sub-)?gaussian:{POSITIVE}|nonnegative(:{POSITIVE})?|"
    "((graded|scored)-)?cases:[0-9]{1,9}"
)
RewardFamily = Annotated[
    str,
    Field(
        max_length=200,
        json_schema_extra={"pattern": f"^({FAMILIES})$"},  # for the document only; the library checks the value
        examples=["bounded", "nonnegative:500"],
        description="bounded (in [0, 1]) or bounded:0,HIGH; gaussian:SCALE or sub-gaussian:SCALE, rewards within 1e9 "
        "times the scale; nonnegative or nonnegative:CAP; cases:COUNT or graded-cases:COUNT",
    ),
]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
WRITTEN = r"^ *-?[0-9]+(\.[0-9]+)? *%? *$"
WrittenNumber = Annotated[str, Field(pattern=WRITTEN, max_length=50, examples=["1.5%"])]
LARGEST = sys.float_info.max
RewardNumber = Annotated[
    float,
    Field(
        strict=True,
        allow_inf_nan=False,
        json_schema_extra={"minimum": -LARGEST, "maximum": LARGEST},  # for the document only, and its readers' tests
    ),
]
Record = Annotated[dict[Annotated[str, Field(max_length=200)], RewardNumber | StrictBool], Field(max_length=100)]
Reward = RewardNumber | StrictBool | Record
"""A number; true is 1 and false is 0. With several bars, a record with one number per metric."""
Delta = Annotated[Number, Field(gt=0.0, lt=1.0)]
Share = Annotated[Number, Field(ge=0.0, le=1.0)]
# Limits precede the validator: limits after it would be checked but not shown in the OpenAPI document.
TimesTold = Annotated[int, Field(ge=0, le=10**12), BeforeValidator(_whole)]
Batch = Annotated[int, Field(ge=1, le=MOST_BATCH), BeforeValidator(_whole)]
Pulls = Annotated[int, Field(ge=1, le=MOST_BLOCK), BeforeValidator(_whole)]
Seed = Annotated[int, Field(ge=0, le=2**53), BeforeValidator(_whole)]
Rounds = Annotated[int, Field(ge=1, le=2**53), BeforeValidator(_whole)]
ArmCount = Annotated[int, Field(ge=1, le=MOST_ARMS), BeforeValidator(_whole)]
CaseCount = Annotated[int, Field(ge=1, le=MOST_CASES), BeforeValidator(_whole)]
CaseIds = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=1000)]], Field(min_length=1, max_length=MOST_ARMS)
]
Repeats = Annotated[int, Field(ge=1, le=MOST_REPEATS), BeforeValidator(_whole)]
DIGITS = r"^[0-9]*$"
Scores = (
    Annotated[list[Share], Field(max_length=MOST_CASES)] | Annotated[str, Field(pattern=DIGITS, max_length=MOST_SCORES)]
)
FORMS = {
    WRITTEN: "a percentage such as 2%",
    WITHOUT_NUL: "text without the character NUL",
    DIGITS: "the digits of tenths, such as 0379",
}
"""Patterns in words, for messages."""
WholeQuestion = Annotated[
    dict[str, Any],
    Field(max_length=100, description="in place of the others: the fields of any question, as in a summary"),
]
Features = Annotated[list[Number], Field(max_length=1000)]
Price = Annotated[Number, Field(gt=0.0)]
MetricName = Annotated[str, Field(max_length=200)]
PriorPerMetric = Annotated[dict[MetricName, Annotated[str, Field(max_length=100)]], Field(max_length=100)]
GapPerMetric = Annotated[dict[MetricName, Price], Field(max_length=100)]


class Body(BaseModel):
    """A request's body. Unknown fields are refused, to catch typing errors."""

    model_config = ConfigDict(extra="forbid")


class NewArm(Body):
    """An arm: an id that is never reused, and its other fields."""

    id: NewArmId
    label: str | None = Field(None, max_length=MOST_LABEL, examples=["Calm seas ahead"])
    metadata: Metadata | None = None
    weight: Share | None = None
    features: Features | None = None
    scores: Scores | None = Field(
        None, examples=[None], description="a judge's score in [0, 1] of every case, or the digits of their tenths"
    )
    cost: Annotated[Number, Field(gt=0.0)] | None = Field(None, description="cost of a sample; 1 by default")


Arms = Annotated[list[NewArmId | NewArm], Field(min_length=1, max_length=MOST_ARMS)]


class NewCampaign(Body):
    """Arguments of `Campaign.create`."""

    name: Name
    arms: Arms = Field(examples=[["calm", "loud", {"id": "odd", "label": "An odd one"}]])
    threshold: Number | WrittenNumber | None = Field(None, examples=[0.5], description="the bar; or name a control")
    control: ArmId | None = Field(None, examples=[None], description="the arm that the others are compared with")
    margin: Number | None = Field(None, gt=-1.0, lt=1.0, description="by how much better than the control")
    question: WholeQuestion | None = Field(None, examples=[None])
    delta: Delta = 0.05
    policy: str | None = Field(None, max_length=200, examples=["value+gap-mixture"])
    rewards: RewardFamily | None = None
    horizon: Rounds | None = None
    reserve: Number = Field(0.0, ge=0.0, lt=1.0)
    after: str | None = Field(None, max_length=50, examples=["30min"])
    unanswered: Literal["wait", "zero", "void"] = "wait"
    criterion: Literal["fwer", "fdr"] | None = None
    cases: CaseCount | CaseIds | None = Field(
        None, description="a fixed test set: the ids of its cases, or their number"
    )
    repeats: Repeats = Field(1, examples=[1], description="number of evaluations of an arm on each case")
    stop_after: ArmCount | None = Field(
        None,
        examples=[None],
        description="end the campaign after this many good arms; 1 finds one good arm or shows that there is none",
    )
    budget: Annotated[Number, Field(gt=0.0)] | None = Field(
        None, examples=[None], description="maximum total cost of all samples, in the unit of the arms' costs"
    )
    per_unit: Literal["mean", "any", "sum", "ratio"] | None = Field(
        None, examples=[None], description="combine all rows of a person, session or machine into one reward"
    )
    window: str | None = Field(
        None,
        max_length=50,
        examples=[None],
        description="time after its ask during which a unit's rows count, such as 7d",
    )
    unit_limit: Annotated[Number, Field(gt=0.0)] | None = Field(
        None, examples=[None], description="for ratios: the largest number of rows, or sum of denominators, of a unit"
    )
    bars: str | None = Field(
        None,
        max_length=4000,
        examples=[None],
        description="in place of a threshold: several metrics with their bars, such as correct >= 0.9, slow <= 0.05",
    )
    seed: Seed | None = None
    metadata: Metadata | None = None
    exist_ok: StrictBool = Field(False, description="open the campaign if it exists with the same terms")


class NewArms(Body):
    """Arms to add to a running campaign."""

    arms: Arms = Field(examples=[["late"]])


class Ask(Body):
    """Number of tickets; or a unit, which has one ticket."""

    n: Batch = 1
    unit: UnitId | None = Field(None, examples=[None], description="in a campaign of units, its id; then n is 1")


class Tell(Body):
    """A ticket's reward."""

    ticket: TicketId
    reward: Reward = Field(examples=[1.0])


class TellMany(Body):
    """Rewards of many tickets, in one transaction."""

    rewards: list[Tell] = Field(min_length=1, max_length=MOST_BATCH)


class UnitRow(Body):
    """One row of a unit."""

    unit: UnitId
    reward: Number | StrictBool = Field(examples=[1.0])
    denominator: Annotated[Number, Field(gt=0.0)] = Field(1.0, description="for ratios")
    row: str | None = Field(
        None, min_length=1, max_length=200, examples=[None], description="an id of the row; told twice it counts once"
    )


class TellUnits(Body):
    """Rows of units, in one transaction."""

    rows: list[UnitRow] = Field(min_length=1, max_length=MOST_BATCH)


class CloseUnits(Body):
    """The units that are complete; none, to close those whose window is over."""

    units: list[UnitId] = Field(default_factory=list, max_length=MOST_BATCH)


class AskBlock(Body):
    """Number of samples."""

    n: Pulls = Field(examples=[1000])


class TellBlock(Body):
    """Rewards of a block: per arm, how many were told and their total. A part told twice counts once."""

    ticket: TicketId
    rewards: dict[ArmId, tuple[TimesTold, Number | Record]] = Field(
        min_length=1, max_length=MOST_ARMS, examples=[{"calm": [100, 7]}]
    )
    part: str = Field("", max_length=200)


class TellArm(Body):
    """A reward without a ticket, such as an import or a sample taken by hand."""

    arm: ArmId
    reward: Reward = Field(examples=[1.0])


class Void(Body):
    """The ticket to withdraw, and why."""

    ticket: TicketId
    reason: str = Field(min_length=1, max_length=1000, examples=["the page was closed"])


class End(Body):
    """Why the campaign ends."""

    reason: str = Field("", max_length=1000, examples=["the budget is spent"])


class OneArm(Body):
    """The arm to suspend, resume or retire."""

    arm: ArmId


class PlanWish(Body):
    """Assumptions for a plan."""

    arms: ArmCount = Field(examples=[20], description="number of arms without the control")
    threshold: Number | WrittenNumber | None = Field(
        None, examples=[0.5], description="the bar; or give the control's mean"
    )
    control: Number | None = Field(None, examples=[None], description="expected mean of the control")
    margin: Number | None = Field(None, gt=-1.0, lt=1.0, description="by how much better than the control")
    bars: str | None = Field(
        None, max_length=2000, examples=[None], description="in place of a threshold: several metrics with their bars"
    )
    delta: Delta = 0.05
    rewards: RewardFamily | None = None
    prior: Annotated[str, Field(max_length=2000)] | PriorPerMetric | None = Field(
        None,
        examples=["beta:2,2"],
        description="beta:A,B or uniform:LOW,HIGH; normal:MEAN,SD for rewards that are not bounded; with several bars "
        "one per metric",
    )
    gap: Annotated[Number, Field(gt=0.0)] | GapPerMetric | None = Field(
        None,
        examples=[None],
        description="assumed distance of every mean from the bar; with several bars, one per metric or one for all",
    )
    cost: Price | Annotated[list[Price], Field(min_length=1, max_length=MOST_ARMS + 1)] | None = Field(
        None, examples=[None], description="cost of a sample, or one number per arm, the control's last"
    )
    cases: CaseCount | None = Field(
        None, examples=[None], description="number of cases of a fixed test set; an arm draws each case at most once"
    )
    question: WholeQuestion | None = Field(None, examples=[None])


class NewWebhook(Body):
    """Address to call when an arm gets its verdict."""

    url: str = Field(min_length=1, max_length=2000, examples=["https://example.org/goodarm"])


class Login(Body):
    """A token of `goodarm token create`."""

    token: str = Field(min_length=1, max_length=500)
