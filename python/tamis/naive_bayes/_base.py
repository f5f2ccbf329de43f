"""What the five naive Bayes estimators share: labels, weights, fitting in steps, predictions, and descriptions."""

from __future__ import annotations

import re
import textwrap
from abc import ABC, abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_array, check_is_fitted, check_non_negative, validate_data

if TYPE_CHECKING:
    from typing_extensions import Self

# Parameters and attributes that several estimators have; their docstrings name these descriptions in braces.
_DESCRIPTIONS = {
    "alpha": """\
alpha : float or array-like of shape (n_features,), default=1.0
    Added to each count of a class, so that a feature never seen in a class keeps a probability. 1 is
    Laplace smoothing.""",
    "force_alpha": """\
force_alpha : bool, default=True
    Use `alpha` as it is. If False, an alpha below 1e-10 becomes 1e-10, with a warning.""",
    "priors": """\
fit_prior : bool, default=True
    Learn the classes' prior probabilities from the rows. If False, all classes are equally probable.
class_prior : array-like of shape (n_classes,), default=None
    Prior probabilities to use instead of learned ones, in the order of `classes_`.""",
    "classes_": """\
classes_ : ndarray of shape (n_classes,)
    The labels, sorted.
class_count_ : ndarray of shape (n_classes,)
    Rows of each class, weighted.""",
    "class_log_prior_": """\
class_log_prior_ : ndarray of shape (n_classes,)
    Logarithms of the prior probabilities, in nats.""",
    "n_features_in_": """\
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Their names, if all columns had names of type str.""",
}


def check_number(name: str, value: Any) -> None:
    """Raise an error unless the value is a number of at least 0."""
    is_number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if not (is_number and value >= 0):
        error = ValueError if is_number else TypeError
        raise error(f"{name}: expected a number of at least 0, got {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Raise an error unless the value is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {value!r}")


def check_priors(priors: npt.ArrayLike, n_classes: int) -> None:
    """Raise an error unless there is one prior for each class."""
    if np.shape(priors) != (n_classes,):
        raise ValueError(
            "Number of priors must match number of classes. "
            f"Expected the shape ({n_classes},), got {np.shape(priors)}"
        )


def checked_weights(sample_weight: Any, X: Any, dtype: npt.DTypeLike = np.float64) -> np.ndarray | None:
    """One finite weight for each row, shape (n_samples,); a single number is the weight of every row."""
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
    """Fits sums by class, and predicts from the joint log-likelihood that a subclass computes."""

    # how scikit-learn validates rows
    _validation: ClassVar[dict[str, Any]] = {}
    # the tags of input that are true
    _input_tags: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Fill in the descriptions that the docstring names."""
        super().__init_subclass__(**kwargs)

        def described(line: re.Match[str]) -> str:
            return textwrap.indent(_DESCRIPTIONS.get(line[2], f"{{{line[2]}}}"), line[1])

        cls.__doc__ = cls.__doc__ and re.sub(r"(?m)^( *)\{(\w+)\}$", described, cls.__doc__)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        for tag in self._input_tags:
            setattr(tags.input_tags, tag, True)
        return tags

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise an error if a parameter is of the wrong type or out of range."""

    @abstractmethod
    def _start(self, X: Any) -> None:
        """Set all sums to 0, for these classes and features."""

    @abstractmethod
    def _add(self, X: Any, codes: np.ndarray, sample_weight: Any) -> None:
        """Add validated rows, whose classes are at places `codes`, and update the fitted attributes."""

    @abstractmethod
    def _joint_log_likelihood(self, X: Any) -> np.ndarray:
        """``log P(c) + log P(x | c)``, shape (n_samples, n_classes), of validated rows."""

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit to labelled rows, and forget what was fitted before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts, or values that stand for them. `CategoricalNB` takes categories counted from 0, `GaussianNB`
            real numbers; neither takes a sparse matrix.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each row; 1 if not given.

        Returns
        -------
        self
        """
        self._check_parameters()
        X, y = self._validate(X, y, reset=True)
        self.classes_ = self._sorted_labels(y)
        self._start(X)
        self._add(X, self._encoded(y), sample_weight)
        return self

    def partial_fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Add labelled rows to those fitted before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `fit`.
        y : array-like of shape (n_samples,)
            Labels, all of them among the classes.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come. The first call needs them; later calls may leave them out.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each row; 1 if not given.

        Returns
        -------
        self
        """
        self._check_parameters()
        X, y = self._validate(X, y, reset=getattr(self, "classes_", None) is None)
        if self._is_first_call(classes):
            self._start(X)
        self._add(X, self._encoded(y), sample_weight)
        return self

    def _validate(self, X: Any, *y: Any, reset: bool = False) -> Any:
        """Rows, and labels if given, validated by scikit-learn."""
        checked = validate_data(self, X, *y, reset=reset, **self._validation)
        # in predict, only categories must not be negative
        if (y or "categorical" in self._input_tags) and self.__sklearn_tags__().input_tags.positive_only:
            check_non_negative(checked[0] if y else checked, f"{type(self).__name__} (input X)")
        return checked

    def _sorted_labels(self, y: np.ndarray) -> np.ndarray:
        """The different labels."""
        return unique_labels(y)

    def _is_first_call(self, classes: Any) -> bool:
        """Set `classes_` in the first call of `partial_fit`; later calls must agree with it."""
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
        """The place of each label in `classes_`, int64 of shape (n_samples,)."""
        codes = np.searchsorted(self.classes_, y)
        known = self.classes_[np.minimum(codes, len(self.classes_) - 1)] == y
        if not np.all(known):
            new = np.unique(y[~known])
            raise ValueError(
                f"The target label(s) {new} in y do not exist in the initial classes {self.classes_}"
            )
        return codes.astype(np.int64, copy=False)

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Joint log-probabilities of row and class, ``log P(c) + log P(x | c)``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score; `GaussianNB` and `CategoricalNB` take no sparse matrix.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In nats; columns are in the order of `classes_`.
        """
        check_is_fitted(self)
        return self._joint_log_likelihood(self._validate(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row; of equally probable ones the first.

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
