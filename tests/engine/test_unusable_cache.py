"""Compiled functions without a usable disk cache: compiled again, never an error."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numba
import pytest

from goodarm.engine import disk_cache
from goodarm.engine.compile import compiled


def fresh(folder: Path) -> object:
    """The same function, made anew as in another process."""
    source = folder / "loops.py"
    source.write_text("def twice(x):\n    return 2.0 * x\n")
    names: dict[str, object] = {"__name__": "loops", "__file__": str(source)}
    exec(compile(source.read_text(), str(source), "exec"), names)
    return names["twice"]


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    assert compiled(fresh(tmp_path))(2.0) == 4.0  # type: ignore[arg-type]  # a plain function
    assert list((tmp_path / "cache").rglob("*.nbc"))
    return tmp_path


class Gone:
    """An object whose class can't be imported when it is read back."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return __import__, ("goodarm.a_module_that_moved",)


@pytest.mark.parametrize("content", [pickle.dumps(Gone()), b"", b"not a pickle"])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_cache_file_that_can_not_be_read_is_a_miss_and_is_replaced(cached: Path, kind: str, content: bytes) -> None:
    (file,) = (cached / "cache").rglob(f"*.{kind}")
    before = file.read_bytes()
    version = pickle.dumps(numba.__version__) if kind == "nbi" else b""
    file.write_bytes(version + content)
    again = compiled(fresh(cached))  # type: ignore[arg-type]  # a plain function
    assert again(2.0) == 4.0
    assert not again.stats.cache_hits
    assert len(file.read_bytes()) > len(before) // 2
    hit = compiled(fresh(cached))  # type: ignore[arg-type]  # a plain function
    assert hit(2.0) == 4.0
    assert hit.stats.cache_hits


def test_a_full_disk_is_said_once_and_the_function_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*ignored: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_index", full)
    monkeypatch.setattr(disk_cache, "_said", False)
    with caplog.at_level(logging.WARNING, "goodarm.engine"):
        assert [compiled(fresh(tmp_path))(2.0) for _ in range(2)] == [4.0, 4.0]  # type: ignore[arg-type]  # functions
    (said,) = caplog.messages
    assert "No space left" in said
    assert "NUMBA_CACHE_DIR" in said


@pytest.mark.slow
def test_a_process_that_may_write_nowhere_compiles_all_the_same(tmp_path: Path) -> None:
    fresh(tmp_path)
    script = """
    import sys
    from goodarm.engine.compile import compiled
    sys.path.insert(0, sys.argv[1])
    import loops
    print(compiled(loops.twice)(2.0))
    """
    (tmp_path / "__pycache__").write_text("a file, where numba would make a folder")
    done = subprocess.run(
        [sys.executable, "-c", dedent(script), str(tmp_path)],
        env={"HOME": "/dev/null/nowhere", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "4.0\n"
    assert "NUMBA_CACHE_DIR" in done.stderr
