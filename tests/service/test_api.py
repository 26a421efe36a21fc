"""The API: the contract of docs/service.md, line by line. Only what needs a connection uses a real server."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process import InProcess, in_process
from serving import Server, events, path_of, serving

AWKWARD = [
    "<script>alert(1)</script>",
    "a/b",
    '"quoted"',
    "\u202eright to left\u202c",
    "%2F",
    "ü ✓",
    "'); drop table--",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with in_process(f"sqlite:///{tmp_path_factory.mktemp('api')}/a.db", private_targets=True) as running:
        yield running


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that can be connected to, for streams and for bodies without a length."""
    with serving(f"sqlite:///{tmp_path_factory.mktemp('api')}/b.db") as running:
        yield running


def new_campaign(server: Server | InProcess, wanted: str) -> str:
    made = f"{wanted} {random.randrange(10**9)}"[:200]
    answer = server.call("POST", "/api/v1/campaigns", {"name": made, "arms": ["calm", "loud"], "threshold": 0.5})
    assert answer.status == 201, answer.body
    return made


@pytest.fixture
def name(server: InProcess, request: pytest.FixtureRequest) -> str:
    """A new campaign for each test."""
    return new_campaign(server, request.node.name)


def ask(server: Server | InProcess, name: str, n: int = 1, **headers: str) -> list[dict[str, str]]:
    answer = server.call("POST", path_of(name, "/ask"), {"n": n}, headers=headers)
    assert answer.status == 200, answer.body
    tickets: list[dict[str, str]] = answer.json["tickets"]
    return tickets


def decide(server: Server | InProcess, name: str, good: str = "calm") -> None:
    """Tell until nothing is open."""
    for _ in range(100):
        tickets = ask(server, name, 10)
        if not tickets:
            return
        rewards = [{"ticket": each["ticket"], "reward": float(each["arm"] == good)} for each in tickets]
        assert server.call("POST", path_of(name, "/tell-many"), {"rewards": rewards}).status == 200
    raise AssertionError("two arms that could not differ more are still open")


def problem(answer: Any, status: int) -> str:
    """The detail of a refusal that has the form of one."""
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json
    assert set(found) == {"type", "title", "status", "detail", "kind"}
    assert found["status"] == status
    assert "Traceback" not in answer.body.decode()
    return str(found["detail"])


@pytest.mark.slow
def test_a_campaign_from_creation_to_its_verdicts(server: InProcess, name: str) -> None:
    summary = server.call("GET", path_of(name)).json
    assert (summary["arms"], summary["open"], summary["told"], summary["closed"]) == (2, 2, 0, False)
    decide(server, name)
    verdicts = server.call("GET", path_of(name, "/verdicts")).json
    assert {row["arm"]: row["verdict"] for row in verdicts["arms"]} == {"calm": "good", "loud": "bad"}
    assert (verdicts["good"], verdicts["bad"], verdicts["open"]) == (1, 1, 0)
    assert "1 of 2 above 50%, 1 below, 0 undecided" in verdicts["sentence"]
    for row in verdicts["arms"]:
        assert row["evidence"] >= row["needed"]
        assert row["decided_at"]
    listed = {each["name"]: each for each in server.call("GET", "/api/v1/campaigns").json["campaigns"]}
    assert listed[name]["good"] == 1
    checked = server.call("GET", path_of(name, "/check")).json
    assert checked["ok"] is True
    assert checked["events"] == verdicts["number"]


def test_an_arm_has_its_way_and_its_audit(server: InProcess, name: str) -> None:
    decide(server, name)
    page = server.call("GET", path_of(name, "/arms/calm")).json
    assert page["verdict"] == page["audit"]["verdict"] == "good"
    path = page["path"]
    assert [point["pulls"] for point in path] == sorted(point["pulls"] for point in path)
    assert path[-1]["pulls"] == page["pulls"]
    assert path[0]["for_good"] < page["needed"] <= path[-1]["for_good"]
    assert all(point["low"] <= point["mean"] <= point["high"] for point in path)
    assert path[-1]["low"] >= 0.5
    assert "unknown arm 'no'" in problem(server.call("GET", path_of(name, "/arms/no")), 404)


def test_progress_and_history_agree_with_the_summary(server: InProcess, name: str) -> None:
    decide(server, name)
    summary = server.call("GET", path_of(name)).json
    last = server.call("GET", path_of(name, "/progress")).json["points"][-1]
    for figure in ("number", "asked", "told", "good", "bad"):
        assert last[figure] == summary[figure]
    found, after = [], 0
    while after is not None:
        piece = server.call("GET", path_of(name, f"/history?after={after}&limit=7")).json
        found += [event["number"] for event in piece["events"]]
        after = piece["next"]
    assert found == list(range(1, summary["number"] + 1))
    only = server.call("GET", path_of(name, "/history?kind=verdict")).json["events"]
    assert [event["kind"] for event in only] == ["verdict", "verdict"]


def test_the_same_key_gets_the_same_tickets(server: InProcess, name: str) -> None:
    first = ask(server, name, 3, **{"Idempotency-Key": "k"})
    assert ask(server, name, 3, **{"Idempotency-Key": "k"}) == first
    assert ask(server, name, 3, **{"Idempotency-Key": "other"}) != first
    assert server.call("GET", path_of(name)).json["asked"] == 6


def test_tells_are_idempotent_and_contradictions_are_refused(server: InProcess, name: str) -> None:
    (ticket,) = ask(server, name)
    body = {"ticket": ticket["ticket"], "reward": 1.0}
    assert [server.call("POST", path_of(name, "/tell"), body).status for _ in range(2)] == [200, 200]
    detail = problem(server.call("POST", path_of(name, "/tell"), body | {"reward": 0.0}), 409)
    assert "was told 1.0" in detail
    assert server.call("GET", path_of(name)).json["told"] == 1


def test_step_void_and_tell_arm(server: InProcess, name: str) -> None:
    (ticket,) = ask(server, name)
    body = {"ticket": ticket["ticket"], "reward": 1.0}
    stepped = server.call("POST", path_of(name, "/step"), body, headers={"Idempotency-Key": "s"}).json
    again = server.call("POST", path_of(name, "/step"), body, headers={"Idempotency-Key": "s"}).json
    assert stepped["ticket"] == again["ticket"]
    void = {"ticket": stepped["ticket"]["ticket"], "reason": "the page was closed"}
    assert server.call("POST", path_of(name, "/void"), void).status == 204
    assert server.call("POST", path_of(name, "/tell-arm"), {"arm": "loud", "reward": 0.0}).status == 200
    tally = server.call("GET", path_of(name)).json["tally"]
    assert (tally["told"], tally["pending"], tally["void"]) == (2, 0, 1)


def test_blocks(server: InProcess, name: str) -> None:
    block = server.call("POST", path_of(name, "/ask-block"), {"n": 200}).json
    assert sum(block["pulls"].values()) == 200
    told = {arm: [pulls, pulls * 1.0 if arm == "calm" else 0.0] for arm, pulls in block["pulls"].items()}
    body = {"ticket": block["ticket"], "rewards": told, "part": "all"}
    verdicts = server.call("POST", path_of(name, "/tell-block"), body).json["verdicts"]
    assert {row["arm"]: row["verdict"] for row in verdicts} == {"calm": "good", "loud": "bad"}
    assert server.call("POST", path_of(name, "/tell-block"), body).json["verdicts"] == []


def test_arms_are_suspended_resumed_retired_and_added_with_a_reserve(server: InProcess, name: str) -> None:
    for verb, state in (("suspend", "suspended"), ("resume", None), ("retire", "retired")):
        assert server.call("POST", path_of(name, f"/{verb}"), {"arm": "loud"}).status == 200
        rows = server.call("GET", path_of(name, "/verdicts")).json["arms"]
        assert {row["arm"]: row["state"] for row in rows} == {"calm": None, "loud": state}
    assert {ticket["arm"] for ticket in ask(server, name, 5)} == {"calm"}
    assert "reserve" in problem(server.call("POST", path_of(name, "/arms"), {"arms": ["late"]}), 409)
    terms = {"name": f"{name} r", "arms": ["a"], "threshold": 0.5, "reserve": 0.2}
    server.call("POST", "/api/v1/campaigns", terms)
    assert server.call("POST", path_of(f"{name} r", "/arms"), {"arms": ["late"]}).json["arms"] == 2


def test_old_paths_answer_and_say_that_they_are_deprecated(server: InProcess, name: str) -> None:
    for old, new, body in (("pause", "suspend", {"arm": "loud"}), ("close", "end", {"reason": "spent"})):
        assert "deprecation" not in server.call("POST", path_of(name, f"/{new}"), body).headers
        answer = server.call("POST", path_of(name, f"/{old}"), body)
        assert answer.status == 200
        assert answer.headers["deprecation"].startswith("@")
        assert answer.headers["link"] == f'<{path_of(name, f"/{new}")}>; rel="successor-version"'
    made = server.call("GET", path_of(name)).json
    assert (made["ended"], made["closed"], made["tally"]["suspended"]) == (True, True, 1)
    document = server.call("GET", "/api/v1/openapi.json").json["paths"]
    deprecated = {path for path, verbs in document.items() if any(verb.get("deprecated") for verb in verbs.values())}
    assert deprecated == {"/api/v1/campaigns/{name}/pause", "/api/v1/campaigns/{name}/close"}


def test_a_step_on_an_ended_campaign_counts_the_reward_and_asks_nothing(server: InProcess, name: str) -> None:
    (ticket,) = ask(server, name)
    server.call("POST", path_of(name, "/end"), {"reason": "the budget is spent"})
    stepped = server.call("POST", path_of(name, "/step"), {"ticket": ticket["ticket"], "reward": 1.0})
    assert (stepped.status, stepped.json["ticket"]) == (200, None)
    assert server.call("GET", path_of(name)).json["told"] == 1


def test_an_ended_campaign_asks_nothing(server: InProcess, name: str) -> None:
    assert server.call("POST", path_of(name, "/end")).json["ended"] is True
    asked = server.call("POST", path_of(name, "/ask"), {"n": 1})
    assert (asked.status, asked.json) == (200, {"tickets": [], "ended": True})
    assert server.call("POST", path_of(name, "/ask-block"), {"n": 5}).json["pulls"] == {}


def test_reads_have_an_etag_that_changes_with_the_journal(server: InProcess, name: str) -> None:
    for rest in ("", "/verdicts", "/arms", "/arms/calm", "/progress", "/history", "/remaining"):
        first = server.call("GET", path_of(name, rest))
        again = server.call("GET", path_of(name, rest), headers={"If-None-Match": first.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
        ask(server, name)
        changed = server.call("GET", path_of(name, rest), headers={"If-None-Match": first.headers["etag"]})
        assert changed.status == 200
        assert changed.headers["etag"] != first.headers["etag"]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_an_export_can_be_imported(server: InProcess, name: str, kind: str, tmp_path: Path) -> None:
    from goodarm.campaign import Campaign

    decide(server, name)
    answer = server.call("GET", path_of(name, f"/export?format={kind}"))
    assert answer.status == 200
    (tmp_path / f"x.{kind}").write_bytes(answer.body)
    with Campaign.import_from(f"sqlite:///{tmp_path}/b.db", tmp_path / f"x.{kind}", "copy") as copy:
        assert copy.check().ok
        assert copy.number == server.call("GET", path_of(name)).json["number"]
        assert copy.verdicts().good == 1


@pytest.mark.parametrize("text", AWKWARD)
def test_names_ids_and_labels_may_contain_anything_printable(server: InProcess, text: str) -> None:
    name = f"{text} {random.randrange(10**9)}".replace("\u202e", "").replace("\u202c", "")
    arms = [{"id": text, "label": text, "metadata": {text: text}}, "b"]
    made = server.call("POST", "/api/v1/campaigns", {"name": name, "arms": arms, "threshold": 0.5})
    assert made.status == 201, made.body
    assert b"<" not in made.body or made.headers["content-type"] == "application/json"
    from urllib.parse import quote

    page = server.call("GET", path_of(name, f"/arms/{quote(text, safe='')}")).json
    assert (page["arm"], page["label"], page["metadata"]) == (text, text, {text: text})
    assert {ticket["arm"] for ticket in ask(server, name, 2)} == {text, "b"}


WRONG: list[tuple[str, str, Any, int, str]] = [
    ("POST", "/ask", {"n": 0}, 422, "body.n must be at least 1; got 0."),
    ("POST", "/ask", {"n": 10**6}, 422, "body.n must be at most 10,000; got 1000000."),
    ("POST", "/ask", {"n": -1}, 422, "body.n must be at least 1; got -1."),
    ("POST", "/ask", {"n": "5"}, 422, "body.n must be a whole number; got '5'."),
    ("POST", "/ask", {"n": True}, 422, "body.n must be a whole number; got True."),
    ("POST", "/ask", {"m": 1}, 422, "body.m: there is no such field. Fields: n, unit."),
    ("POST", "/tell-many", {"rewards": [{"ticket": "x", "rewrd": 1}]}, 422, "no such field. Did you mean reward?"),
    ("POST", "/tell-many", {"rewards": []}, 422, "must be a list or object with at least 1 entry; got []."),
    ("POST", "/tell-arm", {"arm": "calm", "reward": -0.5}, 400, "Never leave rewards out because of their value"),
    ("POST", "/webhooks", {"url": "ftp://x"}, 400, "must look like https://example.org/path; got 'ftp://x'."),
    ("POST", "/ask", b"{", 422, "The body is not valid JSON: Expecting property name enclosed in double quotes at"),
    ("POST", "/tell", {"ticket": "17-abcd", "reward": 1}, 404, "'17-abcd'"),
    ("POST", "/tell", {"ticket": "x", "reward": 1}, 404, "'x' is not a ticket"),
    ("POST", "/tell", {"ticket": "x", "reward": "1"}, 422, "body.reward must be a number or true or false or an"),
    ("POST", "/tell", {"ticket": "x"}, 422, "body.reward is missing."),
    ("POST", "/tell-many", {"rewards": [{"ticket": "x", "reward": 1}, 7]}, 422, "body.rewards.1 must be an object"),
    ("POST", "/tell-arm", {"arm": "calm", "reward": 2.0}, 400, "declare it: rewards bounded:0,HIGH, or nonnegative"),
    ("POST", "/tell", b'{"ticket": "x", "reward": NaN}', 422, "finite"),
    ("POST", "/tell-arm", {"arm": "calm", "reward": 2.0}, 400, "must lie in [0, 1]; got 2.0"),
    ("POST", "/tell-arm", {"arm": "no", "reward": 1.0}, 404, "unknown arm 'no'"),
    ("POST", "/void", {"ticket": "x", "reason": ""}, 422, "body.reason"),
    ("POST", "/tell", {"ticket": 17, "reward": 1}, 422, "body.ticket must be text; got 17. Send it in quotes."),
    ("POST", "/suspend", {"arm": "no"}, 404, "unknown arm 'no'"),
    ("GET", "/history?limit=0", None, 422, "query.limit must be at least 1; got '0'."),
    ("GET", "/history?limit=x", None, 422, "query.limit must be a whole number; got 'x'."),
    ("GET", "/history?afterr=1", None, 422, "query.afterr: there is no such parameter"),
    ("GET", "/export?format=xls", None, 422, "query.format must be 'jsonl' or 'parquet'; got 'xls'."),
    ("PUT", "/ask", None, 405, "use POST"),
    ("GET", "/nothing", None, 404, "openapi.json"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "rest", "body", "status", "words"), WRONG)
def test_bad_input_is_refused_and_changes_nothing(
    server: InProcess, name: str, method: str, rest: str, body: Any, status: int, words: str
) -> None:
    headers = {"Content-Type": "application/json"} if isinstance(body, bytes) else {}
    before = server.call("GET", path_of(name)).json["number"]
    assert words in problem(server.call(method, path_of(name, rest), body, headers=headers), status)
    assert server.call("GET", path_of(name)).json["number"] == before


WRONG_CAMPAIGNS: list[tuple[dict[str, Any], int, str]] = [
    ({"threshold": 1.5}, 400, "strictly between 0 and 1"),
    ({"arms": ["a", "a"]}, 400, "two arms have the id 'a'"),
    ({"arms": []}, 422, "body.arms must be a list or object with at least 1 entry; got []."),
    ({"arms": [{"id": "a", "lable": "b"}]}, 422, "there is no such field. Did you mean label?"),
    ({"threshold": "abc"}, 422, "body.threshold must be a number or a percentage such as 2%; got 'abc'."),
    ({"treshold": 0.5}, 422, "body.treshold: there is no such field. Did you mean threshold?"),
    ({"delta": 5}, 422, "body.delta must be less than 1; got 5. It is the probability of a wrong verdict"),
    ({"unanswered": "drop"}, 422, "body.unanswered must be 'wait', 'zero' or 'void'; got 'drop'."),
    ({"policy": "valu"}, 400, "Did you mean"),
    ({"rewards": "uniform"}, 400, "'uniform'"),
    ({"delta": 0}, 422, "body.delta"),
    ({"unanswered": "zero"}, 400, 'for example "after": "30min".'),
    ({"arms": [{"id": "a", "label": "x" * 501}]}, 422, "at most 500 characters"),
    ({"arms": ["a"] * 100_001}, 422, "at most 100,000 entries"),
    ({"metadata": {"x": float("inf")}}, 422, "metadata"),
    ({"name": "\n"}, 400, "printable"),
    ({"name": " x "}, 400, "can't begin or end with blanks; got ' x '. Use 'x'."),
]


@pytest.mark.parametrize(("change", "status", "words"), WRONG_CAMPAIGNS)
def test_a_campaign_that_makes_no_sense_is_refused(
    server: InProcess, change: dict[str, Any], status: int, words: str
) -> None:
    terms = {"name": "wrong", "arms": ["a", "b"], "threshold": 0.5} | change
    body = json.dumps(terms).encode()
    answer = server.call("POST", "/api/v1/campaigns", body, headers={"Content-Type": "application/json"})
    assert words in problem(answer, status)
    assert server.call("GET", path_of("wrong")).status == 404


def test_a_percentage_may_have_a_blank(server: InProcess) -> None:
    made = server.call("POST", "/api/v1/campaigns", {"name": "two percent", "arms": ["a"], "threshold": "2 %"})
    assert (made.status, made.json["threshold"]) == (201, 0.02)


def test_a_name_that_is_taken_is_refused(server: InProcess, name: str) -> None:
    terms = {"name": name, "arms": ["a"], "threshold": 0.5}
    assert 'send "exist_ok": true to create or open it' in problem(server.call("POST", "/api/v1/campaigns", terms), 409)


def test_a_body_that_is_too_large_is_refused(server: InProcess, name: str) -> None:
    body = b" " * 8_000_001
    headers = {"Content-Type": "application/json"}
    assert "8,000,000 bytes" in problem(server.call("POST", path_of(name, "/ask"), body, headers=headers), 413)


@pytest.mark.slow
def test_a_body_that_is_too_large_is_refused_without_a_length(listening: Server) -> None:
    from http.client import HTTPConnection

    name, headers = new_campaign(listening, "large"), {"Content-Type": "application/json"}
    connection = HTTPConnection(listening.host, listening.port, timeout=300)
    pieces = (b" " * 1_000_000 for _ in range(9))
    try:
        connection.request("POST", path_of(name, "/ask"), pieces, headers, encode_chunked=True)
        status = connection.getresponse().status
    except (BrokenPipeError, ConnectionResetError):
        status = 413  # the server hung up while we were still sending
    finally:
        connection.close()
    assert status == 413


@pytest.mark.slow
def test_a_plan(server: InProcess) -> None:
    made = server.call("POST", "/api/v1/plan", {"arms": 4, "threshold": 0.5, "gap": 0.3}).json
    assert made["half"] == made["half_decided"]
    assert 0 < made["half"] <= made["eighty"] <= made["ninety"] <= made["rounds"]["median"] <= made["rounds"]["high"]
    assert "samples" in made["sentence"]
    assert "beta:A,B" in problem(server.call("POST", "/api/v1/plan", {"arms": 4, "threshold": 0.5, "prior": "x"}), 400)
    assert server.call("POST", "/api/v1/plan", {"arms": 100_000, "threshold": 0.02}).status == 200
    prompts = {"arms": 40, "threshold": "80%", "prior": "beta:8,2", "cases": 500}
    assert server.call("POST", "/api/v1/plan", prompts).json["rounds"]["high"] < 40 * 500
    assert "can be made" in problem(server.call("POST", "/api/v1/plan", {"arms": 4, "control": 0.5, "cases": 9}), 400)
    measured = {"arms": 10, "threshold": 10.0, "gap": 1.0, "rewards": "gaussian:2"}
    rounds = server.call("POST", "/api/v1/plan", measured).json["rounds"]
    assert (rounds["low"] < rounds["median"] < rounds["high"], rounds["median"]) == (True, 586)
    assert "normal:MEAN,SD" in problem(server.call("POST", "/api/v1/plan", measured | {"gap": None, "prior": "x"}), 400)
    against = {"arms": 10, "control": 0.3, "margin": 0.02, "gap": 0.1}
    assert "samples" in server.call("POST", "/api/v1/plan", against).json["sentence"]
    for wrong in ({"arms": 3}, against | {"threshold": 0.3}, {"arms": 3, "threshold": 0.3, "margin": 0.1}):
        assert "`control" in problem(server.call("POST", "/api/v1/plan", wrong), 400)
    for path, more in (("plan", {"arms": 3}), ("campaigns", {"name": "percent", "arms": ["a"]})):
        answer = server.call("POST", f"/api/v1/{path}", {"threshold": "80", **more})
        assert "Did you mean 80%?" in problem(answer, 400)
    gaussian = against | {"rewards": "gaussian:1"}
    assert "lie between 0 and 1" in problem(server.call("POST", "/api/v1/plan", gaussian), 400)
    outside = {"arms": 10, "threshold": 10.0}
    assert "between 0 and 1" in problem(server.call("POST", "/api/v1/plan", outside), 400)


def test_what_remains_names_the_arms(server: InProcess) -> None:
    name = new_campaign(server, "left to do")
    left = server.call("GET", path_of(name, "/remaining?draws=20")).json
    assert left["arms"] == [row["arm"] for row in server.call("GET", path_of(name, "/arms")).json["arms"]]
    assert len(left["median"]) == len(left["arms"])


def test_a_plan_with_costs_and_several_bars(server: InProcess) -> None:
    wish = {"arms": 4, "threshold": 0.5, "gap": 0.3}
    priced = server.call("POST", "/api/v1/plan", wish | {"cost": 0.5}).json
    assert priced["money"]["rounds"]["median"] == priced["rounds"]["median"] / 2
    assert "Cost: about" in priced["sentence"]
    assert "money" not in server.call("POST", "/api/v1/plan", wish).json
    dear = server.call("POST", "/api/v1/plan", wish | {"cost": [1, 1, 1, 20]}).json
    assert dear["money"]["half"] < dear["money"]["rounds"]["median"] / 4  # the cheap arms first
    assert "one number per arm, 4; got 2" in problem(server.call("POST", "/api/v1/plan", wish | {"cost": [1, 2]}), 400)
    assert server.call("POST", "/api/v1/plan", wish | {"cost": 0}).status == 422
    several = {"arms": 6, "bars": "correct >= 90%, slow <= 8%"}
    made = server.call("POST", "/api/v1/plan", several | {"gap": {"correct": 0.05, "slow": 0.03}}).json
    assert made["guess"].startswith("half of the arms clear every bar")
    spread = server.call("POST", "/api/v1/plan", several).json
    assert spread["guess"] == "correct: means drawn from Beta(9, 1); slow: means drawn from Beta(1, 11.5)"
    for more, message in (
        ({"threshold": 0.5}, "each is a whole question"),
        ({"gap": {"corect": 0.1}}, "Did you mean 'correct'?"),
        ({"bars": "correct"}, "can't read the bar"),
    ):
        assert message in problem(server.call("POST", "/api/v1/plan", several | more), 400)


@pytest.mark.slow
def test_the_stream_tells_changes_and_resumes_where_it_was_left(listening: Server) -> None:
    server, name = listening, new_campaign(listening, "stream")
    connection, response = server.stream(path_of(name, "/events"))
    assert response.headers["content-type"].startswith("text/event-stream")
    stream = events(response)
    first = next(stream)
    assert first["event"] == "change"
    everything = json.loads(first["data"])
    assert int(first["id"]) == everything["number"]
    assert {row["arm"] for row in everything["arms"]} == {"calm", "loud"}
    (ticket,) = ask(server, name)
    change = json.loads(next(stream)["data"])
    assert [row["arm"] for row in change["arms"]] == [ticket["arm"]]
    assert (change["asked"], change["pending"]) == (1, 1)
    connection.close()
    decide(server, name)
    connection, response = server.stream(path_of(name, "/events"), {"Last-Event-ID": first["id"]})
    resumed = json.loads(next(events(response))["data"])
    connection.close()
    assert resumed == json.loads(json.dumps(resumed))
    assert {row["arm"]: row["verdict"] for row in resumed["arms"]} == {"calm": "good", "loud": "bad"}
    problem(server.call("GET", path_of("no such campaign", "/events")), 404)


@pytest.mark.slow
def test_figures_for_prometheus(server: InProcess, name: str) -> None:
    decide(server, name)
    text = server.call("GET", "/metrics").body.decode()
    label = json.dumps(name)
    assert f"goodarm_campaign_good{{campaign={label}}} 1.0" in text
    assert f"goodarm_campaign_open{{campaign={label}}} 0.0" in text
    assert 'goodarm_requests_total{method="POST",route="/api/v1/campaigns/{name}/ask",status="200"}' in text
    assert "goodarm_request_seconds_bucket" in text


def test_health(server: InProcess) -> None:
    assert server.call("GET", "/healthz").json["status"] == "ok"
    assert server.call("GET", "/readyz").json["status"] == "ok"


def test_the_examples_of_the_openapi_document_run(server: InProcess) -> None:
    document = server.call("GET", "/api/v1/openapi.json").json
    schemas = document["components"]["schemas"]

    def example(reference: str) -> dict[str, Any]:
        found = schemas[reference.rpartition("/")[2]]
        return {key: value["examples"][0] for key, value in found["properties"].items() if "examples" in value}

    for path, status in (("/api/v1/campaigns", 201), ("/api/v1/plan", 200), (path_of("headlines", "/ask"), 200)):
        generic = path.replace("headlines", "{name}")
        content = document["paths"][generic]["post"]["requestBody"]["content"]
        body = example(content["application/json"]["schema"]["$ref"])
        assert server.call("POST", path, body).status == status, path


@pytest.mark.parametrize(
    ("headers", "got"),
    [({}, "no Content-Type"), ({"Content-Type": "text/plain; charset=utf-8"}, "Content-Type: text/plain")],
)
def test_a_body_that_is_not_declared_as_json_says_what_to_send(
    server: InProcess, headers: dict[str, str], got: str
) -> None:
    answer = server.call(
        "POST", "/api/v1/campaigns", b'{"name": "x", "arms": ["a"], "threshold": 0.5}', headers=headers
    )
    assert answer.status == 422
    needed = "The body must be JSON, sent with the header Content-Type: application/json; got"
    assert answer.json["detail"] == f"{needed} {got}."


def test_an_empty_body_is_not_a_matter_of_its_type(server: InProcess) -> None:
    answer = server.call("POST", "/api/v1/campaigns", b"", headers={"Content-Type": "application/json"})
    assert answer.status == 422
    assert "Content-Type" not in answer.json["detail"]
