"""The kernels over CSR arrays: whatever the arrays hold, the answer is right or an error, never a panic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tamis import _tamis


def matrix(
    indptr: Any = (0, 2, 3),
    indices: Any = (0, 2, 1),
    data: Any = (1.0, 2.0, 3.0),
    n_features: int = 3,
    types: tuple[Any, Any, Any] = (np.int32, np.int32, np.float64),
) -> Any:
    """A CSR matrix as the kernels take it: [[1, 0, 2], [0, 3, 0]], or what is wrong with it."""
    arrays = (np.array(values, dtype) for values, dtype in zip((indptr, indices, data), types))
    return (*arrays, n_features)


def wide(**arrays: Any) -> Any:
    return matrix(**arrays, types=(np.int64, np.int64, np.float64))


CODES = np.array([1, 0])


def count(rows: Any, codes: Any = CODES, shape: tuple[int, int] = (2, 3), **options: Any) -> np.ndarray:
    counts = np.zeros(shape)
    _tamis.csr_count(rows, codes, counts, **options)
    return counts


def product(rows: Any, weights: Any = None, shape: tuple[int, int] = (2, 2), **options: Any) -> np.ndarray:
    weights = np.arange(6.0).reshape(2, 3) if weights is None else weights
    out = np.full(shape, 7.0)
    _tamis.csr_product(rows, weights, out, **options)
    return out


@pytest.mark.parametrize("indptr", [np.int32, np.int64])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("data", [np.float32, np.float64])
def test_all_types_give_the_same_sums(indptr: Any, indices: Any, data: Any) -> None:
    rows = matrix(types=(indptr, indices, data))
    assert count(rows).tolist() == [[0, 3, 0], [1, 0, 2]]
    assert count(rows, weights=np.array([2.0, 0.5])).tolist() == [[0, 1.5, 0], [2, 0, 4]]
    assert count(rows, threshold=1.5).tolist() == [[0, 1, 0], [0, 0, 1]]
    for weights in (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))):
        assert product(rows, weights).tolist() == [[4, 13], [3, 12]]
        assert product(rows, weights, threshold=1.5).tolist() == [[2, 5], [1, 4]]


@pytest.mark.parametrize(
    "n_classes", [1, 2, 3, 4, 5, 7, 8, 11, 12, 15, 16, 19, 20, 23, 24, 25, 31, 47, 49, 100]
)
def test_products_of_any_number_of_classes(n_classes: int) -> None:
    dice = np.random.default_rng(n_classes)
    dense = np.where(dice.random((30, 17)) < 0.3, dice.integers(1, 9, (30, 17)), 0)
    row, column = dense.nonzero()
    rows = matrix(np.searchsorted(row, np.arange(31)), column, dense[row, column], 17)
    weights = dice.integers(-9, 9, (n_classes, 17)).astype(float)
    for order in "CF":
        got = product(rows, np.asarray(weights, order=order), (30, n_classes))
        np.testing.assert_array_equal(got, dense @ weights.T)


def test_a_value_that_does_not_count_meets_no_infinity() -> None:
    rows = matrix(data=(0.0, 2.0, 3.0))
    weights = np.array([[-np.inf, 1.0, 1.0], [-np.inf, 1.0, 1.0]])
    for order in "CF":
        assert product(rows, np.asarray(weights, order=order), threshold=0.0).tolist() == [[1, 1], [1, 1]]


HOSTILE = [
    (matrix(indices=(0, 3, 1)), "row 0: expected a column below 3, got 3"),
    (matrix(indices=(0, 2, -1)), "row 1: expected a column below 3, got a negative one"),
    (wide(indices=(0, 2, 2**63 - 1)), "row 1: expected a column below 3, got 9223372036854775807"),
    (wide(indices=(0, 2, -(2**63))), "row 1: expected a column below 3, got a negative one"),
    (matrix(indptr=()), "expected an indptr of at least one number, got none"),
    (matrix(indptr=(1, 2, 3)), r"indptr\[0\]: expected 0, got 1"),
    (matrix(indptr=(0, 3, 2)), r"indptr\[2\]: expected at least 3, got 2"),
    (matrix(indptr=(0, -1, 3)), r"indptr\[1\]: expected at least 0, got a negative number"),
    (matrix(indptr=(0, 2, 4)), "expected 4 indices, as indptr says, got 3"),
    (wide(indptr=(0, 2, 2**31)), "expected 2147483648 indices, as indptr says, got 3"),
    (wide(indptr=(0, 2, 2**63 - 1)), "expected 9223372036854775807 indices, as indptr says, got 3"),
    # what becomes of 2^31 entries where 32 bits count them
    (matrix(indptr=(0, 2, -(2**31))), r"indptr\[2\]: expected at least 2, got a negative number"),
    (matrix(data=(1.0, 2.0)), "expected 3 data, as indptr says, got 2"),
    (matrix(n_features=2), "expected (counts|weights) of 2 columns, got the shape"),
    (matrix(n_features=2**63), "expected (counts|weights) of 9223372036854775808 columns, got the shape"),
]


@pytest.mark.parametrize(("rows", "text"), HOSTILE)
def test_hostile_rows_are_errors(rows: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        count(rows)
    for order in "CF":
        with pytest.raises(ValueError, match=text):
            product(rows, np.zeros((2, 3), order=order))


@pytest.mark.parametrize("code", [2, -1, 2**63 - 1, -(2**63)])
def test_labels_out_of_range_are_errors(code: int) -> None:
    with pytest.raises(ValueError, match=f"row 1: expected a class below 2, got {code}"):
        count(matrix(), np.array([0, code]))


def test_lengths_and_shapes_must_fit() -> None:
    with pytest.raises(ValueError, match="expected 2 labels, one per row, got 1"):
        count(matrix(), np.array([0]))
    with pytest.raises(ValueError, match="expected 2 weights, one per row, got 3"):
        count(matrix(), weights=np.ones(3))
    with pytest.raises(ValueError, match="row 0: expected a class below 0, got 1"):
        count(matrix(), shape=(0, 3))
    with pytest.raises(ValueError, match="expected an out of 2 rows and 2 columns, got 6 numbers"):
        product(matrix(), shape=(3, 2))
    with pytest.raises(ValueError, match=r"expected out of 2 columns, got the shape \[2, 3\]"):
        product(matrix(), shape=(2, 3))
    with pytest.raises(
        ValueError, match="expected an out of 2 rows and 576460752303423488 columns, got 0 numbers"
    ):
        product((*matrix((0, 0, 0), (), ())[:3], 0), np.zeros((2**59, 0)), (0, 2**59))


def test_arrays_that_lie_in_memory_in_another_way_are_errors() -> None:
    indptr, indices, data, n_features = matrix()
    with pytest.raises(ValueError, match="expected a contiguous and aligned array"):
        count((indptr, indices, np.repeat(data, 2)[::2], n_features))
    with pytest.raises(ValueError, match="expected a contiguous and aligned array"):
        count((indptr, indices, np.frombuffer(b"x" + data.tobytes(), np.float64, offset=1), n_features))
    # 2^31 entries in a few bytes
    many = np.broadcast_to(np.float64(1.0), 2**31)
    with pytest.raises(ValueError, match="expected a contiguous and aligned array"):
        count((np.array([0, 1, 2**31]), np.broadcast_to(np.int32(0), 2**31), many, n_features))
    with pytest.raises(ValueError, match="expected a C-contiguous matrix"):
        _tamis.csr_count(matrix(), CODES, np.zeros((2, 3), order="F"))
    with pytest.raises(ValueError, match="contiguous"):
        product(matrix(), np.zeros((4, 6))[::2, ::2])


def test_one_array_is_not_read_and_written_at_once() -> None:
    out = np.zeros((3, 3))
    with pytest.raises((TypeError, RuntimeError, ValueError)):
        _tamis.csr_product(matrix((0, 1, 2, 3)), out, out)
    assert not out.any()


@pytest.mark.parametrize(
    "rows",
    [
        None,
        (),
        matrix()[:3],
        (*matrix()[:3], -1),
        (*matrix()[:3], "3"),
        (*matrix()[:2], np.array(["a", "b", "c"]), 3),
        (*matrix()[:2], np.array([1, 2, 3]), 3),
        (*matrix()[:2], np.array([1, 2, 3], ">f8"), 3),
        (*matrix()[:2], np.ones((3, 1)), 3),
        ([0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0], 3),
    ],
)
def test_other_types_are_errors(rows: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        count(rows)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        product(rows)
