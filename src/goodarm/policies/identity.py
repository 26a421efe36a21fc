"""Identity of a policy: a hash of everything that could change a pull or a verdict."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, fields, is_dataclass
from types import FunctionType
from typing import Any

import numpy as np

from goodarm.fingerprint import fingerprint, functions_in, package_of
from goodarm.models import Model
from goodarm.rules.identification import IdentificationRule
from goodarm.rules.parameters import Setting
from goodarm.rules.sampling import SamplingRule
from goodarm.verdict import Criterion
from goodarm.version import __version__


def identity(
    sampling: SamplingRule,
    rule: IdentificationRule,
    setting: Setting,
    criterion: Criterion,
    model: Model | None,
    *,
    ours: bool = True,
) -> str:
    """Hash of the code of rules, learners and model, of all parameters, of the criterion and of goodarm's version.

    The code is Python's bytecode of goodarm and of the packages that the rules are from, so that another version of
    Python counts as other code.

    ours : include goodarm's own code and version, not only code of other packages
    """
    written = [*_formulas(sampling), *_formulas(rule), *(_methods(type(model)) if model else ())]
    written = [function for function in written if ours or package_of(function) != "goodarm"]
    packages = {*map(package_of, written), *(["goodarm"] if ours else [])}
    digest = hashlib.sha256(fingerprint(written, packages).encode())
    for part in (_plain(sampling), _plain(rule), asdict(setting), criterion.value, __version__ if ours else ""):
        digest.update(json.dumps(part, sort_keys=True, default=repr).encode())
    if model is not None:
        digest.update(type(model).__qualname__.encode())
        for entry in fields(model):
            digest.update(f"{entry.name}=".encode() + _argument(getattr(model, entry.name)))
    return digest.hexdigest()


def _formulas(rule: Any) -> Iterator[FunctionType]:
    """The functions of a rule and of its learner."""
    for entry in fields(rule):
        value = getattr(rule, entry.name)
        yield from _formulas(value) if is_dataclass(value) else functions_in(value)


def _plain(rule: Any) -> dict[str, Any]:
    """Declarations of a rule, without its functions."""
    told = {entry.name: getattr(rule, entry.name) for entry in fields(rule)}
    return {name: repr(value) for name, value in told.items() if isinstance(value, str | bool | float | int)}


def _methods(kind: type) -> Iterator[FunctionType]:
    """All functions of a class and its bases."""
    for owner in kind.__mro__[:-1]:
        for _, value in sorted(vars(owner).items()):
            inner = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if isinstance(inner, FunctionType) and inner.__name__ != "<lambda>" and not _generated(inner):
                yield inner


def _generated(function: FunctionType) -> bool:
    """Whether `dataclass` generated the method. Such methods differ between versions of Python."""
    return function.__code__.co_filename.startswith("<")


def _argument(value: Any) -> bytes:
    if isinstance(value, np.ndarray):
        return repr(value.shape).encode() + np.ascontiguousarray(value).tobytes()
    if hasattr(value, "get_params"):  # a kernel's repr is rounded
        inner = sorted(value.get_params(deep=False).items())
        return type(value).__qualname__.encode() + b"".join(name.encode() + _argument(each) for name, each in inner)
    if isinstance(value, tuple | list):
        return b",".join(_argument(each) for each in value)
    return repr(value).encode()
