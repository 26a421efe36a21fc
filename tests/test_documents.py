"""README and CONTRIBUTING are true: their code runs and prints what they say, their tables and links hold."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/tutorials/headlines.md",
    "docs/tutorials/prompts.md",
    "docs/tutorials/cheap-model.md",
    "docs/tutorials/judge-and-labels.md",
    "docs/tutorials/laboratory.md",
    "docs/tutorials/own-rule.md",
    "docs/tutorials/paper.md",
    "docs/datasets.md",
    "docs/judge.md",
    "docs/plan.md",
    "docs/cases.md",
    "docs/campaign.md",
    "docs/resume.md",
    "docs/bars.md",
    "docs/revenue.md",
    "docs/faq.md",
    "docs/structured.md",
)
COLUMNS = "104"

PYTHON = re.compile(r"^```python\n(?P<code>.*?)^```\n```text\n(?P<output>.*?)^```$", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^```console\n\$ (?P<code>[^\n]*)\n(?P<output>.*?)^```$", re.DOTALL | re.MULTILINE)
SPEED = re.compile(r"[\d.]+[kMG]? *$", re.MULTILINE)


class Block(NamedTuple):
    """A piece of code in a document and the output below it."""

    document: str
    command: tuple[str, ...]
    output: str
    place: tuple[int, int]


def blocks(document: str) -> list[Block]:
    text = (ROOT / document).read_text(encoding="utf-8")
    found = [
        Block(document, (sys.executable, "-c", match["code"]), match["output"], match.span("output"))
        for match in PYTHON.finditer(text)
    ]
    for match in CONSOLE.finditer(text):
        program, *arguments = shlex.split(match["code"])
        assert program == "goodarm"
        command = (sys.executable, "-c", "from goodarm.cli import main; main()", *arguments)
        found.append(Block(document, command, match["output"], match.span("output")))
    return found


def run(block: Block) -> str:
    ran = subprocess.run(
        block.command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "COLUMNS": COLUMNS, "PYTHONIOENCODING": "utf-8"},
    )
    assert ran.returncode == 0, ran.stderr
    return "".join(f"{line.rstrip()}\n" for line in ran.stdout.splitlines())


def without_speed(text: str) -> str:
    """Rounds per second, the last column, are the machine's and not ours."""
    return "\n".join(SPEED.sub("", line).rstrip() if " certified " in line else line for line in text.splitlines())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_have_code_that_runs(document: str) -> None:
    assert blocks(document)


@pytest.mark.parametrize(
    "block", [block for document in DOCUMENTS for block in blocks(document)], ids=lambda block: block.document
)
def test_outputs_are_what_the_code_prints(block: Block) -> None:
    output = run(block)
    if os.environ.get("GOODARM_WRITE_DOCUMENTS"):
        path = ROOT / block.document
        text = path.read_text(encoding="utf-8")
        place = next(now.place for now in blocks(block.document) if now.command == block.command)
        path.write_text(text[: place[0]] + output + text[place[1] :], encoding="utf-8")
    else:
        assert without_speed(output) == without_speed(block.output)


def test_the_way_to_add_a_rule_takes_fifteen_lines() -> None:
    (block,) = blocks("CONTRIBUTING.md")
    lines = [line for line in block.command[2].splitlines() if line.strip()]
    assert len(lines) <= 15


def test_the_readme_states_the_guarantees_that_policies_have() -> None:
    from goodarm.policies import policy

    rows = re.findall(
        r"^\| `([\w-]+)` \|.*\| `([\w-]+)` \| (\w+) \|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) >= 6
    for name, rule, guarantee in rows:
        made = policy(name)
        assert (made.identification.name, str(made.guarantee)) == (rule, guarantee)


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], ids=lambda path: path.name)
def test_links_lead_somewhere_and_nothing_waits_to_be_filled_in(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert link.startswith("https://") or (path.parent / link).exists(), link
    assert not re.search(r"<!-- begin [\w-]+ -->\s*<!-- end", text)


def test_the_headlines_are_what_their_script_writes() -> None:
    made = subprocess.run(
        (sys.executable, "examples/make_headlines.py"), cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert made.stdout == (ROOT / "examples" / "headlines.csv").read_text(encoding="utf-8")


def test_the_views_are_what_their_script_writes() -> None:
    made = subprocess.run(
        (sys.executable, "examples/make_views.py"), cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert made.stdout == (ROOT / "examples" / "views.csv").read_text(encoding="utf-8")


def test_every_word_stands_once_in_the_glossary() -> None:
    words = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    terms = [term.strip() for word in words if not set(word) <= set("- ") for term in word.split(",")]
    terms = [term for term in terms if term != "word"]
    assert len(terms) > 50
    assert sorted(set(terms)) == sorted(terms)
