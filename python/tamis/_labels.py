"""Labels of scikit-learn, and their text in a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from tamis._tamis import TamisError


def encode(y: Any) -> tuple[Any, np.ndarray]:
    """Turn labels into text.

    Parameters
    ----------
    y : array-like, shape (n_documents,)
        Labels: text, numbers or booleans.

    Returns
    -------
    labels : array-like of str, shape (n_documents,)
        ``y`` itself if it is text.
    classes : numpy.ndarray, shape (n_classes,)
        The different labels, sorted.

    Examples
    --------
    >>> labels, classes = encode([10, 9, 10])
    >>> labels, classes.tolist()
    (['10', '9', '10'], [9, 10])
    """
    if np.ma.is_masked(y):
        raise TamisError("expected a label for every document, got a masked array")
    is_listed = isinstance(y, (list, tuple))
    # numpy would turn a NaN or a number among text into text
    has_text = is_listed and any(isinstance(label, str) for label in y)
    try:
        values = column_or_1d(np.array(y, dtype=object) if has_text else y, warn=True)
    except ValueError as error:
        raise TamisError(f"labels: {error}") from None
    if values.dtype.kind in "OUT":
        different = set(values.tolist())
        text = sorted(label for label in different if isinstance(label, str))
        if text and any(isinstance(label, bytes) for label in different):
            raise TamisError("expected labels of text, got bytes among them")
        if text or not different:
            # reading them raises an error for a label that is not text, with its row
            classes = np.array(text, dtype=None if is_listed else values.dtype)
            return (y if _is_of_arrow(y) else values), classes
    try:
        check_classification_targets(values)
    except (TypeError, ValueError) as error:
        raise TamisError(f"labels: {error}") from None
    classes, codes = np.unique(values, return_inverse=True)
    texts = names(classes)
    return [texts[code] for code in codes.tolist()], classes


def names(classes: np.ndarray) -> list[str]:
    """The text of labels in a model."""
    return [str(label) for label in classes.tolist()]


def _is_of_arrow(y: Any) -> bool:
    return hasattr(y, "__arrow_c_array__") or hasattr(y, "__arrow_c_stream__")
