"""The systemd unit of the documentation: its restrictions, applied to a real server."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import serving as servers
from serving import path_of, serving

import goodarm

pytestmark = pytest.mark.slow

READ_ONLY = """
set -e
mount --bind "$1" "$1"
mount --bind "$2" "$2"
mount -o remount,bind,ro "$2"
mount -o remount,bind,ro /
shift 2
exec "$@"
"""
"""What ProtectSystem=strict does: only the state's folder can be written to."""


def test_a_server_on_a_read_only_disk_without_a_home_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = Path(goodarm.__file__).parent
    inside = ("unshare", "-Urm", "sh", "-c", READ_ONLY, "sh", str(tmp_path), str(package))
    tried = subprocess.run((*inside, "touch", str(package / "written")), capture_output=True, text=True)
    if "Read-only" not in tried.stderr:
        pytest.skip(f"needs a mount namespace: {tried.stderr.strip()}")
    monkeypatch.setattr(servers, "COMMAND", (*inside, *servers.COMMAND))
    environment = {"HOME": "/dev/null/nowhere", "TMPDIR": str(tmp_path), "NUMBA_CACHE_DIR": ""}
    with serving(f"sqlite:///{tmp_path}/a.db", environment=environment) as server:
        terms = {"name": "c", "arms": ["calm", "loud"], "threshold": 0.5}
        assert server.call("POST", "/api/v1/campaigns", terms).status == 201
        for _ in range(3):
            asked = server.call("POST", path_of("c", "/ask"), {"n": 1})
            assert asked.status == 200, asked.body
            ticket = asked.json["tickets"][0]["ticket"]
            told = server.call("POST", path_of("c", "/tell"), {"ticket": ticket, "reward": 1.0})
            assert told.status == 200, told.body
        assert server.call("GET", path_of("c", "/verdicts")).status == 200
    assert not list(tmp_path.rglob("*.nbc"))


def test_the_unit_gives_the_server_a_folder_for_compiled_functions() -> None:
    text = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    unit = text.partition("```ini\n")[2].partition("```")[0].splitlines()
    assert "CacheDirectory=goodarm" in unit
    assert "Environment=NUMBA_CACHE_DIR=/var/cache/goodarm" in unit
    assert "ProtectSystem=strict" in unit
