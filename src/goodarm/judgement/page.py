"""Verdicts on a log or of a campaign as one self-contained HTML page, and as a fragment for notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from importlib.resources import files

import numpy as np

from goodarm.forest import COLOURS, Forest, span
from goodarm.judgement.judgement import Arms
from goodarm.judgement.words import evidence_words, needed, visible, whole
from goodarm.judgement.written import VERDICTS, Written
from goodarm.webpage import NOTHING_FROM_ELSEWHERE, page_of

MOST = 2000
"""Maximum number of rows on the page. The Parquet file has all of them."""
WIDTH = 1000
DASHED = 'stroke="#333" stroke-width="2" stroke-dasharray="5 3"'


def page(written: Written) -> str:
    """The content of judgement.html."""
    style, script = (files("goodarm.judgement").joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    body = f"<main>\n{fragment(written, MOST, tools=True)}\n</main>"
    return page_of(written.sentence, body, style=style, script=script, head=NOTHING_FROM_ELSEWHERE)


def notebook(written: Written, most: int = 20) -> str:
    """The page as a fragment for a notebook, with a scoped style."""
    style = files("goodarm.judgement").joinpath("notebook.css").read_text("utf-8")
    return f'<div class="goodarm-judgement"><style>{style}</style>{fragment(written, most)}</div>'


def fragment(written: Written, most: int, *, tools: bool = False) -> str:
    """Sentence, counts, density and table with at most `most` rows; `tools` adds a heading and sortable columns."""
    parts = [*_opening(written, "h1" if tools else "p"), *_segments(written)]
    forest = written.forest()
    if forest.edges.size:
        what = written.question.labels.estimate.capitalize()
        heading = f"{what}s of all {written.arms.arm.size:,} {escape(written.noun)}"
        parts.append(f"<h2>{heading}</h2>{_density(written, forest)}")
    if tools:
        parts.append(_tools(written))
    parts.append(_table(written, forest, most, tools))
    left = written.arms.arm.size - most
    if left > 0:
        parts.append(f'<p class="soft">{left:,} more rows are in the table (arms.parquet, or .table).</p>')
    parts.append(_footer(written))
    return "\n".join(parts)


def _footer(written: Written) -> str:
    """Notes, and the conditions of the guarantee."""
    calm = [note for note in written.notes if note not in written.warnings]
    notes = "".join(f'<p class="soft">{escape(visible(note))}</p>' for note in (*calm, written.captions.looks))
    items = "".join(f"<li>{escape(visible(each))}</li>" for each in written.conditions)
    return f"<footer><p><b>Verdicts are {written.rule_guarantee} if</b></p><ul>{items}</ul>{notes}</footer>"


def _opening(written: Written, element: str) -> Iterator[str]:
    yield f'<{element} class="sentence">{escape(written.sentence)}.</{element}>'
    for each in written.warnings:
        yield f'<p class="warning" role="note">{escape(visible(each))}.</p>'
    yield (
        f'<p class="soft">{escape(visible(written.captions.data))}; {escape(written.captions.setting)}; '
        f"{escape(written.rule)}, {escape(written.guarantee)}</p>"
    )
    counts = "".join(
        f'<li class="{VERDICTS[value]}"><b>{int((written.arms.verdict == value).sum()):,}</b>'
        f"<span>{written.verdict_labels[value]}</span></li>"
        for value in (1, -1, 0)
    )
    yield f'<ul class="counts">{counts}</ul>'


def _segments(written: Written) -> Iterator[str]:
    if not written.by:
        return
    yield "<h2>Segments</h2>"
    for name, sentence in list(written.parts())[:200]:
        yield f'<p class="soft"><b>{escape(visible(name))}</b>: {escape(sentence)}</p>'


def _tools(written: Written) -> str:
    boxes = "".join(
        f'<label><input type="checkbox" value="{VERDICTS[value]}" checked>{written.verdict_labels[value]}</label>'
        for value in (1, -1, 0)
    )
    find = f"find one of the {written.noun}"
    return (
        f'<div class="tools"><input type="search" placeholder="{escape(find, quote=True)}" '
        f'aria-label="{escape(find, quote=True)}">{boxes}</div>'
    )


def _table(written: Written, forest: Forest, most: int, tools: bool) -> str:
    heads = [
        *written.by,
        "arm",
        "verdict",
        "deciding interval",
        _mean_word(written),
        "from",
        "to",
        written.captions.counted,
        "evidence",
        *([written.captions.needs] if written.captions.needs else []),
    ]
    if written.arms.when is not None:
        heads.append("known at")
    places = {"arm": "name", "verdict": "words"} | dict.fromkeys(written.by, "segment")
    before, after = ('<button type="button">', "</button>") if tools else ("", "")
    head = "".join(
        f'<th scope="col" class="{places.get(name, "")}">{before}{escape(visible(name))}{after}</th>' for name in heads
    )
    shown = written.arms.taken(np.arange(min(most, written.arms.arm.size)))
    ends = span(forest)
    body = "".join(_row(written, shown, i, forest.bar, ends) for i in range(shown.arm.size))
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _row(written: Written, arms: Arms, i: int, bar: float, span: tuple[float, float]) -> str:
    kind = VERDICTS[int(arms.verdict[i])]
    name = str(arms.arm[i])
    cells = [f'<td class="segment" data-value="{_plain(key[i])}">{_shown(key[i])}</td>' for key in arms.segment]
    cells.append(f'<td class="name" data-value="{_plain(name)}">{_shown(name)}</td>')
    word = written.verdict_labels[int(arms.verdict[i])]
    title = escape(written.guarantee, quote=True)
    cells.append(f'<td class="words verdict {kind}" data-value="{word}" title="{title}">{word}{arms.kept(i)}</td>')
    cells.append(f'<td class="interval" data-value="{_number(arms.mean[i])}">{_bar(arms, i, bar, span)}</td>')
    for label, value in ((_mean_word(written), arms.mean[i]), ("from", arms.low[i]), ("to", arms.high[i])):
        cells.append(_cell(label, written.estimate(float(value)), float(value)))
    cells.append(_cell(written.captions.counted, whole(arms.pulls[i]), arms.pulls[i]))
    cells.append(_cell("evidence", evidence_words(float(arms.evidence[i])), arms.evidence[i]))
    if written.captions.needs:
        cells.append(_cell(written.captions.needs, "" if arms.verdict[i] else needed(arms.needs[i]), arms.needs[i]))
    if arms.when is not None:
        when = "" if arms.when[i] is None else str(arms.when[i])
        cells.append(f'<td class="number" data-label="known at" data-value="{_plain(when)}">{_shown(when)}</td>')
    return f'<tr data-verdict="{kind}" data-name="{_plain(name.lower())}">{"".join(cells)}</tr>'


def _mean_word(written: Written) -> str:
    return written.question.labels.estimate


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


def _density(written: Written, forest: Forest) -> str:
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
    first, last, bar = (written.estimate(float(x)) for x in (forest.edges[0], forest.edges[-1], forest.bar))
    words = f"from {first} to {last}, dashed at {bar}; the highest bar holds {int(most):,} {escape(written.noun)}"
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
