"""`dgai`: the paper's differentiable index, with a bound that is learned by gradients as rewards come in."""

from __future__ import annotations

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.learners.gradient import gradient_learner
from goodarm.rules.sampling._base import IndexRule


def index(arm: Arm, pool: Pool, bar: Bar) -> float:
    """The differentiable index, mean + beta sd0 width, with beta learned by gradients from all arms.

    Mean and width come from the arm's own rewards (1/sqrt(N)), or from a model of all arms. For a positive coldness the
    largest probability of the paper's softmax belongs to the largest index, so this is the paper's sampling rule with
    argmax in place of the draw. `goodarm.rules.learners.gradient` has the gradient. `dgai(beta=1.5)` starts learning at
    1.5, and `dgai(beta=1.5, rate=0)` keeps beta there.

    >>> from goodarm.problem import Problem
    >>> from goodarm.rules.learners.gradient import start
    >>> from goodarm.testing import arm_after
    >>> bar = Problem(threshold=0.5, arms=10).bar
    >>> index(arm_after(pulls=100, total=50.0), Pool(0.0, 1e6, start(bar, beta=2.0)), bar)
    0.6
    """
    return arm.mean + pool.learned.beta * bar.spread * arm.width  # type: ignore[no-any-return]  # a learner's own tuple


dgai = IndexRule(
    name="dgai",
    reference="Tsai, Tsai & Lin, Differentiable Good Arm Identification; the critic is goodarm's (docs/learning.md)",
    learner=gradient_learner,
    index=index,
    upper_bound=True,
)
