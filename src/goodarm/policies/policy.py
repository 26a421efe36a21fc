"""Policies: a sampling rule paired with an identification rule. Names and pairings only, no maths.

"hdoc"                     a named policy: the paper's pairing
"hdoc+kt"                  any sampling rule with any identification rule
"ucb(beta=1.5)+betting"    with parameters
"thompson"                 a sampling rule alone: decided by the certified rule of the reward family
"ucb+kt@linear(ridge=0.1)" mean and width of every arm from a model of all arms; verdicts by each arm's own evidence
"widest+design(norm=1)@linear"  verdicts also by the model, if the rule decides by one
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np

from goodarm.arguments import shown
from goodarm.errors import CertificateLost, InvalidValue, UnknownName, UnsoundPairing
from goodarm.fingerprint import fingerprint, functions_in, package_of
from goodarm.models import Model
from goodarm.models._base import shortest
from goodarm.policies.certificate import Certificate
from goodarm.policies.checks import certified_rule_for, check_policy, check_rewards
from goodarm.policies.file import read_model, read_policy
from goodarm.policies.names import identification_rule, named_model, sampling_names, sampling_rule
from goodarm.policies.parameters import chosen, listed, owners_of, setting_of, with_owners, written
from goodarm.problem import Bounded, Problem, Rewards, read_rewards
from goodarm.rules.identification import IdentificationRule, ModelRule, RadiusRule
from goodarm.rules.parameters import Learner, Setting
from goodarm.rules.sampling import SamplingRule
from goodarm.verdict import Basis, Criterion, Guarantee
from goodarm.version import __version__

DEFAULT_POLICY = "value"
"""Default policy of simulations, comparisons and plans, where rewards arrive in the order of asking."""
LIVE_POLICY = "value+gap-mixture"
"""Default policy of live campaigns: its evidence does not depend on the order in which rewards are told."""

PAIRINGS = {
    "apt-g": ("apt-g", "hoeffding"),
    "apt-g-printed": ("apt-g-printed", "hoeffding"),
    "dgai": ("dgai", "learned-bets"),
    "dgai-offline": ("dgai-offline", "learned-printed"),
    "dgai-offline-softmax": ("dgai-offline-softmax", "learned-printed"),
    "dgai-online": ("dgai-online", "learned-online"),
    "dgai-online-softmax": ("dgai-online-softmax", "learned-online"),
    "dgai-reward": ("dgai-reward", "none"),
    "dgai-reward-printed": ("dgai-reward-printed", "none"),
    "dgai-reward-printed-softmax": ("dgai-reward-printed-softmax", "none"),
    "dgai-spread": ("dgai-spread", "kt"),
    "hdoc": ("hdoc", "hoeffding"),
    "lil-hdoc": ("lil-hdoc", "lil"),
    "lucb-g": ("lucb-g", "hoeffding"),
    "settle": ("settle", "learned-bets"),
    "softucb-g": ("softucb", "hoeffding"),
    "softucb-g-softmax": ("softucb-softmax", "hoeffding"),
    "tt-ts": ("tt-ts", "hoeffding"),
    "tt-ts-printed": ("tt-ts-printed", "hoeffding"),
    "ucb-v": ("ucb-v", "hoeffding"),
    "ucb1": ("ucb1", "none"),
    "value": ("value", "learned-bets"),
    "value-normal": ("value-normal", "learned-bets-normal"),
}
"""Named policies. If the rewards rule out the identification rule, the certified rule of their family replaces it."""

_PLUS = re.compile(r"(\+)(?![^()]*\))")
"""The plus between two rules. A plus inside parentheses is part of a number, as in ucb(beta=1e+20)+kt."""
_TERM = re.compile(r"\s*(?P<name>[\w-]+)\s*(?:\((?P<arguments>[^()]*)\))?\s*")


@dataclass(frozen=True)
class Policy:
    """A pairing with its parameters. It determines the arm to pull and the time of each verdict.

    asked : the criterion given when it was made; None leaves the choice to the caller
    """

    name: str
    sampling: SamplingRule
    identification: IdentificationRule
    setting: Setting
    asked: Criterion | None = None
    model: Model | None = None
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        check_policy(self.sampling, self.identification, self.setting, self.criterion, self.model)
        if self.certificate is not None and self.certificate.policy != self.fingerprint:
            warnings.warn(
                f"{self.name}: its certificate was measured with other rules, parameters, models or criterion, or with "
                "another version of goodarm or Python. Its verdicts are heuristic; calibrate the changed policy.",
                CertificateLost,
                stacklevel=4,
            )
            object.__setattr__(self, "certificate", None)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that could change a pull or a verdict: code, parameters, model, criterion, version."""
        return identity(self.sampling, self.identification, self.setting, self.criterion, self.model)

    @property
    def description(self) -> str:
        """The fingerprint without goodarm's own code and version, to distinguish the policies of two calls."""
        return identity(self.sampling, self.identification, self.setting, self.criterion, self.model, ours=False)

    @property
    def criterion(self) -> Criterion:
        """The error kept below delta: by default the probability of any wrong verdict."""
        return self.asked or Criterion.FWER

    @property
    def promise(self) -> str:
        """The guarantee in words, with the criterion unless it is the default.

        >>> policy("value").promise, policy("hdoc+kt", criterion="fdr").promise
        ('certified', 'certified, fdr')
        """
        plain = self.criterion is Criterion.FWER or self.guarantee is Guarantee.NONE
        return str(self.guarantee) if plain else f"{self.guarantee}, {self.criterion}"

    @property
    def decided_by(self) -> Basis:
        """The data behind its verdicts."""
        rule = self.identification
        by_model = isinstance(rule, ModelRule) or (isinstance(rule, RadiusRule) and rule.by_model)
        return Basis.MODEL if by_model and self.model is not None else Basis.OWN

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of its verdicts: a heuristic bound with a certificate that passes is calibrated."""
        own = self.identification.guarantee
        passes = self.certificate is not None and self.certificate.passes
        return Guarantee.CALIBRATED if own is Guarantee.HEURISTIC and passes else own

    def on(self, environment: str, fingerprint: str, problem: Problem, horizon: int) -> Policy:
        """This policy for one problem: a certificate measured on another problem is dropped, with a warning."""
        lost = self.certificate.covers(environment, fingerprint, problem, horizon) if self.certificate else None
        if lost is None:
            return self
        warnings.warn(
            f"{self.name}: {lost}. Its verdicts are heuristic here; learn and calibrate it on this problem.",
            CertificateLost,
            stacklevel=3,
        )
        return replace(self, certificate=None)

    @property
    def learner(self) -> Learner | None:
        """The learner, which learns from all arms during a run."""
        return self.sampling.learner or self.identification.learner

    @property
    def parameters(self) -> dict[str, float]:
        """All parameters by the names that callers use."""
        return listed(owners_of(self.sampling, self.identification), self.setting)

    @property
    def chosen(self) -> dict[str, float]:
        """The parameters that are not at their defaults, as they can be given to `policy`."""
        return chosen(owners_of(self.sampling, self.identification), self.setting)

    def check(self, rewards: Rewards) -> None:
        """Refuse rewards under which the guarantee would be false."""
        check_rewards(self.sampling, self.identification, self.setting, rewards)


def policy_names() -> list[str]:
    """All policy names without a `+`."""
    return sorted({*PAIRINGS, *sampling_names()})


def policy(
    sampling: str | SamplingRule | Policy = DEFAULT_POLICY,
    identification: str | IdentificationRule | None = None,
    *,
    rewards: Rewards | str = Bounded(),
    criterion: str | Criterion | None = None,
    model: str | Model | None = None,
    **parameters: float,
) -> Policy:
    """Make a policy from names or rules; `model` is a model of the arms, such as `Linear(features)`, or its name.

    criterion : the error that delta bounds, "fwer" or "fdr"; None keeps that of an existing policy, and means "fwer"
                otherwise. A criterion other than the one a policy was made with is refused.

    A parameter that two rules have is written after its rule, as in `"ucb(beta=1.5)+mine(beta=0.3)"`, or with its
    owner, `**{"sampling.beta": 1.5}` (`goodarm.policies.parameters`).

    >>> policy("hdoc").identification.name
    'hoeffding'
    >>> made = policy("ucb(beta=1.5)+betting")
    >>> made.name, str(made.guarantee)
    ('ucb(beta=1.5)+betting', 'certified')
    >>> policy("ucb", "kt", beta=1.0).name
    'ucb(beta=1)+kt'
    """
    rewards = read_rewards(rewards)
    if not isinstance(sampling, str | SamplingRule | Policy):
        raise InvalidValue(f"a policy is a name like 'hdoc+kt', a sampling rule or a Policy; got {shown(sampling)}.")
    if not isinstance(identification, str | IdentificationRule | None):
        raise InvalidValue(f"an identification rule is a name like 'kt', or a rule; got {shown(identification)}.")
    wanted = None if criterion is None else Criterion(criterion)
    finished = isinstance(sampling, Policy) or (isinstance(sampling, str) and sampling.endswith(".json"))
    if finished and (identification is not None or model is not None):
        raise InvalidValue(
            f"{sampling if isinstance(sampling, str) else sampling.name} is a whole policy, with its own "
            "identification rule and model. Pass names of rules to pair them differently."
        )
    if isinstance(sampling, Policy):
        sampling.check(rewards)
        return _adjusted(sampling, rewards, wanted, parameters)
    if isinstance(sampling, str) and sampling.endswith(".json"):
        return _adjusted(_from_file(sampling, rewards), rewards, wanted, parameters)
    texts: dict[str | None, dict[str, float]] = {"sampling": {}, "identification": {}, None: parameters}
    if isinstance(sampling, str):
        sampling, at, name = sampling.partition("@")
        model = model or (name if at else None)
        sampling, named, texts["sampling"], texts["identification"] = _read(sampling, rewards)
        identification = identification or named
    if isinstance(identification, str):
        identification, texts["identification"] = _read_rule(identification, identification)
    rule = identification or identification_rule(certified_rule_for(rewards))
    if isinstance(model, str):
        model = named_model(*_read_term(model, f"{sampling.name}+{rule.name}@{model}"))
    owners = owners_of(sampling, rule)
    given = {name: value for at, text in texts.items() for name, value in with_owners(owners, text, at).items()}
    return _pair(sampling, rule, given, rewards, wanted, model)


def _adjusted(made: Policy, rewards: Rewards, wanted: Criterion | None, parameters: dict[str, float]) -> Policy:
    """An existing policy with a new criterion and new parameters."""
    if wanted is not None and made.asked not in (None, wanted):
        raise InvalidValue(
            f"{made.name} was made for the criterion {made.asked}, not {wanted}, so its verdicts would not have this "
            f"guarantee. Make it with criterion={str(wanted)!r}, or pass no criterion."
        )
    if not parameters and wanted in (None, made.asked):
        return made
    if made.certificate is not None and (parameters or wanted is not made.criterion):
        raise UnsoundPairing(f"{made.name} was calibrated with its present settings. Make a new policy to change them.")
    criterion = wanted or made.asked
    if not parameters and criterion is made.criterion:
        return replace(made, asked=criterion)
    return _pair(made.sampling, made.identification, made.chosen | parameters, rewards, criterion, made.model)


REWARD_POLICIES = ("dgai-reward", "ucb1", "thompson", "softucb", "dgai-reward-printed")
"""Default policies for the goal "reward"."""


def reward_policy(text: str, *, rewards: Rewards = Bounded()) -> Policy:
    """A policy for the goal "reward": a name without `+` gives no verdicts and only collects rewards.

    >>> reward_policy("thompson").name, str(reward_policy("thompson").guarantee)
    ('thompson+none', 'none')
    >>> reward_policy("dgai-reward").name, reward_policy("ucb(beta=1e+2)").name
    ('dgai-reward', 'ucb(beta=100)+none')
    """
    return policy(text, None if _PLUS.search(text) or text.endswith(".json") else "none", rewards=rewards)


def _from_file(path: str, rewards: Rewards) -> Policy:
    """Read a policy file of `goodarm learn`. It is valid only for the reward family of its training."""
    saved = read_policy(path)
    if saved.rewards != rewards:
        raise UnsoundPairing(
            f"{path} was learned on {saved.rewards}, but these are {rewards}, for which its parameters have no "
            "meaning. "
            "Learn a policy on this family with 'goodarm learn'."
        )
    model = read_model(path, saved.model)
    made = policy(saved.policy, None, rewards=rewards, criterion=saved.criterion, model=model, **saved.parameters)
    name = spelled(made.sampling, made.identification, rounded(saved.parameters), made.model)
    return replace(made, name=name, certificate=saved.certificate)


def _pair(
    sampling: SamplingRule,
    rule: IdentificationRule,
    given: dict[str, float],
    rewards: Rewards,
    criterion: Criterion | None,
    model: Model | None,
) -> Policy:
    setting = setting_of(owners_of(sampling, rule), given)
    check_rewards(sampling, rule, setting, rewards)
    return Policy(spelled(sampling, rule, given, model), sampling, rule, setting, criterion, model)


def spelled(sampling: SamplingRule, rule: IdentificationRule, given: Mapping[str, float], model: Model | None) -> str:
    """The shortest name of this pairing."""
    suffix = f"@{model.spelled()}" if model else ""
    for name, pairing in PAIRINGS.items():
        if pairing == (sampling.name, rule.name) and not given:
            return name + suffix
    first, second = written(owners_of(sampling, rule), given)
    return f"{sampling.name}{_arguments(first)}+{rule.name}{_arguments(second)}{suffix}"


def rounded(parameters: Mapping[str, float]) -> dict[str, float]:
    """Learned parameters rounded to four digits, for names only.

    >>> rounded({"alpha": 3.8639610121239247})
    {'alpha': 3.864}
    """
    return {name: float(f"{value:.4g}") for name, value in parameters.items()}


def _arguments(given: Mapping[str, float]) -> str:
    return f"({', '.join(f'{name}={shortest(value)}' for name, value in given.items())})" if given else ""


def _read(
    text: str, rewards: Rewards
) -> tuple[SamplingRule, IdentificationRule | None, dict[str, float], dict[str, float]]:
    """Sampling rule, identification rule if there is one, and the parameters written after each."""
    first, plus, second = (*_PLUS.split(text, maxsplit=1), "", "")[:3]
    name, given = _read_term(first, text)
    if not plus:
        if name in PAIRINGS:
            sampling, rule = (sampling_rule(PAIRINGS[name][0]), identification_rule(PAIRINGS[name][1]))
            return sampling, rule if rule.valid_for(rewards) else None, given, {}
        if name not in sampling_names():
            raise UnknownName("policy", name, policy_names())
        return sampling_rule(name), None, given, {}
    sampling = sampling_rule(PAIRINGS[name][0] if name in PAIRINGS else name)
    rule, more = _read_rule(second, text)
    return sampling, rule, given, more


def _read_rule(text: str, whole: str) -> tuple[IdentificationRule, dict[str, float]]:
    name, given = _read_term(text, whole)
    return identification_rule(name), given


def _read_term(term: str, whole: str) -> tuple[str, dict[str, float]]:
    """Name and parameters of `name(a=1, b=2)`."""
    match = _TERM.fullmatch(term)
    if match is None:
        if ".py" in whole:
            raise InvalidValue(
                f"can't read the policy {whole!r}: a rule in a file has no name. Compare it from Python, "
                "goodarm.compare(environment, [policy(rule)]), or install it with an entry point (CONTRIBUTING.md)."
            )
        raise InvalidValue(
            f"can't read the policy {whole!r}. Write a name such as 'hdoc+kt' or 'ucb(beta=1.5)+betting'."
        )
    given: dict[str, float] = {}
    for argument in filter(None, (part.strip() for part in (match["arguments"] or "").split(","))):
        name, _, value = (piece.strip() for piece in argument.partition("="))
        try:
            given[name] = float(value)
        except ValueError:
            raise InvalidValue(
                f"can't read {argument!r} in the policy {whole!r}: a parameter is written name=number."
            ) from None
    return match["name"], given


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

    The code is Python's byte code of goodarm and of the packages that the rules are from, so another version of Python
    counts as different code.

    ours : whether to include goodarm's own code and version, or only code of other packages
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
