"""A real Optuna study on a fixed set of cases."""

import numpy as np
import optuna
import pytest

from goodarm.errors import InvalidValue
from goodarm.integrations.optuna_pruner import CertifiedPruner

optuna.logging.set_verbosity(optuna.logging.ERROR)
CASES = 60


def played(
    rates: list[float], pruner: CertifiedPruner, seed: int, keep: float = 0.0
) -> tuple[optuna.Study, list[float]]:
    """One trial per rate: a program that passes each case with this probability, fixed beforehand.

    keep : the probability that a result equals the first program's, so that programs fail on the same cases
    """
    world = np.random.default_rng(seed)
    results = [(world.random(CASES) < rate).astype(float) for rate in rates]
    for row in results[1:]:
        row[:] = np.where(world.random(CASES) < keep, results[0], row)
    study = optuna.create_study(direction="maximize", pruner=pruner)

    def objective(trial: optuna.Trial) -> float:
        for case in pruner.order(trial):
            trial.report(results[trial.number][case], step=case)
            if trial.should_prune():
                raise optuna.TrialPruned
        return float(results[trial.number].mean())

    study.optimize(objective, n_trials=len(rates))
    return study, [float(row.mean()) for row in results]


def states(study: optuna.Study) -> list[str]:
    return [trial.state.name for trial in study.trials]


def test_a_worse_program_is_pruned_early() -> None:
    study, _ = played([0.9, 0.4, 0.95], CertifiedPruner(CASES), seed=1)
    assert states(study) == ["COMPLETE", "PRUNED", "COMPLETE"]
    assert len(study.trials[1].intermediate_values) < 40


@pytest.mark.slow
def test_programs_that_are_as_good_are_not_pruned() -> None:
    """Studies whose later trials equal the incumbent or are a little better: 20 studies of 4 trials, delta 0.2.

    At most 10 of them prune such a trial: P(Binomial(20, 0.2) > 10) < 0.001.
    """
    wrong = 0
    for seed in range(20):
        study, means = played([0.7] * 4, CertifiedPruner(CASES, delta=0.2, seed=seed), seed=seed, keep=0.5)
        best = means[0]
        for trial, mean in zip(study.trials[1:], means[1:], strict=True):
            if trial.state.name == "PRUNED" and mean >= best:
                wrong += 1
                break
            best = max(best, mean) if trial.state.name == "COMPLETE" else best
    assert wrong <= 10


def test_a_study_that_minimises_is_refused() -> None:
    pruner = CertifiedPruner(4)
    study = optuna.create_study(direction="minimize", pruner=pruner)

    def objective(trial: optuna.Trial) -> float:
        trial.report(1.0, step=0)
        trial.should_prune()
        return 1.0

    with pytest.raises(InvalidValue, match="'maximize'"):
        study.optimize(objective, n_trials=1)


def test_orders_are_permutations_and_differ() -> None:
    pruner = CertifiedPruner(50)
    study = optuna.create_study(pruner=pruner)
    orders = [tuple(pruner.order(study.ask())) for _ in range(3)]
    assert len(set(orders)) == 3
    assert all(sorted(order) == list(range(50)) for order in orders)


def test_a_margin_may_be_a_percentage() -> None:
    assert CertifiedPruner(50, margin="5%").problem == CertifiedPruner(50, margin=0.05).problem


WRONG = [{"cases": 0}, {"cases": 5, "delta": 1.0}, {"cases": 5, "margin": 1.0}, {"cases": 5, "margin": "much"}]


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_arguments(wrong: dict) -> None:
    with pytest.raises(InvalidValue):
        CertifiedPruner(**wrong)
