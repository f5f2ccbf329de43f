"""Rows of numbers written as words, so that scikit-learn's checks, which are of numbers, run on a text classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from tamis import TamisClassifier


class Numbers(TamisClassifier):
    """Classifies rows of numbers: each number is a word of its column and its floor."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Numbers:
        X, y = validate_data(self, X, y, multi_output=True)
        return super().fit(words(X), y, sample_weight=sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Numbers:
        X, y = validate_data(self, X, y, multi_output=True, reset=not hasattr(self, "classes_"))
        return super().partial_fit(words(X), y, classes, sample_weight=sample_weight)

    def _score(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        return super()._score(words(validate_data(self, X, reset=False)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.one_d_array = False
        tags.input_tags.string = False
        tags.classifier_tags.poor_score = True
        tags.no_validation = False
        return tags


def words(X: np.ndarray) -> list[str]:
    """The words of each row."""
    return [" ".join(f"c{column}v{np.floor(number):.0f}" for column, number in enumerate(row)) for row in X]
