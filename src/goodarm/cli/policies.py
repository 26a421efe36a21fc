"""`goodarm policies`: the policies that have a name, and the rules that any policy can be made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from goodarm.cli._options import Json
from goodarm.cli._show import console, print_json
from goodarm.rules.parameters import first_line

if TYPE_CHECKING:
    from rich.table import Table

Entry = dict[str, Any]


def policies(json: Json = False) -> None:
    """List named policies, sampling rules, identification rules and models of the arms, with what they promise."""
    listed = {
        "policies": _policies(),
        "sampling": _sampling(),
        "identification": _identification(),
        "estimators": _estimators(),
    }
    if json:
        print_json(listed)
        return
    screen = console()
    screen.print("Policies with a name of their own", style="bold")
    screen.print(_table(listed["policies"]))
    screen.print("Sampling rules: which open arm is pulled next?", style="bold")
    screen.print(_table(listed["sampling"]))
    screen.print("Identification rules: when is an arm good, when is it bad?", style="bold")
    screen.print(_table(listed["identification"]))
    screen.print("Models of the arms: what one reward says of the others", style="bold")
    screen.print(_table(listed["estimators"]))
    screen.print(
        "A sampling rule pairs with an identification rule and a model: hdoc+kt, 'ucb(beta=1.5)+betting', "
        "value@linear. A pairing whose guarantee would be false is refused.",
        style="dim",
    )


def _policies() -> list[Entry]:
    from goodarm.policies import PAIRINGS, policy

    entries = []
    for name, pairing in sorted(PAIRINGS.items()):
        made = policy(name)
        entries.append(
            {
                "name": name,
                "guarantee": str(made.guarantee),
                "pairing": "+".join(pairing),
                "valid_for": _families(made.identification.families),
                "summary": made.sampling.summary,
                "parameters": made.parameters,
                "reference": made.sampling.reference,
            }
        )
    return entries


def _sampling() -> list[Entry]:
    from goodarm.policies.names import sampling_names, sampling_rule

    rules = [(name, sampling_rule(name)) for name in sampling_names()]
    return [
        {"name": name, "summary": rule.summary, "parameters": rule.defaults, "reference": rule.reference}
        for name, rule in rules
    ]


def _identification() -> list[Entry]:
    from goodarm.policies.names import identification_names, identification_rule

    rules = [(name, identification_rule(name)) for name in identification_names()]
    return [
        {
            "name": name,
            "guarantee": str(rule.guarantee),
            "valid_for": _families(rule.families),
            "summary": rule.summary,
            "parameters": rule.defaults,
            "reference": rule.reference,
        }
        for name, rule in rules
    ]


def _estimators() -> list[Entry]:
    from goodarm.policies.names import estimator, estimator_names

    made = [(name, estimator(name, {})) for name in estimator_names() if name != "independent"]
    return [
        {
            "name": f"@{name}",
            "summary": first_line(type(model)),
            "parameters": {each: value for each in model.parameters if (value := getattr(model, each)) is not None},
            "reference": "docs/structured.md",
        }
        for name, model in made
        if model is not None
    ]


def _families(families: tuple[type, ...]) -> list[str]:
    from goodarm.problem import Bounded

    return ["rewards in [0, 1]" if family is Bounded else "sub-Gaussian rewards" for family in families]


def _table(entries: list[Entry]) -> Table:
    """Name and guarantee beside everything there is to say, so that a narrow terminal shows it too."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for entry in entries:
        text = Text(entry["summary"]).append("\n" + _details(entry), style="dim")
        table.add_row(entry["name"], entry.get("guarantee", ""), text)
    return table


def _details(entry: Entry) -> str:
    """Pairing, reward families, parameters and reference: whatever an entry has of these."""
    parameters = ", ".join(f"{name}={value:g}" for name, value in entry["parameters"].items())
    families = " or ".join(entry.get("valid_for", []))
    pieces = (
        entry.get("pairing", ""),
        f"for {families}" if families else "",
        f"parameters {parameters}" if parameters else "",
        entry["reference"],
    )
    return "; ".join(piece for piece in pieces if piece)
