"""Summary of a comparison: one line per policy, for tables, JSON and programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from goodarm.informed import informed_limit
from goodarm.simulation.runs import Answers, Estimate, Runs
from goodarm.simulation.specification import Specification
from goodarm.simulation.tables import PER_POLICY, ResultTable
from goodarm.wire import jsonable

if TYPE_CHECKING:
    from goodarm.simulation.compare import Comparison, ComparisonRequest


class PolicySummary(NamedTuple):
    """One policy over its finished runs; `output_at[k]` is tau_{k+1}, over the runs that reached it."""

    policy: str
    guarantee: str
    criterion: str
    promise: str
    runs: int
    exploit_score: Estimate
    share_of_ceiling: float
    share_of_limit: float
    share_of_informed_limit: float  # NaN unless requested
    stopped_at: Estimate
    output_at: list[Estimate]
    found: float
    wrong_runs: int
    false_good: int
    false_bad: int
    rounds_per_second: float
    answers: Answers | None = None  # with `stop_after`
    spent: Estimate | None = None  # if samples have costs or runs a budget
    half_found: float = math.nan  # likewise: median over runs of the money spent until half of the good arms were found


class Summary(NamedTuple):
    """A whole comparison; `criterion` lists the criteria of its policies.

    `ceiling`, `limit` and `good_arms` are means over the runs of the policy with the most runs; `informed_limit` is
    that of the first run's means, NaN unless requested.
    """

    environment: str
    reading: str
    reference: str
    arms: int
    threshold: float
    horizon: int
    runs: int
    seed: int
    delta: float
    criterion: str
    good_arms: float
    ceiling: float
    limit: float
    informed_limit: float
    compared: list[str]  # the requested policies
    policies: list[PolicySummary]
    interrupted: bool
    stop_after: int | None = None
    question: dict[str, Any] = {}  # noqa: RUF012  never written to
    setting: str = ""  # the question in words
    money: dict[str, Any] | None = None  # costs and budget; None without either


class _Bounds(NamedTuple):
    ceiling: float
    limit: float
    informed: float


def summarise(results: Comparison) -> Summary:
    """Summarise the finished runs on the first environment; without any, means are NaN."""
    spec = results.request.specs[0]
    bounds = _bounds(results.finished, results.request.informed)
    most = max(results.finished, key=len, default=None)
    ceiling, limit, informed = bounds[len(most)] if most else _Bounds(math.nan, math.nan, math.nan)
    return Summary(
        environment=spec.environment.name,
        reading=spec.environment.reading,
        reference=spec.environment.reference,
        arms=spec.environment.arms,
        threshold=spec.question.bar,
        horizon=spec.horizon,
        runs=results.request.runs,
        seed=spec.seed,
        delta=spec.problem.delta,
        criterion=", ".join(sorted({str(each.policy.criterion) for each in results.request.specs})),
        good_arms=_good_arms(most) if most else math.nan,
        ceiling=ceiling,
        limit=limit,
        informed_limit=informed,
        compared=[each.policy.name for each in results.request.specs],
        policies=[_policy(runs, bounds[len(runs)]) for runs in results.finished],
        interrupted=results.interrupted,
        stop_after=spec.stop_after,
        question=spec.question.as_json(),
        setting=spec.question.setting,
        money=money_of(spec),
    )


def money_of(spec: Specification) -> dict[str, Any] | None:
    """The costs and the budget of a simulation; None without either."""
    if not spec.costs and spec.budget is None:
        return None
    costs = spec.costs or (1.0,)
    return {"least_cost": min(costs), "largest_cost": max(costs), "budget": spec.budget}


def table_of(summaries: Mapping[Any, Summary], finished: list[tuple[Any, Runs]]) -> ResultTable:
    """The lines of all environments as a table; the columns are `PER_POLICY`."""
    by_name = {(setting, line.policy): line for setting, each in summaries.items() for line in each.policies}
    rows = [_row(setting, summaries[setting], by_name[setting, runs.policy], runs) for setting, runs in finished]
    return ResultTable({name: np.array([row[name] for row in rows]) for name in PER_POLICY}, PER_POLICY)


def _row(setting: Any, whole: Summary, line: PolicySummary, runs: Runs) -> dict[str, Any]:
    first = line.output_at[0] if line.output_at else Estimate(math.nan, math.nan, math.nan, 0)
    return {
        "setting": setting,
        "environment": whole.environment,
        "policy": line.policy,
        "guarantee": line.guarantee,
        "criterion": line.criterion,
        "arms": whole.arms,
        "good_arms": whole.good_arms,
        "threshold": whole.threshold,
        "horizon": whole.horizon,
        "delta": whole.delta,
        "runs": line.runs,
        "exploit_score": line.exploit_score.mean,
        "exploit_score_low": line.exploit_score.low,
        "exploit_score_high": line.exploit_score.high,
        "share_of_ceiling": line.share_of_ceiling,
        "share_of_limit": line.share_of_limit,
        "share_of_informed_limit": line.share_of_informed_limit,
        "found": line.found,
        "first_good": first.mean,
        "stopped_at": line.stopped_at.mean,
        "stopped_runs": line.stopped_at.runs,
        "wrong_runs": line.wrong_runs,
        "false_good": line.false_good,
        "false_bad": line.false_bad,
        "reward": runs.reward.mean,
        "regret": runs.regret.mean,
        "rounds_per_second": line.rounds_per_second,
    }


def about(request: ComparisonRequest) -> dict[str, Any]:
    """The part of a comparison's JSON that identifies it before it is played, for one environment."""
    spec = request.specs[0]
    return {
        "environment": spec.environment.name,
        **spec.question.as_json(),
        "horizon": spec.horizon,
        "runs": request.runs,
        "seed": spec.seed,
        "compared": [each.policy.name for each in request.specs],
        **({} if request.goal == "reward" else {"delta": spec.problem.delta}),
        **({} if spec.stop_after is None else {"stop_after": spec.stop_after}),
        **(money_of(spec) or {}),
    }


def as_json(summary: Summary) -> dict[str, Any]:
    """The object that `goodarm compare --json` prints. After Ctrl-C it has the number of finished runs per policy."""
    first, then = ("environment", "reading", "arms", "good_arms"), ("horizon", "runs", "seed", "delta", "criterion")
    head = {key: getattr(summary, key) for key in first} | summary.question | (summary.money or {})
    head |= {key: getattr(summary, key) for key in (*then, "ceiling", "limit")}
    if not math.isnan(summary.informed_limit):
        head["informed_limit"] = summary.informed_limit
    if summary.stop_after is not None:
        head["stop_after"] = summary.stop_after
    head["compared"] = summary.compared
    if summary.interrupted:
        head["interrupted"] = {each.policy: each.runs for each in summary.policies}
    return head | {"policies": [_policy_as_json(each) for each in summary.policies]}


def _policy(runs: Runs, bounds: _Bounds) -> PolicySummary:
    score = runs.exploit_score
    return PolicySummary(
        policy=runs.policy,
        guarantee=str(runs.guarantee),
        criterion=str(runs.criterion),
        promise=runs.spec.policy.promise,
        runs=len(runs),
        exploit_score=score,
        share_of_ceiling=_ratio(score.mean, bounds.ceiling),
        share_of_limit=_ratio(score.mean, bounds.limit),
        share_of_informed_limit=_ratio(score.mean, bounds.informed),
        stopped_at=runs.stopped_at,
        output_at=runs.output_at,
        found=runs.found.mean,
        wrong_runs=runs.wrong_runs,
        false_good=runs.false_good,
        false_bad=runs.false_bad,
        rounds_per_second=runs.rounds_per_second,
        answers=runs.answers,
        spent=runs.spent if money_of(runs.spec) else None,
        half_found=float(np.median(runs.spent_to_find(0.5))) if money_of(runs.spec) else math.nan,
    )


def _policy_as_json(policy: PolicySummary) -> dict[str, Any]:
    score, stopped = policy.exploit_score, policy.stopped_at
    own = policy._asdict()
    del own["runs"], own["promise"]
    if math.isnan(policy.share_of_informed_limit):
        del own["share_of_informed_limit"]
    answers, spent, half = own.pop("answers"), own.pop("spent"), own.pop("half_found")
    if answers is not None:
        own["answers"] = answers._asdict()
    if spent is not None:
        own["spent"] = {"mean": spent.mean, "low": spent.low, "high": spent.high}
        own["spent_to_find_half"] = jsonable(half)
    return own | {
        "exploit_score": {"mean": score.mean, "low": score.low, "high": score.high},
        "stopped_at": {"mean": stopped.mean, "runs": stopped.runs},
        "output_at": [{"mean": each.mean, "runs": each.runs} for each in policy.output_at],
    }


def _bounds(finished: tuple[Runs, ...], informed: bool) -> dict[int, _Bounds]:
    """Ceiling and limits by number of runs, computed once, because run r has the same means under every policy."""
    by_length = {len(runs): runs for runs in finished}
    known = _informed(finished[0]) if informed and finished else math.nan
    return {length: _Bounds(runs.ceiling, runs.limit, known) for length, runs in by_length.items()}


def _informed(runs: Runs) -> float:
    """The informed limit of the first run's means, a single draw if each run draws new means."""
    problem = runs.spec.problem
    return informed_limit(runs.runs[0].means, problem.threshold, problem.delta, runs.spec.horizon)


def _good_arms(runs: Runs) -> float:
    bar = runs.spec.question.bar
    return float(np.mean([(run.means >= bar).sum() for run in runs.runs]))


def _ratio(value: float, whole: float) -> float:
    return value / whole if whole > 0.0 else math.nan
