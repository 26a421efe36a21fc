"""`check_policy`: all checks that apply to a policy, by name, for goodarm's rules and your own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from goodarm.environments import Environment
from goodarm.environments.names import environment as find_environment
from goodarm.policies import Policy
from goodarm.policies import policy as make_policy
from goodarm.testing import checks, rule_checks, slow_checks
from goodarm.testing.subject import Subject, usual_environment


@dataclass(frozen=True)
class Check:
    """One property of one policy; call it, and it raises `Violation` if the policy lacks the property."""

    name: str
    subject: Subject
    property: Callable[[Subject], None]

    def __call__(self) -> None:
        self.property(self.subject)

    def __str__(self) -> str:
        return self.name


def properties(module: ModuleType) -> dict[str, Callable[[Subject], None]]:
    """The functions of a module whose names begin with `check_`, without that prefix."""
    found = vars(module).items()
    return {name.removeprefix("check_"): value for name, value in found if name.startswith("check_")}


def check_policy(
    policy: str | Policy, environment: str | Environment | None = None, *, thorough: bool = True, compiled: bool = True
) -> list[Check]:
    """The checks of a policy, to be called one by one; with pytest:

        @pytest.mark.parametrize("check", check_policy(policy(my_rule, "kt")), ids=str)
        def test_my_rule(check):
            check()

    thorough : include checks that compile a second loop or start a process
    compiled : False plays the engine's loop as plain Python, which saves the compilation

    >>> for check in check_policy("ucb+kt", thorough=False, compiled=False):
    ...     check()
    >>> check_policy("ucb+kt")[0].name
    'each_arm_is_pulled_once_first'
    """
    made = policy if isinstance(policy, Policy) else make_policy(policy)
    place = usual_environment(made) if environment is None else find_environment(environment)
    subject = Subject(made, place, compiled=compiled)
    modules = (checks, rule_checks, slow_checks) if thorough else (checks, rule_checks)
    return [Check(name, subject, property) for module in modules for name, property in properties(module).items()]
