"""Documents with dense vectors beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tamis._tamis import TamisError

__all__ = ["Embedded"]

# that can be counted exactly
_GREATEST = 1024


class Embedded:
    """Documents, each with a dense vector beside it, such as a sentence embedding.

    It stands wherever documents do. A model that learned it scores by words and vectors together, and documents without
    vectors by their words. Parts are taken as of an array, so scikit-learn's splits and cross-validation work.

    Parameters
    ----------
    documents : list, numpy array, pandas or polars Series, Arrow array, table
        Of text, mail or rows; or one document.
    vectors : array-like of float, shape (n_documents, n_dimensions)
        A numpy array, a list of lists, or a Series or an Arrow array of lists; for one document, shape (n_dimensions,).
        Finite numbers of at most 1,024 in magnitude, up to 4,096 a document; about unit length is best.
    encoder : str, default ""
        What makes the vectors. A model records it, and refuses vectors by another.

    Attributes
    ----------
    documents : as given; a single one in a list
    vectors : numpy.ndarray of float32, shape (n_documents, n_dimensions)
    encoder : str

    Examples
    --------
    >>> import tamis
    >>> fruit = tamis.Embedded(["apples", "ripe pears"], [[1.0, 0.1], [0.9, 0.0]])
    >>> fruit, fruit[1:].documents
    (Embedded(2 documents, 2 dimensions), ['ripe pears'])
    >>> both = tamis.Embedded(["apples", "pears", "iron", "tin"] * 5, [[1, 0.1], [0.9, 0], [0, 1], [0.1, 0.9]] * 5)
    >>> model = tamis.Filter.train(both, ["fruit", "fruit", "metal", "metal"] * 5, kind="text")
    >>> model.score(tamis.Embedded("a word never heard", [0.0, 0.9])).label
    'metal'
    """

    def __init__(self, documents: Any, vectors: Any, encoder: str = "") -> None:
        self.vectors, self.encoder = _matrix(vectors), str(encoder)
        if self.vectors.ndim == 1 and isinstance(documents, (list, tuple, np.ndarray)):
            raise TamisError(f"expected a vector for each document, got an array of shape {self.vectors.shape}")
        if isinstance(documents, (str, bytes, Mapping)) or (self.vectors.ndim == 1 and not is_table(documents)):
            documents = [documents]
        self.vectors = np.atleast_2d(self.vectors)
        self.documents = documents if hasattr(documents, "__len__") else list(documents)
        if len(self.documents) != len(self.vectors):
            raise TamisError(f"expected as many vectors as documents, {len(self.documents)}, got {len(self.vectors)}")

    @property
    def shape(self) -> tuple[int]:
        """The number of documents."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, key: Any) -> Embedded:
        rows = np.atleast_1d(np.arange(len(self))[key])
        return Embedded(take(self.documents, rows), self.vectors[rows], self.encoder)

    def __repr__(self) -> str:
        by = f", encoder={self.encoder!r}" if self.encoder else ""
        return f"Embedded({len(self)} documents, {self.vectors.shape[1]} dimensions{by})"


def take(column: Any, rows: np.ndarray) -> Any:
    """These rows of a column or a table, of the same type where it has a way to take them."""
    if isinstance(column, (list, tuple)):
        return [column[row] for row in rows.tolist()]
    if hasattr(column, "iloc"):
        return column.iloc[rows]
    if hasattr(column, "tocsr"):  # of scipy
        return column.tocsr()[rows]
    if isinstance(column, (np.ndarray, Embedded)):
        return column[rows]
    if hasattr(column, "take"):
        return column.take(rows)
    if hasattr(column, "gather_every"):  # of polars
        return column[rows]
    return np.asarray(column)[rows]


def is_table(documents: Any) -> bool:
    """Whether rows are those of a table or a matrix."""
    return len(getattr(documents, "shape", ())) == 2


def _matrix(vectors: Any) -> np.ndarray:
    """Vectors as rows of float32, or one vector as it is."""
    if hasattr(vectors, "to_pylist"):  # of Arrow
        vectors = vectors.to_numpy(zero_copy_only=False)
    elif hasattr(vectors, "to_numpy"):  # of pandas and polars
        vectors = vectors.to_numpy()
    try:
        values = np.asarray(vectors)
    except ValueError:  # lists of different lengths
        values = np.array(None)
    if values.dtype.kind not in "fiu" and hasattr(vectors, "__iter__"):
        values = _stacked(list(vectors))
    if values.ndim not in (1, 2):
        raise TamisError(f"vectors: expected one for each document, got an array of shape {values.shape}")
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(values, dtype=np.float32)
    wrong = np.argwhere(~(np.abs(np.atleast_2d(values)) <= _GREATEST))
    if len(wrong) > 0:
        row, column = wrong[0]
        got = f"got {np.atleast_2d(values)[row, column]:g} in column {column}"
        raise TamisError(f"vectors, row {row}: expected finite numbers of at most 1,024 in magnitude, {got}")
    return values


def _stacked(vectors: list[Any]) -> np.ndarray:
    """Vectors of equal length as rows."""
    n = np.size(vectors[0]) if vectors else 0
    for row, vector in enumerate(vectors):
        if np.shape(vector) != (n,):
            got = f"one of {len(vector)}" if hasattr(vector, "__len__") else repr(vector)
            raise TamisError(f"vectors, row {row}: expected a vector of {n} numbers, as in row 0, got {got}")
    try:
        return np.array([np.asarray(vector, dtype=np.float32) for vector in vectors]).reshape(len(vectors), n)
    except (TypeError, ValueError) as error:
        raise TamisError(f"vectors: expected numbers: {error}") from None
