"""`compare`: several policies on one or more environments, played on the same rewards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, ClassVar

import numpy as np

from goodarm.engine.evidence import evidence_for
from goodarm.environments import Environment
from goodarm.environments.names import environment as find_environment
from goodarm.errors import InvalidValue, UnknownName
from goodarm.policies import DEFAULT_POLICY, LIVE_POLICY, REWARD_POLICIES, Policy, reward_policy
from goodarm.problem import Bounded
from goodarm.question import BarsGiven
from goodarm.simulation.progress import Progress, watched
from goodarm.simulation.run import Run
from goodarm.simulation.runs import Runs, estimate, figures
from goodarm.simulation.simulate import check_workload, collect
from goodarm.simulation.specification import CostsGiven, Specification, check_policy, specify
from goodarm.simulation.summary import Summary, summarise, table_of
from goodarm.simulation.tables import PER_DIFFERENCE, PER_POLICY_RUN, PER_RUN, ResultTable, WithTables
from goodarm.verdict import Criterion

GOOD_ARMS, REWARD = "good-arms", "reward"
GOALS = (GOOD_ARMS, REWARD)
"""Goals of a comparison: finding good arms, or collecting reward."""

DEFAULT_POLICIES = (DEFAULT_POLICY, "hdoc")
"""Default policies of a comparison: the recommended policy and a known baseline."""

LIVE_POLICIES = (LIVE_POLICY, "ucb+gap-mixture")
"""Default policies with several bars, costs or a budget."""

POINTS = 60
"""Number of recorded rounds per run for the goal "reward", used by the figure."""

SHOWN = (
    "setting",
    "policy",
    "guarantee",
    "exploit_score",
    "exploit_score_low",
    "exploit_score_high",
    "share_of_limit",
    "found",
    "good_arms",
    "first_good",
    "wrong_runs",
    "runs",
)
"""Columns shown by default; `Comparison.table` has all."""


Environments = str | Environment | Sequence[str | Environment] | Mapping[Any, str | Environment]
"""One environment, a list of them, or a sweep: a mapping from the swept value to the environment."""


@dataclass(frozen=True)
class ComparisonRequest:
    """A comparison to play. Nothing is checked or played until `specs` is read.

    >>> [spec.policy.name for spec in ComparisonRequest("kano-1", horizon=1000).specs]
    ['value', 'hdoc']
    """

    environments: Environments
    policies: tuple[str | Policy, ...] | None = None
    horizon: int | None = None
    runs: int = 100
    seed: int = 0
    delta: float = 0.05
    threshold: float | str | None = None
    criterion: str | Criterion | None = None
    goal: str = GOOD_ARMS
    workers: int = 1
    backend: str = "threading"
    informed: bool = False
    stop_after: int | None = None
    bars: BarsGiven | None = None
    cost: CostsGiven | None = None
    budget: float | None = None

    @cached_property
    def settings(self) -> dict[Any, Environment]:
        """The environments, each under the value or name that identifies it."""
        given = self.environments
        if isinstance(given, Mapping):
            pairs = list(given.items())
        elif isinstance(given, Sequence) and not isinstance(given, str):
            pairs = [(None, each) for each in given]
        else:
            pairs = [(None, given)]
        if not pairs:
            raise InvalidValue("a comparison needs at least one environment; got none. Name one, for example 'kano-1'.")
        found = [(label, find_environment(each, threshold=self.threshold, bars=self.bars)) for label, each in pairs]
        return {_plain(label): each for label, each in _labelled(found)}

    @cached_property
    def specs(self) -> tuple[Specification, ...]:
        """One specification per environment and policy, fully checked."""
        if self.goal not in GOALS:
            raise UnknownName("goal", self.goal, GOALS)
        if self.goal == REWARD and self.stop_after is not None:
            raise InvalidValue(
                "stop_after counts good verdicts, but the goal 'reward' gives none. Leave one of them out."
            )
        check_workload(self.runs, self.workers, self.backend)
        for policy in self.policies or ():
            check_policy(policy)
        for each in self.settings.values():
            if self.informed and not isinstance(each.rewards, Bounded):
                raise InvalidValue(
                    f"the informed limit is computed only for rewards in [0, 1]; those of {each.name} are "
                    f"{each.rewards}. "
                    "Leave informed out."
                )
        found = tuple(spec for each in self.settings.values() for spec in self._on(each))
        for spec in found:
            if spec.live and self.goal == REWARD:
                raise InvalidValue(
                    "the goal 'reward' sums one number per pull; bars, cost and budget apply only to finding good "
                    "arms. Leave the goal out."
                )
            if self.informed and not spec.evidence.own_mean:
                raise InvalidValue(
                    f"the informed limit is computed only for one threshold; got {spec.question.setting}. Leave "
                    "informed out."
                )
        return found

    def _on(self, environment: Environment) -> list[Specification]:
        default = REWARD_POLICIES if self.goal == REWARD else self._defaults(environment)
        specs = [
            specify(
                self._policy(policy, environment),
                environment,
                horizon=self.horizon,
                seed=self.seed,
                delta=self.delta,
                criterion=self.criterion,
                trajectory=POINTS if self.goal == REWARD else 0,
                stop_after=self.stop_after,
                cost=self.cost,
                budget=self.budget,
            )
            for policy in (default if self.policies is None else self.policies)
        ]
        _check_names([spec.policy.name for spec in specs])
        return specs

    def _defaults(self, environment: Environment) -> tuple[str, ...]:
        """Default policies for this question: live steps need evidence by totals, and costs need an index per arm."""
        own_mean = evidence_for(environment.question, environment.rewards).own_mean
        plain = own_mean and self.cost is None and self.budget is None and not environment.costs
        return DEFAULT_POLICIES if plain else LIVE_POLICIES

    def _policy(self, policy: str | Policy, environment: Environment) -> str | Policy:
        """The policies; with the goal "reward", a policy named without `+` gives no verdicts."""
        if self.goal == REWARD and isinstance(policy, str):
            return reward_policy(policy, rewards=environment.rewards)
        return policy


@dataclass(frozen=True)
class Comparison(WithTables):
    """The finished runs of a comparison, one `Runs` per environment and policy; after Ctrl-C some are missing.

    settings : per entry of `finished`, the environment's name or the swept value

    >>> from goodarm import bernoulli
    >>> sweep = {k: bernoulli([0.9] * (k // 2) + [0.1] * (k // 2), 0.5, horizon=2000) for k in (4, 8)}
    >>> found = compare(sweep, ["hdoc+kt", "hdoc"], runs=5)
    >>> found.table["setting"].tolist(), found.table["found"].tolist()
    ([4, 4, 8, 8], [2.0, 2.0, 4.0, 4.0])
    >>> found.runs_of("hdoc", 8).found.mean
    4.0
    """

    table_names: ClassVar[tuple[str, ...]] = ("table", "runs", "verdicts", "differences")

    request: ComparisonRequest
    finished: tuple[Runs, ...]
    settings: tuple[Any, ...]
    interrupted: bool = False

    def __repr__(self) -> str:
        return f"Comparison of {self._words()}\n{self.table.only(*SHOWN)!r}"

    def _repr_html_(self) -> str:
        return f"<p>Comparison of {escape(self._words())}</p>{self.table.only(*SHOWN)._repr_html_()}"

    def _words(self) -> str:
        policies, settings = len({each.policy for each in self.finished}), len(set(self.settings))
        stopped = ", interrupted" if self.interrupted else ""
        return (
            f"{_counted(policies, 'policy', 'policies')} on {_counted(settings, 'environment', 'environments')}, "
            f"{_counted(self.request.runs, 'run', 'runs')} each on the same rewards, seed {self.request.seed}{stopped}"
        )

    def runs_of(self, policy: str, setting: Any = None) -> Runs:
        """The runs of a policy on an environment, named by its name or swept value if there are several."""
        known = [(each.policy, where) for each, where in zip(self.finished, self.settings, strict=True)]
        wanted = [(name, where) for name, where in known if name == policy and setting in (None, where)]
        if len(wanted) == 1:
            return self.finished[known.index(wanted[0])]
        if wanted:
            settings = ", ".join(repr(where) for _, where in wanted)
            raise InvalidValue(f"{policy} was played on several environments. Name one of {settings}.")
        raise UnknownName(
            "pairing of policy and environment", f"{policy} on {setting}", [f"{p} on {s}" for p, s in known]
        )

    def alone(self) -> Iterator[Comparison]:
        """One comparison per environment."""
        environments = self.request.settings
        for setting, environment in environments.items():
            mine = tuple(each for each, where in zip(self.finished, self.settings, strict=True) if where == setting)
            request = replace(self.request, environments={setting: environment})
            yield Comparison(request, mine, (setting,) * len(mine), self.interrupted)

    @cached_property
    def summaries(self) -> dict[Any, Summary]:
        """Summaries, one per environment."""
        return {next(iter(each.request.settings)): summarise(each) for each in self.alone()}

    @cached_property
    def table(self) -> ResultTable:
        """One row per environment and policy; `table.meanings` describes the columns."""
        return table_of(self.summaries, [(s, r) for s, r in zip(self.settings, self.finished, strict=True)])

    @property
    def runs(self) -> ResultTable:
        """One row per environment, policy and run."""
        pieces = [runs.table for runs in self.finished]
        sizes = [piece.height for piece in pieces]
        columns = {
            "setting": np.repeat(np.array(self.settings), sizes),
            "policy": np.repeat(np.array([runs.policy for runs in self.finished]), sizes),
            **{name: np.concatenate([piece[name] for piece in pieces]) for name in PER_RUN},
        }
        return ResultTable(columns, PER_POLICY_RUN)

    @property
    def verdicts(self) -> ResultTable:
        """One row per environment, policy, run and arm."""
        pieces = [runs.verdicts for runs in self.finished]
        columns: dict[str, Any] = {"setting": np.repeat(np.array(self.settings), [piece.height for piece in pieces])}
        for name in pieces[0]:
            masked = isinstance(pieces[0][name], np.ma.MaskedArray)
            join: Any = np.ma.concatenate if masked else np.concatenate
            columns[name] = join([piece[name] for piece in pieces])
        return ResultTable(columns, {"setting": PER_POLICY_RUN["setting"], **pieces[0].meanings})

    @property
    def differences(self) -> ResultTable:
        """Every policy minus the first one, for every number of `PER_RUN`; see `difference`."""
        names = [name for name in PER_RUN if name not in ("run", "good_arms")]
        tables = [self.difference(name) for name in names]
        return ResultTable({c: np.concatenate([t[c] for t in tables]) for c in PER_DIFFERENCE}, PER_DIFFERENCE)

    def difference(self, number: str = "exploit_score", baseline: str | None = None) -> ResultTable:
        """Every policy minus `baseline`, by default the first one, run by run on the same rewards.

        d_r = x_r(policy) - x_r(baseline); the table has its mean over the runs of both, with Student's 95% interval.
        The
        rewards are shared, so most of the variation between runs cancels, and the interval is narrower than for two
        independent means. `number` is a column of `Runs.table`.

        >>> found = compare("kano-1", ["value", "hdoc"], runs=20, horizon=5000)
        >>> row = next(found.difference("first_good").rows())
        >>> row["policy"], row["baseline"], row["runs"]
        ('hdoc', 'value', 20)
        """
        if number not in PER_RUN or number == "run":
            raise UnknownName("column", number, [name for name in PER_RUN if name != "run"])
        rows: list[tuple[Any, ...]] = []
        for setting in dict.fromkeys(self.settings):
            here = [r for r, where in zip(self.finished, self.settings, strict=True) if where == setting]
            first = self.runs_of(baseline, setting) if baseline else here[0]
            for runs in here:
                if runs is not first:
                    rows.append((setting, runs.policy, first.policy, number, *_paired(runs, first, number)))
        columns = zip(*rows, strict=True) if rows else [()] * len(PER_DIFFERENCE)
        return ResultTable(dict(zip(PER_DIFFERENCE, map(np.array, columns), strict=True)), PER_DIFFERENCE)

    def plot(
        self, kind: str = "verdicts", *, over: str = "setting", number: str = "exploit_score", arm: int | None = None
    ) -> Any:
        """A matplotlib figure. A notebook displays it; elsewhere `figure.savefig("name.png")` writes it.

        kind   : "verdicts" over time; "score", the exploit score over the horizon; "sweep", a number over the swept
                 value; "learning", alpha and beta of each policy over the rounds; "bound", an arm of the first policy's
                 first run along its trajectory: its bounds against Hoeffding's and other certified ones
        over   : for a sweep, the column of `table` along the axis: "setting", "arms", "threshold", "horizon", ...
        number : for a sweep, the column of `Runs.table` whose mean and interval are drawn
        arm    : for "bound", the arm's number; by default the arm called good with the most pulls

        "learning" and "bound" play some runs again, with the same seed and result, to record the data that they draw.
        """
        return figures().draw(self, kind, over, number, arm)


def compare(
    environments: Environments,
    policies: str | Policy | Sequence[str | Policy] | None = None,
    *,
    horizon: int | None = None,
    runs: int = 100,
    seed: int = 0,
    delta: float = 0.05,
    threshold: float | str | None = None,
    criterion: str | Criterion | None = None,
    goal: str = GOOD_ARMS,
    workers: int = 1,
    backend: str = "threading",
    informed: bool = False,
    stop_after: int | None = None,
    bars: BarsGiven | None = None,
    cost: CostsGiven | None = None,
    budget: float | None = None,
    progress: bool | Progress = False,
) -> Comparison:
    """Play every policy on every environment, all on the same rewards. Ctrl-C ends it and keeps the finished runs.

    environments : a name or an environment; a list of them; or a mapping from the swept value to each environment
    policies     : names or policies; by default `value` and `hdoc`; with bars, costs or a budget, `value+gap-mixture`
                   and `ucb+gap-mixture`
    goal         : "good-arms", or "reward": policies named without `+` then give no verdicts
    informed     : also compute the informed limit (`goodarm.theory.informed_limit`), which takes seconds
    progress     : True for a bar in a terminal or notebook, or a function of (what, runs that have just ended)
    The other arguments are those of `simulate`.

    >>> from goodarm import bernoulli
    >>> always = bernoulli([0.0, 1.0], threshold=0.5, horizon=500)  # constant rewards: every run is the same
    >>> results = compare(always, ["hdoc", "hdoc+kt"], runs=5)
    >>> [(runs.policy, len(runs), runs.stopped_at.mean) for runs in results.finished]
    [('hdoc', 5, 46.0), ('hdoc+kt', 5, 16.0)]
    """
    chosen = None if policies is None else (policies,) if not isinstance(policies, Sequence) else tuple(policies)
    if isinstance(policies, str):
        chosen = (policies,)
    request = ComparisonRequest(
        environments=environments,
        policies=chosen,
        horizon=horizon,
        runs=runs,
        seed=seed,
        delta=delta,
        threshold=threshold,
        criterion=criterion,
        goal=goal,
        workers=workers,
        backend=backend,
        informed=informed,
        stop_after=stop_after,
        bars=bars,
        cost=cost,
        budget=budget,
    )
    return play(request, progress)


def play(request: ComparisonRequest, progress: bool | Progress = False) -> Comparison:
    """Play a requested comparison; see `compare`."""
    specs = request.specs
    labels = [label for label in request.settings for _ in range(len(specs) // len(request.settings))]
    several = len(request.settings) > 1
    names = [
        f"{s.policy.name} on {where}" if several else s.policy.name for s, where in zip(specs, labels, strict=True)
    ]
    kept: list[Runs] = []
    stopped = False
    with watched(progress, names, request.runs) as tell:
        for spec, name in zip(specs, names, strict=True):
            finished: list[Run] = []
            stopped = not _collected(spec, request, finished, lambda runs, name=name: tell(name, runs))
            if finished:
                kept.append(Runs(spec, tuple(finished)))
            if stopped:
                break
    for each in kept:
        each.warn()
    return Comparison(request, tuple(kept), tuple(labels[: len(kept)]), stopped)


def _collected(spec: Specification, request: ComparisonRequest, finished: list[Run], tell: Any) -> bool:
    """Fill `finished` batch by batch; returns False if the user stopped it."""
    try:
        collect(spec, request.runs, workers=request.workers, backend=request.backend, progress=tell, finished=finished)
    except KeyboardInterrupt:
        return False
    return True


def _paired(one: Runs, other: Runs, number: str) -> tuple[float, float, float, int]:
    """Mean difference, its interval and the number of common runs, without NaN."""
    mine = dict(zip(one.table["run"].tolist(), one.table[number].tolist(), strict=True))
    theirs = dict(zip(other.table["run"].tolist(), other.table[number].tolist(), strict=True))
    values = np.array([float(mine[run]) - float(theirs[run]) for run in mine if run in theirs])
    mean, low, high, runs = estimate(values[np.isfinite(values)])
    return mean, low, high, runs


def _labelled(found: list[tuple[Any, Environment]]) -> Iterator[tuple[Any, Environment]]:
    """Names as labels if none were given; repeated names are numbered."""
    names = [each.name for _, each in found]
    for place, (label, each) in enumerate(found):
        twice = names.count(each.name) > 1
        yield (label if label is not None else f"{each.name} #{place + 1}" if twice else each.name), each


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _check_names(names: list[str]) -> None:
    if not names:
        raise InvalidValue("a comparison needs at least one policy; got none. Name one, for example 'hdoc'.")
    for name in names:
        if names.count(name) > 1:
            raise InvalidValue(f"policy {name!r} is named twice, perhaps under two spellings. Name each policy once.")


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
