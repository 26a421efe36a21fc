"""Policies: a sampling rule paired with an identification rule. Names and pairings only, no maths.

    "hdoc"                     a policy with a name of its own: the paper's pairing
    "hdoc+kt"                  any sampling rule with any identification rule
    "ucb(beta=1.5)+betting"    with parameters
    "thompson"                 a sampling rule alone: decided by the certified rule of the reward family
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from goodarm.catalogue import identification_names, identification_rule, sampling_names, sampling_rule
from goodarm.errors import InvalidValue, UnknownName, UnsoundPairing
from goodarm.identification import EvidenceRule, IdentificationRule
from goodarm.problem import Bounded, Rewards
from goodarm.rules import Learner, Setting
from goodarm.sampling import SamplingRule
from goodarm.verdict import Criterion, Guarantee

DEFAULT_POLICY = "value"

PAIRINGS = {
    "apt-g": ("apt-g", "hoeffding"),
    "apt-g-printed": ("apt-g-printed", "hoeffding"),
    "dgai-offline": ("dgai-offline", "learned-printed"),
    "dgai-offline-softmax": ("dgai-offline-softmax", "learned-printed"),
    "dgai-online": ("dgai-online", "learned-online"),
    "dgai-online-softmax": ("dgai-online-softmax", "learned-online"),
    "hdoc": ("hdoc", "hoeffding"),
    "lil-hdoc": ("hdoc", "lil"),
    "lucb-g": ("lucb-g", "hoeffding"),
    "softucb-g": ("softucb", "hoeffding"),
    "softucb-g-softmax": ("softucb-softmax", "hoeffding"),
    "tt-ts": ("tt-ts", "hoeffding"),
    "value": ("value", "learned-bets"),
}
"""Policies with a name of their own; where the rewards' family forbids the rule, the family's certified one steps in."""

_TERM = re.compile(r"\s*(?P<name>[\w-]+)\s*(?:\((?P<arguments>[^()]*)\))?\s*")


@dataclass(frozen=True)
class Policy:
    """A pairing with its parameters set: everything that decides which arm is pulled and when a verdict is given."""

    name: str
    sampling: SamplingRule
    identification: IdentificationRule
    setting: Setting
    criterion: Criterion = Criterion.FWER

    @property
    def guarantee(self) -> Guarantee:
        """What its verdicts are worth."""
        return self.identification.guarantee

    @property
    def learner(self) -> Learner | None:
        """What it learns from all arms while it runs."""
        return self.sampling.learner or self.identification.learner

    def check(self, rewards: Rewards) -> None:
        """Refuse rewards under which the guarantee would be false."""
        _check_family(self.sampling.name, self.identification, rewards)


def policy_names() -> list[str]:
    """All names that stand for a policy without a `+`."""
    return sorted({*PAIRINGS, *sampling_names()})


def certified_rule_for(rewards: Rewards) -> str:
    """The certified identification rule that suits a family: `kt` for rewards in [0, 1], else `normal-mixture`."""
    return "kt" if isinstance(rewards, Bounded) else "normal-mixture"


def policy(
    sampling: str | SamplingRule | Policy = DEFAULT_POLICY,
    identification: str | IdentificationRule | None = None,
    *,
    rewards: Rewards = Bounded(),
    criterion: str | Criterion = Criterion.FWER,
    **parameters: float,
) -> Policy:
    """Make a policy from names or rules.

    >>> policy("hdoc").identification.name
    'hoeffding'
    >>> made = policy("ucb(beta=1.5)+betting")
    >>> made.name, str(made.guarantee)
    ('ucb(beta=1.5)+betting', 'certified')
    >>> policy("ucb", "kt", beta=1.0).name
    'ucb(beta=1)+kt'
    """
    if isinstance(sampling, Policy):
        sampling.check(rewards)
        return sampling
    given = dict(parameters)
    if isinstance(sampling, str):
        sampling, named, spelled = _read(sampling, rewards)
        given = {**spelled, **given}
        identification = identification or named
    if isinstance(identification, str):
        identification, spelled = _read_rule(identification)
        given = {**spelled, **given}
    rule = identification or identification_rule(certified_rule_for(rewards))
    return _pair(sampling, rule, given, rewards, Criterion(criterion))


def _pair(
    sampling: SamplingRule, rule: IdentificationRule, given: dict[str, float], rewards: Rewards, criterion: Criterion
) -> Policy:
    _check_family(sampling.name, rule, rewards)
    if criterion is Criterion.FDR and not isinstance(rule, EvidenceRule):
        raise UnsoundPairing(
            f"the false discovery rate needs evidence that can be ranked, and {rule.name} keeps none. "
            f"Use an evidence rule, for example '{sampling.name}+{certified_rule_for(rewards)}'."
        )
    if sampling.learner and rule.learner and sampling.learner is not rule.learner:
        raise UnsoundPairing(
            f"{sampling.name} and {rule.name} learn different things from the pool "
            f"({sampling.learner.name}, {rule.learner.name}); a policy learns one. Pair either with 'kt' or 'ucb'."
        )
    learner = sampling.learner or rule.learner
    defaults = (learner.defaults if learner else {}) | sampling.defaults | rule.defaults
    setting = Setting.of(f"{sampling.name}+{rule.name}", defaults, given)
    return Policy(_spell(sampling, rule, given, rewards), sampling, rule, setting, criterion)


def _spell(sampling: SamplingRule, rule: IdentificationRule, given: dict[str, float], rewards: Rewards) -> str:
    """The shortest name that stands for this pairing."""
    for name, pairing in PAIRINGS.items():
        if pairing == (sampling.name, rule.name) and not given:
            return name
    own = {name: value for name, value in given.items() if name not in rule.defaults}
    others = {name: value for name, value in given.items() if name in rule.defaults}
    return f"{sampling.name}{_arguments(own)}+{rule.name}{_arguments(others)}"


def _arguments(given: dict[str, float]) -> str:
    return f"({', '.join(f'{name}={value:g}' for name, value in given.items())})" if given else ""


def _check_family(sampling: str, rule: IdentificationRule, rewards: Rewards) -> None:
    if not rule.valid_for(rewards):
        raise UnsoundPairing(
            f"{rule.name} is valid only for {_family_names(rule)}, not for {rewards}: its verdicts would carry no guarantee. "
            f"Use '{sampling}+{certified_rule_for(rewards)}'."
        )


def _family_names(rule: IdentificationRule) -> str:
    return "rewards in [0, 1]" if rule.families == (Bounded,) else "sub-Gaussian rewards"


def _read(text: str, rewards: Rewards) -> tuple[SamplingRule, IdentificationRule | None, dict[str, float]]:
    """Sampling rule, identification rule if any was named, and parameters, from a policy's text."""
    first, plus, second = text.partition("+")
    name, given = _read_term(first, text)
    if not plus:
        if name in PAIRINGS:
            sampling, rule = (sampling_rule(PAIRINGS[name][0]), identification_rule(PAIRINGS[name][1]))
            return sampling, rule if rule.valid_for(rewards) else None, given
        if name not in sampling_names():
            raise UnknownName("policy", name, policy_names())
        return sampling_rule(name), None, given
    sampling = sampling_rule(PAIRINGS[name][0] if name in PAIRINGS else name)
    rule, more = _read_rule(second)
    return sampling, rule, {**given, **more}


def _read_rule(text: str) -> tuple[IdentificationRule, dict[str, float]]:
    name, given = _read_term(text, text)
    if name not in identification_names():
        raise UnknownName("identification rule", name, identification_names())
    return identification_rule(name), given


def _read_term(term: str, whole: str) -> tuple[str, dict[str, float]]:
    """Name and parameters of `name(a=1, b=2)`."""
    match = _TERM.fullmatch(term)
    if match is None:
        raise InvalidValue(f"can't read the policy {whole!r}. Write it like 'hdoc+kt' or 'ucb(beta=1.5)+betting'.")
    given: dict[str, float] = {}
    for argument in filter(None, (part.strip() for part in (match["arguments"] or "").split(","))):
        name, equals, value = (piece.strip() for piece in argument.partition("="))
        try:
            given[name] = float(value)
        except ValueError:
            raise InvalidValue(
                f"can't read {argument!r} in the policy {whole!r}: a parameter is written name=number."
            ) from None
    return match["name"], given
