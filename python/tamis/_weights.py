"""Weights of documents and of labels."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse

from tamis._label_sets import read
from tamis._tamis import TamisError

_WHOLE = "expected a whole number, since a document counts so often"


def of_labels(class_weight: Any, y: Any) -> list[int]:
    """The weight of each document by its label.

    Parameters
    ----------
    class_weight : dict of label to int
        How often each document of a label counts; 1 for a label that is not in it. Labels without documents are
        ignored: a later part of the documents may have them.
    y : array-like, shape (n_documents,)
        The labels.

    Returns
    -------
    list of int
        A weight for each document.

    Examples
    --------
    >>> of_labels({"a": 2}, ["a", "b", "a"])
    [2, 1, 2]
    """
    if not isinstance(class_weight, Mapping):
        text = f"class_weight: expected a dict of label to whole number, got {class_weight!r}"
        if class_weight == "balanced":
            text += (
                ": it is fractions of documents, and documents are counted whole. With naive Bayes, "
                'class_prior="uniform" makes labels equally likely'
            )
        raise TamisError(text)
    for label, weight in class_weight.items():
        if not (isinstance(weight, Real) and weight >= 0 and float(weight).is_integer()):
            raise TamisError(f"class_weight, label {label!r}: {_WHOLE}, got {weight!r}")
    weights = {str(label): int(weight) for label, weight in class_weight.items()}
    targets = read(y)
    if targets.are_many:
        raise TamisError("class_weight: expected one label a document, got many; use sample_weight")
    return [weights.get(label, 1) for label in np.asarray(targets.rows).tolist()]


def repeated(sample_weight: Any, *columns: Any, name: str = "sample_weight") -> tuple[Any, ...]:
    """Repeat every row of the columns as often as its weight says.

    Parameters
    ----------
    sample_weight : array-like of int, shape (n_documents,), or None
        How often each row counts.
    *columns : array-like of length n_documents, or None
        Documents, labels and so on.
    name : str
        The weights' name in errors.

    Returns
    -------
    tuple
        The columns: themselves if every weight is 1.

    Examples
    --------
    >>> repeated([2, 0, 1], ["a", "b", "c"], None)
    (['a', 'a', 'c'], None)
    """
    if sample_weight is None:
        return columns
    try:
        weights = np.asarray(sample_weight, dtype=float)
    except (TypeError, ValueError) as error:
        raise TamisError(f"{name}: expected whole numbers: {error}") from None
    if weights.ndim != 1:
        raise TamisError(f"{name}: expected a weight for every document, got an array of shape {weights.shape}")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0) & (weights == np.floor(weights))))
    if len(wrong) > 0:
        raise TamisError(f"{name}, row {wrong[0]}: {_WHOLE}, got {weights[wrong[0]]:g}")
    for column in columns:
        length = None if column is None else column.shape[0] if issparse(column) else len(column)
        if length not in (None, len(weights)):
            raise TamisError(f"{name}: expected {length} weights, one for every document, got {len(weights)}")
    if len(weights) > 0 and not weights.any():
        raise TamisError(f"{name}: expected at least one non-zero number, got only zeros")
    if (weights == 1).all():
        return columns
    rows = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
    return tuple(None if column is None else _take(column, rows) for column in columns)


def _take(column: Any, rows: np.ndarray) -> Any:
    """These rows of a column, of the same type where it has a way to take them."""
    if isinstance(column, (list, tuple)):
        return [column[row] for row in rows.tolist()]
    if hasattr(column, "iloc"):
        return column.iloc[rows]
    if issparse(column):
        return column.tocsr()[rows]
    if isinstance(column, np.ndarray):
        return column[rows]
    if hasattr(column, "take"):
        return column.take(rows)
    if hasattr(column, "gather_every"):  # of polars
        return column[rows]
    return np.asarray(column)[rows]
