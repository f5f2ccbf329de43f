"""Weights of documents and of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse

from tamis._embedded import take
from tamis._labels import names, read
from tamis._tamis import TamisError


def weighted(sample_weight: Any, class_weight: Any, *columns: Any) -> tuple[Any, ...]:
    """The columns (documents, labels and so on) without rows of weight 0, and the weights: None if all are 1.

    The weights of a document and of its label, 1 if it has none, are multiplied.

    >>> weighted([2.5, 0, 1], {"a": 2}, ["x", "y", "z"], ["a", "b", "c"])
    (['x', 'z'], ['a', 'c'], [5.0, 1.0])
    """
    documents, labels, *_ = columns
    weights = np.ones(_length(labels))
    if sample_weight is not None:
        weights = _of_documents(sample_weight, len(weights))
    if class_weight is not None:
        weights = weights * _of_labels(class_weight, labels)
    if (weights == 1).all():
        return *columns, None
    if not weights.any():
        name = "class_weight" if sample_weight is None else "sample_weight"
        raise TamisError(f"{name}: expected at least one non-zero number, got only zeros")
    if _length(documents) != len(weights):
        raise TamisError(f"expected as many documents as labels, {len(weights)}, got {_length(documents)}")
    rows = np.flatnonzero(weights)
    if len(rows) < len(weights):
        columns = tuple(None if column is None else take(column, rows) for column in columns)
    return *columns, weights[rows].tolist()


def check_labels(class_weight: Mapping[Any, Any], labels: np.ndarray) -> None:
    """Check that there is each label that has a weight.

    >>> check_labels({"c": 2}, np.array(["a", "b"]))
    Traceback (most recent call last):
    tamis.TamisError: class_weight: expected labels of the documents (a, b), got 'c'
    """
    known = names(labels)
    for label in class_weight:
        if str(label) not in known:
            listed = ", ".join(known[:20]) + (" and others" if len(known) > 20 else "")
            raise TamisError(f"class_weight: expected labels of the documents ({listed}), got {label!r}")


def _of_documents(sample_weight: Any, n: int) -> np.ndarray:
    try:
        weights = np.asarray(sample_weight, dtype=float)
    except (TypeError, ValueError) as error:
        raise TamisError(f"sample_weight: expected numbers; names of groups are groups=: {error}") from None
    if weights.ndim != 1:
        raise TamisError(f"sample_weight: expected a weight for every document, got an array of shape {weights.shape}")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong) > 0:
        text = f"expected a number of at least 0, got {weights[wrong[0]]:g}"
        raise TamisError(f"sample_weight, row {wrong[0]}: {text}")
    if len(weights) != n:
        raise TamisError(f"sample_weight: expected {n} weights, one for every document, got {len(weights)}")
    return weights


def _of_labels(class_weight: Any, labels: Any) -> np.ndarray:
    targets = read(labels)
    if targets.are_many:
        raise TamisError("class_weight: expected one label a document, got many; use sample_weight")
    rows = np.asarray(targets.rows).tolist()
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = Counter(rows)
        return np.array([len(rows) / (len(counts) * counts[label]) for label in rows])
    if not isinstance(class_weight, Mapping):
        raise TamisError(f'class_weight: expected a dict of label to number or "balanced", got {class_weight!r}')
    for label, weight in class_weight.items():
        if not (isinstance(weight, Real) and 0 <= weight < float("inf")):
            raise TamisError(f"class_weight, label {label!r}: expected a number of at least 0, got {weight!r}")
    weights = {str(label): float(weight) for label, weight in class_weight.items()}
    return np.array([weights.get(label, 1.0) for label in rows])


def _length(column: Any) -> int:
    return column.shape[0] if issparse(column) else len(column)
