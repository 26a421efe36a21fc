"""A learned policy as a small JSON file, never a pickle: parameters, guarantee, what it was learned on, a checksum."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from goodarm.errors import UnreadablePolicy
from goodarm.policies.certificate import Certificate
from goodarm.problem import Bounded, Gaussian, Rewards, SubGaussian

FORMAT = 1
"""Raised whenever a reader of this version would misread the file."""


@dataclass(frozen=True)
class SavedPolicy:
    """Everything that a policy file says.

    policy     : the pairing as text, without the learned parameters
    parameters : the learned parameters by name
    guarantee  : what its verdicts are worth on the family it was learned on
    rewards    : the reward family, the only one it may be used with
    learned_on : environment, reading, threshold, arms, delta, horizon, seed, objective, runs, version
    history    : one entry a step of learning: the parameter and the score
    """

    policy: str
    parameters: dict[str, float]
    guarantee: str
    rewards: Rewards
    learned_on: dict[str, Any]
    certificate: Certificate | None = None
    history: list[dict[str, float]] = field(default_factory=list)


def write_policy(path: str | Path, saved: SavedPolicy) -> None:
    """Write the file whole or not at all."""
    content = {
        "format": FORMAT,
        "policy": saved.policy,
        "parameters": saved.parameters,
        "guarantee": saved.guarantee,
        "rewards": _rewards_to_json(saved.rewards),
        "learned_on": saved.learned_on,
        "certificate": asdict(saved.certificate) if saved.certificate else None,
        "history": saved.history,
    }
    content["sha256"] = _checksum(content)
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2, ensure_ascii=False)
            file.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def read_policy(path: str | Path) -> SavedPolicy:
    """Read a policy file; one that is missing, cut off, altered or of a newer version is refused with the reason."""
    content = _read_json(Path(path))
    version = content.get("format")
    if not isinstance(version, int) or version < 1:
        raise UnreadablePolicy(
            f"{path}: not a policy file of goodarm: it names no format. Make one with 'goodarm learn'."
        )
    if version > FORMAT:
        raise UnreadablePolicy(
            f"{path}: written in format {version}, and this goodarm reads up to {FORMAT}. "
            "Upgrade goodarm, or learn it anew."
        )
    claimed = content.pop("sha256", None)
    if claimed != _checksum(content):
        raise UnreadablePolicy(
            f"{path}: its content does not match its checksum: it was altered after it was learned, and its guarantee "
            "is void. Learn it anew; to choose a parameter yourself, write it in the name, as in 'dgai(beta=1.5)'."
        )
    certificate = content["certificate"]
    return SavedPolicy(
        policy=content["policy"],
        parameters=content["parameters"],
        guarantee=content["guarantee"],
        rewards=_rewards_from_json(content["rewards"]),
        learned_on=content["learned_on"],
        certificate=Certificate(**certificate) if certificate else None,
        history=content["history"],
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnreadablePolicy(f"{path}: there is no such file. Make one with 'goodarm learn'.") from None
    except (OSError, ValueError) as error:
        raise UnreadablePolicy(
            f"{path}: can't be read as JSON ({error}). Learn it anew with 'goodarm learn'."
        ) from None
    if not isinstance(content, dict):
        raise UnreadablePolicy(f"{path}: not a policy file of goodarm. Make one with 'goodarm learn'.")
    return content


def _checksum(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _rewards_to_json(rewards: Rewards) -> dict[str, Any]:
    scale = {} if isinstance(rewards, Bounded) else {"scale": rewards.scale}
    return {"family": type(rewards).__name__, **scale}


def _rewards_from_json(content: dict[str, Any]) -> Rewards:
    families: dict[str, type[Rewards]] = {"Bounded": Bounded, "Gaussian": Gaussian, "SubGaussian": SubGaussian}
    arguments = {name: value for name, value in content.items() if name != "family"}
    return families[content["family"]](**arguments)
