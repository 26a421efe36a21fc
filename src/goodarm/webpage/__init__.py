"""Frame of self-contained HTML pages, with sortable tables."""

from __future__ import annotations

from html import escape
from importlib.resources import files

NOTHING_FROM_ELSEWHERE = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'\">\n"
)
"""Policy that keeps the browser from loading anything, whatever the names and notes in the page contain."""


def page_of(title: str, body: str, *, style: str, script: str = "", head: str = "") -> str:
    """The text of an HTML file; every table whose headings are buttons sorts on a click.

    >>> page_of("1 < 2", "<p>Yes.</p>", style="").splitlines()[5]
    '<title>1 &lt; 2</title>'
    """
    sorting = files("goodarm.webpage").joinpath("sort.js").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{head}<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n{body}\n<script>\n{script}{sorting}</script>\n</body>\n</html>\n"
    )
