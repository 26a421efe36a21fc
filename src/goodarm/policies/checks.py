"""Check that a sampling rule, an identification rule and a model of the arms go together."""

from __future__ import annotations

import inspect
import math

import numpy as np

from goodarm.errors import InvalidValue, UnsoundPairing
from goodarm.models import Model
from goodarm.policies.parameters import check_setting, owners_of
from goodarm.problem import Bar, Bounded, Cases, GradedCases, NonNegative, Rewards, ScoredCases, SubGaussian
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import EvidenceRule, IdentificationRule, ModelRule, RadiusRule
from goodarm.rules.parameters import Formula, Learner, Setting, name_owner, parameters_of, take
from goodarm.rules.sampling import IndexRule, LineRule, SamplingRule
from goodarm.verdict import Criterion, Guarantee

_BAR = Bar(0.5, 0.05, 10.0, 0.5, 0.5, math.log(200.0), 1.0, 1.0)
_PULLED = Arm(10.0, 6.0, 0.6, 10.0**-0.5, 0.2, -0.1, 0.0, 0.0)
_NEVER_PULLED = Arm(0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0)


FAMILY_WORDS: dict[type, str] = {
    Bounded: "rewards in [0, 1]",
    SubGaussian: "sub-Gaussian rewards",
    NonNegative: "rewards of 0 or more",
    Cases: "0/1 results of a fixed set",
    GradedCases: "graded results of a fixed set",
    ScoredCases: "labels of a fixed set with scores",
}


def certified_rule_for(rewards: Rewards) -> str:
    """The certified identification rule that suits a family.

    For 0/1 or Gaussian rewards, `gap-mixture` needs the fewest pulls of the rules that do not learn from other arms.
    For rewards between 0 and 1 that vary little, `bet-mixture` and `betting` are better (docs/learning.md).
    """
    return "gap-mixture" if isinstance(rewards, SubGaussian | Cases) or type(rewards) is Bounded else "bet-mixture"


def check_policy(
    sampling: SamplingRule,
    rule: IdentificationRule,
    setting: Setting,
    criterion: Criterion,
    model: Model | None,
) -> None:
    """Checks that do not depend on the rewards. Called when a policy is made or changed."""
    if criterion is Criterion.FDR and not (isinstance(rule, EvidenceRule) and rule.guarantee is Guarantee.CERTIFIED):
        suits = certified_rule_for(Bounded())
        raise UnsoundPairing(
            f"the false discovery rate needs certified evidence that can be ranked, but {rule.name} has none. Use an "
            f"evidence rule, for example '{sampling.name}+{suits}'."
        )
    if sampling.learner and rule.learner and rule.learner not in (sampling.learner, sampling.learner.extends):
        raise UnsoundPairing(
            f"{sampling.name} and {rule.name} have different learners "
            f"({sampling.learner.name}, {rule.learner.name}); a policy has only one. Pair either rule with 'kt' or "
            "'ucb'."
        )
    check_setting(owners_of(sampling, rule), setting)
    check_formulas(sampling, rule, setting)
    check_model(sampling, rule, model, setting)


def check_rewards(sampling: SamplingRule, rule: IdentificationRule, setting: Setting, rewards: Rewards) -> None:
    """Refuse rewards, or a scale of them, under which the guarantee would be false."""
    if not rule.valid_for(rewards):
        families = " and ".join(words for family, words in FAMILY_WORDS.items() if family in rule.families)
        raise UnsoundPairing(
            f"{rule.name} is valid only for {families}, not for {rewards}: "
            f"its verdicts would have no guarantee. Use '{sampling.name}+{certified_rule_for(rewards)}'."
        )
    sigma = setting.identification.get("sigma", 0.0) if isinstance(rule, ModelRule) else 0.0
    if 0.0 < sigma < rewards.sigma():
        raise UnsoundPairing(
            f"{rule.name}(sigma={sigma:g}) assumes less noise than {rewards} may have, whose scale is "
            f"{rewards.sigma():g}: its verdicts would have no guarantee. Leave sigma out. If you know that the noise "
            f"is smaller, declare it: rewards=SubGaussian({sigma:g})."
        )


def check_model(sampling: SamplingRule, rule: IdentificationRule, model: Model | None, setting: Setting) -> None:
    """Refuse a model with which the guarantee would be false or the sampling rule can't choose."""
    if isinstance(rule, ModelRule):
        _check_certificate(sampling, rule, model)
        _check_constants(rule, setting)
    if model is not None:
        _check_learner(sampling, model)
        _check_unpulled(sampling, model, setting)


def check_formulas(sampling: SamplingRule, rule: IdentificationRule, setting: Setting) -> None:
    """Call the rules' functions once as Python, to report a mistake in a user's rule in one line."""
    _name_functions(sampling, rule)
    own, pool = setting.sampling, _pool_of(sampling.learner or rule.learner)
    if isinstance(sampling, IndexRule):
        _try(sampling.name, sampling.index, 1, _PULLED, pool, _BAR, *take(own, sampling.defaults))
    if isinstance(sampling, LineRule):
        _try(sampling.name, sampling.slope, 1, _PULLED, _BAR, *take(own, parameters_of(sampling.slope, skip=2)))
        _try(sampling.name, sampling.clock, 1, pool.round, _BAR, *take(own, parameters_of(sampling.clock, skip=2)))
    own = setting.identification
    pulled = _PULLED._replace(memory=np.zeros(rule.memory)) if rule.memory > 1 else _PULLED
    if isinstance(rule, EvidenceRule):
        _try(rule.name, rule.observe, 3, pulled, 1.0, pool, _BAR, *take(own, rule.defaults))
    if isinstance(rule, RadiusRule):
        _try(rule.name, rule.radius, 1, _PULLED, pool, _BAR, *take(own, rule.defaults))


def _pool_of(learner: Learner | None) -> Pool:
    return Pool(1.0, 1e6, learner.start(_BAR)) if learner else Pool(1.0, 1e6)


def _name_functions(sampling: SamplingRule, rule: IdentificationRule) -> None:
    """Mark each function with its rule's name, for compiler errors."""
    name_owner(rule.name, rule.formula)
    name_owner(sampling.name, sampling.formula)
    if isinstance(sampling, LineRule):
        name_owner(sampling.name, sampling.clock)
    for learner in filter(None, (sampling.learner, rule.learner)):
        name_owner(learner.name, learner.start, learner.fit, learner.next_round)


def _fields_of(error: Exception) -> str:
    """The fields of an arm, pool or bar without the requested one; empty for other errors."""
    fields = getattr(error.obj, "_fields", ()) if isinstance(error, AttributeError) else ()
    return f" Its fields: {', '.join(fields)}." if fields else ""


def _try(name: str, formula: Formula, numbers: int, *arguments: object) -> None:
    call = f"{formula.__name__}({', '.join(inspect.signature(formula).parameters)})"
    try:
        got = formula(*arguments)
    except (ArithmeticError, ValueError):
        return  # such numbers may not occur in a campaign
    except Exception as error:  # a user's function may raise anything
        raise InvalidValue(
            f"the rule {name!r} can't be used: {call} raises {type(error).__name__}: {error}.{_fields_of(error)}"
        ) from error
    values = got if isinstance(got, tuple) else (got,)
    if len(values) != numbers or not all(isinstance(value, int | float) and value == value for value in values):
        wanted = "a number" if numbers == 1 else f"{numbers} numbers"
        raise InvalidValue(f"the rule {name!r} can't be used: {call} must return {wanted}; it returned {got!r}.")


def _check_certificate(sampling: SamplingRule, rule: ModelRule, model: Model | None) -> None:
    if model is None:
        raise UnsoundPairing(
            f"{rule.name} decides by a model of the arms, but the policy has none. Add one, for example "
            f"'{sampling.name}+{rule.name}@{rule.models[0]}'."
        )
    if model.name not in rule.models or not model.exact:
        raise UnsoundPairing(
            f"{rule.name} is proved for {' and '.join('@' + name for name in rule.models)}, not for "
            f"@{model.spelled()}: its verdicts would have no guarantee. Decide by each arm's own evidence, "
            f"for example '{sampling.name}+kt@{model.name}'."
        )
    # with a blind index, decided arms stay in the design; with other rules, verdicts would change the pulls
    if rule.blind and not (sampling.blind and isinstance(sampling, IndexRule) and model.blind_widths):
        raise UnsoundPairing(
            f"{rule.name} is proved only for sampling rules that ignore rewards, unlike {sampling.name}. "
            f"Use 'widest+{rule.name}@{model.name}', or decide by 'self-normalised'."
        )


def _check_constants(rule: ModelRule, setting: Setting) -> None:
    missing = [name for name in rule.defaults if math.isnan(setting.identification[name])]
    if missing:
        raise InvalidValue(
            f"{rule.name} needs {missing[0]}, a bound that only you know and that has no safe default. "
            f"Write it as '{rule.name}({missing[0]}=1)'."
        )


def _check_learner(sampling: SamplingRule, model: Model) -> None:
    learner = sampling.learner
    if learner is not None and learner.fit_belief is not None and model.name not in learner.models:
        known = " or ".join(f"@{name}" for name in learner.models)
        raise UnsoundPairing(
            f"{sampling.name} needs the features of a linear model, which @{model.name} is not. Use {known}, or a rule "
            f"that uses only mean and width, for example 'ucb@{model.name}'."
        )


def _check_unpulled(sampling: SamplingRule, model: Model, setting: Setting) -> None:
    """Check that an index has a value for arms that were never pulled, which exist with a model."""
    if not isinstance(sampling, IndexRule):
        return
    try:
        value = sampling.index(
            _NEVER_PULLED, _pool_of(sampling.learner), _BAR, *take(setting.sampling, sampling.defaults)
        )
    except (ZeroDivisionError, ValueError):
        value = math.nan
    if math.isnan(value):
        raise UnsoundPairing(
            f"{sampling.name} divides by the number of pulls, but with @{model.name} an arm may have none. Use a rule "
            f"that uses only mean and width, for example 'ucb@{model.name}'."
        )
