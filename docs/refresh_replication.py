"""Play the reproduction and write its tables and figures into docs/replication.md.

    python docs/refresh_replication.py             # plays `goodarm reproduce --out reproduction`, then writes
    python docs/refresh_replication.py --quick     # the same with `--quick`
    python docs/refresh_replication.py FOLDER      # writes what `goodarm reproduce --out FOLDER` has made

Only text between the comments `<!-- begin NAME -->` and `<!-- end NAME -->` is touched.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from goodarm.paper.scope import STRUCTURED

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


def put(name: str, text: str) -> None:
    """Replace what stands between the two comments of that name."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(begin)
    if not rest:
        raise SystemExit(f"{DOCUMENT} has no place called {name}")
    _, _, after = rest.partition(end)
    DOCUMENT.write_text(f"{before}{begin}{text}\n{end}{after}", encoding="utf-8")


def take_reproduction(folder: Path) -> None:
    """What was played, the tables of table1.md, and the figures."""
    opening, *sections = (folder / "table1.md").read_text(encoding="utf-8").split("\n## ")
    with_features = {each.name for each in STRUCTURED}
    places: dict[str, list[str]] = {"table1": [], "structured": [], "sweep": []}
    for section in sections:
        title, _, body = section.partition("\n")
        if title == "The constraint D":
            places["sweep"].append(body.strip())
        else:
            place = "structured" if title in with_features else "table1"
            places[place].append(f"### {title}\n{body.rstrip()}\n")
    put("made", opening.partition("\n")[2].strip())
    for name, texts in places.items():
        put(name, "\n".join(texts).rstrip())
    for name in FIGURES:
        shutil.copyfile(folder / f"{name}.png", HERE / "figures" / f"replication-{name}.png")


if __name__ == "__main__":
    given = sys.argv[1:]
    if given in ([], ["--quick"]):
        folder = Path("reproduction")
        start = "from goodarm.cli import main; main()"
        subprocess.run((sys.executable, "-c", start, "reproduce", *given, "--out", str(folder)), check=True)
        take_reproduction(folder)
    elif len(given) == 1 and not given[0].startswith("-"):
        take_reproduction(Path(given[0]))
    else:
        raise SystemExit(__doc__)
