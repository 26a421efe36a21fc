"""Assign parameter values to rules. Parameters are given by name, and two rules may use the same name.

A *bare* name, `beta`, is enough if one owner has it, or if all owners that have it share it. In a policy's text, the
position determines the owner: in `ucb(beta=1.5)+mine(beta=0.3)` each rule gets its own value. Everywhere else a name
    that
several owners have is written with its owner: `sampling.beta`, `identification.beta`, `learner.beta`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from goodarm.errors import InvalidValue
from goodarm.rules.identification import IdentificationRule
from goodarm.rules.parameters import Owner, Setting, check_limits
from goodarm.rules.sampling import SamplingRule
from goodarm.verdict import Guarantee

Given = Mapping[str, float]
Owners = dict[str, Owner]
"""The owners of parameters by their role in the policy: sampling, identification, learner."""


def owners_of(sampling: SamplingRule, rule: IdentificationRule) -> Owners:
    """Sampling rule, identification rule and learner (if any), by role."""
    found: Owners = {"sampling": sampling, "identification": rule}
    learner = sampling.learner or rule.learner
    return found | {"learner": learner} if learner else found


def with_owners(owners: Owners, given: Given, at: str | None = None) -> dict[str, float]:
    """The values with each name prefixed by its owner; `at` is the rule whose parentheses contain them.

    >>> from goodarm.policies.names import identification_rule, sampling_rule
    >>> owners = owners_of(sampling_rule("value"), identification_rule("learned-bets"))
    >>> with_owners(owners, {"patience": 3.0, "firmness": 5.0})
    {'sampling.patience': 3.0, 'learner.firmness': 5.0}
    """
    found: dict[str, float] = {}
    for name, value in given.items():
        found |= dict.fromkeys(_addresses(owners, name, at), float(value))
    return found


def setting_of(owners: Owners, given: Given) -> Setting:
    """The defaults of all owners, overridden by `given` and checked against each owner's limits."""
    for name, value in given.items():
        if not math.isfinite(value):
            raise InvalidValue(f"parameter {name} of {_pairing(owners)} must be a finite number; got {value}.")
    addressed = with_owners(owners, given)
    values = {
        role: {name: addressed.get(f"{role}.{name}", default) for name, default in owner.defaults.items()}
        for role, owner in owners.items()
    }
    _check_shared(owners)
    setting = Setting(**values)
    check_setting(owners, setting)
    return setting


def check_setting(owners: Owners, setting: Setting) -> None:
    """Refuse values that are missing, that belong to no rule, or that are outside their rule's limits."""
    for role in ("sampling", "identification", "learner"):
        wanted, given = set(owners[role].defaults if role in owners else ()), set(getattr(setting, role))
        if wanted != given:
            odd = ", ".join(sorted(wanted ^ given))
            raise InvalidValue(
                f"the setting of {_pairing(owners)} must have exactly the parameters of the {role}; {odd} "
                f"{'is missing' if wanted - given else 'is not one'}. Make a policy with goodarm.policy(...)."
            )
    for role, owner in owners.items():
        proved = isinstance(owner, IdentificationRule) and owner.guarantee is Guarantee.CERTIFIED
        check_limits(owner, getattr(setting, role), ", where its guarantee is proved" if proved else "")


def listed(owners: Owners, setting: Setting) -> dict[str, float]:
    """All parameters by their shortest unambiguous names, the learner's first."""
    roles = [role for role in ("learner", "sampling", "identification") if role in owners]
    return shortened(owners, {f"{role}.{n}": v for role in roles for n, v in getattr(setting, role).items()})


def chosen(owners: Owners, setting: Setting) -> dict[str, float]:
    """The parameters that differ from their defaults, by their shortest unambiguous names."""
    defaults = listed(owners, setting_of(owners, {}))
    return {name: value for name, value in listed(owners, setting).items() if value != defaults[name]}


def shortened(owners: Owners, given: Given) -> dict[str, float]:
    """The same values by their shortest unambiguous names: `beta`, or `sampling.beta` if two owners have one.

    >>> from goodarm.policies.names import identification_rule, sampling_rule
    >>> shortened(owners_of(sampling_rule("ucb"), identification_rule("kt")), {"sampling.beta": 1.0})
    {'beta': 1.0}
    """
    found: dict[str, float] = {}
    for name, value in with_owners(owners, given).items():
        role, _, own = name.partition(".")
        found[own if _holders(owners, own) == _sharing(owners, role, own) else name] = value
    return found


def written(owners: Owners, given: Given) -> tuple[dict[str, float], dict[str, float]]:
    """The parameters in the parentheses of the sampling rule and of the identification rule in the policy's name."""
    first: dict[str, float] = {}
    second: dict[str, float] = {}
    for name, value in shortened(owners, given).items():
        role, dot, own = name.rpartition(".")
        if dot and role == "learner":  # a rule's own parameter takes precedence, so the owner must stay in the name
            first[name] = value
        elif (dot and role == "identification") or (not dot and name in owners["identification"].defaults):
            second[own] = value
        else:
            first[own] = value
    return first, second


def _addresses(owners: Owners, name: str, at: str | None) -> list[str]:
    """`owner.name` of every owner whose parameter this is."""
    role, dot, own = name.rpartition(".")
    roles = _sharing(owners, role, own) if dot else _roles_of(owners, name, at)
    if not roles:
        known = ", ".join(listed(owners, setting_of(owners, {}))) or "none"
        raise InvalidValue(f"{_pairing(owners)} has no parameter {name!r}. Its parameters: {known}.")
    return [f"{role}.{own}" for role in roles]


def _roles_of(owners: Owners, name: str, at: str | None) -> list[str]:
    """The owners of a parameter given by its bare name; empty if there is none."""
    holders = _holders(owners, name)
    if at in holders:
        return _sharing(owners, at, name)
    rule = owners[at] if at else None
    if "learner" in holders and isinstance(rule, SamplingRule | IdentificationRule) and rule.learner:
        return _sharing(owners, "learner", name)
    if holders and _sharing(owners, holders[0], name) != holders:
        raise InvalidValue(_ambiguous(owners, holders, name))
    return holders


def _holders(owners: Owners, name: str) -> list[str]:
    return [role for role, owner in owners.items() if name in owner.defaults]


def _sharing(owners: Owners, role: str | None, name: str) -> list[str]:
    """The owners that share this parameter's value; empty if there is none."""
    if role not in owners or name not in owners[role].defaults:
        return []
    shared = name in owners[role].shared
    return [
        each
        for each, owner in owners.items()
        if each == role or (shared and name in owner.shared and name in owner.defaults)
    ]


def _check_shared(owners: Owners) -> None:
    for role, owner in owners.items():
        for name in owner.shared:
            for other in _sharing(owners, role, name):
                if owners[other].defaults[name] != owner.defaults[name]:
                    raise InvalidValue(
                        f"{owner.name} and {owners[other].name} share the parameter {name}, but its default is "
                        f"{owner.defaults[name]:g} in one and {owners[other].defaults[name]:g} in the other. Give both "
                        "the same default, or remove the name from `shared` of one of them."
                    )


def _ambiguous(owners: Owners, holders: list[str], name: str) -> str:
    who = " and ".join(f"{_KINDS[role]} {owners[role].name!r}" for role in holders)
    keywords = " or ".join(f'**{{"{role}.{name}": 1}}' for role in holders)
    places = "+".join(
        f"{owners[role].name}({name}=1)" if role in holders else owners[role].name
        for role in ("sampling", "identification")
    )
    return (
        f"{name!r} is a separate parameter of {who}. Write it after its rule, as in '{places}', "
        f"or name its owner: {keywords}."
    )


_KINDS = {
    "sampling": "the sampling rule",
    "identification": "the identification rule",
    "learner": "the learner",
}


def _pairing(owners: Owners) -> str:
    return f"{owners['sampling'].name}+{owners['identification'].name}"
