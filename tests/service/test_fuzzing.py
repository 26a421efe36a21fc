"""schemathesis, all checks: no 5xx, no undocumented answer, and the journals still check."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzzing import fuzz

pytestmark = pytest.mark.slow

REQUESTS = 10_000
SECONDS = 1500.0
"""The time limit of this test on a slow and busy machine; a quiet one needs a tenth of it."""


def test_ten_thousand_generated_requests(tmp_path: Path) -> None:
    fuzzed = fuzz(tmp_path, REQUESTS, SECONDS)
    if fuzzed.failure:
        pytest.fail(fuzzed.failure)  # in full: a comparison would cut off what was found
    assert fuzzed.requests >= REQUESTS
