"""Run the code of docs/examples.md and put the pictures that it draws into docs/images.

python docs/refresh_examples.py [FOLDER]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r'savefig\("([^"]+)"\)')


def examples() -> list[tuple[str, list[str]]]:
    """The code of each example and the names of the pictures that it writes."""
    codes = CODE.findall((HERE / "examples.md").read_text(encoding="utf-8"))
    return [(code, PICTURE.findall(code)) for code in codes]


def draw(code: str, folder: Path) -> None:
    """Run an example in that folder, which sees the clone's `examples`."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(HERE.parent / "examples")
    settings = {**os.environ, "MPLCONFIGDIR": tempfile.gettempdir()}
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, env=settings)


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        for code, pictures in examples():
            draw(code, Path(name))
            for picture in pictures:
                (target / picture).write_bytes((Path(name) / picture).read_bytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "images")
