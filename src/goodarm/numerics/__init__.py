"""Special functions of scalars, written with `math` alone so that numba can compile each of them unchanged."""

from goodarm.numerics.beta import (
    beta_quantile,
    beta_quantile_above,
    log_beta,
    log_beta_cdf,
    log_beta_kernel,
    log_beta_sf,
    log_choose_growth,
    student_quantile,
)
from goodarm.numerics.binomial import binomial_tail, clopper_pearson, clopper_pearson_upper
from goodarm.numerics.entropy import bernoulli_kl, deviance
from goodarm.numerics.logistic import sigmoid
from goodarm.numerics.normal import (
    cubed_surplus,
    inverse_mills,
    log_normal_cdf,
    mills_ratio,
    normal_cdf,
    normal_pdf,
    normal_quantile,
    normal_quantile_log,
)
from goodarm.numerics.scale import farthest_reward, log_scale_evidence, numbered

__all__ = [
    "bernoulli_kl",
    "beta_quantile",
    "beta_quantile_above",
    "binomial_tail",
    "clopper_pearson",
    "clopper_pearson_upper",
    "cubed_surplus",
    "deviance",
    "farthest_reward",
    "inverse_mills",
    "log_beta",
    "log_beta_cdf",
    "log_beta_kernel",
    "log_beta_sf",
    "log_choose_growth",
    "log_normal_cdf",
    "log_scale_evidence",
    "mills_ratio",
    "normal_cdf",
    "normal_pdf",
    "normal_quantile",
    "normal_quantile_log",
    "numbered",
    "sigmoid",
    "student_quantile",
]
