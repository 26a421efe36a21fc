"""Small programs in fresh processes: for what can only be measured once in a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def fresh(program: str, **environment: str) -> Any:
    """Run a program in a new interpreter and return what it prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"a measured program failed:\n{program}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])
