"""A simulation that has to wait for the compiler says so, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import goodarm
for _ in range(2):
    goodarm.simulate("uniform+kt", "kano-1", runs=1, horizon=50)
"""


@pytest.mark.slow
def test_the_compiler_is_announced_on_stderr_until_its_code_is_on_the_disk(tmp_path: Path) -> None:
    caches = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def said() -> list[str]:
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, env=caches, capture_output=True, text=True, check=True)
        assert done.stdout == ""
        return done.stderr.splitlines()

    (line,) = said()
    assert line.startswith("Compiling uniform+kt, about ")
    assert line.endswith(" s, once for each policy and kind of rewards ...")
    assert said() == []
