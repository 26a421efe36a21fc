"""Many runs of one policy on one environment, and their statistics with uncertainties."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from html import escape
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import InvalidValue, ModelWarning
from goodarm.models.misfit import ALARM, together
from goodarm.numerics import clopper_pearson, student_quantile
from goodarm.scores import Score, first_good_verdict, regret, score
from goodarm.simulation.declared import warn_of_scale
from goodarm.simulation.run import Run
from goodarm.simulation.specification import Specification
from goodarm.simulation.tables import LEARNED, PER_ARM, PER_POINT, PER_RUN, ResultTable, WithTables
from goodarm.theory import exploit_ceiling, oracle_limit
from goodarm.verdict import Basis, Criterion, Guarantee, Verdict

CONFIDENCE = 0.95

FLOATS = ("means", "evidence", "reward", "trajectory", "misfit", "shortfalls")
"""Fields of a run that may hold NaN."""


class Estimate(NamedTuple):
    """A mean over `runs` runs with its 95% interval (Student's t)."""

    mean: float
    low: float
    high: float
    runs: int


def estimate(values: NDArray[np.float64]) -> Estimate:
    """Mean and interval of one number per run.

    >>> found = estimate(np.array([1.0, 2.0, 3.0]))
    >>> found.mean, round(found.low, 6), round(found.high, 6), found.runs
    (2.0, -0.484138, 4.484138, 3)
    """
    runs = int(values.size)
    if runs == 0:
        return Estimate(math.nan, math.nan, math.nan, 0)
    mean = float(values.mean())
    if runs == 1:
        return Estimate(mean, -math.inf, math.inf, 1)
    half = student_quantile(0.5 + CONFIDENCE / 2.0, runs - 1) * float(values.std(ddof=1)) / math.sqrt(runs)
    return Estimate(mean, mean - half, mean + half, runs)


class Answers(NamedTuple):
    """Number of runs with `stop_after` by outcome. Each run counts in one of the first three.

    found : `stop_after` arms were called good
    fewer : every arm is decided, and fewer were called good
    open  : the run reached its horizon before either
    wrong : a bad arm was called good, or fewer arms were called good although enough are good
    """

    found: int
    fewer: int
    open: int
    wrong: int


@dataclass(frozen=True, eq=False)
class Runs(WithTables):
    """The runs of a simulation, in the order of their numbers.

    >>> from goodarm import simulate
    >>> found = simulate("hdoc", "kano-1", runs=3, seed=1)
    >>> found.table["found"].tolist(), found == simulate("hdoc", "kano-1", runs=3, seed=1)
    ([5, 5, 5], True)
    """

    table_names: ClassVar[tuple[str, ...]] = ("table", "verdicts", "trajectories")

    spec: Specification
    runs: tuple[Run, ...]

    def __len__(self) -> int:
        return len(self.runs)

    def __eq__(self, other: object) -> bool:
        """Whether specification and results are the same; the duration may differ."""
        if not isinstance(other, Runs):
            return NotImplemented
        return (
            len(self) == len(other)
            and self.spec == other.spec
            and all(_same_run(one, two) for one, two in zip(self.runs, other.runs, strict=True))
        )

    def __hash__(self) -> int:
        return hash((self.policy, self.spec.environment.name, self.spec.seed, len(self)))

    def __repr__(self) -> str:
        runs = f"{len(self)} run{'s' * (len(self) != 1)}"
        return (
            f"Runs({self.policy} on {self.spec.environment.name}: {runs} of at most {self.spec.horizon:,} "
            f"rounds, {self.found.mean:.1f} good arms found per run, {self.wrong_runs} wrong, {self.guarantee}, "
            f"{self.criterion} at delta {self.spec.problem.delta:g})"
        )

    @property
    def policy(self) -> str:
        return self.spec.policy.name

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of every verdict in these runs."""
        return self.spec.policy.guarantee

    @property
    def criterion(self) -> Criterion:
        """The error that the guarantee bounds."""
        return self.spec.policy.criterion

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """The score of each run: exploit score, good arms found, wrong verdicts."""
        bar, horizon = self.spec.question.bar, self.spec.horizon
        return tuple(score(r.means, r.verdicts, r.verdict_rounds, bar, horizon) for r in self.runs)

    @cached_property
    def exploit_scores(self) -> NDArray[np.float64]:
        """Per run: sum over the arms called good of (T - t_i)(mu_i - xi); a bad arm called good subtracts."""
        return np.array([each.exploit_score for each in self.scores])

    @property
    def exploit_score(self) -> Estimate:
        return estimate(self.exploit_scores)

    @cached_property
    def ceiling(self) -> float:
        """Mean over runs of T * sum max(mu_i - xi, 0), the score if every good arm were known from the start."""
        return self._mean_over_runs(lambda r: exploit_ceiling(r.means, self.spec.question.bar, self.spec.horizon))

    @cached_property
    def limit(self) -> float:
        """Mean over runs of the score of an oracle that knows the means and still has to collect the evidence.

        NaN if verdicts depend on more than an arm's own mean.
        """
        problem = self.spec.problem
        if not self.spec.evidence.own_mean:
            return math.nan
        return self._mean_over_runs(
            lambda r: oracle_limit(
                r.means,
                problem.threshold,
                problem.delta,
                self.spec.horizon,
                divergence=problem.rewards.divergence,
            )
        )

    def _mean_over_runs(self, value: Any) -> float:
        return float(np.mean([value(run) for run in self.runs]))

    @property
    def stopped_at(self) -> Estimate:
        """tau_stop over the runs that ended by themselves: every arm was decided, or enough good ones were found."""
        return estimate(np.array([float(r.rounds) for r in self.runs if r.open_arms == 0 or self._enough(r)]))

    def _enough(self, run: Run) -> bool:
        wanted = self.spec.stop_after
        return wanted is not None and int((run.verdicts > 0).sum()) >= wanted

    @cached_property
    def answers(self) -> Answers | None:
        """Outcomes of runs with `stop_after`; None without it.

        >>> from goodarm import bernoulli, simulate
        >>> one = simulate("apgai+kt", bernoulli([0.9, 0.1, 0.1], 0.5), runs=5, stop_after=1)
        >>> none = simulate("apgai+kt", bernoulli([0.1, 0.1, 0.1], 0.5), runs=5, stop_after=1)
        >>> one.answers, none.answers
        (Answers(found=5, fewer=0, open=0, wrong=0), Answers(found=0, fewer=5, open=0, wrong=0))
        """
        wanted = self.spec.stop_after
        if wanted is None:
            return None
        ends = [(self._enough(run), run.open_arms == 0) for run in self.runs]
        wrong = 0
        for run, each, (enough, decided) in zip(self.runs, self.scores, ends, strict=True):
            truly = int((run.means >= self.spec.question.bar).sum())
            wrong += (enough and each.false_good > 0) or (
                decided and not enough and (each.false_good > 0 or truly >= wanted)
            )
        return Answers(
            found=sum(enough for enough, _ in ends),
            fewer=sum(decided and not enough for enough, decided in ends),
            open=sum(not decided and not enough for enough, decided in ends),
            wrong=int(wrong),
        )

    @cached_property
    def output_at(self) -> list[Estimate]:
        """tau_1, tau_2, ...: the round of the k-th good verdict, over the runs that reached it."""
        times = [np.sort(r.verdict_rounds[r.verdicts == 1]) for r in self.runs]
        most = max((len(t) for t in times), default=0)
        return [estimate(np.array([float(t[k]) for t in times if len(t) > k])) for k in range(most)]

    @property
    def spent(self) -> Estimate:
        """Total cost of the samples of each run; the number of rounds if each sample costs 1."""
        return estimate(np.array([run.spent for run in self.runs]))

    def spent_to_find(self, share: float = 0.5) -> NDArray[np.float64]:
        """Per run, the money spent by the time this share of its good arms was called good; inf if that never happened.

        >>> from goodarm import bernoulli, simulate
        >>> two = bernoulli([1.0, 1.0], 0.5)
        >>> simulate("value+gap-mixture", two, cost=[1, 20]).spent_to_find(0.5).tolist()
        [30.0]
        """
        if not 0.0 < share <= 1.0:
            raise InvalidValue(f"share, of the good arms, must lie in (0, 1]; got {share!r}.")
        found = []
        for run in self.runs:
            good = run.means >= self.spec.question.bar
            paid = np.sort(run.verdict_spent[good & (run.verdicts > 0)])
            wanted = math.ceil(share * int(good.sum()) - 1e-9)
            found.append(math.inf if wanted > paid.size else float(paid[wanted - 1]) if wanted else 0.0)
        return np.array(found)

    @property
    def found(self) -> Estimate:
        """Good arms called good, per run."""
        return estimate(np.array([float(each.found) for each in self.scores]))

    @cached_property
    def false_good(self) -> int:
        """Bad arms called good, over all runs."""
        return sum(each.false_good for each in self.scores)

    @cached_property
    def false_bad(self) -> int:
        """Good arms called bad, over all runs."""
        return sum(each.false_bad for each in self.scores)

    @cached_property
    def wrong_runs(self) -> int:
        """Number of runs with at least one wrong verdict. Certified rules keep their share below delta."""
        return sum(each.wrong > 0 for each in self.scores)

    @property
    def wrong_share(self) -> Estimate:
        """Share of runs with a wrong verdict, with its Clopper-Pearson interval."""
        low, high = clopper_pearson(self.wrong_runs, len(self.runs), CONFIDENCE)
        return Estimate(self.wrong_runs / len(self.runs), low, high, len(self.runs))

    @property
    def misfitting(self) -> int:
        """Runs in which a model of the arms does not fit the rewards."""
        return sum(run.misfit > ALARM for run in self.runs)

    @property
    def misfit(self) -> float:
        """The model's lack of fit as a standard score, of the worst run or of all runs together; nan without one."""
        each = [run.misfit for run in self.runs if not math.isnan(run.misfit)]
        all_of_them = together([run.shortfalls for run in self.runs if run.shortfalls.size])
        return max([*each, *([] if math.isnan(all_of_them) else [all_of_them])], default=math.nan)

    def warn(self) -> None:
        """Warn if a model does not fit, or if rewards scatter more than declared."""
        warn_of_scale(self.spec, self.runs, stacklevel=4)
        if self.misfit > ALARM:
            where = f"in {self.misfitting} of {len(self)} runs" if self.misfitting else "in all runs together"
            advice = (
                "its verdicts have no guarantee here. Decide by each arm's own evidence, for example with '+kt', and "
                "use @mixed."
                if self.spec.policy.decided_by is Basis.MODEL
                else "verdicts use own evidence and remain valid, but the model guides the pulls badly. Use @mixed."
            )
            warnings.warn(
                f"{self.policy}: the model does not fit the arms that were pulled {where} "
                f"(up to {self.misfit:.0f} standard errors; chance stays below {ALARM:.0f}): {advice}",
                ModelWarning,
                stacklevel=3,
            )

    @property
    def reward(self) -> Estimate:
        """Sum of all rewards."""
        return estimate(np.array([r.reward for r in self.runs]))

    @property
    def regret(self) -> Estimate:
        """Rounds * largest mean - sum of the means of the pulled arms: the loss from the choices, without noise."""
        return estimate(np.array([regret(r.means, r.pulls) for r in self.runs]))

    @property
    def rounds_per_second(self) -> float:
        """Rounds per second of one thread: the median over the runs, to exclude compilation in the first one."""
        return float(np.median([r.rounds / max(r.seconds, 1e-9) for r in self.runs]))

    @cached_property
    def table(self) -> ResultTable:
        """One row per run; the columns are `PER_RUN`."""
        bar = self.spec.question.bar
        columns: dict[str, Any] = {
            "run": [run.number for run in self.runs],
            "exploit_score": self.exploit_scores,
            "good_arms": [int((run.means >= bar).sum()) for run in self.runs],
            **{
                name: [getattr(each, name) for each in self.scores]
                for name in ("found", "false_good", "false_bad", "decided")
            },
            "first_good": [first_good_verdict(run.verdicts, run.verdict_rounds) for run in self.runs],
            "rounds": [run.rounds for run in self.runs],
            "spent": [run.spent for run in self.runs],
            "reward": [run.reward for run in self.runs],
            "regret": [regret(run.means, run.pulls) for run in self.runs],
        }
        return ResultTable(columns, PER_RUN)

    @property
    def verdicts(self) -> ResultTable:
        """One row per arm and run; the columns are `PER_ARM`. `columns` gives the same data in blocks."""
        (block,) = self.columns(max(1, len(self.runs) * self.spec.environment.arms))
        size = len(block["arm"])
        return ResultTable({name: _column(value, size) for name, value in block.items()}, PER_ARM | self.metric_columns)

    @property
    def trajectories(self) -> ResultTable:
        """One row per run and recorded point (with `trajectory=`): `PER_POINT`, alpha, beta, other learned numbers.

        >>> from goodarm import simulate
        >>> simulate("hdoc", "kano-1", horizon=200, trajectory=2, seed=1).trajectories["round"].tolist()
        [100, 200]
        """
        points = np.concatenate([run.trajectory for run in self.runs])
        learned = list(dict.fromkeys(("alpha", "beta", *self.runs[0].learned)))
        columns: dict[str, Any] = {
            "run": np.repeat([r.number for r in self.runs], [len(r.trajectory) for r in self.runs])
        }
        for j, name in enumerate(("round", "good", "bad", "reward", *learned)):
            columns[name] = points[:, j].astype(np.int64) if name in ("round", "good", "bad") else points[:, j]
        meanings = {name: LEARNED.get(name, "learned from all arms") for name in learned}
        return ResultTable(columns, PER_POINT | meanings)

    def plot(self, kind: str = "verdicts", *, arm: int | None = None) -> Any:
        """A matplotlib figure: "verdicts" over time, the "score" over the horizon, "learning" or "bound".

        "learning" shows alpha and beta over the rounds, "bound" one arm of the first run along its trajectory; see
        `Comparison.plot`.
        """
        return figures().draw_runs(self, kind, arm)

    def look(self, arm: int | None = None) -> Any:
        """The learned bounds, as an object with a notebook display: `plot("learning")` and `plot("bound")`."""
        return figures().learned_bounds(self, arm)

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.table._repr_html_()}"

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per arm and run.

        environment, policy, guarantee, criterion, decided_by, seed, run, arm, label, mean, verdict, verdict_round,
        pulls.
        `label` is None for arms without names, and `verdict_round` is None while undecided. `columns` is faster.
        """
        for block in self.columns():
            size = len(block["arm"])
            columns = [v.tolist() if isinstance(v, np.ndarray) else [v] * size for v in block.values()]
            for row in zip(*columns, strict=True):
                yield dict(zip(block, row, strict=True))

    def columns(self, rows: int = 1_000_000) -> Iterator[dict[str, Any]]:
        """The rows as columns, in blocks of whole runs, about `rows` rows each: arrays, or one value for all rows.

        Arms never become Python objects. Undecided arms are masked in `verdict_round`.
        """
        arms = self.spec.environment.arms
        labels = np.array(self.spec.environment.labels) if self.spec.environment.labels else None
        names = np.array([Verdict(v).name.lower() for v in (0, 1, -1)])  # indexed by the verdict; index -1 is the last
        step = max(1, rows // arms)
        for first in range(0, len(self.runs), step):
            runs = self.runs[first : first + step]
            rounds = np.concatenate([run.verdict_rounds for run in runs])
            yield {
                "environment": self.spec.environment.name,
                "policy": self.policy,
                "guarantee": str(self.guarantee),
                "criterion": str(self.criterion),
                "decided_by": str(self.spec.policy.decided_by),
                "seed": self.spec.seed,
                "run": np.repeat([run.number for run in runs], arms),
                "arm": np.tile(np.arange(arms), len(runs)),
                "label": None if labels is None else np.tile(labels, len(runs)),
                "mean": np.concatenate([run.means for run in runs]),
                "verdict": names[np.concatenate([run.verdicts for run in runs])],
                "verdict_round": np.ma.masked_equal(rounds, 0),
                "pulls": np.concatenate([run.pulls for run in runs]),
                **self._of_metrics(runs),
            }

    @property
    def metric_columns(self) -> dict[str, str]:
        """Further columns of `verdicts` if rewards have several metrics, with their meanings."""
        names = self.spec.question.names
        failed = {"failed": "metric that a bad verdict names; empty without one"} if names else {}
        return failed | {f"mean of {name}": f"true mean of {name}" for name in names}

    def _of_metrics(self, runs: tuple[Run, ...]) -> dict[str, NDArray[Any]]:
        if not self.metric_columns:
            return {}
        names = np.array([*self.spec.question.names, ""])  # so that -1 is the last
        means = np.concatenate([run.metric_means for run in runs], axis=1)
        failed = names[np.concatenate([run.failed for run in runs])]
        return dict(zip(self.metric_columns, [failed, *means], strict=True))


def _column(value: Any, size: int) -> NDArray[Any]:
    """A value that is the same in all rows as a column."""
    if isinstance(value, np.ndarray):
        return value
    return np.full(size, value, dtype=None if isinstance(value, int) else object)


def figures() -> Any:
    """The report module, imported when a figure is drawn."""
    return import_module("goodarm.report.comparison_figures")


def _same_run(one: Run, other: Run) -> bool:
    """Equal in everything but the seconds."""
    names = [each.name for each in fields(Run) if each.name != "seconds"]
    return all(np.array_equal(getattr(one, n), getattr(other, n), equal_nan=n in FLOATS) for n in names)
