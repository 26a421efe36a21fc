"""Simulated runs with several bars, costs and a budget: those of a campaign, told one reward at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from goodarm import (
    Bars,
    Campaign,
    Environment,
    bernoulli,
    beta,
    compare,
    gaussian,
    learn,
    matrix,
    replay,
    several_metrics,
    simulate,
    table,
)
from goodarm.cli import app
from goodarm.engine import evidence
from goodarm.engine.compile import Patience
from goodarm.engine.live import bars, threshold
from goodarm.environments.names import environment as find_environment
from goodarm.errors import GoodarmError, InvalidValue, UnknownName, UnsoundPairing
from goodarm.question import Amounts, Phrases, Question, Threshold
from goodarm.simulation import live_run
from goodarm.simulation.live_run import LiveRun
from goodarm.simulation.run import Run
from goodarm.simulation.specification import costs_of, specify

BARS = "correct >= 70%, slow <= 20%"
METRICS = {"correct": [0.95, 0.9, 0.3], "slow": [0.02, 0.6, 0.05]}
PROMPTS = several_metrics(METRICS, BARS)
FOUR = bernoulli([0.2, 0.4, 0.6, 0.8], 0.5)
POLICY = "ucb+gap-mixture"


def same(one: Run, other: Run) -> bool:
    arrays = ("means", "verdicts", "verdict_rounds", "pulls", "evidence", "trace", "verdict_spent")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays) and (
        (one.rounds, one.open_arms, one.spent) == (other.rounds, other.open_arms, other.spent)
        and math.isclose(one.reward, other.reward)
    )


@pytest.mark.parametrize(
    ("policy", "environment"),
    [
        (POLICY, FOUR),
        ("hdoc+kt", FOUR),
        ("value+gap-mixture", FOUR),
        ("ucb+normal-mixture", gaussian([-1.0, 0.5, 1.0], 0.0)),
        ("ucb+betting", beta([0.2, 0.7], 0.5)),
        (POLICY, matrix([[1, 0, 1, 1, 1, 1], [0, 0, 1, 0, 0, 0]], 0.5)),
    ],
    ids=lambda value: getattr(value, "name", value),
)
@pytest.mark.slow
def test_with_equal_costs_it_is_the_run_of_the_compiled_loop(policy: str, environment: Environment) -> None:
    compiled = simulate(policy, environment, runs=2, seed=5, trace=True, horizon=600)
    live = simulate(policy, environment, runs=2, seed=5, trace=True, horizon=600, cost=1)
    assert live.spec.live
    assert not compiled.spec.live
    assert all(same(one, other) for one, other in zip(compiled.runs, live.runs, strict=True))


SEVEN = bernoulli([0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7], 0.5, horizon=2500)
PRICES = [1, 1.5, 0.1, 1, 2, 3, 1]
THREE = several_metrics(
    {"a": [0.4, 0.6, 0.7, 0.8], "b": [0.1, 0.4, 0.12, 0.1], "c": [0.1, 0.1, 0.1, 0.19]},
    "a >= 50%, b <= 20%, c <= 18%",
    horizon=2500,
)
TEST_SET = matrix(np.random.default_rng(1).random((4, 60)) < [[0.3], [0.5], [0.6], [0.9]], 0.55)
PLAYED: dict[str, tuple[Any, ...]] = {
    "costs and a budget": ("value+gap-mixture", SEVEN, {"cost": PRICES, "budget": 2000.7}),
    "a budget": ("hdoc+kt", SEVEN, {"budget": 2000}),
    "in order": ("ucb+betting", beta([0.2, 0.45, 0.55, 0.7], 0.5, horizon=2500), {"cost": 2, "stop_after": 2}),
    "by rank": ("ucb+gap-mixture:fdr", SEVEN, {"cost": PRICES}),
    "test sets": ("ucb+gap-mixture", TEST_SET, {"cost": [1, 2, 3, 4]}),
    "several bars": ("ucb+gap-mixture", THREE, {"cost": [1, 2, 1, 3], "budget": 3000, "trajectory": 3}),
    "several bars of a slow rule": ("value+gap-mixture", THREE, {"stop_after": 1}),
}


@pytest.mark.parametrize("name", PLAYED)
@pytest.mark.slow
def test_compiled_code_plays_the_same_run_as_single_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the 300th round on; before it is compiled, the run is played by single steps."""
    policy, environment, given = PLAYED[name]
    monkeypatch.setattr(live_run, "LOOK", 100)
    for step in (threshold, bars):
        monkeypatch.setattr(step, "SIMULATED_ROUNDS", Patience(0, 100 if name == "test sets" else 300))
    policy, _, criterion = policy.partition(":")
    spec = specify(policy, environment, **given, trace=True, seed=7, criterion=criterion or None)
    for number in range(2):
        run, reference = LiveRun(spec, number).played(), LiveRun(spec, number, as_python=True).played()
        for field in fields(Run):
            if field.name not in ("seconds", "learned"):
                found, expected = getattr(run, field.name), getattr(reference, field.name)
                assert np.array_equal(found, expected, equal_nan=True), field.name


def test_amounts_beyond_whole_numbers_of_the_machine_are_exact() -> None:
    runs = simulate(POLICY, FOUR, cost=[1e-12, 1e9, 1e9, 1e9], budget=3e9, horizon=10_000)
    assert runs.runs[0].pulls[1:].tolist() == [1, 1, 0]
    assert runs.runs[0].spent == pytest.approx(2e9)
    assert LiveRun(runs.spec, 0).account.prices.dtype == object
    assert simulate(POLICY, FOUR, cost=[1e-12, 1e9, 1e9, 1e9], horizon=50).runs[0].rounds == 50


def test_a_run_is_the_campaign_that_is_told_its_rewards() -> None:
    costs, budget = {"0": 1.5, "1": 1, "2": 4}, 100
    spec = specify(POLICY, PROMPTS, cost=costs, budget=budget, seed=3, trace=True)
    run, rewards = LiveRun(spec, 2).played(), LiveRun(spec, 2)
    arms = list(map(str, range(3)))
    with Campaign.create("memory:", "p", arms, bars=BARS, policy=POLICY, cost=costs, budget=budget) as campaign:
        asked = []
        while tickets := campaign.ask():
            asked.append(int(tickets[0].arm))
            reward = rewards._reward(asked[-1])
            assert isinstance(reward, tuple)
            campaign.tell(tickets[0], dict(zip(("correct", "slow"), reward, strict=True)))
        assert asked == run.trace.tolist()
        assert campaign.tally().spent == run.spent
        assert campaign.tally().used_up
        rows = campaign.arms()
    assert [row.verdict for row in rows] == [{0: "open", 1: "good", -1: "bad"}[v] for v in run.verdicts.tolist()]
    names = ["correct", "slow", None]
    assert [row.failed or None for row in rows] == [names[place] for place in run.failed]


def test_verdicts_name_the_metric_that_failed() -> None:
    runs = simulate(POLICY, PROMPTS, runs=3, seed=1)
    found = runs.verdicts
    assert found["verdict"].tolist() == ["good", "bad", "bad"] * 3
    assert found["failed"].tolist() == ["", "slow", "correct"] * 3
    assert found["mean of slow"].tolist() == METRICS["slow"] * 3
    assert found["mean"].tolist() == pytest.approx([0.18, -0.4, -0.4] * 3)
    assert all(found.meanings.values())
    assert (runs.wrong_runs, runs.found.mean, runs.scores[0].decided) == (0, 1.0, 3)
    assert math.isnan(runs.limit)
    assert runs == simulate(POLICY, PROMPTS, runs=3, seed=1)
    assert runs != simulate(POLICY, PROMPTS, runs=3, seed=2)


@pytest.mark.slow
def test_the_backend_changes_nothing() -> None:
    given: dict[str, Any] = {"runs": 4, "cost": [1, 2, 3], "budget": 200}
    alone = simulate(POLICY, PROMPTS, **given)
    assert simulate(POLICY, PROMPTS, **given, workers=2, backend="loky") == alone
    assert simulate(POLICY, PROMPTS, **given, workers=2) == alone


def test_a_run_ends_before_the_sample_that_would_cost_too_much() -> None:
    runs = simulate(POLICY, FOUR, runs=5, cost=[0.1, 0.2, 0.3, 0.7], budget=10)
    for run in runs.runs:
        assert 9.3 < run.spent <= 10.0
        assert run.spent == pytest.approx(float((run.pulls * [0.1, 0.2, 0.3, 0.7]).sum()))
    whole = simulate(POLICY, FOUR, cost=0.1, budget=1, trace=True)
    assert whole.runs[0].rounds == 10  # as floats, ten times 0.1 are a little more than 1
    assert simulate(POLICY, FOUR, budget=50).runs[0].rounds == 50
    assert simulate(POLICY, FOUR, budget=50, stop_after=1, horizon=20).runs[0].rounds == 20


def test_sampling_prefers_what_is_cheap() -> None:
    twins = bernoulli([0.6, 0.6], 0.5)
    runs = simulate(POLICY, twins, runs=5, cost={1: 20}, stop_after=1)
    assert all(run.verdicts.tolist() == [1, 0] for run in runs.runs)
    assert runs.answers is not None
    assert runs.answers.found == 5


@pytest.mark.slow
def test_what_is_spent_until_a_share_is_found() -> None:
    always = bernoulli([1.0, 1.0, 0.0], 0.5)
    runs = simulate(POLICY, always, cost=[1, 10, 1])
    first, second = sorted(runs.runs[0].verdict_spent[:2])
    assert runs.spent_to_find(0.5).tolist() == [first]
    assert runs.spent_to_find(1.0).tolist() == [second]
    assert simulate(POLICY, always, cost=[1, 10, 1], budget=5).spent_to_find().tolist() == [math.inf]
    assert simulate(POLICY, bernoulli([0.0], 0.5), budget=5).spent_to_find().tolist() == [0.0]
    compiled = simulate(POLICY, always)
    assert compiled.spent_to_find(0.5)[0] == compiled.runs[0].verdict_rounds[:2].min()
    with pytest.raises(InvalidValue, match=r"share.*\(0, 1\]"):
        runs.spent_to_find(0.0)


def test_stop_after_and_trajectories() -> None:
    runs = simulate(POLICY, PROMPTS, stop_after=1, trajectory=4, horizon=400)
    assert runs.runs[0].verdicts.max() == 1
    points = runs.trajectories
    assert points["good"].tolist()[-1] == 1
    assert points["round"].tolist() == sorted(points["round"].tolist())


# Where the rewards come from


def correlation(environment: Environment) -> float:
    run = LiveRun(specify(POLICY, environment), 0)
    rewards = np.array([run._reward(0) for _ in range(2000)])
    return float(np.corrcoef(rewards.T)[0, 1])


def test_metrics_are_independent_or_drawn_together() -> None:
    half = {"correct": [0.5], "slow": [0.5]}
    assert abs(correlation(several_metrics(half, BARS))) < 0.1
    assert correlation(several_metrics(half, BARS, together=True)) == pytest.approx(1.0)


def test_a_replay_draws_whole_rows() -> None:
    log = {"arm": ["a"] * 4 + ["b"], "correct": [1, 1, 0, 0, 1], "slow": [0, 0, 1, 1, 0]}
    environment = replay(log, bars=BARS)
    assert environment.labels == ("a", "b")
    assert correlation(environment) == pytest.approx(-1.0)
    assert environment.draw(np.random.default_rng(0)).tolist() == pytest.approx([-0.3, 0.2])


def test_a_table_has_a_column_per_metric_and_may_have_costs(tmp_path: Path) -> None:
    file = tmp_path / "prompts.csv"
    file.write_text("arm,correct,slow,cost\né,0.9,0.1,1\nb,0.2,0.1,20\n", encoding="utf-8")
    environment = find_environment(f"table:{file}", bars=BARS)
    assert (environment.labels, environment.costs) == (("é", "b"), (1.0, 20.0))
    assert simulate(POLICY, f"table:{file}", bars=BARS, budget=100).spec.costs == (1.0, 20.0)
    assert costs_of(environment, {"é": 3}) == (3.0, 20.0)
    only = environment.with_bars("slow <= 5%")
    assert (only.question, only.labels, only.costs) == (Bars("slow <= 5%"), ("é", "b"), (1.0, 20.0))
    file.write_text("arm,mean,cost\na,0.9,-1\n", encoding="utf-8")
    with pytest.raises(GoodarmError, match=r"prompts\.csv: the cost of arm 'a' must be a positive number"):
        table(file, 0.5)


def test_the_fingerprint_knows_metrics_and_bars() -> None:
    prints = [
        each.fingerprint
        for each in (
            PROMPTS,
            several_metrics(METRICS, BARS, together=True),
            several_metrics(METRICS, "correct >= 70%, slow <= 21%"),
            several_metrics({**METRICS, "slow": [0.1, 0.1, 0.1]}, BARS),
        )
    ]
    assert len(set(prints)) == 4
    assert prints[0] == several_metrics(METRICS, BARS).fingerprint


@pytest.mark.parametrize(
    ("call", "error", "fault"),
    [
        (lambda: several_metrics({"correct": [0.5]}, BARS), UnknownName, "'slow'"),
        (lambda: several_metrics({**METRICS, "fast": [0.5]}, BARS), UnknownName, "'fast'"),
        (lambda: several_metrics({"correct": [0.5], "slow": [0.5, 0.6]}, BARS), InvalidValue, "1 arms.*has 2"),
        (lambda: several_metrics({"correct": [0.5], "slow": [math.nan]}, BARS), InvalidValue, "between 0 and 1"),
        (lambda: several_metrics({"correct": gaussian([0.5], 0.0), "slow": [0.5]}, BARS), InvalidValue, "in .0, 1."),
        (lambda: several_metrics({"correct": PROMPTS, "slow": [0.5]}, BARS), InvalidValue, "in .0, 1."),
        (lambda: find_environment(PROMPTS, threshold=0.5), InvalidValue, "several metrics"),
        (lambda: table({"arm": ["a"], "mean": [0.5]}), InvalidValue, "neither"),
        (lambda: replay({"arm": ["a"], "reward": [0.5]}, 0.5, bars=BARS), InvalidValue, "both"),
        (lambda: replay({"arm": ["a"], "correct": [0.5], "slow": [0]}, bars=BARS, high=5), InvalidValue, "low, high"),
        (lambda: find_environment("matrix:a.csv", bars=BARS), InvalidValue, "not several metrics"),
        (lambda: simulate(POLICY, FOUR, bars=BARS), InvalidValue, "one number per pull"),
        (lambda: simulate("value", PROMPTS), UnsoundPairing, "totals"),
        (lambda: simulate("thompson+gap-mixture", FOUR, cost=[1, 2, 3, 4]), InvalidValue, "no index"),
        (lambda: simulate(POLICY, FOUR, cost=[1, 2]), InvalidValue, "one number per arm, 4; got 2"),
        (lambda: simulate(POLICY, FOUR, cost={"x": 2}), UnknownName, "'x'"),
        (lambda: simulate(POLICY, FOUR, cost=math.nan), InvalidValue, "positive number"),
        (lambda: simulate(POLICY, FOUR, cost="2"), InvalidValue, "positive number"),
        (lambda: simulate(POLICY, FOUR, budget=math.inf), InvalidValue, "budget"),
        (lambda: simulate(POLICY, FOUR, cost=3, budget=2), InvalidValue, "does not cover one sample"),
        (lambda: simulate(POLICY, FOUR, cost=3, scan=True), InvalidValue, "scan"),
        (lambda: compare(FOUR, budget=50, goal="reward"), InvalidValue, "goal"),
        (lambda: compare(PROMPTS, [POLICY], informed=True), InvalidValue, "one threshold"),
        (lambda: learn(PROMPTS, POLICY, learning_runs=2, tests=2), GoodarmError, "one threshold"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, error: type[Exception], fault: str) -> None:
    with pytest.raises(error, match=fault):
        call()


# Comparing, and the command line


def test_a_comparison_shows_money_and_bars() -> None:
    found = compare(PROMPTS, runs=3, cost=[1, 5, 5], budget=400)
    assert [runs.policy for runs in found.finished] == ["value+gap-mixture", POLICY]
    assert found.difference("spent")["runs"].tolist() == [3]
    line = found.summaries["several metrics"].policies[0]
    assert line.spent is not None
    assert line.spent.mean <= 400
    assert found.table["threshold"].tolist() == [0.0, 0.0]


@pytest.mark.slow
def test_from_the_shell(tmp_path: Path) -> None:
    file, out = tmp_path / "prompts.csv", tmp_path / "out"
    file.write_text("arm,correct,slow\na,0.95,0.02\nb,0.2,0.02\n", encoding="utf-8")
    asked = ["compare", f"table:{file}", "--bars", BARS, "--cost", "a=1,b=2", "--budget", "300", "--runs", "2"]
    text = CliRunner().invoke(app, asked)
    assert text.exit_code == 0, text.output
    shown = " ".join(text.output.split())
    assert "bars 'correct >= 0.7, slow <= 0.2'" in shown
    assert "samples cost 1 to 2; budget 300" in shown
    assert "median until half of the good arms are found: value+gap-mixture" in shown
    answer = CliRunner().invoke(app, [*asked, "--json", "--out", str(out)])
    summary = json.loads(answer.stdout)
    assert summary["bars"][1] == {"metric": "slow", "at_most": 0.2}
    assert (summary["budget"], summary["limit"]) == (300.0, None)
    assert summary["policies"][0]["spent"]["mean"] <= 300.0
    assert {each.name for each in out.iterdir()} == {"rows.parquet", "summary.json", "verdicts.svg", "verdicts.png"}
    import pyarrow.parquet as parquet

    rows = parquet.read_table(out / "rows.parquet").to_pydict()
    assert rows["mean of correct"][:2] == [0.95, 0.2]
    assert set(rows["failed"]) <= {"", "correct", "slow"}
    other = CliRunner().invoke(app, [*asked[:3], "correct >= 80%, slow <= 20%", *asked[4:], "--out", str(out)])
    assert other.exit_code == 2
    assert "holds other results" in other.output


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (["--bars", "correct >= 2"], "strictly between 0 and 1"),
        (["--bars", "correct"], "can't read the bar"),
        (["--threshold", "0.5", "--cost", "cheap"], "can't read the cost"),
        (["--threshold", "0.5", "--cost", "x=2"], "unknown arm 'x'"),
        (["--threshold", "0.5", "--budget", "0"], "budget must be a positive number"),
        ([], "no default threshold"),
    ],
)
def test_bad_input_from_the_shell_is_one_message(tmp_path: Path, options: list[str], fault: str) -> None:
    file = tmp_path / "arms.csv"
    file.write_text("arm,mean,correct\na,0.9,0.9\n", encoding="utf-8")
    answer = CliRunner().invoke(app, ["compare", f"table:{file}", *options, "--out", str(tmp_path / "out")])
    assert answer.exit_code == 2
    assert fault in " ".join(answer.output.split())
    assert not (tmp_path / "out").exists()


# Another kind of question needs no change here


@dataclass(frozen=True)
class Half(Question):
    """Is the mean at least half of `full`?"""

    full: float

    field: ClassVar[str] = "half"
    format: ClassVar[int] = 2

    @property
    def bar(self) -> float:
        return self.full / 2.0

    def problem(self, arms: int, delta: float, rewards: Any) -> Any:
        return Threshold(self.bar).problem(arms, delta, rewards)

    def phrases(self, amounts: Amounts) -> Phrases:
        return Phrases(f"above half of {self.full:g}", "below")

    def as_json(self) -> dict[str, Any]:
        return {"half": self.full}

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Half:
        return cls(content["half"])


class AskedForHalf(Environment):
    """Arms of whose means half of 1 is asked."""

    @property
    def question(self) -> Half:
        return Half(1.0)


class LiveOnly(evidence.ThresholdEvidence):
    """Evidence that the compiled loop does not know."""

    own_mean: ClassVar[bool] = False


@pytest.mark.slow
def test_a_new_kind_of_question_is_simulated_by_its_own_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(evidence.EVIDENCE, Half, LiveOnly)
    environment = AskedForHalf("half", 4, 0.5, FOUR.draw, FOUR.reward)
    runs = simulate(POLICY, environment, runs=2, seed=5)
    assert runs.spec.live
    assert [run.pulls.tolist() for run in runs.runs] == [
        run.pulls.tolist() for run in simulate(POLICY, FOUR, runs=2, seed=5).runs
    ]
    assert compare(environment, [POLICY], runs=2).summaries["half"].setting == "half 1.0"
