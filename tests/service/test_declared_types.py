"""The types that the page declares have the fields of the OpenAPI document."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest

from goodarm.problem import Bounded
from goodarm.question import KINDS, Bars, Control, Threshold
from goodarm.service.app import make
from goodarm.service.settings import Settings

TYPES = files("goodarm") / "service" / "static" / "js" / "types.js"
SCHEMAS = {
    "ArmDetail": "ArmPage",
    "Bounds": "Bounds",
    "Change": "Summary",  # its figures, with the rows that changed
    "Metric": "Metric",
    "NewArm": "NewArm",
    "PathPoint": "PathPoint",
    "Plan": "PlanShown",
    "ProgressPoint": "ProgressPoint",
    "Row": "Row",
    "Summary": "Summary",
    "Ticket": "TicketShown",
    "Verdicts": "Verdicts",
    "PendingTicket": "WaitingRow",
}
"""The schema of each declared type."""
QUESTION, OF_THE_PAGE = "Question", {"Verdict", "View"}


def declared() -> dict[str, list[str]]:
    """The fields of each type of the page."""
    found = {}
    for block in TYPES.read_text(encoding="utf-8").split("@typedef ")[1:]:
        first, _, rest = block.partition("\n")
        if first.startswith("{object}"):
            found[first.split()[1]] = re.findall(r"@property \{.*\} \[?(\w+)", rest)
        else:
            found[first.split()[-1]] = re.findall(r"(\w+)\??:", first)
    return found


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    app = make(Settings(store=str(tmp_path_factory.mktemp("declared") / "store.db")))
    found: dict[str, Any] = app.openapi()["components"]["schemas"]
    return found


def test_every_type_is_compared() -> None:
    assert set(declared()) == {*SCHEMAS, QUESTION, *OF_THE_PAGE}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_has_every_declared_field(schemas: dict[str, Any], name: str) -> None:
    fields = declared()[name]
    assert fields
    assert set(fields) <= set(schemas[SCHEMAS[name]]["properties"])


def test_questions_have_every_declared_field() -> None:
    asked = (Threshold(0.5), Control("now"), Bars("correct >= 0.9, slow <= 0.05"))
    assert {type(each) for each in asked} == set(KINDS)
    assert set(declared()[QUESTION]) <= {name for each in asked for name in each.shown(Bounded())}
