"""Naive Bayes for features that are normally distributed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.naive_bayes._base import NaiveBayes, check_number, check_priors, checked_weights


class GaussianNB(NaiveBayes):
    """Naive Bayes for real numbers, normally distributed in each class.

    Rows are added after Chan, Golub and LeVeque (1979).

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities to use instead of learned ones, in the order of `classes_`.
    var_smoothing : float, default=1e-9
        The part of the largest variance of all features that is added to every variance.

    Attributes
    ----------
    {classes_}
    class_prior_ : ndarray of shape (n_classes,)
        The prior probabilities.
    epsilon_ : float
        What was added to every variance, in squares of the features' unit.
    theta_ : ndarray of shape (n_classes, n_features)
        Mean of each feature by class.
    var_ : ndarray of shape (n_classes, n_features)
        Variance of each feature by class, `epsilon_` included.
    {n_features_in_}

    Examples
    --------
    >>> from tamis.naive_bayes import GaussianNB
    >>> classifier = GaussianNB().fit([[-2.0], [-1.0], [1.0], [2.0]], ["low", "low", "high", "high"])
    >>> classifier.predict([[-0.5], [3.0]]).tolist()
    ['low', 'high']
    """

    def __init__(self, *, priors: npt.ArrayLike | None = None, var_smoothing: float = 1e-9) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _check_parameters(self) -> None:
        check_number("var_smoothing", self.var_smoothing)

    def _sorted_labels(self, y: np.ndarray) -> np.ndarray:
        # like scikit-learn's, without its warning of many labels
        return super()._sorted_labels(np.unique(y))

    def _start(self, X: np.ndarray) -> None:
        dtype, n_classes = _float_type(X), len(self.classes_)
        self.theta_ = np.zeros((n_classes, X.shape[1]), dtype)
        self.var_ = np.zeros((n_classes, X.shape[1]), dtype)
        self.epsilon_ = None  # nothing is added yet
        self.class_count_ = np.zeros(n_classes, dtype)
        self.class_prior_ = np.zeros(n_classes, dtype)
        if self.priors is not None:
            self.class_prior_ = self._checked_priors(dtype)

    def _checked_priors(self, dtype: np.dtype) -> np.ndarray:
        priors = np.asarray(self.priors, dtype)
        check_priors(priors, len(self.classes_))
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError(f"The sum of the priors should be 1. Got {priors.sum()}")
        if np.any(priors < 0):
            raise ValueError(f"Priors must be non-negative. Got {priors.min()}")
        return priors

    def _add(self, X: np.ndarray, codes: np.ndarray, sample_weight: Any) -> None:
        weights = checked_weights(sample_weight, X, _float_type(X))
        is_first = self.epsilon_ is None
        self.epsilon_ = self.var_smoothing * np.var(X, axis=0).max()
        if not is_first:
            self.var_ -= self.epsilon_
        for c in np.unique(codes):
            members = codes == c
            rows, of_rows = X[members], None if weights is None else weights[members]
            self.theta_[c], self.var_[c] = self._update_mean_variance(
                self.class_count_[c], self.theta_[c], self.var_[c], rows, of_rows
            )
            self.class_count_[c] += len(rows) if of_rows is None else of_rows.sum()
        self.var_ += self.epsilon_
        if self.priors is None:
            self.class_prior_ = self.class_count_ / self.class_count_.sum()

    @staticmethod
    def _update_mean_variance(
        n_past: float, mean: Any, var: Any, X: np.ndarray, weights: np.ndarray | None = None
    ) -> Any:
        """Mean and variance of each feature once rows are added to `n_past` earlier ones."""
        n_new = X.shape[0] if weights is None else float(weights.sum())
        if X.shape[0] == 0 or (weights is not None and np.isclose(n_new, 0.0)):
            return mean, var
        if weights is None:
            new_mean, new_var = np.mean(X, axis=0), np.var(X, axis=0)
        else:
            new_mean = np.average(X, axis=0, weights=weights)
            new_var = np.average((X - new_mean) ** 2, axis=0, weights=weights)
        if n_past == 0:
            return new_mean, new_var
        n = float(n_past + n_new)
        squares = n_past * var + n_new * new_var + (n_new * n_past / n) * (mean - new_mean) ** 2
        return (n_new * new_mean + n_past * mean) / n, squares / n

    def _joint_log_likelihood(self, X: np.ndarray) -> np.ndarray:
        joint = []
        for prior, mean, var in zip(self.class_prior_, self.theta_, self.var_):
            distances = X - mean
            distances *= distances
            distances /= var
            density = -0.5 * np.sum(np.log(2.0 * np.pi * var)) - 0.5 * distances.sum(axis=1)
            joint.append(np.log(prior) + density)
        return np.array(joint).T


def _float_type(X: np.ndarray) -> np.dtype:
    """The type of fitted numbers: that of the rows if they are floats."""
    return X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
