"""The public surface, and that looking at it costs nothing."""

from __future__ import annotations

import ast
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import goodarm

HEAVY = ("numba", "matplotlib", "pyarrow", "joblib", "jax", "sklearn", "pandas", "polars", "distributed", "scipy")


def test_public_names_are_sorted_and_there() -> None:
    assert list(goodarm.__all__) == sorted(set(goodarm.__all__))
    for name in goodarm.__all__:
        assert getattr(goodarm, name) is not None
    assert set(goodarm.__all__) < set(dir(goodarm))


def test_type_checkers_see_the_names_that_users_see() -> None:
    tree = ast.parse(Path(goodarm.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = [alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(map(str, seen)) == list(goodarm.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = goodarm.simulat


def test_the_version_is_the_installed_one() -> None:
    assert goodarm.__version__ == importlib.metadata.version("goodarm")


def test_whoever_cites_it_cites_this_version() -> None:
    root = Path(__file__).parents[1]
    assert f"\nversion: {goodarm.__version__}\n" in (root / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version = {{{goodarm.__version__}}}" in (root / "README.md").read_text(encoding="utf-8")


SCRIPT = """
campaign = goodarm.Campaign.create("memory:", "headlines", ["a", "b"], threshold=0.5)
for ticket in campaign.ask(2):
    campaign.tell(ticket, 1.0)
samples: float = goodarm.plan(arms=10, threshold=0.5, gap=0.2, runs=2).lower_bound
left = goodarm.remaining([10], [5], threshold=0.5).median.sum()
good: list[str] = goodarm.judge({"arm": ["a"], "pulls": [10], "total": [5]}, threshold=0.5).good
wrong: int = goodarm.simulate(goodarm.policy("value"), goodarm.bernoulli([0.2, 0.8], 0.5), runs=2).wrong_runs
"""


@pytest.mark.slow
def test_strict_mypy_accepts_a_script_that_uses_every_public_name(tmp_path: Path) -> None:
    names = "\n".join(f"print(goodarm.{name})" for name in goodarm.__all__)
    root = Path(__file__).parents[1]

    def check(text: str) -> str:
        script = tmp_path / "script.py"
        script.write_text(f"import goodarm\n{text}{names}\n", encoding="utf-8")
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(root / "pyproject.toml"), str(script)]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout

    assert "Success" in check(SCRIPT)
    assert "no-untyped-call" in check(f"{SCRIPT}\ndef untyped(x): return x\nuntyped(goodarm.plan())\n")
    assert "attr-defined" in check("goodarm.plan.remaining([1], [1], threshold=0.5)\n")


def test_the_package_is_typed() -> None:
    assert (Path(goodarm.__file__).parent / "py.typed").is_file()


def loaded_by(code: str) -> set[str]:
    """The heavy packages that a fresh process has loaded after running the code."""
    ask = f"{code}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)"
    ran = subprocess.run((sys.executable, "-c", ask), capture_output=True, text=True, check=True)
    return set(ran.stderr.split())


CALL = (
    "import sys\nsys.argv = ['goodarm', {0}]\nfrom goodarm.cli import main\ntry:\n    main()\nexcept SystemExit: pass"
)


def test_the_probe_sees_what_is_loaded() -> None:
    assert "joblib" in loaded_by("import joblib")


def test_importing_goodarm_loads_nothing_heavy() -> None:
    assert loaded_by("import goodarm") == set()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["'--help'", "'compare', '--help'", "'policies'", "'environments'"])
def test_help_and_lists_load_nothing_heavy(arguments: str) -> None:
    assert loaded_by(CALL.format(arguments)) == set()


def test_an_evaluation_without_a_reward_has_a_public_exception() -> None:
    from goodarm import errors

    assert issubclass(errors.NotAReward, errors.EvaluationFailed)


def test_only_near_names_are_suggested() -> None:
    from goodarm.errors import UnknownName

    assert "Did you mean" not in str(UnknownName("environment", "headlines", ["kano-1", "linear"]))
    assert "Did you mean 'linear'?" in str(UnknownName("environment", "lineer", ["kano-1", "linear"]))
