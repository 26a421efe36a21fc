"""What operators see: whose token changed what, the log, and the figures."""

from __future__ import annotations

import json
import logging
import logging.config
import re
import socket
import sqlite3
from pathlib import Path

import pytest
from in_process import in_process
from serving import path_of
from test_limits import create

from goodarm.errors import InvalidValue
from goodarm.service.logs import JsonLines, Lines, configuration
from goodarm.service.side import open_side
from goodarm.service.tokens import Tokens


def test_entries_of_admins_and_writers_carry_their_tokens(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    side = open_side(store)
    (admin, of_admin), (writer, of_writer) = (Tokens(side).create(role) for role in ("admin", "writer"))
    side.close()
    with in_process(store, open=False) as server:
        terms = {"name": "c", "arms": ["calm", "loud"], "threshold": 0.5, "reserve": 0.2}
        assert server.call("POST", "/api/v1/campaigns", terms, of_admin).status == 201
        (ticket,) = server.call("POST", path_of("c", "/ask"), {"n": 1}, of_writer).json["tickets"]
        step = {"ticket": ticket["ticket"], "reward": 1.0}
        assert server.call("POST", path_of("c", "/step"), step, of_writer).status == 200
        assert server.call("POST", path_of("c", "/arms"), {"arms": ["late"]}, of_admin).status == 201
        assert server.call("POST", path_of("c", "/suspend"), {"arm": "late"}, of_admin).status == 200
        block = server.call("POST", path_of("c", "/ask-block"), {"n": 10}, of_writer).json
        part = {"ticket": block["ticket"], "rewards": {arm: [n, 0] for arm, n in block["pulls"].items()}}
        assert server.call("POST", path_of("c", "/tell-block"), part, of_writer).status == 200
        refused = server.call("POST", path_of("c", "/retire"), {"arm": "nobody"}, of_admin)
        assert refused.status == 404
        assert server.call("POST", path_of("c", "/end"), {}, of_admin).status == 200
        entries = server.call("GET", path_of("c", "/history"), token=of_writer).json["events"]
        by = [(entry["kind"], entry.get("content", {}).get("by")) for entry in entries if entry["kind"] != "verdict"]
        assert by == [
            ("created", None), ("note", admin.id), ("asked", writer.id), ("told", writer.id), ("asked", writer.id),
            ("added", admin.id), ("paused", admin.id), ("block", writer.id), ("part", writer.id), ("ended", admin.id),
        ]  # fmt: skip
        assert server.call("GET", path_of("c", "/check"), token=of_writer).json["ok"]
        assert server.call("GET", path_of("c"), token=of_writer).json["created_by"] == admin.id


def test_changes_of_webhooks_are_logged_and_a_replay_carries_its_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    side = open_side(store)
    admin, token = Tokens(side).create("admin")
    side.close()
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        in_process(store, open=False, private_targets=True) as server,
        caplog.at_level(logging.INFO, "goodarm.service"),
    ):
        terms = {"name": "c", "arms": ["calm"], "threshold": 0.5, "delta": 0.5}
        assert server.call("POST", "/api/v1/campaigns", terms, token).status == 201
        url = {"url": f"http://127.0.0.1:{silent.getsockname()[1]}/"}
        hook = server.call("POST", path_of("c", "/webhooks"), url, token).json["id"]
        while not server.call("POST", path_of("c", "/tell-arm"), {"arm": "calm", "reward": 1.0}, token).json[
            "verdicts"
        ]:
            """Until there is something to deliver."""
        (owed,) = server.call("GET", path_of("c", "/deliveries"), token=token).json["deliveries"]
        replay = path_of("c", f"/deliveries/{owed['id']}/replay")
        assert server.call("POST", replay, {}, token).status == 202
        assert server.call("DELETE", path_of("c", f"/webhooks/{hook}"), token=token).status == 204
        entries = server.call("GET", path_of("c", "/history?kind=note"), token=token).json["events"]
    notes = [entry["content"] for entry in entries]
    assert [note.get("by") for note in notes if note.get("again")] == [admin.id]
    said = [(each.getMessage(), *(getattr(each, key, None) for key in ("webhook", "token"))) for each in caplog.records]
    assert ("webhook registered", hook, admin.id) in said
    assert ("webhook ended", hook, admin.id) in said


def test_failed_logins_wrong_tokens_and_store_errors_are_logged_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    side = open_side(store)
    _, token = Tokens(side).create("admin")
    side.close()
    with in_process(store, open=False) as server, caplog.at_level(logging.INFO, "goodarm.service"):
        assert server.call("POST", "/login", {"token": "wrong"}).status == 401
        assert server.call("GET", "/api/v1/campaigns", token="goodarm_00000000_wrong").status == 401
        assert server.call("POST", "/login", {"token": token}).status == 200
        assert create(server, "c") == 401
        terms = {"name": "c", "arms": ["calm", "loud"], "threshold": 0.5}
        assert server.call("POST", "/api/v1/campaigns", terms, token).status == 201
        with sqlite3.connect(tmp_path / "a.db") as connection:
            connection.execute("alter table events rename to gone")
        assert server.call("POST", path_of("c", "/ask"), {"n": 1}, token).status == 503
        with connection:
            connection.execute("alter table gone rename to events")
        connection.close()
        figures = server.call("GET", "/metrics", token=token).body.decode()
    said = [(record.levelname, record.getMessage(), getattr(record, "address", None)) for record in caplog.records]
    assert ("WARNING", "failed login", "127.0.0.1") in said
    assert ("WARNING", "wrong token", "127.0.0.1") in said
    assert ("INFO", "login", "127.0.0.1") in said
    assert any(level == "ERROR" and "POST /api/v1/campaigns/c/ask" in text for level, text, _ in said)
    assert not any(token in text for _, text, _ in said)
    assert "goodarm_store_errors_total 1.0" in figures
    for figure in ("goodarm_waiting_operations", "goodarm_streams", "goodarm_long_computations"):
        assert re.search(rf"^{figure} \d", figures, re.MULTILINE), figure
    assert "# HELP goodarm_deliveries_total" in figures


def test_a_line_of_the_log_has_time_and_level_and_can_not_be_forged() -> None:
    record = logging.LogRecord("goodarm.service", logging.WARNING, "", 0, "no\nsuch %r", ("x\n2026 ERROR",), None)
    record.created, record.msecs = 1_795_000_000.25, 250.0
    record.address = "10.0.0.7"
    assert Lines().format(record) == (
        "2026-11-18T11:06:40.250Z WARNING goodarm.service: no\\nsuch 'x\\n2026 ERROR' (address=10.0.0.7)"
    )
    line = JsonLines().format(record)
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "2026-11-18T11:06:40.250Z", "level": "warning", "logger": "goodarm.service",
        "message": "no\nsuch 'x\\n2026 ERROR'", "address": "10.0.0.7",
    }  # fmt: skip


@pytest.mark.parametrize(("level", "format"), [("loud", "text"), ("info", "xml")])
def test_unknown_levels_and_formats_are_refused(level: str, format: str) -> None:
    with pytest.raises(InvalidValue, match="must be one of"):
        configuration(level, format)
    assert configuration("info", "json")["loggers"]["goodarm"]["level"] == "INFO"
