"""Weights of documents."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from tamis._tamis import TamisError


def repeated(sample_weight: Any, *columns: Any) -> tuple[Any, ...]:
    """Repeat every row of the columns as often as its weight says.

    Parameters
    ----------
    sample_weight : array-like of int, shape (n_documents,), or None
        How often each row counts.
    *columns : array-like of length n_documents, or None
        Documents, labels and so on.

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
        raise TamisError(f"sample_weight: expected whole numbers: {error}") from None
    if weights.ndim != 1:
        raise TamisError(f"sample_weight: expected a weight for every document, got an array of shape {weights.shape}")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0) & (weights == np.floor(weights))))
    if len(wrong) > 0:
        text = "expected a whole number, since a document counts so often"
        raise TamisError(f"sample_weight, row {wrong[0]}: {text}, got {weights[wrong[0]]:g}")
    for column in columns:
        length = None if column is None else column.shape[0] if issparse(column) else len(column)
        if length not in (None, len(weights)):
            raise TamisError(f"sample_weight: expected {length} weights, one for every document, got {len(weights)}")
    if len(weights) > 0 and not weights.any():
        raise TamisError("sample_weight: expected at least one non-zero number, got only zeros")
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
    for take in ("take", "gather"):
        if hasattr(column, take):
            return getattr(column, take)(rows)
    return np.asarray(column)[rows]
