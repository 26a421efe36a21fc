"""schemathesis, all checks: no 5xx, no undocumented answer, and the journals still check."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fuzzing import fuzz

pytestmark = pytest.mark.slow

REQUESTS = int(os.environ.get("GOODARM_FUZZ_REQUESTS", "10000"))
"""Number of requests. The weekly workflow sends as many with other seeds."""
SEED = 2 * int(os.environ.get("GOODARM_FUZZ_SEED", "0"))
SECONDS = 1500.0
"""The time limit of this test on a slow and busy machine; a quiet one needs a tenth of it."""


def test_generated_requests(tmp_path: Path) -> None:
    fuzzed = fuzz(tmp_path, REQUESTS, SECONDS, SEED)
    if fuzzed.failure:
        pytest.fail(fuzzed.failure)  # in full: a comparison would cut off what was found
    assert fuzzed.requests >= REQUESTS
