"""Fitting of the discrete estimators: counts by class, smoothing, priors."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tamis import _tamis
from tamis.naive_bayes._base import NaiveBayes, check_flag, check_number, check_priors, checked_weights

ALPHA_MIN = 1e-10


class CountingNB(NaiveBayes):
    """A model of counts by class, smoothed by `alpha`."""

    def __init__(
        self,
        *,
        alpha: float | npt.ArrayLike = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: npt.ArrayLike | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _start(self, X: Any) -> None:
        self.class_count_ = np.zeros(len(self.classes_))

    @abstractmethod
    def _count(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        """Add rows to the counts of their classes, but not to `class_count_`."""

    @abstractmethod
    def _smooth(self, alpha: Any) -> None:
        """Set `feature_log_prob_` from the counts."""

    def _add(self, X: Any, codes: np.ndarray, sample_weight: Any) -> None:
        weights = checked_weights(sample_weight, X)
        self._count(X, codes, weights)
        if weights is not None and len(self.classes_) == 1:
            self.class_count_ += weights.sum()  # pairwise, as scikit-learn adds them up, to the bit
        else:
            self.class_count_ += np.bincount(codes, weights, minlength=len(self.classes_))
        self._smooth(self._check_alpha())
        self._set_prior()

    def _check_parameters(self) -> None:
        if isinstance(self.alpha, Real):
            check_number("alpha", self.alpha)
        check_flag("force_alpha", self.force_alpha)
        check_flag("fit_prior", self.fit_prior)

    def _check_alpha(self) -> Any:
        """`alpha` as it is used: a number, or an array of shape (n_features,)."""
        alpha = self.alpha if isinstance(self.alpha, Real) else np.asarray(self.alpha)
        if isinstance(alpha, np.ndarray):
            if alpha.shape != (self.n_features_in_,):
                raise ValueError(
                    "When alpha is an array, it should contains `n_features` numbers: "
                    f"expected the shape ({self.n_features_in_},), got {alpha.shape}"
                )
            if not np.all(alpha >= 0):
                raise ValueError("All values in alpha must be greater than 0.")
        if self.force_alpha or np.min(alpha) >= ALPHA_MIN:
            return alpha
        warnings.warn(
            f"alpha too small will result in numeric errors, setting alpha = {ALPHA_MIN:.1e}. "
            "Use `force_alpha=True` to keep alpha unchanged."
        )
        return np.maximum(alpha, ALPHA_MIN)

    def _set_prior(self) -> None:
        n_classes = len(self.classes_)
        if self.class_prior is not None:
            check_priors(self.class_prior, n_classes)
            self.class_log_prior_ = np.log(self.class_prior)
        elif self.fit_prior:
            with np.errstate(divide="ignore"):  # -inf for a class without rows
                self.class_log_prior_ = np.log(self.class_count_) - np.log(self.class_count_.sum())
        else:
            self.class_log_prior_ = np.full(n_classes, -np.log(n_classes))


class MatrixNB(CountingNB):
    """Counts of features, `feature_count_`, from dense and sparse matrices."""

    _validation = {"accept_sparse": "csr"}
    _input_tags = ("sparse",)

    def _start(self, X: Any) -> None:
        super()._start(X)
        self.feature_count_ = np.zeros((len(self.classes_), X.shape[1]))

    def _threshold(self, dtype: np.dtype) -> float | None:
        """Values above it count as 1, others as 0. None: values count as they are."""
        return None

    def _count(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        threshold = self._threshold(X.dtype)
        if sparse.issparse(X):
            counts = np.zeros_like(self.feature_count_)
            _tamis.csr_count(_rows(X), codes, counts, weights, threshold)
        else:
            members = np.zeros((len(codes), len(self.classes_)))
            members[np.arange(len(codes)), codes] = 1.0 if weights is None else weights
            counts = members.T @ _above(X, threshold)
        self.feature_count_ += counts

    def _product(self, X: Any, weights: np.ndarray) -> np.ndarray:
        """``X @ weights.T``, shape (n_samples, n_classes)."""
        threshold = self._threshold(X.dtype)
        if not sparse.issparse(X):
            return _above(X, threshold) @ weights.T
        out = np.empty((X.shape[0], weights.shape[0]))
        # with many entries it pays to copy the weights so that those of a feature lie together
        order = "C" if X.nnz < X.shape[1] / 2 else "F"
        _tamis.csr_product(_rows(X), np.asarray(weights, np.float64, order=order), out, threshold)
        return out


def log_shares(counts: np.ndarray) -> np.ndarray:
    """Logarithms of each row's shares of its sum. Overwrites `counts`."""
    total = counts.sum(axis=1, keepdims=True)
    np.log(counts, out=counts)
    counts -= np.log(total)
    return counts


def _above(X: np.ndarray, threshold: float | None) -> np.ndarray:
    """1 for values above the threshold and 0 for others; without a threshold the values as they are."""
    return X if threshold is None else (X > threshold).astype(X.dtype)


def _rows(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """A CSR matrix as the kernels take it: contiguous, and values as float64 unless they are float32."""
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    data = np.require(X.data, dtype, "CA")
    return np.require(X.indptr, None, "CA"), np.require(X.indices, None, "CA"), data, X.shape[1]
