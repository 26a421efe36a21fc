"""Small programs in fresh processes: for what can only be measured once in a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def fresh(program: str, **environment: str) -> Any:
    """Run a program in a new interpreter, which may keep its bytecode, and return what it prints as JSON."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=own | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"a measured program failed:\n{program}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])
