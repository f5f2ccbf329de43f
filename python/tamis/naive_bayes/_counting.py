"""Fitting of the discrete estimators: counts by class, smoothing, priors."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_non_negative, validate_data

from tamis import _tamis
from tamis.naive_bayes._base import NaiveBayes, check_flag, check_number, checked_weights

ALPHA_MIN = 1e-10


class CountingNB(NaiveBayes):
    """A model of counts, which later calls of `partial_fit` add to."""

    alpha: float | npt.ArrayLike
    force_alpha: bool
    fit_prior: bool
    class_prior: npt.ArrayLike | None

    @abstractmethod
    def _start(self, n_classes: int, n_features: int) -> None:
        """Set all counts to 0."""

    @abstractmethod
    def _count(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        """Add rows to the counts of their classes, but not to `class_count_`."""

    @abstractmethod
    def _smooth(self, alpha: Any) -> None:
        """Set `feature_log_prob_` from the counts."""

    @abstractmethod
    def _check_X_y(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        """Rows and labels to fit, validated."""

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> CountingNB:
        """Fit to rows and their labels; what was fitted before is forgotten.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts, or values that stand for them; `CategoricalNB` takes categories from 0 and no sparse
            matrix.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; 1 if not given.

        Returns
        -------
        self
        """
        self._check_parameters()
        X, y = self._check_X_y(X, y, reset=True)
        self.classes_ = unique_labels(y)
        self._start(len(self.classes_), X.shape[1])
        return self._add(X, y, sample_weight)

    def partial_fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> CountingNB:
        """Add rows to what was fitted before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `fit`.
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
        self._check_parameters()
        X, y = self._check_X_y(X, y, reset=not hasattr(self, "classes_"))
        if self._is_first_call(classes):
            self._start(len(self.classes_), X.shape[1])
        return self._add(X, y, sample_weight)

    def _add(self, X: Any, y: np.ndarray, sample_weight: npt.ArrayLike | None) -> CountingNB:
        codes = self._encoded(y)
        weights = checked_weights(sample_weight, X)
        self._count(X, codes, weights)
        if weights is not None and len(self.classes_) == 1:
            self.class_count_ += weights.sum()  # pairwise, so that it has scikit-learn's bits
        else:
            self.class_count_ += np.bincount(codes, weights, minlength=len(self.classes_))
        self._smooth(self._check_alpha())
        self._set_prior()
        return self

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
            if np.shape(self.class_prior) != (n_classes,):
                raise ValueError(
                    "Number of priors must match number of classes. "
                    f"Expected the shape ({n_classes},), got {np.shape(self.class_prior)}"
                )
            self.class_log_prior_ = np.log(self.class_prior)
        elif self.fit_prior:
            with np.errstate(divide="ignore"):  # a class that has no row yet: -inf
                self.class_log_prior_ = np.log(self.class_count_) - np.log(self.class_count_.sum())
        else:
            self.class_log_prior_ = np.full(n_classes, -np.log(n_classes))


class MatrixNB(CountingNB):
    """Counts of features, `feature_count_`, from dense and sparse matrices."""

    feature_count_: np.ndarray
    feature_log_prob_: np.ndarray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags

    def _check_X(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", reset=False)

    def _check_X_y(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        X, y = validate_data(self, X, y, accept_sparse="csr", reset=reset)
        if self.__sklearn_tags__().input_tags.positive_only:
            check_non_negative(X, f"{type(self).__name__} (input X)")
        return X, y

    def _start(self, n_classes: int, n_features: int) -> None:
        self.class_count_ = np.zeros(n_classes)
        self.feature_count_ = np.zeros((n_classes, n_features))

    def _threshold(self, dtype: np.dtype) -> float | None:
        """Above it a value counts 1, and 0 otherwise; without one values count as they are."""
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
        # Few entries reach into each class's weights; for many it pays to bring the weights of a feature
        # together.
        order = "C" if X.nnz < X.shape[1] / 2 else "F"
        _tamis.csr_product(_rows(X), np.asarray(weights, np.float64, order=order), out, threshold)
        return out


def _above(X: np.ndarray, threshold: float | None) -> np.ndarray:
    """1 for values above the threshold and 0 for others; without one the values as they are."""
    return X if threshold is None else (X > threshold).astype(X.dtype)


def _rows(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """A CSR matrix as the kernels take it: contiguous, and values as float64 unless they are float32."""
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    data = np.require(X.data, dtype, "CA")
    return np.require(X.indptr, None, "CA"), np.require(X.indices, None, "CA"), data, X.shape[1]
