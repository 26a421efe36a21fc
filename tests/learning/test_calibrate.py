"""Calibrated alpha: learned, tested on fresh runs, and refused its label when the test fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goodarm.environments import bernoulli, gaussian
from goodarm.errors import CertificateLost, InvalidValue, NotCalibrated
from goodarm.learning import calibrate, learn, train
from goodarm.learning.train import LearnedPolicy
from goodarm.numerics import binomial_tail, clopper_pearson_upper
from goodarm.simulation.runs import Runs
from goodarm.simulation.simulate import simulate
from goodarm.simulation.specification import Specification
from goodarm.testing.error_rates import LAW_LEVEL
from goodarm.verdict import Guarantee

pytestmark = pytest.mark.slow

HORIZON = 20_000


def calibrated(**changes: object) -> LearnedPolicy:
    settings: dict[str, object] = {
        "horizon": HORIZON,
        "objective": "none",
        "calibrate": True,
        "learning_runs": 400,
        "tests": 600,
        "seed": 21,
    }
    return learn("synth-small", "value", **{**settings, **changes})


@pytest.fixture(scope="module")
def learned() -> LearnedPolicy:
    return calibrated()


def test_certificate_names_what_was_measured(learned: LearnedPolicy) -> None:
    certificate = learned.policy.certificate
    assert learned.policy.guarantee is Guarantee.CALIBRATED
    assert certificate is not None
    assert certificate.limit <= 0.05
    assert (certificate.runs, certificate.environment, certificate.horizon) == (600, "synth-small", HORIZON)


def test_fresh_runs_stay_within_delta_and_score_above_the_certified_policy(learned: LearnedPolicy) -> None:
    fresh = simulate(learned.policy, "synth-small", horizon=HORIZON, runs=500, seed=22)
    # false alarm below 1e-9 if the error rate is delta
    assert binomial_tail(fresh.wrong_runs, 500, 0.05) > LAW_LEVEL
    certified = simulate("value", "synth-small", horizon=HORIZON, runs=500, seed=22)
    assert fresh.exploit_score.mean > certified.exploit_score.mean


def test_latches_tell_the_error_at_every_smaller_alpha() -> None:
    """One run with a generous alpha predicts the wrong runs that a smaller alpha would have made."""
    wide = simulate("uniform+studentised(alpha=4.5)", "synth-small", horizon=HORIZON, runs=300, seed=23)
    predicted = int((calibrate.wrong_latches(wide, 4.5) >= 3.0).sum())
    narrow = simulate("uniform+studentised(alpha=3)", "synth-small", horizon=HORIZON, runs=300, seed=23)
    assert narrow.wrong_runs > 10
    assert abs(predicted - narrow.wrong_runs) <= 0.35 * narrow.wrong_runs


def test_a_wrong_quantile_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    median = lambda latches, delta, tests, confidence: float(np.quantile(latches, 0.5))  # noqa: E731
    monkeypatch.setattr(calibrate, "smallest_alpha", median)
    with pytest.warns(NotCalibrated, match="of 600 fresh runs had a wrong verdict"):
        broken = calibrated()
    assert broken.policy.guarantee is Guarantee.HEURISTIC


def test_a_certificate_speaks_only_of_its_own_problem(learned: LearnedPolicy) -> None:
    with pytest.warns(CertificateLost, match="horizon 20000, not 30000"):
        longer = simulate(learned.policy, "synth-small", horizon=30_000, runs=1, seed=1)
    assert longer.guarantee is Guarantee.HEURISTIC
    with pytest.warns(CertificateLost, match="environment synth-small, not kano-1"):
        simulate(learned.policy, "kano-1", horizon=HORIZON, runs=1)
    with pytest.warns(CertificateLost, match="delta 0.05, not 0.01"):
        simulate(learned.policy, "synth-small", horizon=HORIZON, delta=0.01, runs=1)


def test_a_certificate_does_not_speak_of_other_arms_of_the_same_name() -> None:
    easy, hard = bernoulli([0.9, 0.9, 0.1, 0.1], 0.5), bernoulli([0.501, 0.501, 0.499, 0.499], 0.5)
    settings = {"objective": "none", "calibrate": True, "learning_runs": 200, "tests": 200}
    learned = learn(easy, "value", horizon=3000, **settings)
    assert learned.policy.guarantee is Guarantee.CALIBRATED
    assert simulate(learned.policy, easy, horizon=3000).guarantee is Guarantee.CALIBRATED
    with pytest.warns(CertificateLost, match="other arms, also called bernoulli"):
        assert simulate(learned.policy, hard, horizon=3000).guarantee is Guarantee.HEURISTIC
    again = learn(easy, learned.policy, horizon=3000, budget=14)
    assert again.policy.guarantee is Guarantee.HEURISTIC, "what was certified is not what was learned now"


def test_the_test_plays_runs_that_no_other_call_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a test played the runs after those of learning, which another call with the same seed plays too."""
    played: list[tuple[int, range]] = []
    collect = train.collect

    def watched(spec: Specification, runs: int, *, first: int, **options: Any) -> Runs:
        played.append((spec.seed, range(first, first + runs)))
        return collect(spec, runs, first=first, **options)

    monkeypatch.setattr(train, "collect", watched)
    easy = bernoulli([0.9, 0.9, 0.1, 0.1], 0.5)
    for tests in (100, 101):
        learn(easy, "value", horizon=500, budget=130, calibrate=True, learning_runs=200, tests=tests)
    learning, tested = [each for each in played if each[0] == 0], [each for each in played if each[0] != 0]
    assert min(runs.start for _, runs in learning) == 130, "runs of the parameter's learning are not used again"
    assert [len(runs) for _, runs in tested] == [100, 101]
    assert tested[0][0] != tested[1][0], "each test has a stream of its own"
    assert all(seed >= 2**64 for seed, _ in tested), "one that no one asks for"


def test_the_same_call_gives_the_same_certificate_in_the_same_attempt() -> None:
    easy = bernoulli([0.8, 0.2], 0.5)
    settings = {"objective": "none", "calibrate": True, "learning_runs": 100, "tests": 80, "horizon": 300}
    first, second = (learn(easy, "ucb", **settings) for _ in range(2))
    assert first.policy.certificate == second.policy.certificate


def test_attempts_are_counted_and_each_must_be_surer(tmp_path: Path) -> None:
    """Three attempts at 95% of which one is kept are not 95%: the k-th is tested at 1 - 0.05/(k (k + 1))."""
    easy = bernoulli([0.85, 0.15], 0.5)
    settings = {"objective": "none", "calibrate": True, "learning_runs": 100, "tests": 200, "horizon": 300}
    made = [learn(easy, "ucb", seed=seed, **settings) for seed in range(3)]
    certificates = [each.policy.certificate for each in made]
    assert [each.attempt for each in certificates if each] == [1, 2, 3]
    limits = [replace(each, wrong_runs=3).limit for each in certificates if each]
    assert limits == sorted(limits)
    assert limits[2] == clopper_pearson_upper(3, 200, 1.0 - 0.05 / 12.0)
    with pytest.raises(InvalidValue, match=r"in attempt 4\. Give at least 117"):
        learn(easy, "ucb", seed=3, **{**settings, "tests": 116})
    # a file says of its attempt, to another process too
    made[2].save(tmp_path / "p.json")
    calibrate._made.clear()
    again = learn(easy, "ucb", seed=9, earlier=tmp_path / "p.json", **settings)
    assert again.policy.certificate is not None
    assert again.policy.certificate.attempt == 4
    calibrate._made.clear()
    same = learn(easy, "ucb", seed=2, earlier=tmp_path / "p.json", **settings)
    assert same.policy.certificate == made[2].policy.certificate


def test_too_few_tests_are_refused_before_anything_is_played() -> None:
    with pytest.raises(InvalidValue, match=r"in attempt 1\. Give at least 72"):
        learn(bernoulli([0.9, 0.1], 0.5), "ucb", horizon=50, objective="none", calibrate=True, tests=71)
    assert calibrate.most_wrong(0.05, 72, 0.975) == 0
    assert calibrate.most_wrong(0.05, 71, 0.975) == -1


def test_too_few_learning_runs_are_refused_too() -> None:
    with pytest.raises(InvalidValue, match="at least 100"):
        calibrated(learning_runs=99)


def test_families_without_good_or_without_bad_arms() -> None:
    with pytest.raises(InvalidValue, match="no arm of bernoulli lies above the threshold"):
        learn(bernoulli([0.1, 0.2], 0.5), horizon=1000)
    with pytest.warns(NotCalibrated, match="has seen no bad arm"):
        learn(bernoulli([0.7, 0.8], 0.5), "dgai", horizon=1000, budget=14)


def test_gaussian_rewards_learn_too() -> None:
    environment = gaussian([0.0, 0.3, 0.5, -0.4], 0.2, scale=1.0)
    made = learn(environment, "dgai", horizon=3000, budget=14, calibrate=True, learning_runs=100, tests=80, delta=0.1)
    assert made.policy.identification.name == "studentised"
    assert simulate("value", environment, horizon=3000, runs=2).spec.policy.identification.name == "learned-bets"
