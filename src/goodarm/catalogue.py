"""Everything that has a name: our own rules and environments, and those of other people.

Others register theirs through entry points in the groups `goodarm.sampling`, `goodarm.identification`,
`goodarm.estimators` and `goodarm.environments`; the entry point's name is the name that users write.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from goodarm.errors import InvalidValue, UnknownName
from goodarm.estimators import Estimator
from goodarm.identification import IdentificationRule
from goodarm.sampling import SamplingRule

SAMPLING = {
    "apgai": "goodarm.sampling.apgai:apgai",
    "apt-g": "goodarm.sampling.apt_g:apt_g",
    "apt-g-printed": "goodarm.sampling.apt_g:apt_g_printed",
    "dgai": "goodarm.sampling.dgai:dgai",
    "dgai-offline": "goodarm.sampling.dgai_paper:dgai_offline",
    "dgai-offline-softmax": "goodarm.sampling.dgai_paper:dgai_offline_softmax",
    "dgai-online": "goodarm.sampling.dgai_paper:dgai_online",
    "dgai-online-softmax": "goodarm.sampling.dgai_paper:dgai_online_softmax",
    "dgai-reward": "goodarm.sampling.dgai_reward:dgai_reward",
    "dgai-reward-printed": "goodarm.sampling.dgai_reward:dgai_reward_printed",
    "dgai-reward-printed-softmax": "goodarm.sampling.dgai_reward:dgai_reward_printed_softmax",
    "hdoc": "goodarm.sampling.hdoc:hdoc",
    "lucb-g": "goodarm.sampling.lucb_g:lucb_g",
    "murphy": "goodarm.sampling.murphy:murphy",
    "softucb": "goodarm.sampling.soft_ucb:softucb",
    "softucb-softmax": "goodarm.sampling.soft_ucb:softucb_softmax",
    "thompson": "goodarm.sampling.thompson:thompson",
    "tt-ts": "goodarm.sampling.top_two:top_two",
    "ucb": "goodarm.sampling.ucb:ucb",
    "ucb1": "goodarm.sampling.ucb1:ucb1",
    "uniform": "goodarm.sampling.uniform:uniform",
    "value": "goodarm.sampling.value:value",
    "widest": "goodarm.sampling.widest:widest",
}
IDENTIFICATION = {
    "beta-mixture": "goodarm.identification.beta_mixture:beta_mixture",
    "betting": "goodarm.identification.betting:betting",
    "design": "goodarm.identification.design:design",
    "hoeffding": "goodarm.identification.hoeffding:hoeffding",
    "kt": "goodarm.identification.kt:kt",
    "learned": "goodarm.identification.learned:learned",
    "learned-bets": "goodarm.identification.learned_bets:learned_bets",
    "learned-online": "goodarm.identification.learned:learned_online",
    "learned-printed": "goodarm.identification.learned:learned_printed",
    "lil": "goodarm.identification.lil:lil",
    "none": "goodarm.identification.none:none",
    "normal-mixture": "goodarm.identification.normal_mixture:normal_mixture",
    "rkhs": "goodarm.identification.rkhs:rkhs",
    "self-normalised": "goodarm.identification.self_normalised:self_normalised",
    "stitched": "goodarm.identification.stitched:stitched",
    "studentised": "goodarm.identification.studentised:studentised",
}

ESTIMATORS = {
    "kernel": "goodarm.estimators.kernel:Kernel",
    "linear": "goodarm.estimators.linear:Linear",
    "mixed": "goodarm.estimators.mixed:Mixed",
    "neural": "goodarm.estimators.neural:Neural",
}
"""Models of the arms; `independent` stands for none of them."""


@cache
def _plugins(group: str) -> dict[str, Any]:
    return {entry.name: entry for entry in entry_points(group=group)}


def _load(kind: str, group: str, own: dict[str, str], name: str) -> Any:
    if name in own:
        module, _, attribute = own[name].partition(":")
        return getattr(import_module(module), attribute)
    plugins = _plugins(group)
    if name in plugins:
        return plugins[name].load()
    raise UnknownName(kind, name, [*own, *plugins])


def sampling_names() -> list[str]:
    """The names of all sampling rules."""
    return sorted({*SAMPLING, *_plugins("goodarm.sampling")})


def identification_names() -> list[str]:
    """The names of all identification rules."""
    return sorted({*IDENTIFICATION, *_plugins("goodarm.identification")})


def sampling_rule(name: str) -> SamplingRule:
    """The sampling rule of that name.

    >>> sampling_rule("hdco")
    Traceback (most recent call last):
        ...
    goodarm.errors.UnknownName: unknown sampling rule 'hdco'. Did you mean 'hdoc'?
    """
    rule: SamplingRule = _load("sampling rule", "goodarm.sampling", SAMPLING, name)
    return rule


def identification_rule(name: str) -> IdentificationRule:
    """The identification rule of that name."""
    rule: IdentificationRule = _load("identification rule", "goodarm.identification", IDENTIFICATION, name)
    return rule


def estimator_names() -> list[str]:
    """The names of all estimators."""
    return sorted({"independent", *ESTIMATORS, *_plugins("goodarm.estimators")})


def estimator(name: str, given: Mapping[str, float] | None = None) -> Estimator | None:
    """The estimator of that name with the given parameters, without features yet; None for independent arms.

    >>> estimator("linear", {"ridge": 0.1}).spelled()
    'linear(ridge=0.1)'
    """
    if name == "independent" and not given:
        return None
    kind: type[Estimator] = _load("estimator", "goodarm.estimators", ESTIMATORS, name)
    for parameter in given or {}:
        if parameter not in kind.parameters:
            known = ", ".join(kind.parameters) or "none"
            raise InvalidValue(f"@{name} has no parameter {parameter!r}; in a policy's name it has: {known}.")
    values: dict[str, Any] = dict(given or {})
    return kind(**values)
