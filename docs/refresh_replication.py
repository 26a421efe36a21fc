"""Write measured tables and figures into docs/replication.md.

    goodarm reproduce --out reproduction && python docs/refresh_replication.py reproduction
    python docs/refresh_replication.py --must-hold

The first takes the tables and figures of a full reproduction, the second plays what `value` must hold, 200 runs on the
synthetic datasets and 20 on the real ones, and tests its wrong runs against delta. Only text between the comments
`<!-- begin NAME -->` and `<!-- end NAME -->` is touched.
"""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from goodarm.report.numbers import percent, short
from goodarm.simulation.compare import compare

HERE = Path(__file__).parent
DOCUMENT = HERE / "replication.md"
FIGURES = (
    "figure1-epochs",
    "figure1-rounds",
    "figure2",
    "figure3",
    "figure3-pulls",
    "figure4",
    "price",
    "structured-rounds",
    "structured-learning",
)
MUST_HOLD = (("synth-small", 200), ("synth-large", 200), ("movielens", 20), ("open-bandit", 20))


def put(name: str, text: str) -> None:
    """Replace what stands between the two comments of that name."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(begin)
    if not rest:
        raise SystemExit(f"{DOCUMENT} has no place called {name}")
    _, _, after = rest.partition(end)
    DOCUMENT.write_text(f"{before}{begin}{text}\n{end}{after}", encoding="utf-8")


def take_reproduction(folder: Path) -> None:
    """Tables from table1.md, figures as they are."""
    _, _, tables = (folder / "table1.md").read_text(encoding="utf-8").partition("\n## ")
    if "(its own: " in tables:
        raise SystemExit(f"{folder} holds a quick reproduction: its horizons are shorter than the datasets' own")
    put("table1", f"### {tables}".replace("\n## ", "\n### ").rstrip())
    for name in FIGURES:
        shutil.copyfile(folder / f"{name}.png", HERE / "figures" / f"replication-{name}.png")


def must_hold() -> Iterator[str]:
    """One row per dataset: scores, their ratio, and wrong runs with the exact one-sided test against delta."""
    yield "| dataset | runs | HDoC | value | ratio | of the ceiling | wrong runs | p-value |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for dataset, runs in MUST_HOLD:
        value, hdoc = compare(dataset, ("value", "hdoc"), runs=runs, workers=2).finished
        ratio = value.exploit_score.mean / hdoc.exploit_score.mean if hdoc.exploit_score.mean > 0.0 else math.nan
        row = [
            dataset,
            str(runs),
            short(hdoc.exploit_score.mean, 3),
            short(value.exploit_score.mean, 3),
            f"{ratio:.3g}x" if math.isfinite(ratio) else "-",
            percent(value.exploit_score.mean / value.ceiling),
            f"{value.wrong_runs}/{runs}",
            f"{at_least(value.wrong_runs, runs, 0.05):.3f}",
        ]
        yield f"| {' | '.join(row)} |"


def at_least(wrong: int, runs: int, delta: float) -> float:
    """P(Binomial(runs, delta) >= wrong): small where the error rate is above delta."""
    return sum(math.comb(runs, k) * delta**k * (1.0 - delta) ** (runs - k) for k in range(wrong, runs + 1))


if __name__ == "__main__":
    if sys.argv[1:] == ["--must-hold"]:
        put("must-hold", "\n".join(must_hold()))
    elif len(sys.argv) == 2:
        take_reproduction(Path(sys.argv[1]))
    else:
        raise SystemExit(__doc__)
