"""A whole campaign from the shell."""

from __future__ import annotations

import inspect
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goodarm.campaign.rows import BRIEF
from goodarm.cli import app
from goodarm.cli.campaign import create
from goodarm.policies import LIVE_POLICY

runner = CliRunner()


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}"


def run(*words: str, stdin: str | None = None, exit_code: int = 0) -> str:
    result = runner.invoke(app, ["campaign", *words], input=stdin)
    assert result.exit_code == exit_code, result.output
    return result.stdout if exit_code == 0 or "--json" in words else result.stderr


def as_json(*words: str, **more: Any) -> Any:
    return json.loads(run(*words, "--json", **more))


@pytest.mark.slow
def test_a_whole_campaign(store: str, tmp_path: Path) -> None:
    run("create", store, "prompts", "--arms", "polite,rude", "--threshold", "0.5", "--delta", "0.1")
    for _ in range(60):
        tickets = as_json("ask", store, "prompts", "-n", "5")["tickets"]
        if not tickets:
            break
        assert set(tickets[0]) == {"ticket", "arm"}
        lines = "".join(f"{each['ticket']} {1 if each['arm'] == 'polite' else 0}\n" for each in tickets)
        run("tell", store, "prompts", stdin=lines)
    found = as_json("verdicts", store, "prompts")
    assert (found["good"], found["bad"], found["open"]) == (1, 1, 0)
    assert {each["arm"]: each["verdict"] for each in found["arms"]} == {"polite": "good", "rude": "bad"}
    assert set(found["arms"][0]) == set(BRIEF)
    assert found["arms"][0]["evidence"] >= found["arms"][0]["needed"]
    check = as_json("check", store, "prompts")
    assert check["ok"] is True
    assert check["events"] == len(run("history", store, "prompts", "--json").splitlines())
    run("export", store, "prompts", str(tmp_path / "prompts.jsonl"))
    run("import", store, "again", str(tmp_path / "prompts.jsonl"))
    assert [each["campaign"] for each in as_json("list", store)["campaigns"]] == ["again", "prompts"]
    assert as_json("verdicts", store, "again") == found
    assert "2 of 2 arms decided" in run("watch", store, "prompts")
    assert json.loads(run("watch", store, "prompts", "--json"))["good"] == 1
    assert "polite" in run("arms", store, "prompts")


@pytest.mark.slow
def test_arms_are_suspended_resumed_and_retired_and_the_campaign_is_ended(store: str) -> None:
    run("create", store, "prompts", "--arms", "a,b", "--threshold", "0.5")

    def states() -> list[str]:
        return [arm["status"] for arm in as_json("arms", store, "prompts")["arms"]]

    run("suspend", store, "prompts", "a")
    assert states() == ["suspended", "open"]
    assert {ticket["arm"] for ticket in as_json("ask", store, "prompts", "-n", "3")["tickets"]} == {"b"}
    assert "1 arm suspended" in run("verdicts", store, "prompts")
    run("resume", store, "prompts", "a")
    run("retire", store, "prompts", "b")
    assert states() == ["open", "retired"]
    run("end", store, "prompts", "--reason", "the budget is spent")
    assert "the campaign has ended" in run("verdicts", store, "prompts")
    assert "unknown arm" in run("suspend", store, "prompts", "c", exit_code=2)


@pytest.mark.slow
def test_one_ticket_at_a_time_without_json(store: str) -> None:
    run("create", store, "c", "--arms", "a", "--threshold", "0.5")
    ticket, arm = run("ask", store, "c").split()
    assert arm == "a"
    assert as_json("tell", store, "c", ticket, "1") == {"told": 1, "late": [], "verdicts": []}
    run("tell", store, "c", ticket, "1")
    assert "was told 1.0" in run("tell", store, "c", ticket, "0", exit_code=2)
    ticket = run("ask", store, "c").split()[0]
    run("void", store, "c", ticket, "--reason", "a robot")
    assert "a robot" in run("history", store, "c", "--after", "4")
    assert "evidence" in run("arms", store, "c")


def test_negative_rewards_are_no_options(store: str) -> None:
    run(
        "create",
        store,
        "c",
        "--arms",
        "a",
        "--threshold",
        "-1.5",
        "--rewards",
        "gaussian:2",
        "--policy",
        "ucb+normal-mixture",
    )
    ticket = run("ask", store, "c").split()[0]
    run("tell", store, "c", ticket, "-0.5")
    assert as_json("arms", store, "c")["arms"][0]["mean"] == -0.5


@pytest.mark.slow
def test_arms_from_files(store: str, tmp_path: Path) -> None:
    table = tmp_path / "arms.csv"
    table.write_text('id,label,colour,feature 1\n"a,1",First,red,0.5\nb,,blue,1\n', encoding="utf-8")
    run("create", store, "csv", "--arms", str(table), "--threshold", "0.5")
    rows = as_json("arms", store, "csv")["arms"]
    assert [(row["arm"], row["label"], row["metadata"]["colour"]) for row in rows] == [
        ("a,1", "First", "red"),
        ("b", "b", "blue"),
    ]
    lines = tmp_path / "arms.txt"
    lines.write_text("Zürich\n\n<b>bold</b>\n", encoding="utf-8")
    run("create", store, "txt", "--arms", str(lines), "--threshold", "0.5")
    assert [row["arm"] for row in as_json("arms", store, "txt")["arms"]] == ["Zürich", "<b>bold</b>"]
    table.write_text("name,label\na,b\n", encoding="utf-8")
    assert "column 'id'" in run("create", store, "x", "--arms", str(table), "--threshold", "0.5", exit_code=2)
    assert "there is no such file" in run("create", store, "x", "--arms", "none.txt", "--threshold", "0.5", exit_code=2)


@pytest.mark.slow
def test_what_is_wrong_is_said_in_one_line(store: str) -> None:
    run("create", store, "c", "--arms", "a,b", "--threshold", "0.5", "--after", "30min", "--unanswered", "zero")
    for words in (
        ("create", store, "c", "--arms", "a", "--threshold", "0.5"),
        ("create", store, "d", "--arms", "a", "--threshold", "5"),
        ("create", store, "d", "--arms", "a", "--threshold", "0.5", "--rewards", "any"),
        ("ask", store, "e"),
        ("tell", store, "c", "1-zzzz", "1"),
        ("tell", store, "c", "1-zzzz"),
        ("tell", store, "c", "1-zzzz", "much"),
        ("import", store, "c", "nothing.jsonl"),
    ):
        message = run(*words, exit_code=2)
        assert message.startswith("goodarm: ")
        assert message.count("\n") == 1
    assert run("tell", store, "c", stdin="one two three\n", exit_code=2).startswith("goodarm: a line has")


@pytest.mark.slow
def test_a_journal_that_is_not_what_it_says_gives_exit_code_1(store: str) -> None:
    run("create", store, "c", "--arms", "a,b", "--threshold", "0.5")
    tickets = as_json("ask", store, "c", "-n", "2")["tickets"]
    run("tell", store, "c", tickets[0]["ticket"], "1")
    with sqlite3.connect(store.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE events SET reward = 0 WHERE kind = 'told'")
    connection.close()
    result = as_json("check", store, "c", exit_code=1)
    assert result["ok"] is False
    assert "entry 4" in result["problem"]


@pytest.mark.slow
def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    mistyped = f"sqlite:///{tmp_path / 'typo.db'}"
    for words in (("ask", mistyped, "c"), ("verdicts", mistyped, "c"), ("check", mistyped, "c"), ("list", mistyped)):
        assert "there is no file" in run(*words, exit_code=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_id_can_neither_forge_a_line_nor_steer_the_terminal(store: str, tmp_path: Path) -> None:
    names = ["a\n9-beef\tgood", "\x1b[2Jred", "tea ☕", "[bold]b[/bold]", "\u202egood"]
    (tmp_path / "arms.csv").write_text("id\n" + "".join(f'"{name}"\n' for name in names), encoding="utf-8")
    run("create", store, "c", "--arms", str(tmp_path / "arms.csv"), "--threshold", "0.5")
    tickets = as_json("ask", store, "c", "-n", "5")["tickets"]
    assert [each["arm"] for each in tickets] == names, "JSON has them as they are"
    lines = run("ask", store, "c", "-n", "5").splitlines()
    assert len(lines) == 5
    assert any(line.endswith("\ta\\n9-beef\\tgood") for line in lines)
    assert any(line.endswith("\ttea ☕") for line in lines)
    for ticket in tickets * 2:
        run("tell", store, "c", ticket["ticket"], "1")
    shown = [run("history", store, "c"), run("arms", store, "c"), "".join(lines)]
    assert not any(sign in text for text in shown for sign in ("\x1b", "\u202e", "\n9-beef"))


def test_verdicts_are_a_table_with_a_header(store: str) -> None:
    run("create", store, "c", "--arms", "good,poor", "--threshold", "0.5", "--cases", "2", "--policy", "settle")
    assert "verdict" not in run("verdicts", store, "c").partition("\n")[2]
    while tickets := as_json("ask", store, "c")["tickets"]:
        run("tell", store, "c", tickets[0]["ticket"], str(int(tickets[0]["arm"] == "good")))
    header, _, *rows = run("verdicts", store, "c").splitlines()[-4:]
    assert header.split()[:3] == ["arm", "verdict", "samples"]
    assert [row.split()[0] for row in rows] == ["good", "poor"]


def test_nothing_to_tell_is_fine(store: str) -> None:
    run("create", store, "c", "--arms", "a,b", "--threshold", "0.5")
    before = run("history", store, "c")
    run("tell", store, "c", stdin="")
    run("tell", store, "c", stdin="\n\n")
    assert run("history", store, "c") == before


def test_the_command_and_python_have_the_same_default_policy() -> None:
    assert inspect.signature(create).parameters["policy"].default == LIVE_POLICY


def test_a_fixed_test_set_with_scores_and_repetitions(store: str, tmp_path: Path) -> None:
    """Tickets name their cases, every case is handed out twice, and scores come from a file."""
    cases, scores = tmp_path / "cases.csv", tmp_path / "scores.csv"
    cases.write_text("case\nfirst\nsecond\n")
    scores.write_text("arm,case,score\na,second,0.2\na,first,0.95\n")
    words = ("--arms", "a", "--threshold", "0.5", "--cases", str(cases))
    run("create", store, "set", *words, "--scores", str(scores), "--repeats", "2")
    tickets = as_json("ask", store, "set", "-n", "10")["tickets"]
    assert sorted(ticket["case"] for ticket in tickets) == ["first", "first", "second", "second"]
    run("tell", store, "set", stdin="".join(f"{ticket['ticket']} 1\n" for ticket in tickets))
    assert as_json("verdicts", store, "set")["good"] == 1
    scores.write_text("arm,case,score\na,first,0.95\n")
    said = run("create", store, "other", *words, "--scores", str(scores), exit_code=2)
    assert "no score on case 'second'" in said
    assert "repeats must be" in run(
        "create", store, "other", "--arms", "a", "--threshold", "0.5", "--repeats", "0", exit_code=2
    )


def test_a_campaign_that_stops_after_one_good_arm(store: str) -> None:
    run("create", store, "one", "--arms", "a,b", "--threshold", "0.5", "--stop-after", "1")
    while tickets := as_json("ask", store, "one", "-n", "20")["tickets"]:
        run("tell", store, "one", stdin="".join(f"{each['ticket']} {int(each['arm'] == 'a')}\n" for each in tickets))
    (shown,) = as_json("list", store)["campaigns"]
    assert (shown["answer"], shown["ended"]) == ("found", True)
    assert "1 arm above 50% found, so the campaign has ended" in run("verdicts", store, "one")
    assert "--stop-after 3 good arms" in run(
        "create", store, "two", "--arms", "a,b", "--threshold", "0.5", "--stop-after", "3", exit_code=2
    )


@pytest.mark.slow
def test_results_as_table_json_and_csv(store: str, tmp_path: Path) -> None:
    run("create", store, "prompts", "--arms", "polite,rude", "--threshold", "0.5", "--cases", "3")
    assert run("results", store, "prompts") == "no results yet\n"
    (told, _) = as_json("ask", store, "prompts", "-n", "2")["tickets"]
    run("tell", store, "prompts", told["ticket"], "1")
    (row,) = as_json("results", store, "prompts")["results"]
    assert (row["arm"], row["case"], row["reward"]) == (told["arm"], told["case"], 1.0)
    shown = run("results", store, "prompts")
    assert shown.split()[:5] == ["arm", "case", "reward", "told_at", "asked"]
    assert "1 ticket awaits its reward" in shown
    written = runner.invoke(app, ["campaign", "results", store, "prompts", "--out", str(tmp_path / "x.csv")])
    assert (written.exit_code, written.stdout) == (0, "")
    assert "(1 results)" not in written.stderr
    assert "1 ticket awaits its reward" in written.stderr
    assert (tmp_path / "x.csv").read_text().splitlines()[0] == "arm,case,reward,told_at,asked"
    assert "missing" in run("results", store, "prompts", "--out", str(tmp_path / "missing" / "x.csv"), exit_code=2)
    assert "is a folder" in run("results", store, "prompts", "--out", str(tmp_path), exit_code=2)
    assert "promts" in run("results", store, "promts", exit_code=2)


@pytest.mark.slow
def test_the_table_of_arms_fits_80_columns(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals stay on one line, unknown ones are empty, and evidence of 1e9 reads as certain."""
    monkeypatch.setenv("COLUMNS", "80")
    run("create", store, "c", "--arms", "a,b", "--control", "a")
    run("create", store, "p", "--arms", "a-long-name-of-a-prompt,b", "--threshold", "0.5", "--cases", "12")
    for ticket in as_json("ask", store, "p", "-n", "24")["tickets"]:
        run("tell", store, "p", ticket["ticket"], "1")
    lines = run("arms", store, "p").splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[-4:] for line in lines if "good" in line] == [["1", "to", "1", "certain"]] * 2
    control = next(line for line in run("arms", store, "c").splitlines() if "control" in line)
    assert control.split() == ["a", "control", "0", "0"]
