"""A judgement as one self-contained HTML page, and as a fragment for notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from importlib.resources import files

import numpy as np

from goodarm.forest import COLOURS, Forest, span
from goodarm.judgement.figure import info
from goodarm.judgement.judgement import VERDICTS, Arms, Judgement
from goodarm.judgement.words import LOOKS, estimate, needed, visible, whole
from goodarm.webpage import NOTHING_FROM_ELSEWHERE, page_of

MOST = 2000
"""Maximum number of rows on the page. The Parquet file has all of them."""
WIDTH = 1000
DASHED = 'stroke="#333" stroke-width="2" stroke-dasharray="5 3"'


def page(judgement: Judgement) -> str:
    """The content of judgement.html."""
    style, script = (files("goodarm.judgement").joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    body = f"<main>\n{fragment(judgement, MOST, tools=True)}\n</main>"
    return page_of(judgement.sentence, body, style=style, script=script, head=NOTHING_FROM_ELSEWHERE)


def notebook(judgement: Judgement, most: int = 20) -> str:
    """The same for a notebook, with a scoped style."""
    style = files("goodarm.judgement").joinpath("notebook.css").read_text("utf-8")
    return f'<div class="goodarm-judgement"><style>{style}</style>{fragment(judgement, most)}</div>'


def fragment(judgement: Judgement, most: int, *, tools: bool = False) -> str:
    """Sentence, counts, density and table with at most `most` rows; `tools` adds a heading and sortable columns."""
    parts = [*_opening(judgement, "h1" if tools else "p"), *_segments(judgement)]
    forest = info(judgement)
    if forest.edges.size:
        what = judgement.question.asked.labels.estimate.capitalize()
        heading = f"{what}s of all {judgement.arms.arm.size:,} {escape(judgement.noun)}"
        parts.append(f"<h2>{heading}</h2>{_density(judgement, forest)}")
    if tools:
        parts.append(_tools(judgement))
    parts.append(_table(judgement, forest, most, tools))
    left = judgement.arms.arm.size - most
    if left > 0:
        parts.append(f'<p class="soft">{left:,} more rows are in the table (arms.parquet, or .table).</p>')
    parts.append(_footer(judgement))
    return "\n".join(parts)


def _footer(judgement: Judgement) -> str:
    """Notes, and the conditions of the guarantee."""
    calm = [note for note in judgement.notes if note not in judgement.warnings]
    notes = "".join(f'<p class="soft">{escape(visible(note))}</p>' for note in (*calm, LOOKS))
    items = "".join(f"<li>{escape(visible(each))}</li>" for each in judgement.conditions)
    return f"<footer><p><b>Verdicts are {judgement.rule_guarantee} if</b></p><ul>{items}</ul>{notes}</footer>"


def _opening(judgement: Judgement, element: str) -> Iterator[str]:
    question = judgement.question
    yield f'<{element} class="sentence">{escape(judgement.sentence)}.</{element}>'
    for each in judgement.warnings:
        yield f'<p class="warning" role="note">{escape(visible(each))}.</p>'
    yield (
        f'<p class="soft">{escape(visible(judgement.source))}: {judgement.rows:,} rows; '
        f"{escape(question.kind.described())}; delta {question.delta:g}, {escape(str(question.criterion))}; "
        f"{escape(judgement.rule)}, {escape(judgement.guarantee)}</p>"
    )
    counts = "".join(
        f'<li class="{VERDICTS[value]}"><b>{int((judgement.arms.verdict == value).sum()):,}</b>'
        f"<span>{judgement.verdict_labels[value]}</span></li>"
        for value in (1, -1, 0)
    )
    yield f'<ul class="counts">{counts}</ul>'


def _segments(judgement: Judgement) -> Iterator[str]:
    if not judgement.by:
        return
    yield "<h2>Segments</h2>"
    for by, arms in list(judgement.segments())[:200]:
        name = ", ".join(f"{key} {value}" for key, value in by.items())
        yield f'<p class="soft"><b>{escape(visible(name))}</b>: {escape(judgement.sentence_of(arms))}</p>'


def _tools(judgement: Judgement) -> str:
    boxes = "".join(
        f'<label><input type="checkbox" value="{VERDICTS[value]}" checked>{judgement.verdict_labels[value]}</label>'
        for value in (1, -1, 0)
    )
    find = f"find one of the {judgement.noun}"
    return (
        f'<div class="tools"><input type="search" placeholder="{escape(find, quote=True)}" '
        f'aria-label="{escape(find, quote=True)}">{boxes}</div>'
    )


def _table(judgement: Judgement, forest: Forest, most: int, tools: bool) -> str:
    heads = [
        *judgement.by,
        "arm",
        "verdict",
        "deciding interval",
        _mean_word(judgement),
        "from",
        "to",
        _counted(judgement),
        "evidence",
        judgement.question.needs_label,
    ]
    if judgement.arms.when is not None:
        heads.append("known at")
    places = {"arm": "name", "verdict": "words"} | dict.fromkeys(judgement.by, "segment")
    before, after = ('<button type="button">', "</button>") if tools else ("", "")
    head = "".join(
        f'<th scope="col" class="{places.get(name, "")}">{before}{escape(visible(name))}{after}</th>' for name in heads
    )
    shown = judgement.arms.taken(np.arange(min(most, judgement.arms.arm.size)))
    ends = span(forest)
    body = "".join(_row(judgement, shown, i, forest.bar, ends) for i in range(shown.arm.size))
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _row(judgement: Judgement, arms: Arms, i: int, bar: float, span: tuple[float, float]) -> str:
    question, kind = judgement.question, VERDICTS[int(arms.verdict[i])]
    name = str(arms.arm[i])
    cells = [f'<td class="segment" data-value="{_plain(key[i])}">{_shown(key[i])}</td>' for key in arms.segment]
    cells.append(f'<td class="name" data-value="{_plain(name)}">{_shown(name)}</td>')
    word = judgement.verdict_labels[int(arms.verdict[i])]
    title = escape(judgement.guarantee, quote=True)
    cells.append(f'<td class="words verdict {kind}" data-value="{word}" title="{title}">{word}</td>')
    cells.append(f'<td class="interval" data-value="{_number(arms.mean[i])}">{_bar(arms, i, bar, span)}</td>')
    for label, value in ((_mean_word(judgement), arms.mean[i]), ("from", arms.low[i]), ("to", arms.high[i])):
        cells.append(_cell(label, estimate(float(value), question), float(value)))
    cells.append(_cell(_counted(judgement), whole(arms.pulls[i]), arms.pulls[i]))
    cells.append(_cell("evidence", f"{arms.evidence[i]:.1f}", arms.evidence[i]))
    cells.append(_cell(question.needs_label, "" if arms.verdict[i] else needed(arms.needs[i]), arms.needs[i]))
    if arms.when is not None:
        when = "" if arms.when[i] is None else str(arms.when[i])
        cells.append(f'<td class="number" data-label="known at" data-value="{_plain(when)}">{_shown(when)}</td>')
    return f'<tr data-verdict="{kind}" data-name="{_plain(name.lower())}">{"".join(cells)}</tr>'


def _counted(judgement: Judgement) -> str:
    return judgement.question.counted if judgement.question.unit else "pulls"


def _mean_word(judgement: Judgement) -> str:
    return judgement.question.asked.labels.estimate


def _cell(label: str, text: str, value: float) -> str:
    return f'<td class="number" data-label="{label}" data-value="{_number(value)}">{escape(text)}</td>'


def _bar(arms: Arms, i: int, bar: float, span: tuple[float, float]) -> str:
    """One line of the forest plot."""
    left, right = span

    def at(value: float) -> float:
        share = (value - left) / (right - left)
        return round(WIDTH * min(max(share, 0.0), 1.0), 1)

    colour = COLOURS[int(arms.verdict[i])]
    low, high, mean = (float(each[i]) for each in (arms.low, arms.high, arms.mean))
    dot = "" if math.isnan(mean) else f'<rect x="{at(mean) - 6}" y="4" width="12" height="12" fill="{colour}"/>'
    return (
        f'<svg viewBox="0 0 {WIDTH} 20" preserveAspectRatio="none" aria-hidden="true">'
        f'<line x1="{at(low)}" x2="{at(high)}" y1="10" y2="10" stroke="{colour}" stroke-width="4"/>{dot}'
        f'<line x1="{at(bar)}" x2="{at(bar)}" y1="0" y2="20" {DASHED}/></svg>'
    )


def _density(judgement: Judgement, forest: Forest) -> str:
    """Histogram of all means, coloured by verdict."""
    bins = forest.edges.size - 1
    most = max(float(sum(forest.counts.values()).max()), 1.0)  # type: ignore[union-attr]  # a sum of arrays
    bars = []
    wide = WIDTH / bins
    for j in range(bins):
        top = 100.0
        for value, colour in COLOURS.items():
            tall = 100.0 * forest.counts[value][j] / most
            if tall > 0.0:
                top -= tall
                bars.append(
                    f'<rect x="{j * wide:.1f}" y="{top:.1f}" width="{wide - 1:.1f}" height="{tall:.1f}" '
                    f'fill="{colour}"/>'
                )
    place = WIDTH * (forest.bar - forest.edges[0]) / (forest.edges[-1] - forest.edges[0])
    line = f'<line x1="{place:.1f}" x2="{place:.1f}" y1="0" y2="100" {DASHED}/>'
    first, last, bar = (estimate(float(x), judgement.question) for x in (forest.edges[0], forest.edges[-1], forest.bar))
    words = f"from {first} to {last}, dashed at {bar}; the highest bar holds {int(most):,} {escape(judgement.noun)}"
    if forest.beyond:
        words += f"; the last one includes {forest.beyond:,} with means above {last}"
    return (
        f'<svg class="density" viewBox="0 0 {WIDTH} 100" preserveAspectRatio="none" role="img" '
        f'aria-label="density of the means">{"".join(bars)}{line}</svg><p class="soft">{words}</p>'
    )


def _shown(value: object) -> str:
    """A name with its line breaks; other control characters are escaped."""
    return "<br>".join(escape(visible(line)) for line in str(value).split("\n"))


def _plain(value: object) -> str:
    return escape(str(value), quote=True)


def _number(value: float) -> str:
    return repr(float(value)) if math.isfinite(value) else ""
