"""schemathesis, all checks: no 5xx, no undocumented answer, and the journals still check."""

from __future__ import annotations

import math
import os
from collections import Counter
from pathlib import Path

import pytest
import schemathesis
from fuzzing import fuzz
from hypothesis import HealthCheck, given, seed, settings
from in_process import in_process
from serving import path_of
from test_limits import create

from goodarm import problem

pytestmark = pytest.mark.slow

REQUESTS = int(os.environ.get("GOODARM_FUZZ_REQUESTS", "10000"))
"""Number of requests of all parts together. The weekly workflow sends as many with other seeds."""
SEED = 2 * int(os.environ.get("GOODARM_FUZZ_SEED", "0"))
PARTS = 2
"""Tests that share the requests, so that two workers send them at the same time."""
APART = 1002
"""Distance between the seeds of two parts. It is no multiple of 4, so that one part has a Gaussian campaign."""
EXAMPLES = 47
"""Requests per operation and run: two runs, on any campaigns and on one, make the 5,000 requests of a part."""
REWARDS = 300
"""Generated rewards among which there must be some near the largest float."""
SECONDS = 1500.0
"""The time limit of a part on a slow and busy machine; a quiet one needs a tenth of it."""


@pytest.mark.parametrize("part", range(PARTS))
def test_generated_requests(part: int, tmp_path: Path) -> None:
    requests = REQUESTS // PARTS
    fuzzed = fuzz(tmp_path, requests, SECONDS, SEED + part * APART, EXAMPLES)
    if fuzzed.failure:
        pytest.fail(fuzzed.failure)  # in full: a comparison would cut off what was found
    assert fuzzed.requests >= requests


@pytest.mark.filterwarnings("ignore")  # as at a server, where a doubt about the scale is no error
@pytest.mark.parametrize("bounded", [True, False])
def test_generated_rewards_find_a_bound_that_is_missing(
    bounded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the bound on Gaussian rewards, one near 1e308 is accepted, and every later change fails.

    The numbers come from the library that generates the requests of the other test, and from the same document.
    """
    if not bounded:
        monkeypatch.setattr(problem, "LARGEST_REWARD", math.inf)
    statuses: Counter[int] = Counter()
    with in_process(f"sqlite:///{tmp_path}/a.db") as server:
        document = server.call("GET", "/api/v1/openapi.json").json
        fields = document["components"]["schemas"]["TellArm"]["properties"]
        fields["reward"] = fields["reward"]["anyOf"][0]  # numbers, without booleans and records
        operation = schemathesis.openapi.from_dict(document)["/api/v1/campaigns/{name}/tell-arm"]["POST"]
        arms = [f"arm {i}" for i in range(REWARDS)]  # a new one for each reward: others are soon decided
        assert create(server, "c", rewards="gaussian:1", threshold=0.0, arms=arms) == 201

        @seed(SEED)
        @settings(max_examples=REWARDS, database=None, deadline=None, suppress_health_check=list(HealthCheck))
        @given(operation.as_strategy())
        def tell(case: schemathesis.Case) -> None:
            told = {"arm": arms[statuses.total() % REWARDS], "reward": case.body["reward"]}
            try:
                statuses[server.call("POST", path_of("c", "/tell-arm"), told).status] += 1
            except Exception:  # the server logs it, and answers with 500
                statuses[500] += 1

        tell()
    assert statuses[200] > 0
    assert (statuses[400] > 0, statuses[500] > 0) == (bounded, not bounded)
