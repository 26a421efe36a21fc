"""A third kind of question over HTTP, and the arguments of the others in the bodies of requests."""

from __future__ import annotations

from typing import Any

import pytest
from in_process import in_process
from serving import path_of
from third_kind import introduce

from goodarm.question import KINDS
from goodarm.service.bodies import NewCampaign, PlanWish


def test_a_campaign_and_a_plan_are_made_by_the_fields_of_a_third_kind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    introduce(monkeypatch)
    question = {"passing": 0.5}
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        made = server.call("POST", "/api/v1/campaigns", {"name": "n", "arms": ["a", "b"], "question": question})
        assert (made.status, made.json["question"]["kind"]) == (201, "passing")
        assert (made.json["question"]["passing"], made.json["question"]["good"]) == (0.5, "passes")
        while tickets := server.call("POST", path_of("n", "/ask"), {"n": 20}).json["tickets"]:
            for ticket in tickets:
                told = {"ticket": ticket["ticket"], "reward": float(ticket["arm"] == "a")}
                assert server.call("POST", path_of("n", "/tell"), told).status == 200
        rows = server.call("GET", path_of("n", "/arms")).json["arms"]
        assert {row["arm"]: row["verdict"] for row in rows} == {"a": "passes", "b": "fails"}
        wish = {"arms": 4, "gap": 0.3}
        planned = server.call("POST", "/api/v1/plan", wish | {"question": question})
        same = server.call("POST", "/api/v1/plan", wish | {"threshold": 0.5})
        assert (planned.status, planned.json) == (200, same.json)
        both = server.call("POST", "/api/v1/plan", wish | {"question": question, "threshold": 0.5})
        assert (both.status, "is the whole question" in both.json["detail"]) == (400, True)


def test_a_kind_that_the_server_does_not_know_is_refused(tmp_path: Any) -> None:
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        for path, body in (("/api/v1/campaigns", {"name": "n", "arms": ["a", "b"]}), ("/api/v1/plan", {"arms": 4})):
            refused = server.call("POST", path, body | {"question": {"passing": 0.5}})
            assert (refused.status, "exactly one of the fields threshold, control, bars" in refused.json["detail"]) == (
                400,
                True,
            )


@pytest.mark.parametrize("body", [NewCampaign, PlanWish])
def test_bodies_have_the_arguments_of_every_kind(body: type[Any]) -> None:
    for kind in KINDS:
        assert set(kind.arguments) <= set(body.model_fields)
    assert "question" in body.model_fields
