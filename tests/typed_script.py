"""A user's script that uses every public name, checked by mypy --strict and run: tests/test_typing.py."""

import sys

import goodarm
from goodarm import (
    Bars,
    Basis,
    Bounded,
    Campaign,
    Cases,
    Comparison,
    Criterion,
    Environment,
    Estimate,
    Gaussian,
    GoodarmError,
    GradedCases,
    Guarantee,
    Judgement,
    Kernel,
    LearnedPolicy,
    Linear,
    Mixed,
    Neural,
    NonNegative,
    Policy,
    Problem,
    Runs,
    SubGaussian,
    Verdict,
)


def simulated() -> float:
    """Environments, policies, runs."""
    coins: Environment = goodarm.bernoulli([0.2, 0.8], threshold=0.5, horizon=400)
    made: Policy = goodarm.policy("hdoc", "kt")
    runs: Runs = goodarm.simulate(made, coins, runs=2, seed=1)
    wrong: int = runs.wrong_runs
    compared: Comparison = goodarm.compare(coins, ["hdoc"], runs=2)
    score: Estimate = runs.exploit_score
    guarantee: Guarantee = made.guarantee
    criterion: Criterion = made.criterion
    print(wrong, guarantee.value, criterion.value, made.identification.name, compared)
    return score.mean


def live() -> list[str]:
    with Campaign.create("memory:", "bars", ["A"], bars=Bars("good >= 0.5, slow <= 0.2"), cost={"A": 2.0}) as several:
        several.tell(several.ask()[0], {"good": 1.0, "slow": 0.0})
    with Campaign.create("memory:", "prompts", ["A", "B"], threshold=0.5, rewards=Bounded()) as campaign:
        while tickets := campaign.ask(4):
            campaign.tell_many([(ticket, float(ticket.arm == "A")) for ticket in tickets])
        return [row.arm for row in campaign.verdicts().arms if row.verdict == "good"]


def judged() -> str:
    found: Judgement = goodarm.judge({"arm": ["a"] * 50 + ["b"] * 50, "reward": [1.0] * 50 + [0.0] * 50}, threshold=0.5)
    return found.sentence


def planned() -> None:
    print(goodarm.plan(arms=3, threshold=0.5, gap=0.3, policy="hdoc", runs=2))
    print(goodarm.remaining([60, 60], [30, 50], threshold=0.7))


def others() -> list[object]:
    """Names that need an extra, data or long runs to be called; their types are what counts here."""
    environments = (goodarm.matrix, goodarm.beta, goodarm.gaussian, goodarm.table, goodarm.environment, goodarm.replay)
    several: goodarm.Environment = goodarm.several_metrics({"a": [0.5]}, "a >= 0.4")
    models = (Kernel, Linear, Mixed, Neural)
    gaussian: SubGaussian = Gaussian(1.0)
    graded: GradedCases = Cases(500)
    problems = [Problem(0.5, 2, 0.05, rewards) for rewards in (gaussian, graded, NonNegative(cap=9.0))]
    learned: type[LearnedPolicy] = LearnedPolicy
    return [
        *environments,
        several,
        goodarm.classification,
        goodarm.learn,
        *models,
        *problems,
        learned,
        Verdict.GOOD,
        Basis,
        sys.version,
    ]


if __name__ == "__main__":
    try:
        print(simulated(), live(), judged(), len(others()))
        planned()
    except GoodarmError as error:
        raise SystemExit(str(error)) from None
