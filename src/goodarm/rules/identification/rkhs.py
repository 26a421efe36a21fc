"""`rkhs`: the self-normalised bound in a reproducing kernel Hilbert space; for functions with a bounded norm."""

from __future__ import annotations

import math
from dataclasses import replace

from goodarm.problem import Bar
from goodarm.rules.beliefs import Pool
from goodarm.rules.identification.self_normalised import factor as linear_factor
from goodarm.rules.identification.self_normalised import self_normalised


def factor(
    log_det: float, regulariser: float, pool: Pool, bar: Bar, norm: float = math.nan, sigma: float = 0.0
) -> float:
    """sigma sqrt(2 log(1/delta) + log det(I + K/gamma)) + sqrt(gamma) B: half-width in units of an arm's width.

    Certified when mean_i = xi + f(x_i) with ||f||_k <= B (`norm`, must be given) in the space of the kernel and
    sigma-sub-Gaussian noise (`sigma`, 0 for the reward family's), under any sampling rule. It is the linear bound with
    ridge gamma in the kernel's feature space, where the determinant is taken over the pulls made so far.

    >>> from goodarm.problem import Problem
    >>> round(factor(4.0, 0.25, None, Problem(threshold=0.5, arms=10).bar, norm=1.0), 4)
    2.0805
    """
    return linear_factor(log_det, regulariser, pool, bar, norm, sigma)


rkhs = replace(
    self_normalised,
    name="rkhs",
    reference="Abbasi-Yadkori 2012 (thesis), Corollary 3.15; Chowdhury & Gopalan 2017, ICML",
    factor=factor,
    models=("kernel",),
)
