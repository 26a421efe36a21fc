"""The terms of a campaign: the first entry of its journal, never changed afterwards."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

from goodarm.arguments import check_whole, checked_number, percentage, read_duration
from goodarm.campaign.arms import ArmEntry, ArmsGiven, check_metadata, read_arms
from goodarm.campaign.cases import CaseSet, CasesGiven, ScoresGiven, read_cases, read_scores
from goodarm.campaign.rows import TermsRow
from goodarm.campaign.units import UnitTerms, agreed_units
from goodarm.engine.evidence import Evidence, evidence_for
from goodarm.engine.live.checks import by_totals, check_costs
from goodarm.engine.live.worst_case import live_sampling
from goodarm.errors import UPGRADE, InvalidValue, Refused, UnknownName
from goodarm.fingerprint import functions_in, package_of, source_fingerprint
from goodarm.policies import LIVE_POLICY, Policy
from goodarm.policies.file import rewards_from_json, rewards_to_json
from goodarm.problem import Bounded, Cases, GradedCases, NonNegative, Problem, Rewards, ScoredCases, read_rewards
from goodarm.question import KINDS, Question, from_json
from goodarm.rules.identification import EvidenceRule
from goodarm.verdict import Criterion, Guarantee
from goodarm.version import __version__

CASES_FORMAT = 3
"""First journal format with fixed test sets."""
STOP_AFTER_FORMAT = 4
"""First journal format with `stop_after`."""
SCORES_FORMAT = 5
"""First journal format with scores of cases and repeated evaluations."""
COSTS_FORMAT = 7
"""First journal format with costs and budgets."""
UNITS_FORMAT = 8
"""First journal format with units."""
FORMAT = max(
    CASES_FORMAT, SCORES_FORMAT, STOP_AFTER_FORMAT, COSTS_FORMAT, UNITS_FORMAT, *(kind.format for kind in KINDS)
)
"""Newest journal format. A journal is written in the oldest format that can express it."""
BY_BETS = "value+bet-mixture"
SOURCE = "source:"
"""Prefix of fingerprints of source code. goodarm 0.1.0 wrote fingerprints of bytecode, without a prefix."""
LEAST_DELTA, LONGEST_HORIZON = 1e-300, 10**18
MOST_REPEATS = 1_000_000
UNANSWERED = ("wait", "zero", "void")


@dataclass(frozen=True)
class Terms:
    """The question, the policy, and the treatment of unanswered tickets.

    after      : seconds after which a ticket is overdue; with `unanswered` "zero" or "void" it ends then
    reserve    : the share of delta that is kept for arms added later
    key        : a random text, unique to this campaign; the check letters of tickets derive from it
    rules      : fingerprint of the rules' code when the campaign was created
    cases      : the fixed test set; None if samples never run out
    stop_after : number of good arms after which the campaign ends; None to decide every arm
    repeats    : number of evaluations of an arm on each case
    budget     : maximum total cost of all samples, in the unit of the arms' costs; None for no limit
    units      : how the rows of a person, session or machine become one reward; None if each ticket is one reward
    """

    question: Question
    delta: float
    policy: str
    criterion: str
    rewards: Rewards
    horizon: int | None
    reserve: float
    after: float | None
    unanswered: str
    seed: int
    metadata: Mapping[str, Any]
    arms: tuple[ArmEntry, ...]
    key: str
    version: str
    rules: str
    cases: CaseSet | None = None
    stop_after: int | None = None
    repeats: int = 1
    budget: float | None = None
    units: UnitTerms | None = None

    @property
    def format(self) -> int:
        """The oldest format of journals that can express these terms."""
        more = self.repeats > 1 or any(arm.scores is not None for arm in self.arms) or None
        used = (
            (self.cases, CASES_FORMAT),
            (self.stop_after, STOP_AFTER_FORMAT),
            (more, SCORES_FORMAT),
            (self.costs, COSTS_FORMAT),
            (self.budget, COSTS_FORMAT),
            (self.units, UNITS_FORMAT),
        )
        return max(self.question.format, *(format if value is not None else 0 for value, format in used))

    def as_json(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "threshold": None,  # goodarm 0.1 expects the field in every journal
            **self.question.as_json(),
            "delta": self.delta,
            "policy": self.policy,
            "criterion": self.criterion,
            "rewards": rewards_to_json(self.rewards),
            "horizon": self.horizon,
            "reserve": self.reserve,
            "after": self.after,
            "unanswered": self.unanswered,
            "seed": self.seed,
            "metadata": dict(self.metadata),
            "arms": [arm.as_json() for arm in self.arms],
            "key": self.key,
            "version": self.version,
            "rules": self.rules,
            **({} if self.cases is None else {"cases": self.cases.as_json()}),
            **({} if self.stop_after is None else {"stop_after": self.stop_after}),
            **({} if self.repeats == 1 else {"repeats": self.repeats}),
            **({} if self.budget is None else {"budget": self.budget}),
            **({} if self.units is None else {"units": self.units.as_json()}),
        }

    @cached_property
    def names(self) -> dict[str, str]:
        """What people call the arms that others are compared with, by id: their labels, in quotes."""
        references = self.question.references
        return {
            arm.id: quoted(arm.label) for arm in self.arms if arm.id in references and arm.label not in ("", arm.id)
        }

    def shown(self) -> TermsRow:
        """The terms as shown to people."""
        question = self.question.shown(self.rewards, self.names)
        return TermsRow(
            question=question,
            threshold=question["bar"],
            control=question.get("control"),
            margin=question.get("margin"),
            delta=self.delta,
            criterion=self.criterion,
            policy=self.policy,
            rewards=str(self.rewards),
            stop_after=self.stop_after,
            cases=None if self.cases is None else self.cases.count,
            repeats=self.repeats,
            budget=self.budget,
            units=None if self.units is None else self.units.as_json(),
            metadata=dict(self.metadata),
        )

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Terms:
        found = content.get("format")
        if not isinstance(found, int) or found > FORMAT:
            raise Refused(
                f"the campaign was created by a newer goodarm (format {found}, this one reads up to {FORMAT}). "
                + UPGRADE
            )
        question = from_json(content)
        of_question = {"format", "threshold", *question.as_json()}
        given = {name: value for name, value in content.items() if name not in of_question}
        given["question"] = question
        given["rewards"] = rewards_from_json(given["rewards"])
        given["arms"] = tuple(map(ArmEntry.from_json, given["arms"]))
        given["cases"] = CaseSet.from_json(given["cases"]) if "cases" in given else None
        given["units"] = UnitTerms.from_json(given.get("units"))
        return Terms(**given)

    @cached_property
    def problem(self) -> Problem:
        """The problem that the rules see."""
        return self.question.problem(len(self.judged), self.delta, self.rewards)

    @cached_property
    def evidence(self) -> Evidence[Any]:
        """The evidence that answers the question."""
        return evidence_for(self.question, self.rewards, [arm.tenths for arm in self.arms])

    @property
    def paired_with(self) -> str | None:
        """The control whose results on the same cases are compared with those of every arm, if there is one."""
        return self.evidence.paired_with

    @cached_property
    def made(self) -> Policy:
        """The policy, from its name."""
        return self.evidence.policy(self.policy, self.rewards, self.criterion)

    @property
    def by_totals(self) -> bool:
        """Whether the evidence follows from totals, with pending tickets at their worst, or needs their order."""
        return by_totals(self.made, self.rewards)

    @property
    def closes_after(self) -> float | None:
        """Seconds after which a ticket ends by itself: unanswered, or at the end of its unit's window."""
        if self.units is not None:
            return self.units.window
        return None if self.unanswered == "wait" else self.after

    @cached_property
    def judged(self) -> tuple[ArmEntry, ...]:
        """The arms that can get a verdict."""
        return tuple(arm for arm in self.arms if self.question.judges(arm.id))

    @cached_property
    def costs(self) -> list[float] | None:
        """Cost of a sample of each arm; None if no cost was given."""
        return [arm.price for arm in self.arms] if any(arm.cost is not None for arm in self.arms) else None

    @property
    def weights(self) -> list[float] | None:
        """Initial share of delta of each arm; None if all shares are equal and there is no reserve."""
        given = [arm.weight for arm in self.judged]
        if all(weight is None for weight in given):
            return [(1.0 - self.reserve) / len(given)] * len(given) if self.reserve else None
        total = math.fsum(1.0 if weight is None else weight for weight in given)
        return [(1.0 if weight is None else weight) * (1.0 - self.reserve) / total for weight in given]

    @property
    def shares(self) -> list[float]:
        """Initial share of delta of each arm; 0 for arms without verdicts."""
        given = iter(self.weights or [1.0 / len(self.judged)] * len(self.judged))
        return [next(given) if self.question.judges(arm.id) else 0.0 for arm in self.arms]

    def later_weight(self, m: int) -> float:
        """Share of delta of the m-th arm added later, m from 1: r K/((K + m - 1)(K + m)); all of them sum to r."""
        k = len(self.judged)
        return self.reserve * k / ((k + m - 1) * (k + m))

    def label(self, guarantee: str) -> str:
        """The guarantee with its assumption, as shown beside every verdict."""
        promised = self.made.guarantee not in (Guarantee.NONE, Guarantee.HEURISTIC)
        return f"{guarantee} if {self.rewards.assumption}" if promised and self.rewards.assumption else guarantee

    @property
    def promise(self) -> str:
        """The guarantee of the verdicts in words."""
        limit = f"{self.delta * 100:g}%"
        if self.made.guarantee is Guarantee.NONE:
            return "the policy gives no verdicts"
        if self.made.guarantee is Guarantee.HEURISTIC:
            return "verdicts are heuristic: their error rate has no guarantee"
        under = " if the model of the arms is true" if self.made.guarantee is Guarantee.CERTIFIED_UNDER_MODEL else ""
        if self.rewards.assumption:
            under += f"{' and' if under else ' if'} {self.rewards.assumption}"
        if self.rewards.about_bad:
            under += f"; {self.rewards.about_bad}"
        if self.made.criterion is Criterion.FDR:
            return f"on average, at most {limit} of the arms called good, and of those called bad, are wrong{under}"
        return f"the probability of any wrong verdict is at most {limit}{under}"


LONGEST_NAME = 60
"""Maximum number of characters of a label in a sentence."""


def quoted(label: str) -> str:
    """A label within a sentence: in quotes, on one line, cut if it is long.

    >>> quoted("Spring\\nheadline"), len(quoted(100 * "a"))
    ('“Spring headline”', 62)
    """
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in label).split())
    return f"“{text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + '…'}”"


def rules_fingerprint(policy: Policy) -> str:
    """Hash of the normalised source of the rules. It does not depend on the Python version."""
    sampling, identification = policy.sampling, policy.identification
    functions: list[Any] = [sampling.formula, live_sampling(sampling).formula, identification.formula]
    if isinstance(identification, EvidenceRule):
        functions.append(identification.observe)
    if policy.learner is not None:
        functions += [policy.learner.start, policy.learner.fit, policy.learner.next_round]
    plain = [function for formula in functions for function in functions_in(formula)]
    return SOURCE + source_fingerprint(plain, {"goodarm", *map(package_of, plain)})[:32]


def check_name(name: Any) -> None:
    """Refuse an invalid campaign name."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > 200:
        raise InvalidValue(f"a campaign's name must be a printable string of at most 200 characters; got {name!r}.")
    if name != name.strip():
        raise InvalidValue(f"a campaign's name can't begin or end with blanks; got {name!r}. Use {name.strip()!r}.")
    if name in (".", ".."):
        raise InvalidValue(f"a campaign can't be called {name!r}: browsers drop it from URLs. Use a name with letters.")


def check_terms(terms: Terms) -> None:
    """Refuse invalid combinations."""
    if terms.unanswered not in UNANSWERED:
        raise UnknownName("way to treat unanswered tickets", str(terms.unanswered), UNANSWERED, guess=False)
    if terms.unanswered != "wait" and terms.after is None:
        raise InvalidValue(
            f"unanswered={terms.unanswered!r} needs the time after which a ticket counts as unanswered, "
            "for example after='30min'."
        )
    if terms.unanswered == "zero" and not isinstance(terms.rewards, Bounded):
        raise InvalidValue(
            f"unanswered='zero' is for rewards in [0, 1], the smallest of which is 0; these are {terms.rewards}. "
            "Use 'wait', or 'void' if losses have nothing to do with rewards."
        )
    if terms.unanswered == "zero" and terms.question.no_zero:
        raise InvalidValue(terms.question.no_zero)
    if terms.unanswered == "zero" and terms.paired_with is not None:
        raise InvalidValue(
            "unanswered='zero' would count a lost result of the control as failed, in favour of every arm. Use 'wait', "
            "or 'void' if losses have nothing to do with results."
        )
    if terms.units is not None and (terms.after is not None or terms.unanswered != "wait"):
        raise InvalidValue(
            "units have no unanswered tickets: the window closes each unit, and one without rows counts as 0. Pass "
            "window='7d' in place of after and unanswered."
        )
    if not 0.0 <= terms.reserve < 1.0:
        raise InvalidValue(f"reserve must lie in [0, 1): a share of delta kept for later arms; got {terms.reserve!r}.")
    _check_model(terms.made, terms.arms)
    _check_goal(terms)
    check_costs(terms.made, terms.costs or (), terms.budget)


def _check_goal(terms: Terms) -> None:
    """Refuse a `stop_after` that the campaign can't reach."""
    if terms.stop_after is None:
        return
    if terms.made.guarantee is Guarantee.NONE:
        raise InvalidValue(f"stop_after counts good verdicts, and {terms.policy} gives none. Leave one of them out.")
    if terms.stop_after > len(terms.judged) and not terms.reserve:
        raise InvalidValue(
            f"stop_after={terms.stop_after} good arms can't be found among {len(terms.judged)}. Ask for fewer, or keep "
            "a share of delta for arms that are added later (reserve=0.2)."
        )


def _check_model(policy: Policy, arms: Sequence[ArmEntry]) -> None:
    if policy.model is not None and any(arm.features is None for arm in arms):
        raise InvalidValue(
            f"{policy.name} has a model of the arms, which needs the features of every arm. Add features to each arm."
        )


def _check_delta(delta: float) -> None:
    if 0.0 < delta < LEAST_DELTA:
        raise InvalidValue(
            f"delta must be at least {LEAST_DELTA:g}; got {delta}. Smaller values are below the precision of floats."
        )


def _on_cases(
    given: CasesGiven | None, rewards: Rewards, arms: list[ArmEntry], scores: ScoresGiven | None, repeats: int
) -> tuple[CaseSet | None, Rewards, list[ArmEntry]]:
    """The test set, the rewards on it, and the arms with their scores."""
    if given is None:
        cases = CaseSet(rewards.count) if isinstance(rewards, GradedCases) else None
    else:
        cases = read_cases(given)
    if cases is None:
        if scores is not None:
            raise InvalidValue("scores require a fixed test set. Name its cases: cases=500, or their ids.")
        if repeats > 1:
            raise InvalidValue("repeats require a fixed test set. Name its cases: cases=500, or their ids.")
        return None, rewards, arms
    if scores is not None:
        ordered = read_scores(scores, [arm.id for arm in arms], cases)
        arms = read_arms([{**arm.as_json(), "scores": ordered[arm.id]} for arm in arms])
    if any(arm.scores is not None for arm in arms):
        check_scores(arms, cases.count)
        allowed = (Bounded(), Cases(cases.count), GradedCases(cases.count), ScoredCases(cases.count))
        if rewards not in allowed:
            raise InvalidValue(f"on a fixed test set a label lies between 0 and 1; got rewards={rewards!r}.")
        return cases, ScoredCases(cases.count), arms
    if given is None and repeats == 1:
        return cases, rewards, arms
    graded = GradedCases(cases.count)
    if rewards not in (Bounded(), Cases(cases.count), graded):
        raise InvalidValue(
            f"on a fixed test set of {cases.count:,} cases a reward is 0 (failed) or 1 (passed), or lies in between "
            f"with rewards={graded!r}; got rewards={rewards!r}."
        )
    return cases, graded if rewards == graded or repeats > 1 else Cases(cases.count), arms


def check_scores(arms: Sequence[ArmEntry], cases: int) -> None:
    """Refuse arms without a score for every case."""
    for arm in arms:
        if len(arm.scores or "") != cases:
            raise InvalidValue(
                f"arm {arm.id!r} has {len(arm.scores or ''):,} scores, and there are {cases:,} cases. Give one score "
                "for every arm and case."
            )


def _default_on(rewards: Rewards, policy: str | Policy) -> str | Policy:
    """The default policy, with `bet-mixture` where `gap-mixture` can't be used: graded results, and no ceiling."""
    unsuited = isinstance(rewards, NonNegative) or type(rewards) is GradedCases
    return BY_BETS if unsuited and policy == LIVE_POLICY else policy


def agreed(
    arms: ArmsGiven,
    question: Question,
    delta: float | str,
    policy: str | Policy,
    rewards: Rewards | str,
    horizon: int | None,
    reserve: float,
    after: float | str | timedelta | None,
    unanswered: str,
    seed: int,
    metadata: Mapping[str, Any] | None,
    criterion: str | None,
    cases: CasesGiven | None = None,
    stop_after: int | None = None,
    scores: ScoresGiven | None = None,
    repeats: int = 1,
    budget: float | None = None,
    per_unit: str | None = None,
    window: float | str | timedelta | None = None,
    unit_limit: float | None = None,
) -> Terms:
    """Check every argument and build the terms."""
    times = check_whole("repeats", repeats, 1, MOST_REPEATS)
    case_set, rewards, entries = _on_cases(cases, read_rewards(rewards), read_arms(arms), scores, times)
    delta, reserve = checked_number("delta", percentage(delta)), checked_number("reserve", reserve)
    _check_delta(delta)
    check_metadata(metadata or {}, "metadata")
    made = evidence_for(question, rewards).policy(_default_on(rewards, policy), rewards, criterion)
    terms = Terms(
        question=question,
        delta=float(delta),
        policy=made.name,
        criterion=str(made.criterion),
        rewards=rewards,
        horizon=None if horizon is None else check_whole("horizon", horizon, 1, LONGEST_HORIZON),
        reserve=reserve,
        after=read_duration(after),
        unanswered=unanswered,
        seed=check_whole("seed", seed, 0),
        metadata=dict(metadata or {}),
        arms=tuple(entries),
        key=os.urandom(8).hex(),
        version=__version__,
        rules=rules_fingerprint(made),
        cases=case_set,
        stop_after=None if stop_after is None else check_whole("stop_after", stop_after, 1),
        repeats=times,
        budget=None if budget is None else float(checked_number("budget", budget)),
        units=agreed_units(per_unit, window, unit_limit, question, rewards),
    )
    question.check([arm.id for arm in terms.arms], [arm.id for arm in terms.arms if arm.weight is not None])
    terms.evidence.check(made, terms.problem)
    check_terms(terms)
    terms.problem.check_sums(horizon or 1)
    return terms
