"""Least squares and partial correlation as functions of sums, so that blocks can be resampled at no cost.

`moments` makes, per row, the products whose sums hold all that a regression needs; `coefficients` and
`partial_correlation` turn sums of them (one row per replicate) into estimates.
"""

from __future__ import annotations

import numpy as np

from storscope.domain.arrays import FloatArray

_CONSTANT = 1e-6
"""Spread below which a scaled column counts as constant in a resample."""


def moments(columns: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Products of every pair of columns (a constant put first), per row: shape (n, (k + 1)^2)."""
    with_constant = np.column_stack([np.ones(len(columns)), columns])
    weighted = with_constant if weights is None else with_constant * weights[:, None]
    products: FloatArray = weighted[:, :, None] * with_constant[:, None, :]
    return products.reshape(len(columns), -1)


def total_moments(columns: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """The sum of `moments` over all rows, as one row, at the cost of a matrix product."""
    with_constant = np.column_stack([np.ones(len(columns)), columns])
    weighted = with_constant if weights is None else with_constant * weights[:, None]
    products: FloatArray = weighted.T @ with_constant
    return products.reshape(1, -1)


def coefficients(sums: FloatArray, k: int) -> FloatArray:
    """Regression of the last of k columns on the others: (replicates, k) coefficients, the constant first.

    Where columns are collinear the smallest solution is given.
    """
    matrix = sums.reshape(-1, k + 1, k + 1)
    inverse = np.linalg.pinv(matrix[:, :k, :k], hermitian=True)
    solved: FloatArray = (inverse @ matrix[:, :k, k:])[:, :, 0]
    return solved


def partial_correlation(sums: FloatArray, k: int) -> FloatArray:
    """Correlation of the first and the last of k columns with those between held fixed; 0 where one is constant.

    The columns must have been `scaled`, so that a spread of 1e-6 means constant.
    """
    matrix = sums.reshape(-1, k + 1, k + 1)
    count = matrix[:, 0, 0][:, None, None]
    mean = matrix[:, :1, 1:] / count
    covariance = matrix[:, 1:, 1:] / count - np.swapaxes(mean, 1, 2) * mean
    scale = np.sqrt(np.clip(np.diagonal(covariance, axis1=1, axis2=2), 0.0, None))
    safe = np.where(scale > _CONSTANT, scale, np.inf)
    correlation = covariance / safe[:, :, None] / safe[:, None, :]
    diagonal = np.arange(k)
    correlation[:, diagonal, diagonal] = 1.0
    precision = np.linalg.pinv(correlation, rcond=1e-8, hermitian=True)
    power = precision[:, 0, 0] * precision[:, -1, -1]
    result: FloatArray = -precision[:, 0, -1] / np.sqrt(np.where(power > 0, power, np.inf))
    return np.clip(result, -1.0, 1.0)


def explained_share(sums: FloatArray, k: int) -> FloatArray:
    """Share of the last column's variance that a regression on the others explains (R squared)."""
    matrix = sums.reshape(-1, k + 1, k + 1)
    solved = coefficients(sums, k)
    count, total = matrix[:, 0, 0], matrix[:, 0, k]
    variance = matrix[:, k, k] - total**2 / count
    fitted = np.einsum("ri,ri->r", solved, matrix[:, :k, k]) - total**2 / count
    share: FloatArray = np.where(variance > 0, fitted / np.where(variance > 0, variance, 1.0), 0.0)
    return np.clip(share, 0.0, 1.0)


def scaled(values: FloatArray) -> FloatArray:
    """Values shifted and scaled to mean 0 and deviation 1, for sums that keep their digits; zeros when constant."""
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)
