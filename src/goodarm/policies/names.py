"""Registry of names: goodarm's rules and models, and those of other packages.

Other packages register theirs through entry points in the groups `goodarm.sampling`, `goodarm.identification`,
`goodarm.models` and `goodarm.environments`; the entry point's name is the name that users write.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from goodarm.errors import InvalidValue, UnknownName
from goodarm.models import Model
from goodarm.rules.identification import IdentificationRule
from goodarm.rules.sampling import SamplingRule

SAMPLING = {
    "apgai": "goodarm.rules.sampling.apgai:apgai",
    "apt-g": "goodarm.rules.sampling.apt_g:apt_g",
    "apt-g-printed": "goodarm.rules.sampling.apt_g:apt_g_printed",
    "dgai": "goodarm.rules.sampling.dgai:dgai",
    "dgai-offline": "goodarm.paper.rules:dgai_offline",
    "dgai-offline-softmax": "goodarm.paper.rules:dgai_offline_softmax",
    "dgai-online": "goodarm.paper.rules:dgai_online",
    "dgai-online-softmax": "goodarm.paper.rules:dgai_online_softmax",
    "dgai-reward": "goodarm.rules.sampling.dgai_reward:dgai_reward",
    "dgai-reward-printed": "goodarm.paper.rules:dgai_reward_printed",
    "dgai-reward-printed-softmax": "goodarm.paper.rules:dgai_reward_printed_softmax",
    "dgai-spread": "goodarm.rules.sampling.dgai_spread:dgai_spread",
    "hdoc": "goodarm.rules.sampling.hdoc:hdoc",
    "lil-hdoc": "goodarm.rules.sampling.lil_hdoc:lil_hdoc",
    "lucb-g": "goodarm.rules.sampling.lucb_g:lucb_g",
    "murphy": "goodarm.rules.sampling.murphy:murphy",
    "settle": "goodarm.rules.sampling.settle:settle",
    "softucb": "goodarm.paper.rules:softucb",
    "softucb-softmax": "goodarm.paper.rules:softucb_softmax",
    "thompson": "goodarm.rules.sampling.thompson:thompson",
    "track-and-stop": "goodarm.rules.sampling.track_and_stop:track_and_stop",
    "tt-ts": "goodarm.rules.sampling.top_two:top_two",
    "tt-ts-printed": "goodarm.rules.sampling.top_two:top_two_printed",
    "ucb": "goodarm.rules.sampling.ucb:ucb",
    "ucb-v": "goodarm.rules.sampling.ucb_v:ucb_v",
    "ucb1": "goodarm.rules.sampling.ucb1:ucb1",
    "uniform": "goodarm.rules.sampling.uniform:uniform",
    "value": "goodarm.rules.sampling.value:value",
    "value-normal": "goodarm.rules.sampling.value_normal:value_normal",
    "widest": "goodarm.rules.sampling.widest:widest",
}
IDENTIFICATION = {
    "bet-mixture": "goodarm.rules.identification.bet_mixture:bet_mixture",
    "beta-mixture": "goodarm.rules.identification.beta_mixture:beta_mixture",
    "betting": "goodarm.rules.identification.betting:betting",
    "design": "goodarm.rules.identification.design:design",
    "gap-mixture": "goodarm.rules.identification.gap_mixture:gap_mixture",
    "hoeffding": "goodarm.rules.identification.hoeffding:hoeffding",
    "kt": "goodarm.rules.identification.kt:kt",
    "learned": "goodarm.rules.identification.learned:learned",
    "learned-bets": "goodarm.rules.identification.learned_bets:learned_bets",
    "learned-bets-normal": "goodarm.rules.identification.learned_bets_normal:learned_bets_normal",
    "learned-online": "goodarm.paper.rules:learned_online",
    "learned-printed": "goodarm.paper.rules:learned_printed",
    "lil": "goodarm.rules.identification.lil:lil",
    "none": "goodarm.rules.identification.none:none",
    "normal-mixture": "goodarm.rules.identification.normal_mixture:normal_mixture",
    "rkhs": "goodarm.rules.identification.rkhs:rkhs",
    "self-normalised": "goodarm.rules.identification.self_normalised:self_normalised",
    "stitched": "goodarm.rules.identification.stitched:stitched",
    "studentised": "goodarm.rules.identification.studentised:studentised",
}

MODELS = {
    "kernel": "goodarm.models.kernel:Kernel",
    "linear": "goodarm.models.linear:Linear",
    "mixed": "goodarm.models.mixed:Mixed",
    "neural": "goodarm.models.neural:Neural",
}
"""Models of the arms; `independent` means no model."""


OWN = {"goodarm.sampling": SAMPLING, "goodarm.identification": IDENTIFICATION, "goodarm.models": MODELS}
"""goodarm's own parts by the group in which other packages register theirs."""


@cache
def _plugins(group: str) -> dict[str, Any]:
    return {entry.name: entry for entry in entry_points(group=group)}


@cache
def _load(kind: str, group: str, name: str) -> Any:
    own = OWN[group]
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
    goodarm.errors.UnknownName: unknown sampling rule 'hdco'. Did you mean 'hdoc' or 'lil-hdoc'?
    """
    rule: SamplingRule = _load("sampling rule", "goodarm.sampling", name)
    return rule


def identification_rule(name: str) -> IdentificationRule:
    """The identification rule of that name."""
    rule: IdentificationRule = _load("identification rule", "goodarm.identification", name)
    return rule


def model_names() -> list[str]:
    """The names of all models."""
    return sorted({"independent", *MODELS, *_plugins("goodarm.models")})


def model_kind(name: str) -> type[Model]:
    """The class of the model of that name."""
    kind: type[Model] = _load("model", "goodarm.models", name)
    return kind


def named_model(name: str, given: Mapping[str, float] | None = None) -> Model | None:
    """The model of that name with the given parameters, without features yet; None for independent arms.

    >>> named_model("linear", {"ridge": 0.1}).spelled()
    'linear(ridge=0.1)'
    """
    if name == "independent" and not given:
        return None
    kind = model_kind(name)
    for parameter in given or {}:
        if parameter not in kind.parameters:
            known = ", ".join(kind.parameters) or "none"
            raise InvalidValue(f"@{name} has no parameter {parameter!r}; in a policy's name. Its parameters: {known}.")
    values: dict[str, Any] = dict(given or {})
    return kind(**values)
