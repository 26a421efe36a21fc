"""A reproduction on disk: the page, the table, the rows and the figures. Files are complete or absent.

The page is one HTML file: it loads nothing, figures are SVG, and tables sort on a click.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape
from importlib.resources import files
from pathlib import Path

import numpy as np

from goodarm.paper.figures import FigureOf, figures
from goodarm.paper.report import OnDataset, Reproduction, as_json
from goodarm.paper.report_text import (
    HEADINGS,
    READINGS,
    SWEEP_HEADINGS,
    SWEPT,
    answer,
    cells,
    findings,
    impossible,
    markdown,
    notes,
    setting,
    shown,
    sweep_cells,
    values,
)
from goodarm.report.chart import STYLE_OF, draw, draw_one, marker_of, marks_in, names_in, svg
from goodarm.report.drawing import save
from goodarm.report.numbers import json_text, percent, short
from goodarm.version import __version__
from goodarm.webpage import page_of
from goodarm.whole_files import explained, whole, write_text

VERDICTS = np.array(["open", "good", "bad"])  # indexed by the verdict; index -1 is the last


def write_reproduction(found: Reproduction, folder: Path) -> list[Path]:
    """Write all requested files; returns the paths."""
    drawn = figures(found)
    writers: dict[str, Callable[[Path], None]] = {
        "report.html": lambda path: write_text(path, page(found, drawn)),
        "table1.md": lambda path: write_text(path, markdown(found)),
        "summary.json": lambda path: write_text(path, json_text(as_json(found)) + "\n"),
        "rows.parquet": lambda path: write_rows(found, path),
    }
    with explained(folder):
        written = [whole(folder / name, write) for name, write in writers.items()]
        for each in drawn:
            written += _figure(each, folder)
    return written


def _figure(each: FigureOf, folder: Path) -> list[Path]:
    figure = draw(each.charts)
    return [whole(folder / f"{each.name}.{kind}", lambda path: save(figure, path)) for kind in ("svg", "png")]


def write_rows(found: Reproduction, path: Path) -> None:
    """One row per arm, run, policy and dataset."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    names = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema(
        [
            ("dataset", names),
            ("entry", names),
            ("policy", names),
            ("guarantee", names),
            ("seed", pa.int64()),
            ("horizon", pa.int64()),
            ("run", pa.int32()),
            ("arm", pa.int32()),
            ("mean", pa.float64()),
            ("verdict", names),
            ("verdict_round", pa.int64()),
            ("pulls", pa.int64()),
        ]
    )
    with parquet.ParquetWriter(path, schema) as writer:
        for task in found.tasks:
            if "rows" not in task.tables:
                continue
            rows = task.tables["rows"]
            size = len(rows["run"])
            same = [task.facts[name] for name in ("dataset", "entry", "policy", "guarantee")]
            columns = [pa.array([text]).dictionary_encode().take(pa.array(np.zeros(size, np.int32))) for text in same]
            columns += [pa.array(np.full(size, value)) for value in (found.request.seed, task.facts["horizon"])]
            columns += [pa.array(rows[name]) for name in ("run", "arm", "mean")]
            columns.append(pa.array(VERDICTS[rows["verdict"]]).dictionary_encode())
            at = rows["verdict_round"]
            columns += [pa.array(at, mask=at == 0), pa.array(rows["pulls"])]
            writer.write_table(pa.table(columns, schema=schema))


SIGNS = dict(zip("os^DvP<X>*d", "●■▲◆▼✚◀✖▶★♦", strict=True))
"""The charts' markers as letters."""


def page(found: Reproduction, drawn: list[FigureOf]) -> str:
    """The text of report.html."""
    body = "\n".join([*_opening(found, drawn), *_tables(found), *_figures(drawn), *_rewards(found), *_closing(found)])
    style = files("goodarm.paper").joinpath("page.css").read_text("utf-8")
    return page_of("Differentiable good arm identification, replicated", body, style=style)


def _opening(found: Reproduction, drawn: list[FigureOf]) -> Iterator[str]:
    yield "<header><h1>Differentiable good arm identification, replicated</h1>"
    yield (
        '<p class="soft">Tsai, Tsai and Lin, "Differentiable Good Arm Identification", Table 1 and Figures 1 to 4, '
        f"beside what goodarm {escape(__version__)} measures. "
        f"Made by <code>{escape(found.request.command())}</code></p>"
    )
    links = [
        ("#short", "Does the paper hold?"),
        ("#tables", "Table 1"),
        *((f"#{each.name}", each.title) for each in drawn),
    ]
    links += [("#printed", "Printed numbers that are impossible"), ("#readings", "Readings")]
    yield "<nav>" + "".join(f'<a href="{where}">{escape(words.split(":")[0])}</a>' for where, words in links) + "</nav>"
    yield '</header><main><h2 id="short">Does the paper hold?</h2>'
    first_line, *more = [*answer(found)] or ["Nothing was asked that could say so."]
    yield f'<p class="answer">{escape(first_line)}</p>' + "".join(f"<p>{escape(line)}</p>" for line in more)
    first, *others = notes(found)
    if found.request.quick:
        yield f'<p class="notice">{escape(first)}</p>'
    else:
        others = [first, *others]
    said = [line.split(": ", 1) for line in findings(found)]
    yield "<ul>" + "".join(f"<li><b>{escape(name)}</b>: {escape(rest)}</li>" for name, rest in said) + "</ul>"
    yield "".join(f'<p class="soft">{escape(note)}</p>' for note in others)


def _tables(found: Reproduction) -> Iterator[str]:
    yield (
        "<h2 id=\"tables\">Table 1</h2><p>The order is the paper's; click a heading to sort. Orange: the paper's "
        "method as printed. Blue: ours. Red: wrong verdicts. A high score with wrong verdicts was bought by calling "
        "bad arms good, or by deciding before anything is known.</p>"
    )
    for on in found.datasets:
        if on.lines:
            extra = "" if on.in_paper else " (not a column of the paper's)"
            yield f"<h3>{escape(on.name)}{extra}</h3><p>{escape(setting(on))}.</p>"
            yield f'<p class="soft">{escape(on.reading)}.</p>{_table(on)}'
    if found.sweep:
        head = "".join(
            f'<th scope="col"><button type="button">{escape(words)}</button></th>' for words in SWEEP_HEADINGS
        )
        rows = []
        for line in found.sweep:
            texts = sweep_cells(line)
            row = "".join(f'<td data-value="{escape(text, quote=True)}">{escape(text)}</td>' for text in texts)
            rows.append(f'<tr class="paper">{row}</tr>')
        yield f'<h3 id="sweep">The constraint D</h3><p>{escape(SWEPT)}</p>'
        yield f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _table(on: OnDataset) -> str:
    columns = shown(on)
    head = "".join(
        f'<th scope="col"><button type="button">{escape(HEADINGS[place])}</button></th>' for place in columns
    )
    rows = []
    for line in on.lines:
        row = []
        for heading, text, value in ((HEADINGS[c], cells(line)[c], values(line)[c]) for c in columns):
            bad = ' class="bad"' if heading.startswith("wrong") and value else ""
            words = ' class="words"' if isinstance(value, str) else bad
            row.append(f'<td{words} data-value="{_sortable(value)}">{escape(text)}</td>')
        rows.append(f'<tr class="{line.kind}">{"".join(row)}</tr>')
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _sortable(value: float | str) -> str:
    if isinstance(value, str):
        return escape(value, quote=True)
    return repr(float(value)) if math.isfinite(value) else ""


def _figures(drawn: list[FigureOf]) -> Iterator[str]:
    for each in drawn:
        yield f'<h2 id="{each.name}">{escape(each.title)}</h2><p>{escape(each.words)}</p>'
        points = any(series.points for chart in each.charts for series in chart.series)
        keys = "".join(_key(name, points) for name in names_in(each.charts))
        keys += "".join(f'<li><i class="dotted"></i>{escape(words)}</li>' for words in marks_in(each.charts))
        yield f'<ul class="legend">{keys}</ul><div class="grid">'
        for number, chart in enumerate(each.charts):
            label = escape(f"{each.title}, {chart.title}", quote=True)
            yield f'<div role="img" aria-label="{label}">{svg(draw_one(chart), f"{each.name}-{number}")}</div>'
        yield "</div>"


def _key(name: str, points: bool) -> str:
    colour, style = STYLE_OF[name]
    dashed = style == "--"
    marker = SIGNS[marker_of(name)]
    kind = "none" if points else ("dashed" if dashed else "line")
    return f'<li style="--colour:{colour}"><i class="{kind}"></i><b>{marker}</b>{escape(name)}</li>'


def _rewards(found: Reproduction) -> Iterator[str]:
    shown = [on for on in found.datasets if on.rewards]
    if not shown:
        return
    yield "<h3>Cumulative reward at the end</h3>"
    head = "".join(
        f'<th scope="col"><button type="button">{escape(words)}</button></th>'
        for words in ("policy", "dataset", "share of the best arm's", "reward", "runs")
    )
    rows = []
    for on in shown:
        for line in on.rewards:
            pairs: list[tuple[str, float | str]] = [
                (line.entry, line.entry),
                (on.name, on.name),
                (percent(line.share_of_best), line.share_of_best),
                (short(line.reward, 4), line.reward),
                (str(line.runs), line.runs),
            ]
            row = "".join(f'<td data-value="{_sortable(value)}">{escape(text)}</td>' for text, value in pairs)
            rows.append(f'<tr class="{line.kind}">{row}</tr>')
    yield f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _closing(found: Reproduction) -> Iterator[str]:
    yield '<h2 id="printed">Printed numbers that are impossible</h2><ul>'
    yield "".join(f"<li>{escape(line)}</li>" for line in impossible(found.request.seed)) + "</ul>"
    yield '<h2 id="readings">What we read differently</h2><ul>'
    yield "".join(f"<li>{escape(line)}</li>" for line in READINGS) + "</ul></main>"
    sources = "; ".join(f"{on.name}: {on.reference}" for on in found.datasets if on.reference)
    yield (
        f"<footer>Data: {escape(sources)}. Every row behind these numbers is in rows.parquet beside this page; the "
        f"command above makes it again.</footer>"
    )
