"""Naive Bayes for features that are categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_non_negative, validate_data

from tamis.naive_bayes._base import check_number
from tamis.naive_bayes._counting import CountingNB


class CategoricalNB(CountingNB):
    """Naive Bayes for features that are categories, each with a distribution of its own.

    Parameters
    ----------
    alpha : float, default=1.0
        Added to each count of a class, so that a category never seen in a class keeps a probability; 1 is
        Laplace's rule.
    force_alpha : bool, default=True
        Take `alpha` as it is. If false, less than 1e-10 becomes 1e-10, with a warning.
    fit_prior : bool, default=True
        Learn the classes' prior probabilities from the rows; if false, all are equal.
    class_prior : array-like of shape (n_classes,), default=None
        The prior probabilities, in the order of `classes_`, instead of learnt ones.
    min_categories : int or array-like of shape (n_features,), default=None
        How many categories a feature has at least, whatever was seen of it.

    Attributes
    ----------
    category_count_ : list of n_features ndarrays of shape (n_classes, n_categories)
        Rows of each class that have each category, by their weights, without `alpha`.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_count_ : ndarray of shape (n_classes,)
        Rows of each class, by their weights.
    class_log_prior_ : ndarray of shape (n_classes,)
        Logarithms of the prior probabilities, in nats.
    feature_log_prob_ : list of n_features ndarrays of shape (n_classes, n_categories)
        ``log P(category | class)``, in nats.
    n_categories_ : ndarray of shape (n_features,)
        Categories of each feature, as the last rows and `min_categories` say.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all columns had names of type str.

    Examples
    --------
    >>> from tamis.naive_bayes import CategoricalNB
    >>> classifier = CategoricalNB().fit([[0, 2], [0, 1], [1, 0]], ["a", "a", "b"])
    >>> classifier.predict([[0, 0], [1, 0]]).tolist()
    ['a', 'b']
    """

    category_count_: list[np.ndarray]
    feature_log_prob_: list[np.ndarray]

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: npt.ArrayLike | None = None,
        min_categories: int | npt.ArrayLike | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("alpha", self.alpha)

    def _check_X(self, X: Any) -> np.ndarray:
        X = validate_data(self, X, dtype="int", reset=False)
        check_non_negative(X, "CategoricalNB (input X)")
        return X

    def _check_X_y(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        X, y = validate_data(self, X, y, dtype="int", reset=reset)
        check_non_negative(X, "CategoricalNB (input X)")
        return X, y

    def _start(self, n_classes: int, n_features: int) -> None:
        self.class_count_ = np.zeros(n_classes)
        self.category_count_ = [np.zeros((n_classes, 0)) for _ in range(n_features)]

    def _n_categories(self, X: np.ndarray) -> np.ndarray:
        seen = X.max(axis=0) + 1
        if self.min_categories is None:
            return seen
        least = np.asarray(self.min_categories)
        if least.dtype.kind != "i":
            raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.shape not in ((), seen.shape):
            raise ValueError(
                f"'min_categories' should have shape {seen.shape} or be a number. Got {least.shape} instead."
            )
        return np.maximum(seen, least, dtype=np.int64)

    def _count(self, X: np.ndarray, codes: np.ndarray, weights: np.ndarray | None) -> None:
        n_classes = len(self.classes_)
        self.n_categories_ = self._n_categories(X)
        for feature, n_categories in enumerate(self.n_categories_):
            before = self.category_count_[feature]
            n_categories = max(n_categories, before.shape[1])
            cells = codes * n_categories + X[:, feature]
            counts = np.bincount(cells, weights, minlength=n_classes * n_categories).reshape(
                n_classes, n_categories
            )
            counts = counts.astype(np.float64, copy=False)
            counts[:, : before.shape[1]] += before
            self.category_count_[feature] = counts

    def _smooth(self, alpha: Any) -> None:
        self.feature_log_prob_ = []
        for counts in self.category_count_:
            smoothed = counts + alpha
            self.feature_log_prob_.append(np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True)))

    def _joint_log_likelihood(self, X: np.ndarray) -> np.ndarray:
        joint = np.zeros((X.shape[0], len(self.classes_)))
        for feature, weights in enumerate(self.feature_log_prob_):
            categories = X[:, feature]
            if categories.max() >= weights.shape[1]:
                row = np.argmax(categories >= weights.shape[1])
                raise IndexError(
                    f"row {row}: expected a category below {weights.shape[1]} of feature {feature}, "
                    f"got {categories[row]}"
                )
            joint += weights[:, categories].T
        return joint + self.class_log_prior_
