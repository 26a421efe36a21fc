"""A judgement as a CI gate: an exit code, a Markdown summary for a pull request, and JUnit XML."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING

from goodarm.judgement.words import estimate

if TYPE_CHECKING:
    from goodarm.judgement import Judgement

PASSED, FAILED, UNDECIDED = 0, 1, 3
"""Exit codes: every arm is good; some arm is bad; none is bad, but some are undecided. 2 is for bad input."""
TITLES = {PASSED: "passed", FAILED: "failed", UNDECIDED: "undecided"}
MARKS = {1: "✅", -1: "❌", 0: "❔"}


def outcome(found: Judgement) -> int:
    """The exit code of a judgement.

    >>> from goodarm import judge
    >>> outcome(judge({"arm": ["a"], "pulls": [500], "total": [450]}, threshold=0.8))
    0
    """
    verdicts = found.arms.verdict
    if (verdicts == -1).any():
        return FAILED
    return UNDECIDED if (verdicts == 0).any() else PASSED


def markdown(found: Judgement) -> str:
    """The summary: the answer, a table of all arms, and the conditions of the verdicts."""
    arms, options = found.arms, found.options
    lines = [
        f"### goodarm: {TITLES[outcome(found)]}",
        "",
        f"{_escaped(found.sentence)}.",
        "",
        *(line for each in found.warnings for line in (f"> {_escaped(each)}.", "")),
        f"| | {_escaped(found.noun)} | verdict | mean | interval | samples |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    for i in range(arms.arm.size):
        low, high = (estimate(each, options) for each in (arms.low[i], arms.high[i]))
        interval = "" if math.isnan(arms.low[i]) else f"{low} to {high}"
        verdict = int(arms.verdict[i])
        name = " / ".join(map(str, (*(key[i] for key in arms.segment), arms.arm[i])))
        word = found.verdict_labels[verdict]
        lines.append(
            f"| {MARKS[verdict]} | {_escaped(name)} | {word} | {estimate(arms.mean[i], options)} | {interval} "
            f"| {int(arms.pulls[i]):,} |"
        )
    lines += ["", f"The verdicts are {found.rule_guarantee}, at delta {options.delta:g}, if:", ""]
    lines += [f"- {_escaped(each)}" for each in found.conditions]
    return "\n".join(lines) + "\n"


def junit(found: Judgement) -> str:
    """One test case per arm: good ones pass, bad ones fail, undecided ones are errors."""
    arms, options = found.arms, found.options
    suite = ElementTree.Element(
        "testsuite",
        name="goodarm",
        tests=str(arms.arm.size),
        failures=str(int((arms.verdict == -1).sum())),
        errors=str(int((arms.verdict == 0).sum())),
    )
    for i in range(arms.arm.size):
        name = " / ".join(map(str, (*(key[i] for key in arms.segment), arms.arm[i])))
        case = ElementTree.SubElement(suite, "testcase", classname=_printable(found.source), name=_printable(name))
        verdict = int(arms.verdict[i])
        said = f"mean {estimate(arms.mean[i], options)} of {int(arms.pulls[i]):,} samples; {found.guarantee}"
        if verdict:
            ElementTree.SubElement(case, "system-out").text = said
        if verdict <= 0:
            word = found.verdict_labels[verdict]
            ElementTree.SubElement(case, "failure" if verdict else "error", message=f"{word}: {said}")
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _escaped(text: str) -> str:
    """Escape text for Markdown, table cells included."""
    plain = "".join(f"\\{letter}" if letter in "\\|*_`[]<>#" else letter for letter in text)
    return " ".join(plain.split())


def _printable(text: str) -> str:
    """Remove control characters, which XML does not allow."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
