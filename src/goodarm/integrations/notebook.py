"""The dashboard's interval chart as a widget for Jupyter, VS Code, Colab and marimo. Needs the extra `notebook`.

```python
from goodarm.integrations.notebook import interval_chart

chart = interval_chart(campaign)   # or a judgement
chart                              # as the last line of a cell
chart.refresh()                    # later: show the present state
chart.chosen                       # the arm that was clicked last
```

The widget uses the page's chart. Its modules are joined, because a widget is a single module, and its style applies
only inside the widget.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import numpy as np

from goodarm.campaign import Campaign
from goodarm.errors import InvalidValue, MissingExtra
from goodarm.judgement.judgement import Judgement
from goodarm.wire import jsonable

STATIC = files("goodarm.service") / "static"
ENTRY = "notebook.js"
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+\.js)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?:const|let|class|(?:async )?function) (\w+)", re.MULTILINE)
MOST_ARMS = 100_000
"""Maximum number of arms in a chart, which sends all of them to the browser."""


def interval_chart(source: Campaign | Judgement) -> Any:
    """A widget that shows every arm of a campaign or a judgement as an interval against the bar.

    `refresh()` updates it, and `chosen` is the id of the arm that was clicked last.
    """
    if find_spec("anywidget") is None:
        raise MissingExtra("The interval chart in notebooks", "notebook")
    return _widget()(source)


def shown(source: Campaign | Judgement) -> dict[str, Any]:
    """Data of the widget: the question with its words, the sentence, and a row per arm."""
    if isinstance(source, Judgement):
        return _of_judgement(source)
    if not isinstance(source, Campaign):
        raise InvalidValue(f"a chart shows a Campaign or a Judgement; got {type(source).__name__}.")
    terms = source.terms.shown()
    rows = [row.brief() for row in source.arms()]
    return _within(str(source).partition("\n")[0], {"question": terms.question, "rewards": terms.rewards}, rows)


def _of_judgement(found: Judgement) -> dict[str, Any]:
    options, arms = found.options, found.arms
    scale = options.scale
    words = options.question.shown(scale.family)
    words["shares"] &= (scale.low, scale.high) == (0.0, 1.0)
    summary = {"question": words, "rewards": str(scale.family)}
    names = [" / ".join(map(str, key)) for key in zip(*arms.segment, arms.arm, strict=True)]
    rows = [
        {"arm": name, "label": name, "sign": int(sign), "pulls": int(pulls), "pending": 0}
        | {"mean": jsonable(float(mean)), "low": jsonable(float(low)), "high": jsonable(float(high))}
        for name, sign, pulls, mean, low, high in zip(
            names, arms.verdict, np.asarray(arms.pulls), arms.mean, arms.low, arms.high, strict=True
        )
    ]
    return _within(found.sentence, summary, rows)


def _within(sentence: str, summary: Mapping[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    if len(rows) > MOST_ARMS:
        raise InvalidValue(f"a chart in a notebook shows at most {MOST_ARMS:,} arms; got {len(rows):,}.")
    return {"sentence": sentence, "summary": dict(summary), "rows": rows}


@cache
def _widget() -> type[Any]:
    import anywidget
    import traitlets

    class IntervalChart(anywidget.AnyWidget):  # type: ignore[misc]  # the package has no types
        """Every arm as an interval against the bar."""

        _esm = module()
        _css = style()
        sentence = traitlets.Unicode().tag(sync=True)
        summary = traitlets.Dict().tag(sync=True)
        rows = traitlets.List().tag(sync=True)
        chosen = traitlets.Unicode().tag(sync=True)

        def __init__(self, source: Campaign | Judgement) -> None:
            self._source = source
            super().__init__(**shown(source))

        def refresh(self) -> None:
            """Update the chart."""
            now = shown(self._source)
            self.sentence, self.rows = now["sentence"], now["rows"]

    return IntervalChart


def module() -> str:
    """The chart's modules as one: each becomes a function that returns its exports."""
    plot = (STATIC / "vendor" / "uplot" / "uPlot.iife.min.js").read_text("utf-8")
    parts: dict[str, str] = {}
    _join(ENTRY, parts)
    joined = "\n".join(parts.values())
    return (
        f"window.uPlot ??= (() => {{\n{plot}\nreturn uPlot;\n}})();\n{joined}\nexport default {_name(ENTRY)}.entry;\n"
    )


def _name(file: str) -> str:
    return f"goodarm_{file.removesuffix('.js')}"


def _join(file: str, parts: dict[str, str]) -> None:
    """Order a module after its imports."""
    if file in parts:
        return
    text = (STATIC / "js" / file).read_text("utf-8")
    for _, needed in IMPORT.findall(text):
        _join(needed, parts)
    names = EXPORT.findall(text)
    body = IMPORT.sub(lambda found: f"const {{{found[1]}}} = {_name(found[2])};", text)
    body = re.sub(r"^export default ", "const entry = ", body, flags=re.MULTILINE)
    body = re.sub(r"^export (?=const|let|class|async|function)", "", body, flags=re.MULTILINE)
    given = ", ".join([*names, "entry"] if file == ENTRY else names)
    parts[file] = f"const {_name(file)} = (() => {{\n{body}\nreturn {{ {given} }};\n}})();"


def style() -> str:
    """The page's style inside the widget: its colours, and all other rules nested."""
    base, parts, plot = (
        (STATIC / name).read_text("utf-8") for name in ("base.css", "parts.css", "vendor/uplot/uPlot.min.css")
    )
    colours = [
        f".goodarm-chart{theme} {{{_variables(base, selector)}}}"
        for theme, selector in (("", ":root {"), ('[data-theme="dark"]', ':root[data-theme="dark"] {'))
    ]
    rules = base[base.index("* { box-sizing") :] + parts
    own = "color: var(--ink); background: var(--card); padding: 0.75rem; .sentence { font-weight: 600; }"
    return f"{plot}\n{' '.join(colours)}\n.goodarm-chart {{ {own}\n{rules}\n}}"


def _variables(base: str, selector: str) -> str:
    start = base.index(selector) + len(selector)
    return "; ".join(re.findall(r"--[\w-]+: [^;]+", base[start : base.index("}", start)]))
