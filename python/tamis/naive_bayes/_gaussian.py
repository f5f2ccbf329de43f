"""Naive Bayes for features that are normally distributed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from tamis.naive_bayes._base import NaiveBayes, check_number, checked_weights


class GaussianNB(NaiveBayes):
    """Naive Bayes for real numbers, normally distributed in each class.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        The prior probabilities, in the order of `classes_`, instead of learnt ones.
    var_smoothing : float, default=1e-9
        The part of the largest variance of all features that is added to every variance.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_count_ : ndarray of shape (n_classes,)
        Rows of each class, by their weights.
    class_prior_ : ndarray of shape (n_classes,)
        The prior probabilities.
    epsilon_ : float
        What was added to every variance, in squares of the features' unit.
    theta_ : ndarray of shape (n_classes, n_features)
        Mean of each feature by class.
    var_ : ndarray of shape (n_classes, n_features)
        Variance of each feature by class, `epsilon_` included.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all columns had names of type str.

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

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> GaussianNB:
        """Fit to rows and their labels; what was fitted before is forgotten.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Real numbers.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; 1 if not given.

        Returns
        -------
        self
        """
        y = validate_data(self, y=y)
        self.classes_ = None
        return self.partial_fit(X, y, np.unique(y), sample_weight)

    def partial_fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> GaussianNB:
        """Add rows to what was fitted before (Chan, Golub and LeVeque 1979).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Real numbers.
        y : array-like of shape (n_samples,)
            Labels, all of them among the classes.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come. The first call needs them; later ones may leave them out.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; 1 if not given.

        Returns
        -------
        self
        """
        check_number("var_smoothing", self.var_smoothing)
        first = self._is_first_call(classes)
        X, y = validate_data(self, X, y, reset=first)
        dtype = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
        weights = checked_weights(sample_weight, X, dtype)
        self.epsilon_ = self.var_smoothing * np.var(X, axis=0).max()
        if first:
            self._start(X.shape[1], dtype)
        else:
            self.var_ -= self.epsilon_
        codes = self._encoded(y)
        for c in np.unique(codes):
            members = codes == c
            self._add(c, X[members], None if weights is None else weights[members])
        self.var_ += self.epsilon_
        if self.priors is None:
            self.class_prior_ = self.class_count_ / self.class_count_.sum()
        return self

    def _start(self, n_features: int, dtype: np.dtype) -> None:
        n_classes = len(self.classes_)
        self.theta_ = np.zeros((n_classes, n_features), dtype)
        self.var_ = np.zeros((n_classes, n_features), dtype)
        self.class_count_ = np.zeros(n_classes, dtype)
        self.class_prior_ = np.zeros(n_classes, dtype)
        if self.priors is not None:
            self.class_prior_ = self._checked_priors(dtype)

    def _checked_priors(self, dtype: np.dtype) -> np.ndarray:
        priors = np.asarray(self.priors, dtype)
        if priors.shape != (len(self.classes_),):
            raise ValueError(
                "Number of priors must match number of classes. "
                f"Expected the shape ({len(self.classes_)},), got {priors.shape}"
            )
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError(f"The sum of the priors should be 1. Got {priors.sum()}")
        if np.any(priors < 0):
            raise ValueError(f"Priors must be non-negative. Got {priors.min()}")
        return priors

    def _add(self, c: int, X: np.ndarray, weights: np.ndarray | None) -> None:
        """Add rows of the class at place `c`."""
        self.theta_[c], self.var_[c] = self._update_mean_variance(
            self.class_count_[c], self.theta_[c], self.var_[c], X, weights
        )
        self.class_count_[c] += X.shape[0] if weights is None else weights.sum()

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

    def _check_X(self, X: Any) -> np.ndarray:
        return validate_data(self, X, reset=False)

    def _joint_log_likelihood(self, X: np.ndarray) -> np.ndarray:
        joint = []
        for prior, mean, var in zip(self.class_prior_, self.theta_, self.var_):
            distances = X - mean
            distances *= distances
            distances /= var
            density = -0.5 * np.sum(np.log(2.0 * np.pi * var)) - 0.5 * distances.sum(axis=1)
            joint.append(np.log(prior) + density)
        return np.array(joint).T
