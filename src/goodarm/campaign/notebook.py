"""A campaign in a notebook: its sentence, and the arms nearest to a verdict."""

from __future__ import annotations

from html import escape

from goodarm.campaign.fold import Fold
from goodarm.campaign.views import nearest


def html(text: str, fold: Fold) -> str:
    """The text, then a small table."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in text.split("\n"))
    rows = "".join(
        f"<tr><td>{escape(row.label)}</td><td>{row.pulls:,}</td><td>{row.pending:,}</td><td>{row.mean:.4g}</td>"
        f"<td>{row.low:.4g} to {row.high:.4g}</td><td>{row.evidence:.2f} of {row.needed:.2f}</td></tr>"
        for row in nearest(fold, 10)
    )
    if not rows:
        return lines
    heads = "".join(
        f"<th>{head}</th>" for head in ("nearest to a verdict", "pulls", "out", "mean", "interval", "evidence")
    )
    return f"{lines}<table><tr>{heads}</tr>{rows}</table>"
