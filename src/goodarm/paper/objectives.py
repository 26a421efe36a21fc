"""The paper's objectives, as values with analytic gradients in alpha and beta.

All are functions of the beliefs (mean m_i, width U_i) of one round and of `truth`, the means mu_i: the true ones
offline, the estimates themselves online. i*, L and gamma are constants of the step, as in the paper. i* adds the same
number to every score and thus cannot change p; for gamma the full derivative is optional. Sums over rounds are replaced
by means over rounds, and the penalties by means over arms: with the printed sums, a step would have size 100.
"""

from __future__ import annotations

from goodarm.numerics import sigmoid
from goodarm.paper.soft_index import Floats, best_lower_bound, scores_of, soft_index, softmax


def sign(x: float) -> float:
    """-1, 0 or 1."""
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)


def sampling_objective(
    means: Floats,
    widths: Floats,
    truth: Floats,
    beta: float,
    coldness: float,
    eta1: float,
    eta2: float,
    through_gamma: float,
) -> tuple[float, float]:
    """sum_i p_i mu_i - mean_i (eta1 C_i + eta2 |C_i|), C_i = |mu_i - m_i| - beta U_i, and its derivative in beta.

    d/dbeta sum p mu = gamma Cov_p(phi, mu), phi_i = U_i + U_i*; the constant U_i* has no covariance. With
    `through_gamma` also gamma = log(...)/max S moves: d gamma = -gamma phi_max/max S, which adds d gamma Cov_p(S, mu).
    (paper, equation "offline_sample_objective_constraint")
    """
    index = soft_index(means, widths, beta, coldness)
    p, gamma, count = index.probabilities, index.coldness, len(means)
    top = int(index.scores.argmax())
    turn = 0.0
    if through_gamma > 0.0 and gamma > 0.0:
        turn = -gamma * (widths[top] + widths[index.leader]) / index.scores[top]
    reward, pushed = 0.0, 0.0
    for i in range(count):
        reward += p[i] * truth[i]
        pushed += p[i] * (gamma * widths[i] + turn * index.scores[i])
    slope, penalty = 0.0, 0.0
    for i in range(count):
        push = gamma * widths[i] + turn * index.scores[i]
        excess = abs(truth[i] - means[i]) - beta * widths[i]
        slope += p[i] * (push - pushed) * (truth[i] - reward) + (eta1 + eta2 * sign(excess)) * widths[i] / count
        penalty += (eta1 * excess + eta2 * abs(excess)) / count
    return reward - penalty, slope


def identification_objective(
    means: Floats,
    widths: Floats,
    truth: Floats,
    alpha: float,
    threshold: float,
    sharpness: float,
    eta1: float,
    eta2: float,
    by_gap: float,
    covering: float = 0.0,
) -> tuple[float, float]:
    """sum_i sigmoid(M (m_i - alpha U_i - xi)) (mu_i - xi) - mean_i (eta1 D_i + eta2 |D_i|), and its slope in alpha.

    D_i = alpha U_i - |mu_i - m_i| as printed in the Lagrangian, which pushes alpha down; with `by_gap` > 0
    alpha U_i - |mu_i - xi|, the constraint that the text states. With `covering` > 0 D has the opposite sign,
    |mu_i - m_i| - alpha U_i, as in the constraint C of the sampling bound: alpha U must cover the error of the mean.
    (paper, equation "offline_identify_objective_constraint")
    """
    value, slope, count = 0.0, 0.0, len(means)
    for i in range(count):
        worth = truth[i] - threshold
        called = sigmoid(sharpness * (means[i] - alpha * widths[i] - threshold))
        side = -1.0 if covering > 0.0 else 1.0
        excess = side * (alpha * widths[i] - abs(worth if by_gap > 0.0 else truth[i] - means[i]))
        value += called * worth - (eta1 * excess + eta2 * abs(excess)) / count
        slope -= sharpness * widths[i] * called * (1.0 - called) * worth
        slope -= side * (eta1 + eta2 * sign(excess)) * widths[i] / count
    return value, slope


def kept_shares(means: Floats, widths: Floats, alpha: float, threshold: float, sharpness: float) -> Floats:
    """I_i = sigmoid(M (m_i - alpha U_i - xi)): the share of arm i that the threshold's soft removal keeps."""
    shares = means.copy()
    for i in range(len(means)):
        shares[i] = sigmoid(sharpness * (means[i] - alpha * widths[i] - threshold))
    return shares


def reward_objective(
    means: Floats, widths: Floats, truth: Floats, alpha: float, beta: float, threshold: float, sharpness: float
) -> tuple[float, float, float]:
    """sum_i p_i mu_i with p = softmax(S_i I_i), and its derivatives in alpha and beta.

    With v = sum p mu: d/d(S_i I_i) = p_i (mu_i - v), dS_i/dbeta = phi_i, dI_i/dalpha = -M U_i I_i (1 - I_i).
    (paper, equation "combine_objective")
    """
    leader = best_lower_bound(means, widths, beta)
    scores = scores_of(means, widths, beta, leader)
    kept = kept_shares(means, widths, alpha, threshold, sharpness)
    p = softmax(scores * kept)
    reward = 0.0
    for i in range(len(means)):
        reward += p[i] * truth[i]
    slope_alpha, slope_beta = 0.0, 0.0
    for i in range(len(means)):
        pull = p[i] * (truth[i] - reward)
        slope_beta += pull * (widths[i] + widths[leader]) * kept[i]
        slope_alpha -= pull * scores[i] * sharpness * widths[i] * kept[i] * (1.0 - kept[i])
    return reward, slope_alpha, slope_beta
