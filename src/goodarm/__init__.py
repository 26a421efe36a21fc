"""goodarm: which of my many options clear the bar, with the fewest samples, and how sure am I?

Public names, sorted. Each is imported at its first use, to keep `import goodarm` fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from goodarm.version import __version__ as __version__

if TYPE_CHECKING:
    from goodarm.campaign import Campaign as Campaign
    from goodarm.environments import Environment as Environment
    from goodarm.environments import bernoulli as bernoulli
    from goodarm.environments import beta as beta
    from goodarm.environments import classification as classification
    from goodarm.environments import gaussian as gaussian
    from goodarm.environments import matrix as matrix
    from goodarm.environments import replay as replay
    from goodarm.environments import several_metrics as several_metrics
    from goodarm.environments import table as table
    from goodarm.environments.names import environment as environment
    from goodarm.errors import GoodarmError as GoodarmError
    from goodarm.judgement import Judgement as Judgement
    from goodarm.judgement import judge as judge
    from goodarm.learning import LearnedPolicy as LearnedPolicy
    from goodarm.learning import learn as learn
    from goodarm.models.kernel import Kernel as Kernel
    from goodarm.models.linear import Linear as Linear
    from goodarm.models.mixed import Mixed as Mixed
    from goodarm.models.neural import Neural as Neural
    from goodarm.planning import plan as plan
    from goodarm.planning import remaining as remaining
    from goodarm.policies import Policy as Policy
    from goodarm.policies import policy as policy
    from goodarm.problem import Bounded as Bounded
    from goodarm.problem import Cases as Cases
    from goodarm.problem import Gaussian as Gaussian
    from goodarm.problem import GradedCases as GradedCases
    from goodarm.problem import NonNegative as NonNegative
    from goodarm.problem import Problem as Problem
    from goodarm.problem import SubGaussian as SubGaussian
    from goodarm.question import Bars as Bars
    from goodarm.simulation.compare import Comparison as Comparison
    from goodarm.simulation.compare import compare as compare
    from goodarm.simulation.runs import Estimate as Estimate
    from goodarm.simulation.runs import Runs as Runs
    from goodarm.simulation.simulate import simulate as simulate
    from goodarm.verdict import Basis as Basis
    from goodarm.verdict import Criterion as Criterion
    from goodarm.verdict import Guarantee as Guarantee
    from goodarm.verdict import Verdict as Verdict

_WHERE = {
    "Bars": "goodarm.question",
    "Basis": "goodarm.verdict",
    "Bounded": "goodarm.problem",
    "Campaign": "goodarm.campaign",
    "Cases": "goodarm.problem",
    "Comparison": "goodarm.simulation.compare",
    "Criterion": "goodarm.verdict",
    "Environment": "goodarm.environments",
    "Estimate": "goodarm.simulation.runs",
    "Gaussian": "goodarm.problem",
    "GoodarmError": "goodarm.errors",
    "GradedCases": "goodarm.problem",
    "Guarantee": "goodarm.verdict",
    "Judgement": "goodarm.judgement",
    "Kernel": "goodarm.models.kernel",
    "LearnedPolicy": "goodarm.learning",
    "Linear": "goodarm.models.linear",
    "Mixed": "goodarm.models.mixed",
    "Neural": "goodarm.models.neural",
    "NonNegative": "goodarm.problem",
    "Policy": "goodarm.policies",
    "Problem": "goodarm.problem",
    "Runs": "goodarm.simulation.runs",
    "SubGaussian": "goodarm.problem",
    "Verdict": "goodarm.verdict",
    "bernoulli": "goodarm.environments",
    "beta": "goodarm.environments",
    "classification": "goodarm.environments",
    "compare": "goodarm.simulation.compare",
    "environment": "goodarm.environments.names",
    "gaussian": "goodarm.environments",
    "judge": "goodarm.judgement",
    "learn": "goodarm.learning",
    "matrix": "goodarm.environments",
    "plan": "goodarm.planning",
    "policy": "goodarm.policies",
    "remaining": "goodarm.planning",
    "replay": "goodarm.environments",
    "several_metrics": "goodarm.environments",
    "simulate": "goodarm.simulation.simulate",
    "table": "goodarm.environments",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        globals()[name] = getattr(import_module(_WHERE[name]), name)  # later uses find it without this function
        return globals()[name]
    raise AttributeError(f"module 'goodarm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
