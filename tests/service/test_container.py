"""The container files: pinned, locked, without rights that the server does not need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")


def test_images_are_pinned_by_digest_and_packages_by_hash() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    (base,) = re.findall(r"^ARG BASE=(\S+)$", dockerfile, re.MULTILINE)
    assert DIGEST.search(base)
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)) == {"${BASE}"}
    assert "--require-hashes -r requirements.lock" in dockerfile
    assert re.search(r"^USER 10001$", dockerfile, re.MULTILINE)
    lock = (ROOT / "container" / "requirements.lock").read_text()
    packages = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)[1:]
    assert len(packages) > 20
    assert all(re.match(r"[a-z0-9._-]+(\[[a-z,]+\])?==", each) and "--hash=sha256:" in each for each in packages)
    locked = {re.split(r"[\[=]", each, maxsplit=1)[0] for each in packages}
    assert {"fastapi", "uvicorn", "numba", "psycopg", "hatchling"} <= locked


def test_services_have_no_more_rights_than_they_need() -> None:
    yaml = pytest.importorskip("yaml")
    composed: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    for name, service in composed["services"].items():
        assert "build" in service or DIGEST.search(service["image"]), name
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert {"mem_limit", "cpus", "pids_limit"} <= service.keys(), name
        assert all("size=" in folder for folder in service["tmpfs"]), name
    server = composed["services"]["goodarm"]
    assert server["environment"]["GOODARM_STORE"] == "file:/run/secrets/store"
    assert "--origin ${GOODARM_ORIGIN" in server["environment"]["GOODARM_OPTIONS"]
    assert "FORWARDED_ALLOW_IPS" in server["environment"]
    assert "cap_add" not in server
    assert server["ports"] == ["127.0.0.1:8000:8000"]
    assert "PASSWORD:" not in (ROOT / "docker-compose.yml").read_text()
