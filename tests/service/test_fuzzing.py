"""schemathesis, all checks: no 5xx, no undocumented answer, and the journals still check."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fuzzing import fuzz

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
SECONDS = 1500.0
"""The time limit of a part on a slow and busy machine; a quiet one needs a tenth of it."""


@pytest.mark.parametrize("part", range(PARTS))
def test_generated_requests(part: int, tmp_path: Path) -> None:
    requests = REQUESTS // PARTS
    fuzzed = fuzz(tmp_path, requests, SECONDS, SEED + part * APART, EXAMPLES)
    if fuzzed.failure:
        pytest.fail(fuzzed.failure)  # in full: a comparison would cut off what was found
    assert fuzzed.requests >= requests
