"""Save a learned policy as a small JSON file, never a pickle: parameters, guarantee, origin, checksum."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from goodarm.errors import InvalidValue, UnknownName, UnreadablePolicy
from goodarm.models import Model
from goodarm.policies.certificate import Certificate
from goodarm.policies.names import identification_rule, model_kind, sampling_rule
from goodarm.problem import FAMILIES, Rewards
from goodarm.rules.identification import IdentificationRule
from goodarm.rules.sampling import SamplingRule
from goodarm.whole_files import whole, write_text

FORMAT = 2
"""File format. Incremented if older readers would misread a new file, or if old files lack data of the guarantee."""


@dataclass(frozen=True)
class SavedPolicy:
    """Content of a policy file.

    policy     : the pairing as text, without parameters and without a model
    parameters : the parameters that are not at their defaults, by name
    criterion  : the criterion that the policy was made with; None if none was given
    model      : name and every argument of the model of the arms; None without one
    guarantee  : guarantee of its verdicts on the family it was learned on
    rewards    : the only reward family with which it may be used
    learned_on : environment, reading, threshold, arms, delta, horizon, seed, objective, runs, version
    history    : one entry per step of learning: the parameter and the score
    bounds     : alpha_t and beta_t at some rounds of one run of the learned policy; empty in files of older versions
    """

    policy: str
    parameters: dict[str, float]
    guarantee: str
    rewards: Rewards
    learned_on: dict[str, Any]
    criterion: str | None = None
    model: dict[str, Any] | None = None
    certificate: Certificate | None = None
    history: list[dict[str, float]] = field(default_factory=list)
    bounds: list[dict[str, float | None]] = field(default_factory=list)


def write_policy(path: str | Path, saved: SavedPolicy) -> None:
    """Write the file completely or not at all."""
    content = {
        "format": FORMAT,
        "policy": saved.policy,
        "parameters": saved.parameters,
        "criterion": saved.criterion,
        "model": saved.model,
        "guarantee": saved.guarantee,
        "rewards": rewards_to_json(saved.rewards),
        "learned_on": saved.learned_on,
        "certificate": asdict(saved.certificate) if saved.certificate else None,
        "history": saved.history,
        "bounds": saved.bounds,
    }
    content["sha256"] = _checksum(content)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    whole(Path(path), lambda part: write_text(part, text))


def read_policy(path: str | Path) -> SavedPolicy:
    """Read a policy file. A missing, truncated, altered or newer file is refused with the reason."""
    content = _read_json(Path(path))
    version = content.get("format")
    if not isinstance(version, int) or version < 1:
        raise UnreadablePolicy(
            f"{path}: not a policy file of goodarm, because it has no format number. Make one with 'goodarm learn'."
        )
    if version > FORMAT:
        raise UnreadablePolicy(
            f"{path}: written in format {version}, but this goodarm reads only up to {FORMAT}. Upgrade goodarm, or "
            "learn the policy again."
        )
    if version < FORMAT:
        raise UnreadablePolicy(
            f"{path}: written in format {version}, which lacks data that its guarantee depends on. Learn the policy "
            "again."
        )
    claimed = content.pop("sha256", None)
    if claimed != _checksum(content):
        raise UnreadablePolicy(
            f"{path}: its content does not match its checksum: it was altered after it was learned, so its guarantee "
            "is void. Learn it again. To choose a parameter yourself, write it in the policy's name, as in "
            "'dgai(beta=1.5)'."
        )
    certificate = content["certificate"]
    return SavedPolicy(
        policy=content["policy"],
        parameters=content["parameters"],
        guarantee=content["guarantee"],
        rewards=rewards_from_json(content["rewards"]),
        learned_on=content["learned_on"],
        criterion=content["criterion"],
        model=content["model"],
        certificate=Certificate(**certificate) if certificate else None,
        history=content["history"],
        bounds=content.get("bounds", []),
    )


def check_rules(sampling: SamplingRule, rule: IdentificationRule) -> None:
    """Refuse rules that a file can't store: it stores names, and these must be registered for the same rules."""
    finders: tuple[tuple[str, Any, Any], ...] = (
        ("sampling", sampling_rule, sampling),
        ("identification", identification_rule, rule),
    )
    for kind, find, own in finders:
        try:
            found = find(own.name)
        except UnknownName:
            found = None
        if found != own:
            what = "another rule" if found else "no rule"
            raise InvalidValue(
                f"a file can't store the {kind} rule {own.name!r}: it stores names, and {what} is registered under "
                f"this name. Register your rule through the entry points 'goodarm.{kind}'."
            )


def saved_model(model: Model | None) -> dict[str, Any] | None:
    """Name and every argument of a model for the file; refused if the model could not be restored."""
    if model is None:
        return None
    try:
        known = model_kind(model.name)
    except UnknownName:
        known = None
    if known is not type(model):
        raise InvalidValue(
            f"a file can't store the model {type(model).__name__}: it stores names, and @{model.name} is another "
            "model. Register yours through the entry points 'goodarm.models'."
        )
    return {"name": model.name, "arguments": arguments_as_json(model)}


def read_model(path: str | Path, saved: dict[str, Any] | None) -> Model | None:
    """The model of a file, argument by argument."""
    if saved is None:
        return None
    try:
        return model_kind(saved["name"])(**arguments_from_json(saved["arguments"]))
    except (TypeError, AttributeError, KeyError) as error:
        raise UnreadablePolicy(f"{path}: its model can't be created here ({error}). Learn the policy again.") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnreadablePolicy(f"{path}: there is no such file. Make one with 'goodarm learn'.") from None
    except (OSError, ValueError) as error:
        raise UnreadablePolicy(
            f"{path}: can't be read as JSON ({error}). Learn it again with 'goodarm learn'."
        ) from None
    if not isinstance(content, dict):
        raise UnreadablePolicy(f"{path}: not a policy file of goodarm. Make one with 'goodarm learn'.")
    return content


def _checksum(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def rewards_to_json(rewards: Rewards) -> dict[str, Any]:
    return {"family": type(rewards).__name__, **asdict(rewards)}


def rewards_from_json(content: dict[str, Any]) -> Rewards:
    families = {each.__name__: each for each in FAMILIES.values()}
    arguments = {name: value for name, value in content.items() if name != "family"}
    return families[content["family"]](**arguments)


# A model's arguments as JSON and back. Numbers are kept to the last digit, features row by row, scikit-learn kernels by
# class and parameters. An argument that can't be restored exactly is refused, with its name.

KERNELS = "sklearn.gaussian_process.kernels"


def arguments_as_json(model: Model) -> dict[str, Any]:
    """Every argument of the model as a JSON value.

    >>> from goodarm.models.linear import Linear
    >>> arguments_as_json(Linear(ridge=0.123456789, intercept=True))
    {'features': None, 'columns': None, 'standardise': False, 'ridge': 0.123456789, 'intercept': True}
    """
    return {
        entry.name: _as_json(f"{entry.name} of @{model.name}", getattr(model, entry.name)) for entry in fields(model)
    }


def arguments_from_json(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments from their JSON values."""
    return {name: _from_json(value) for name, value in arguments.items()}


def _as_json(owner: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, tuple):
        return {"tuple": [_as_json(owner, each) for each in value]}
    if isinstance(value, list):
        return [_as_json(owner, each) for each in value]
    if type(value).__module__ == KERNELS:
        parameters = {name: _as_json(owner, each) for name, each in value.get_params(deep=False).items()}
        return {"kernel": type(value).__name__, "parameters": parameters}
    raise InvalidValue(
        f"{owner} is a {type(value).__module__}.{type(value).__qualname__}, which a policy file can't store exactly. "
        "Use numbers, arrays and scikit-learn's own kernels, or keep the policy in Python."
    )


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(value["array"], dtype=np.float64)
    if "tuple" in value:
        return tuple(_from_json(each) for each in value["tuple"])
    return _kernel(value["kernel"], arguments_from_json(value["parameters"]))


def _kernel(name: str, parameters: dict[str, Any]) -> Any:
    """A kernel of scikit-learn, by the name of its class."""
    from importlib import import_module

    from goodarm.errors import MissingExtra

    try:
        kernels = import_module(KERNELS)
    except ImportError:
        raise MissingExtra("@kernel", "kernel") from None
    return getattr(kernels, name)(**parameters)
