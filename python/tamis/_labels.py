"""Labels of scikit-learn, one of each document or many, and their text in a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from tamis._tamis import TamisError

_SETS = (list, tuple, set, frozenset, np.ndarray)


def encode(y: Any) -> tuple[Any, np.ndarray]:
    """Labels as text, or ``y`` itself if it is text, and the different labels, sorted.

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


def group_names(groups: Any) -> Any:
    """The name of each document's group as text.

    >>> group_names([7, 8, 7])
    ['7', '8', '7']
    """
    others = [group for group in np.asarray(groups).ravel().tolist() if not isinstance(group, (str, int))]
    if others:
        raise TamisError(f"groups: expected names, text or whole numbers, got {others[0]!r}; weights are sample_weight")
    return encode(groups)[0]


def names(classes: np.ndarray) -> list[str]:
    """The text of labels in a model."""
    return [str(label) for label in classes.tolist()]


def _is_of_arrow(y: Any) -> bool:
    return hasattr(y, "__arrow_c_array__") or hasattr(y, "__arrow_c_stream__")


class Targets(NamedTuple):
    """The labels of documents, for the library."""

    rows: Any
    """The label of each document as text, or a list of labels for each."""
    labels: np.ndarray
    """The different labels: sorted, or in the order of the columns of a matrix."""
    are_many: bool
    """Whether a document may have any number of labels."""
    n_given: int
    """How many of the labels some document has."""

    @property
    def are_too_few(self) -> bool:
        """Whether there are documents, but no two labels to tell apart."""
        return self.n_given == 1 or (self.n_given == 0 and len(self.labels) > 0 and len(self.rows) > 0)


def read(y: Any) -> Targets:
    """Read labels: one for each document; a list of labels for each; or a matrix of 0 and 1 with a column for each label.

    >>> read(["b", "a"]).labels.tolist(), read([["b"], [], ["c", "a"]]).labels.tolist()
    (['a', 'b'], ['a', 'b', 'c'])
    >>> read(np.array([[0, 1, 0], [1, 1, 0]])).n_given
    2
    """
    if np.ma.is_masked(y):
        raise TamisError("expected labels for every document, got a masked array")
    shape = getattr(y, "shape", ())
    if issparse(y) or (len(shape) == 2 and shape[1] > 1):
        sets, labels = _of_matrix(y, getattr(y, "column_names", getattr(y, "columns", None)))
    elif len(shape) < 2 and _has_lists(y):
        rows = next((getattr(y, list_of)() for list_of in ("to_pylist", "to_list") if hasattr(y, list_of)), list(y))
        sets, labels = _of_matrix(rows, None) if _is_matrix(rows) else _of_lists(rows)
    else:
        texts, labels = encode(y)
        return Targets(texts, labels, are_many=False, n_given=len(labels))
    return Targets(sets, labels, are_many=True, n_given=len({label for one in sets for label in one}))


def _of_matrix(y: Any, columns: Any) -> tuple[list[list[str]], np.ndarray]:
    """The labels of each row of a matrix of 0 and 1, and the labels of the columns, by default their numbers."""
    values = y if issparse(y) else np.asarray(y)
    if values.dtype.kind not in "biufO":
        raise TamisError(f"labels: expected a matrix of 0 and 1, got one of {values.dtype}")
    try:
        matrix = csr_matrix(values.astype(float))
    except (TypeError, ValueError) as error:
        raise TamisError(f"labels: expected a matrix of 0 and 1: {error}") from None
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    wrong = np.flatnonzero(matrix.data != 1)
    if len(wrong) > 0:
        row = np.searchsorted(matrix.indptr, wrong[0], side="right") - 1
        raise TamisError(f"row {row}: expected labels of 0 and 1, got {matrix.data[wrong[0]]:g}")
    labels = np.arange(matrix.shape[1]) if columns is None else np.array(list(columns))
    texts = names(labels)
    if len(set(texts)) < matrix.shape[1]:
        raise TamisError("labels: expected a different name for every column, got one twice")
    given = [texts[column] for column in matrix.indices]
    return _cut(given, matrix.indptr), labels


def _of_lists(rows: Sequence[Any]) -> tuple[list[list[str]], np.ndarray]:
    """The labels of each row as text, and the different labels, sorted."""
    for row, given in enumerate(rows):
        if not isinstance(given, _SETS):
            raise TamisError(f"row {row}: expected a list of labels, got {given!r}")
    flat = [label for given in rows for label in given]
    if any(isinstance(label, str) for label in flat):
        for row, given in enumerate(rows):
            other = [label for label in given if not isinstance(label, str)]
            if other:
                raise TamisError(f"row {row}: expected labels of text, got {other[0]!r}")
    texts, labels = encode(flat) if flat else ([], np.array([], dtype=str))
    return _cut(list(texts), np.cumsum([0, *map(len, rows)])), labels


def _cut(labels: list[str], ends: np.ndarray) -> list[list[str]]:
    return [labels[start:end] for start, end in zip(ends[:-1], ends[1:])]


def _has_lists(y: Any) -> bool:
    """Whether the first of these is a list of labels."""
    try:
        first = next(iter(y), None)
    except TypeError:
        return False
    first = first.as_py() if hasattr(first, "as_py") else first
    return isinstance(first, _SETS) or hasattr(first, "to_list")


def _is_matrix(rows: Sequence[Any]) -> bool:
    """Whether lists are the rows of a matrix of 0 and 1, as scikit-learn takes them."""
    if not all(isinstance(row, (list, tuple, np.ndarray)) for row in rows) or len({len(row) for row in rows}) != 1:
        return False
    values = np.array(rows)
    return values.ndim == 2 and values.shape[1] > 1 and values.dtype.kind in "biuf" and np.isin(values, (0, 1)).all()
