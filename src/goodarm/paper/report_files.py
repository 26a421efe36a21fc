"""A reproduction on disk: the page, the table, the rows and the figures. Whole files or none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from goodarm.paper.figures import FigureOf, figures
from goodarm.paper.page import page
from goodarm.paper.report import Reproduction, as_json
from goodarm.paper.report_text import markdown
from goodarm.report.chart import draw
from goodarm.report.drawing import save
from goodarm.report.numbers import json_text
from goodarm.whole_files import explained, whole, write_text

VERDICTS = np.array(["open", "good", "bad"])  # a verdict is its own place, -1 the last


def write_reproduction(found: Reproduction, folder: Path) -> list[Path]:
    """Write everything that was asked for; returns the paths."""
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
