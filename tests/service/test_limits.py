"""Values and sizes that the service refuses with a message, so that no request can harm a campaign or a worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from in_process import InProcess, in_process
from serving import path_of


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    with in_process(f"sqlite:///{tmp_path_factory.mktemp('limits')}/a.db") as running:
        yield running


def create(server: InProcess, name: str, **terms: Any) -> int:
    body = {"name": name, "arms": ["calm", "loud"], "threshold": 0.5, **terms}
    return server.call("POST", "/api/v1/campaigns", body).status


@pytest.mark.filterwarnings("ignore::goodarm.errors.ScaleWarning")  # rewards of 1e9 scales are accepted, and doubted
@pytest.mark.parametrize("reward", [1e308, -1e308, 1.1e9])
def test_a_reward_beyond_the_declared_scale_is_refused_and_the_campaign_goes_on(
    server: InProcess, reward: float
) -> None:
    name = f"gaussian {reward}"
    assert create(server, name, rewards="gaussian:1", threshold=0.0) == 201
    for _ in range(2):
        asked = server.call("POST", path_of(name, "/ask"), {"n": 1}).json["tickets"][0]["ticket"]
        refused = server.call("POST", path_of(name, "/tell"), {"ticket": asked, "reward": reward})
        assert refused.status == 400
        assert "1e+09 times the declared scale 1" in refused.json["detail"]
        for told in (1e9, -1e9):
            arm = {"arm": "calm", "reward": told}
            assert server.call("POST", path_of(name, "/tell-arm"), arm).status == 200
        assert server.call("POST", path_of(name, "/void"), {"ticket": asked, "reason": "wrong unit"}).status == 204
    assert server.call("GET", path_of(name, "/verdicts")).status == 200
    assert server.call("POST", path_of(name, "/end")).status == 200


@pytest.mark.parametrize("scale", ["1e-151", "1e151", "1e308", "1e-308"])
def test_a_scale_whose_square_is_no_float_is_refused(server: InProcess, scale: str) -> None:
    body = {"name": "scale", "arms": ["calm"], "threshold": 0.0, "rewards": f"gaussian:{scale}"}
    refused = server.call("POST", "/api/v1/campaigns", body)
    assert refused.status == 400
    assert "another unit" in refused.json["detail"]


def test_a_store_that_is_deleted_while_it_is_served_is_answered_with_503(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with in_process(f"sqlite:///{path}") as server:
        assert create(server, "c") == 201
        assert server.call("POST", path_of("c", "/ask"), {"n": 1}).status == 200
        path.unlink()
        told = server.call("POST", path_of("c", "/tell-arm"), {"arm": "calm", "reward": 1.0})
        assert (told.status, told.headers["retry-after"]) == (503, "1")
        assert server.call("GET", "/readyz").status == 503
        assert (tmp_path / "a.db.service").stat().st_mode & 0o777 == 0o600
