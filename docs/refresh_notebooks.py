"""Write docs/notebooks from docs/tutorials: text as text cells, Python as code cells, shell commands as text.

python docs/refresh_notebooks.py [FOLDER]
"""

from __future__ import annotations

import json
import re
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CODE = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:```text\n.*?^```\n?)?", re.DOTALL | re.MULTILINE)
OWN_LINE = re.compile(r"^This tutorial is also a \[notebook\]\([^)]*\)\.\n\n", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)(?P<path>[^)#]+\.md)(?P<part>#[^)]*)?\)")


def cells(text: str, folder: Path) -> list[dict[str, Any]]:
    """The cells of a page. Outputs are left out: running the notebook makes them."""
    found: list[dict[str, Any]] = []
    last = 0
    for match in CODE.finditer(text):
        found += _text(text[last : match.start()], folder)
        code = _lines(match["code"])
        found.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": code})
        last = match.end()
    found += _text(text[last:], folder)
    for number, cell in enumerate(found):
        source = f"{number}{''.join(cell['source'])}"
        cell["id"] = blake2b(source.encode(), digest_size=8).hexdigest()
    return found


def _text(text: str, folder: Path) -> list[dict[str, Any]]:
    moved = LINK.sub(lambda link: f"]({_from_notebooks(folder, link['path'])}{link['part'] or ''})", text.strip())
    return [{"cell_type": "markdown", "metadata": {}, "source": _lines(moved)}] if moved else []


def _from_notebooks(folder: Path, path: str) -> str:
    """A link as the folder of the notebooks, which lies beside the tutorials, needs it."""
    return path if path.startswith("../") else f"../{folder.name}/{path}"


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").splitlines(keepends=True)


def notebook(page: Path) -> str:
    content = {
        "cells": cells(OWN_LINE.sub("", page.read_text(encoding="utf-8")), page.parent),
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted((HERE / "tutorials").glob("*.md")):
        (folder / f"{page.stem}.ipynb").write_text(notebook(page), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "notebooks")
