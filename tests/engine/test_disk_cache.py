"""The disk cache never serves a stale rule, and serves a fresh one without compiling."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SETTINGS = "BONUS = 1.0\n"
HELPERS = """
import numpy as np
from numba import njit
from package import settings

SCALE = 1.0
TABLE = np.array([0.0, 1.0])

def helper(x):
    return 1.0 * x

@njit
def compiled_helper(x):
    return 1.0 * x

def make(power):
    def closed(x):
        return power * x
    return closed

closure = make(1.0)
"""
RULE = """
import package.settings
from package import helpers
from package.helpers import SCALE, closure, compiled_helper, helper
from goodarm.rules.sampling import IndexRule

def index(arm, pool, bar, weight=1.0):
    constant = 1.0
    value = arm.mean + constant * weight * arm.width + helper(arm.width) + SCALE * arm.width
    value += helpers.TABLE[1] * arm.width + compiled_helper(arm.width) + closure(arm.width)
    return value + package.settings.BONUS * arm.width

rule = IndexRule(name="mine", index=index)
"""
PLAY = """
import json
from goodarm import bernoulli, policy, simulate
from goodarm.engine.assemble import assemble
from package.rule import rule

environment = bernoulli([0.2, 0.4, 0.5, 0.6, 0.8], 0.5)
made = policy(rule, "kt")
trace = simulate(made, environment, horizon=300, trace=True).runs[0].trace.tolist()
loop = assemble(made, environment.problem(), environment.reward).loop
hits, misses = loop.stats.cache_hits, loop.stats.cache_misses
print(json.dumps({"trace": trace, "hits": sum(hits.values()), "misses": sum(misses.values())}))
"""
EDITS = {
    "a constant of the rule": ("rule", "constant = 1.0", "constant = -1.0"),
    "a default of the rule": ("rule", "weight=1.0", "weight=-1.0"),
    "a helper function": ("helpers", "return 1.0 * x\n\n@njit", "return -1.0 * x\n\n@njit"),
    "a global constant": ("helpers", "SCALE = 1.0", "SCALE = -1.0"),
    "a global array": ("helpers", "[0.0, 1.0]", "[0.0, -1.0]"),
    "a helper that is compiled already": ("helpers", "def compiled_helper(x):\n    return 1.0", None),
    "a closure variable": ("helpers", "make(1.0)", "make(-1.0)"),
    "a constant of another module": ("settings", "BONUS = 1.0", "BONUS = -1.0"),
}


class Project:
    """A package with a rule in a separate folder, played in separate processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        package = folder / "package"
        package.mkdir()
        for name, text in (("__init__", ""), ("settings", SETTINGS), ("helpers", HELPERS), ("rule", RULE)):
            (package / f"{name}.py").write_text(text)
        (folder / "play.py").write_text(PLAY)

    def edit(self, module: str, old: str, new: str | None) -> None:
        file = self.folder / "package" / f"{module}.py"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new if new is not None else old.replace("1.0", "-1.0")))

    def play(self) -> dict[str, object]:
        path = os.pathsep.join(filter(None, [str(self.folder), os.environ.get("PYTHONPATH")]))
        variables = os.environ | {"NUMBA_CACHE_DIR": str(self.folder / "cache"), "PYTHONPATH": path}
        # an edit within one second and of the same length must not be missed by Python's own cache
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(
            [sys.executable, "play.py"], cwd=self.folder, env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        played: dict[str, object] = json.loads(done.stdout)
        return played


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, object]]:
    made = Project(tmp_path_factory.mktemp("project"))
    return made, made.play()


def test_a_second_process_compiles_nothing(project: tuple[Project, dict[str, object]]) -> None:
    made, cold = project
    assert (cold["hits"], cold["misses"]) == (0, 1)
    warm = made.play()
    assert (warm["hits"], warm["misses"]) == (1, 0)
    assert warm["trace"] == cold["trace"]


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_never_served_stale(what: str, project: tuple[Project, dict[str, object]]) -> None:
    """Each edit turns a bonus into a malus, so that other arms are pulled; undone afterwards."""
    made, before = project
    module, old, new = EDITS[what]
    text = (made.folder / "package" / f"{module}.py").read_text()
    made.edit(module, old, new)
    after = made.play()
    (made.folder / "package" / f"{module}.py").write_text(text)
    assert after["misses"] == 1
    assert after["trace"] != before["trace"]


APART = """
import json
import sys
from goodarm import bernoulli, policy, simulate
from goodarm.rules.sampling import ChoiceRule

def largest(arms, pool, bar, generator):
    best = -1
    for i in range(len(arms)):
        if arms[i, 7] == 0.0 and (best < 0 or arms[i, 2] > arms[best, 2]):
            best = i
    return best

def smallest(arms, pool, bar, generator):
    best = -1
    for i in range(len(arms)):
        if arms[i, 7] == 0.0 and (best < 0 or arms[i, 2] < arms[best, 2]):
            best = i
    return best

pairings = {"largest": (largest, "kt"), "smallest": (smallest, "hoeffding")}
environment = bernoulli([0.2, 0.4, 0.6, 0.8], 0.5)
traces = {}
for name in sys.argv[1:]:
    choose, rule = pairings[name]
    made = policy(ChoiceRule(name=name, choose=choose), rule)
    traces[name] = simulate(made, environment, horizon=100, trace=True).runs[0].trace.tolist()
print(json.dumps(traces))
"""


def test_loops_that_were_compiled_apart_do_not_mix(tmp_path: Path) -> None:
    """Loaded into one process, functions of one name and one signature must not stand in for each other."""
    (tmp_path / "apart.py").write_text(APART)
    variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def traces(*names: str) -> dict[str, list[int]]:
        call = [sys.executable, "apart.py", *names]
        done = subprocess.run(call, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found: dict[str, list[int]] = json.loads(done.stdout)
        return found

    alone = traces("largest") | traces("smallest")
    assert alone["largest"] != alone["smallest"]
    assert traces("largest", "smallest") == alone
    assert traces("smallest", "largest") == alone


def test_every_pairing_has_a_cache_file_of_its_own(tmp_path: Path) -> None:
    """numba numbers the loops of one cache file without a lock: two processes could store one under the other's key."""
    program = "from goodarm import simulate; [simulate(p, 'kano-1', horizon=100) for p in ('ucb+kt', 'uniform+kt')]"
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, check=True)
    indices = [path for path in tmp_path.rglob("*.nbi") if "loop" in path.name]
    assert len(indices) == 2
    assert len(list(tmp_path.rglob("*.nbc"))) == 2
