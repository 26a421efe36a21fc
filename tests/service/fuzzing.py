"""Generated requests by schemathesis, against a real server: counted, checked, bounded in time."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from serving import Server, make_token, path_of, serving

# Schema-valid requests may be refused for what they say (400, 404, 409), never for their form (422).
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "304", "400", "401", "403", "404", "409", "413", "429"]
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "413", "422", "429"]
"""
ON_ONE_CAMPAIGN = """
[parameters]
"path.name" = "fuzzed {seed}"
"""
ENDLESS = "events$"
ENDING = "events$|/close$|/end$|/retire$|/check$|/export$"
"""Left out if every request is for one campaign, which would soon be ended, or read as a whole each time."""
GENERATED = re.compile(r"(\d+) generated")
PER_OPERATION = 60
"""Requests to generate per operation and run unless a caller asks for another number."""
REQUEST_SECONDS = "300"
"""How long an answer takes is no matter here: the machine may be busy."""


class Fuzzed(NamedTuple):
    """What came of it: requests that were generated, what the failing run printed, and the last seed used."""

    requests: int
    failure: str
    seconds: float
    seed: int


def fuzz(folder: Path, requests: int, seconds: float, seed: int = 0, examples: int = PER_OPERATION) -> Fuzzed:
    """Runs with new seeds until this many requests were generated, one failed, or the time is over.

    Every second run has a new store: journals that grew without end would be what most of the time is spent on.

    seed     : the last one that an earlier call used; an even number
    examples : requests to generate per operation and run, in addition to those that cover the document
    """
    began, done = time.monotonic(), 0
    while done < requests and time.monotonic() - began < seconds:
        store = f"sqlite:///{folder}/{seed}.db"
        token = make_token(store, "admin")
        with serving(store, "--failed-logins", "1000000000") as server:
            for _ in range(2):
                seed += 1
                rewards = "gaussian:1" if seed % 4 == 0 else "bounded"
                terms = {"name": f"fuzzed {seed}", "arms": ["calm", "loud"], "threshold": 0.5, "reserve": 0.2}
                terms["rewards"] = rewards
                assert server.call("POST", "/api/v1/campaigns", terms, token).status == 201
                printed, failed = _run(server, token, folder, seed, examples, seconds - (time.monotonic() - began))
                found = GENERATED.search(printed)
                done += int(found[1]) if found else 0
                if failed:
                    return Fuzzed(done, printed, time.monotonic() - began, seed)
            all_journals_check(server, token)
    return Fuzzed(done, "", time.monotonic() - began, seed)


def _run(server: Server, token: str, folder: Path, seed: int, examples: int, seconds: float) -> tuple[str, bool]:
    one = seed % 2 == 0
    config = folder / "schemathesis.toml"
    config.write_text(CONFIG + (ON_ONE_CAMPAIGN.format(seed=seed) if one else ""))
    beside = Path(sys.executable).with_name("schemathesis")
    command = str(beside) if beside.exists() else str(shutil.which("schemathesis"))
    ran = subprocess.run(
        (
            command, "--config-file", str(config), "run",
            f"{server.address}/api/v1/openapi.json", "--checks", "all", "--header", f"Authorization: Bearer {token}",
            "--exclude-path-regex", ENDING if one else ENDLESS, "--phases", "coverage,fuzzing", "--seed", str(seed),
            "--max-examples", str(examples), "--no-color", "--generation-database", "none",
            "--request-timeout", REQUEST_SECONDS, "--max-response-time", REQUEST_SECONDS,
        ),
        cwd=folder, capture_output=True, text=True, timeout=max(seconds, 0.0) + 900.0, check=False,
    )  # fmt: skip
    return ran.stdout + ran.stderr, ran.returncode != 0


def all_journals_check(server: Server, token: str) -> None:
    """Whatever was asked of them, the journals are what they say."""
    campaigns = server.call("GET", "/api/v1/campaigns", token=token).json["campaigns"]
    assert campaigns
    for campaign in campaigns:
        checked = server.call("GET", path_of(campaign["name"], "/check"), token=token).json
        assert checked["ok"], (campaign["name"], checked)
