"""Naive Bayes for counts of features: multinomial, complement and Bernoulli."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tamis.naive_bayes._base import check_flag, check_number
from tamis.naive_bayes._counting import MatrixNB, log_shares


class MultinomialNB(MatrixNB):
    """Naive Bayes for counts, such as the words of a document; fractions such as tf-idf work too.

    Parameters
    ----------
    {alpha}
    {force_alpha}
    {priors}

    Attributes
    ----------
    {classes_}
    {class_log_prior_}
    feature_count_ : ndarray of shape (n_classes, n_features)
        Sums of each feature by class, without `alpha`.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        ``log P(feature | class)``, in nats.
    {n_features_in_}

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from tamis.naive_bayes import MultinomialNB
    >>> words = CountVectorizer()
    >>> X = words.fit_transform(["win cash now", "cash prize", "lunch at noon", "see you at lunch"])
    >>> classifier = MultinomialNB().fit(X, ["spam", "spam", "ham", "ham"])
    >>> classifier.predict(words.transform(["a cash prize", "lunch"])).tolist()
    ['spam', 'ham']
    """

    _input_tags = ("sparse", "positive_only")

    def _smooth(self, alpha: Any) -> None:
        self.feature_log_prob_ = log_shares(self.feature_count_ + alpha)

    def _joint_log_likelihood(self, X: Any) -> np.ndarray:
        return self._product(X, self.feature_log_prob_) + self.class_log_prior_


class ComplementNB(MatrixNB):
    """Naive Bayes that fits each class to the rows of all others, for classes of unequal size.

    After Rennie, Shih, Teevan and Karger (2003), "Tackling the poor assumptions of naive Bayes text classifiers".

    Parameters
    ----------
    {alpha}
    {force_alpha}
    fit_prior : bool, default=True
        Learn the prior probabilities from the rows. Used only if there is one class.
    class_prior : array-like of shape (n_classes,), default=None
        Prior probabilities to use instead of learned ones. Used only if there is one class.
    norm : bool, default=False
        Divide each class's weights by their sum, the paper's second step.

    Attributes
    ----------
    {classes_}
    {class_log_prior_}
    feature_all_ : ndarray of shape (n_features,)
        Sums of each feature over all classes.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Sums of each feature by class, without `alpha`.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Weights of the features: ``-log P(feature | other classes)``, in nats; divided by their sum with
        `norm`.
    {n_features_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from tamis.naive_bayes import ComplementNB
    >>> X = csr_matrix(np.array([[2, 0, 1], [1, 0, 0], [0, 3, 1]]))
    >>> ComplementNB().fit(X, [0, 0, 1]).predict([[1, 0, 0], [0, 2, 2]]).tolist()
    [0, 1]
    """

    _input_tags = ("sparse", "positive_only")

    def __init__(
        self,
        *,
        alpha: float | npt.ArrayLike = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: npt.ArrayLike | None = None,
        norm: bool = False,
    ) -> None:
        super().__init__(alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior)
        self.norm = norm

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("norm", self.norm)

    def _smooth(self, alpha: Any) -> None:
        self.feature_all_ = self.feature_count_.sum(axis=0)
        weights = (self.feature_all_ + alpha) - self.feature_count_
        weights /= weights.sum(axis=1, keepdims=True)
        np.log(weights, out=weights)
        if self.norm:
            weights /= weights.sum(axis=1, keepdims=True)
        else:
            np.negative(weights, out=weights)
        self.feature_log_prob_ = weights

    def _joint_log_likelihood(self, X: Any) -> np.ndarray:
        joint = self._product(X, self.feature_log_prob_)
        return joint + self.class_log_prior_ if len(self.classes_) == 1 else joint


class BernoulliNB(MatrixNB):
    """Naive Bayes for features that are present or absent; absent ones are evidence too.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Added to the rows that have a feature and to those that lack it. 1 is Laplace smoothing.
    {force_alpha}
    binarize : float or None, default=0.0
        A feature is present if its value is above this. None: values are 0 and 1 already.
    {priors}

    Attributes
    ----------
    {classes_}
    {class_log_prior_}
    feature_count_ : ndarray of shape (n_classes, n_features)
        Rows of each class that have each feature, without `alpha`.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        ``log P(feature is present | class)``, in nats.
    {n_features_in_}

    Examples
    --------
    >>> from tamis.naive_bayes import BernoulliNB
    >>> classifier = BernoulliNB().fit([[1, 0], [3, 0], [0, 1]], ["spam", "spam", "ham"])
    >>> classifier.predict_proba([[1, 0]]).round(3).tolist()
    [[0.09, 0.91]]
    """

    def __init__(
        self,
        *,
        alpha: float | npt.ArrayLike = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: npt.ArrayLike | None = None,
    ) -> None:
        super().__init__(alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior)
        self.binarize = binarize

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.binarize is not None:
            check_number("binarize", self.binarize)

    def _threshold(self, dtype: np.dtype) -> float | None:
        if self.binarize is None:
            return None
        # numpy compares in the type of an array of floats
        return float(dtype.type(self.binarize)) if dtype.kind == "f" else float(self.binarize)

    def _smooth(self, alpha: Any) -> None:
        weights = self.feature_count_ + alpha
        np.log(weights, out=weights)
        weights -= np.log(self.class_count_[:, np.newaxis] + alpha * 2)
        self.feature_log_prob_ = weights

    def _joint_log_likelihood(self, X: Any) -> np.ndarray:
        # log P(absent) of all features, and the difference for those present
        weights = np.exp(self.feature_log_prob_)
        np.subtract(1.0, weights, out=weights)
        np.log(weights, out=weights)
        absent = weights.sum(axis=1)
        np.subtract(self.feature_log_prob_, weights, out=weights)
        return self._product(X, weights) + (self.class_log_prior_ + absent)
