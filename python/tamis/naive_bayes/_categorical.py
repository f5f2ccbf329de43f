"""Naive Bayes for features that are categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.naive_bayes._base import check_number
from tamis.naive_bayes._counting import CountingNB, log_shares


class CategoricalNB(CountingNB):
    """Naive Bayes for features that are categories, each with a distribution of its own.

    Parameters
    ----------
    alpha : float, default=1.0
        Added to each count of a class, so that a category never seen in a class keeps a probability. 1 is
        Laplace smoothing.
    {force_alpha}
    {priors}
    min_categories : int or array-like of shape (n_features,), default=None
        The least number of categories of a feature, whatever was seen of it.

    Attributes
    ----------
    category_count_ : list of n_features ndarrays of shape (n_classes, n_categories)
        Rows of each class that have each category, weighted, without `alpha`.
    {classes_}
    {class_log_prior_}
    feature_log_prob_ : list of n_features ndarrays of shape (n_classes, n_categories)
        ``log P(category | class)``, in nats.
    n_categories_ : ndarray of shape (n_features,)
        Categories of each feature, by the last rows and `min_categories`.
    {n_features_in_}

    Examples
    --------
    >>> from tamis.naive_bayes import CategoricalNB
    >>> classifier = CategoricalNB().fit([[0, 2], [0, 1], [1, 0]], ["a", "a", "b"])
    >>> classifier.predict([[0, 0], [1, 0]]).tolist()
    ['a', 'b']
    """

    _validation = {"dtype": "int"}
    _input_tags = ("categorical", "positive_only")

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: npt.ArrayLike | None = None,
        min_categories: int | npt.ArrayLike | None = None,
    ) -> None:
        super().__init__(alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior)
        self.min_categories = min_categories

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("alpha", self.alpha)

    def _start(self, X: np.ndarray) -> None:
        super()._start(X)
        self.category_count_ = [np.zeros((len(self.classes_), 0)) for _ in range(X.shape[1])]

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
            counts = np.bincount(cells, weights, minlength=n_classes * n_categories)
            counts = counts.reshape(n_classes, n_categories).astype(np.float64, copy=False)
            counts[:, : before.shape[1]] += before
            self.category_count_[feature] = counts

    def _smooth(self, alpha: Any) -> None:
        self.feature_log_prob_ = [log_shares(counts + alpha) for counts in self.category_count_]

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
