"""Rules and environments of other people, found through entry points and used by name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

MODULE = '''
from goodarm.environments import bernoulli
from goodarm.rules.identification import EvidenceRule
from goodarm.rules.identification.kt import bet
from goodarm.rules.sampling import IndexRule
from goodarm.verdict import Guarantee


def index(arm, pool, bar, pull=1.0):
    """The arm with the largest mean, and a pull towards those seen least."""
    return arm.mean + pull / arm.pulls


def observe(arm, reward, pool, bar, stake=0.1):
    """A bet of the same size every time."""
    xi = bar.threshold
    up, down = min(xi + stake * (1.0 - xi), 1.0), xi * (1.0 - stake)
    return arm.for_good + bet(reward, up, xi), arm.for_bad + bet(reward, down, xi), 0.0


curious = IndexRule(name="curious", index=index)
steady = EvidenceRule(name="steady", guarantee=Guarantee.CERTIFIED, observe=observe)


def headlines():
    return bernoulli([0.1, 0.4, 0.6, 0.9], 0.5, horizon=3000, name="headlines")
'''
ENTRY_POINTS = """
[goodarm.sampling]
curious = theirs:curious

[goodarm.identification]
steady = theirs:steady

[goodarm.environments]
headlines = theirs:headlines
"""
USE = """
from goodarm import policy, simulate
from goodarm.policies.names import identification_names, sampling_names
from goodarm.environments.names import environment_names
from goodarm.errors import UnknownName
from goodarm.testing import check_policy

assert "curious" in sampling_names() and "steady" in identification_names() and "headlines" in environment_names()
result = simulate("curious(pull=0.5)+steady(stake=0.2)", "headlines", runs=3)
assert all(run.verdicts.tolist() == [-1, -1, 1, 1] for run in result.runs), [run.verdicts for run in result.runs]
assert policy("curious").identification.name == "gap-mixture"
for check in check_policy("curious+steady", thorough=False, compiled=False):
    check()
try:
    policy("curios")
except UnknownName as error:
    assert "curious" in str(error)
print("used")
"""


def test_a_distribution_with_entry_points_is_used_by_name(tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text(MODULE)
    information = tmp_path / "theirs-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    variables = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", USE], env=variables, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "used", done.stderr
