"""What all naive Bayes estimators share: labels, weights, and predictions from joint log-likelihoods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_array, check_is_fitted


def check_number(name: str, value: Any) -> None:
    """Refuse what is not a number of at least 0."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name}: expected a number of at least 0, got {value!r}")
    if not value >= 0:
        raise ValueError(f"{name}: expected a number of at least 0, got {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {value!r}")


def checked_weights(sample_weight: Any, X: Any, dtype: npt.DTypeLike = np.float64) -> np.ndarray | None:
    """One finite weight a row, shape (n_samples,); a number stands for that many equal ones."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], sample_weight)
    weights = check_array(sample_weight, ensure_2d=False, dtype=dtype, input_name="sample_weight")
    if weights.shape != (X.shape[0],):
        raise ValueError(f"sample_weight: expected the shape ({X.shape[0]},), got {weights.shape}")
    if not np.any(weights):
        raise ValueError("sample_weight: expected a weight other than zero, got none")
    return weights


class NaiveBayes(ClassifierMixin, BaseEstimator, ABC):
    """Predictions from the joint log-likelihood that a subclass computes."""

    @abstractmethod
    def _check_X(self, X: Any) -> Any:
        """Rows to predict, validated."""

    @abstractmethod
    def _joint_log_likelihood(self, X: Any) -> np.ndarray:
        """``log P(c) + log P(x | c)``, shape (n_samples, n_classes), of validated rows."""

    def _is_first_call(self, classes: Any) -> bool:
        """Settle `classes_` at the first call of `partial_fit`; later calls must agree with it."""
        fitted = getattr(self, "classes_", None)
        if fitted is None:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self.classes_ = unique_labels(classes)
            return True
        if classes is not None and not np.array_equal(fitted, unique_labels(classes)):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {fitted!r}"
            )
        return False

    def _encoded(self, y: np.ndarray) -> np.ndarray:
        """Each label's place in `classes_`, int64 of shape (n_samples,)."""
        codes = np.searchsorted(self.classes_, y)
        known = self.classes_[np.minimum(codes, len(self.classes_) - 1)] == y
        if not np.all(known):
            new = np.unique(y[~known])
            raise ValueError(
                f"The target label(s) {new} in y do not exist in the initial classes {self.classes_}"
            )
        return codes.astype(np.int64, copy=False)

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Log-probabilities of row and class together, ``log P(c) + log P(x | c)``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score; `GaussianNB` and `CategoricalNB` take no sparse ones.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In nats; columns are in the order of `classes_`.
        """
        check_is_fitted(self)
        return self._joint_log_likelihood(self._check_X(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row, the first of equal ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        joint = self.predict_joint_log_proba(X)
        return self.classes_[np.argmax(joint, axis=1)]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log-probabilities of the classes, ``log P(c | x)``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In nats; columns are in the order of `classes_`.
        """
        joint = self.predict_joint_log_proba(X)
        return joint - logsumexp(joint, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, ``P(c | x)``, which add up to 1 in each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns are in the order of `classes_`.
        """
        return np.exp(self.predict_log_proba(X))
