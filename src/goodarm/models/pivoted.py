"""Pivoted Cholesky: a kernel on many arms as few features and a small residual."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from goodarm.models.features import Floats


def pivoted_cholesky(
    diagonal: Floats, column: Callable[[int], Floats], most: int, tolerance: float
) -> tuple[Floats, Floats]:
    """Features F (K, r) and residuals (K,) with k(x, x') = F F' + residual, the residual's diagonal as given.

    Greedy: the arm with the largest residual comes next, until none exceeds `tolerance` times the largest variance or
    `most` columns are made. The residual is a covariance too, so that adding its diagonal to the variances never
    understates them, which random features and Nystroem's method do.

    >>> points = np.linspace(0.0, 1.0, 50)
    >>> kernel = np.exp(-0.5 * (points[:, None] - points) ** 2 / 0.3**2)
    >>> features, residual = pivoted_cholesky(np.diag(kernel), lambda i: kernel[:, i], 20, 1e-8)
    >>> features.shape[1], bool(np.abs(features @ features.T + np.diag(residual) - kernel).max() < 1e-7)
    (11, True)

    Reference: Harbrecht, Peters & Schneider 2012, Applied Numerical Mathematics 62(4).
    """
    residual = np.array(diagonal, dtype=np.float64)
    stop = tolerance * residual.max()
    columns: list[Floats] = []
    while len(columns) < min(most, residual.size):
        pivot = int(np.argmax(residual))
        if residual[pivot] <= stop:
            break
        fresh = np.asarray(column(pivot), dtype=np.float64).copy()
        for earlier in columns:
            fresh -= earlier[pivot] * earlier
        fresh /= np.sqrt(residual[pivot])
        columns.append(fresh)
        residual = np.maximum(residual - fresh**2, 0.0)
        residual[pivot] = 0.0
    return np.stack(columns, axis=1), residual
