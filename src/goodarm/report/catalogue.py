"""Catalogue of policies, rules, models and environments: description, guarantee and an example of each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from goodarm.environments import Environment
from goodarm.environments.names import environment, environment_names
from goodarm.errors import GoodarmError, UnknownName
from goodarm.policies import PAIRINGS, policy
from goodarm.policies.names import (
    identification_names,
    identification_rule,
    model_names,
    named_model,
    sampling_names,
    sampling_rule,
)
from goodarm.problem import Bounded, Gaussian, Rewards
from goodarm.rules.parameters import first_line

if TYPE_CHECKING:
    from rich.table import Table

Entry = dict[str, Any]

FAMILIES: dict[str, Rewards] = {"rewards in [0, 1]": Bounded(), "sub-Gaussian rewards": Gaussian(1.0)}
KINDS = {
    "policies": "Named policies",
    "sampling": "Sampling rules: which undecided arm is pulled next?",
    "identification": "Identification rules: when is an arm good, when is it bad?",
    "models": "Models of the arms: how does a reward inform about other arms?",
}
SUITS = {"kernel": "bumps", "neural": "bumps"}
"""Example environments of models, if not `linear`."""

ONE = {
    "policies": "a policy",
    "sampling": "a sampling rule",
    "identification": "an identification rule",
    "models": "a model of the arms",
}


def policies() -> dict[str, list[Entry]]:
    """All parts of policies, by kind."""
    return {
        "policies": [_policy(name) for name in sorted(PAIRINGS)],
        "sampling": [_sampling(name) for name in sampling_names()],
        "identification": [_identification(name) for name in identification_names()],
        "models": [_model(name) for name in model_names() if name != "independent"],
    }


def policies_named(name: str) -> list[tuple[str, Entry]]:
    """Entries of this name with their kinds: a policy, or else rules and models.

    >>> [(kind, entry["name"]) for kind, entry in policies_named("kt")]
    [('identification', 'kt')]
    """
    listed = policies()
    found = [(kind, each) for kind, entries in listed.items() for each in entries if each["name"] in (name, f"@{name}")]
    if not found and any(sign in name for sign in "+(@"):
        return [("policies", _pairing(name))]
    if not found:
        raise UnknownName("policy or rule", name, {each["name"] for entries in listed.values() for each in entries})
    return [each for each in found if each[0] == "policies"] or found


def _valid_for(name: str) -> list[str]:
    """The reward families for which a policy with that name can be made."""

    def suits(rewards: Rewards) -> bool:
        try:
            policy(name, rewards=rewards)
        except GoodarmError:
            return False
        return True

    return [words for words, rewards in FAMILIES.items() if suits(rewards)]


def _policy(name: str) -> Entry:
    made = policy(name)
    return {
        "name": name,
        "guarantee": str(made.guarantee),
        "pairing": "+".join(PAIRINGS[name]),
        "valid_for": _valid_for(name),
        "summary": made.sampling.summary,
        "parameters": _numbers(made.parameters),
        "reference": made.sampling.reference,
        "example": f"goodarm compare kano-1 --policy {name}",
    }


def _pairing(name: str) -> Entry:
    """A pairing given by the user."""
    made = policy(name)
    pairing = f"{made.sampling.name}+{made.identification.name}"
    return {
        "name": made.name,
        "guarantee": str(made.guarantee),
        "pairing": pairing,
        "valid_for": _valid_for(name),
        "summary": f"{made.sampling.summary} {made.identification.summary}",
        "parameters": _numbers(made.parameters),
        "reference": f"{made.sampling.reference}; {made.identification.reference}",
        "example": f"goodarm compare {'linear' if made.model else 'kano-1'} --policy '{name}'",
    }


def _sampling(name: str) -> Entry:
    rule = sampling_rule(name)
    return {
        "name": name,
        "summary": rule.summary,
        "parameters": _numbers(rule.defaults),
        "reference": rule.reference,
        "example": f"goodarm compare kano-1 --policy '{_with_parameter(name, rule.defaults)}+kt'",
    }


def _identification(name: str) -> Entry:
    rule = identification_rule(name)
    families = [words for words, rewards in FAMILIES.items() if rule.valid_for(rewards)]
    return {
        "name": name,
        "guarantee": str(rule.guarantee),
        "valid_for": families,
        "summary": rule.summary,
        "parameters": _numbers(rule.defaults),
        "reference": rule.reference,
        "example": f"goodarm compare kano-1 --policy 'hdoc+{name}'",
    }


def _model(name: str) -> Entry:
    model = named_model(name, {})
    parameters = {each: getattr(model, each) for each in getattr(model, "parameters", ())}
    return {
        "name": f"@{name}",
        "summary": first_line(type(model)),
        "parameters": _numbers(parameters),
        "reference": "docs/structured.md",
        "example": f"goodarm compare {SUITS.get(name, 'linear')} --policy value@{name} --horizon 20000 --runs 5",
    }


def _with_parameter(name: str, defaults: Any) -> str:
    """The name with one of its parameters, to show how to write them."""
    for parameter, value in _numbers(defaults).items():
        return f"{name}({parameter}={value:g})"
    return name


def _numbers(parameters: Any) -> dict[str, float]:
    """Parameters with a fixed value; NaN and None mean "found from the data"."""
    return {k: v for k, v in dict(parameters).items() if isinstance(v, int | float) and not math.isnan(v)}


def details(entry: Entry) -> str:
    """Details of an entry: its pairing, reward families, parameters and reference, if any."""
    parameters = ", ".join(f"{name}={value:g}" for name, value in entry["parameters"].items())
    families = " or ".join(entry.get("valid_for", []))
    pieces = (
        entry.get("pairing", ""),
        f"for {families}" if families else "",
        f"parameters {parameters}" if parameters else "",
        entry["reference"],
    )
    return "; ".join(piece for piece in pieces if piece)


def table(entries: list[Entry]) -> Table:
    """A table with name and guarantee beside the details, which fits a narrow terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    drawn.add_column(style="bold", no_wrap=True)
    drawn.add_column(no_wrap=True)
    drawn.add_column(ratio=1)
    for entry in entries:
        text = Text(entry["summary"]).append("\n" + details(entry), style="dim")
        drawn.add_row(entry["name"], entry.get("guarantee", ""), text)
    return drawn


def environments() -> list[Entry]:
    """All environments."""
    return [environment_entry(environment(name)) for name in environment_names()]


def environment_entry(found: Environment) -> Entry:
    """One environment."""
    return {
        "name": found.name,
        "arms": found.arms,
        "threshold": found.threshold,
        "horizon": found.horizon,
        "rewards": str(found.rewards),
        "reading": found.reading,
        "reference": found.reference,
    }


def environment_example(name: str, threshold: float | None = None) -> str:
    """An example command."""
    bar = f" --threshold {threshold:g}" if threshold is not None else ""
    return f"goodarm compare {name}{bar} --policy value --policy hdoc --runs 10"


def environment_table(entries: list[Entry]) -> Table:
    """One row per environment."""
    from rich import box
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    drawn.add_column("environment", style="bold", no_wrap=True)
    for heading in ("arms", "threshold", "horizon"):
        drawn.add_column(heading, justify="right", no_wrap=True)
    drawn.add_column("reading and reference", ratio=1)
    for each in entries:
        numbers = (f"{each['arms']:,}", f"{each['threshold']:g}", f"{each['horizon']:,}")
        drawn.add_row(each["name"], *numbers, f"{each['rewards']}; {each['reading']}. {each['reference']}")
    return drawn
