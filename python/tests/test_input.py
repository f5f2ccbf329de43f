"""Documents and labels from lists, numpy, pandas, polars and Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import generated

from tamis import Filter, TamisClassifier, TamisError

TEXTS, LABELS = generated(120, ["fruit", "metal", "wood"])
BYTES = [text.encode() for text in TEXTS]

FORMS = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "numpy str": np.array,
    "numpy object": lambda v: np.array(v, dtype=object),
    "pandas": pd.Series,
    "pandas with an index": lambda v: pd.Series(v, index=range(len(v), 0, -1)),
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "pandas category": lambda v: pd.Series(v).astype("category"),
    "polars": pl.Series,
    "polars category": lambda v: pl.Series(v, dtype=pl.Categorical),
    "Arrow": pa.array,
    "Arrow large": lambda v: pa.array(v, pa.large_string()),
    "Arrow view": lambda v: pa.array(v, pa.string_view()),
    "Arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
    "Arrow chunks": lambda v: pa.chunked_array([v[:50], [], v[50:]]),
    "Arrow slice": lambda v: pa.array(["x", *v, "y"])[1:-1],
    "Arrow chunks of dictionaries": lambda v: pa.chunked_array([v[:50], v[50:]]).dictionary_encode(),
}
if hasattr(np.dtypes, "StringDType"):  # numpy 2
    FORMS["numpy StringDType"] = lambda v: np.array(v, dtype=np.dtypes.StringDType())
BINARY_FORMS = {
    "list": list,
    "bytearray": lambda v: [bytearray(row) for row in v],
    "numpy object": lambda v: np.array(v, dtype=object),
    "pandas": pd.Series,
    "polars": pl.Series,
    "Arrow": pa.array,
    "Arrow large": lambda v: pa.array(v, pa.large_binary()),
    "Arrow view": lambda v: pa.array(v, pa.binary_view()),
    "Arrow dictionary": lambda v: pa.array(v).dictionary_encode(),
}


def model(texts: Any, labels: Any = LABELS, **options: Any) -> bytes:
    return TamisClassifier(**options).fit(texts, labels).filter_.to_bytes()


@pytest.fixture(scope="module")
def expected() -> bytes:
    return model(TEXTS)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_texts_of_any_form_are_the_same(form: Any, expected: bytes) -> None:
    assert model(form(TEXTS)) == expected


@pytest.mark.parametrize("form", BINARY_FORMS.values(), ids=BINARY_FORMS)
def test_bytes_of_any_form_are_decoded(form: Any, expected: bytes) -> None:
    assert model(form(BYTES)) == expected


@pytest.mark.parametrize("form", [form for name, form in FORMS.items() if name != "iterator"])
def test_labels_of_any_form_are_the_same(form: Any, expected: bytes) -> None:
    assert model(TEXTS, form(LABELS)) == expected


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_scores_of_any_form_are_the_same(form: Any) -> None:
    classifier = TamisClassifier().fit(TEXTS, LABELS)
    np.testing.assert_array_equal(classifier.predict_proba(form(TEXTS)), classifier.predict_proba(TEXTS))


NO_TEXT = {
    "list": ["a", "b", "c", None],
    "NaN": ["a", "b", "c", float("nan")],
    "pandas NA": ["a", "b", "c", pd.NA],
    "numpy": np.array(["a", "b", "c", None], dtype=object),
    "pandas": pd.Series(["a", "b", "c", None]),
    "pandas object": pd.Series(["a", "b", "c", np.nan], dtype=object),
    "polars": pl.Series(["a", "b", "c", None]),
    "Arrow": pa.array(["a", "b", "c", None]),
    "Arrow chunks": pa.chunked_array([["a", "b"], ["c", None]]),
    "Arrow dictionary": pa.array(["a", "b", "c", None]).dictionary_encode(),
    "Arrow view": pa.array(["a", "b", "c", None], pa.string_view()),
}


@pytest.mark.parametrize("texts", NO_TEXT.values(), ids=NO_TEXT)
def test_a_missing_document_is_an_error_that_names_its_row(texts: Any) -> None:
    classifier = TamisClassifier()
    with pytest.raises(TamisError, match=r"^row 3: expected text, got (null|None|nan|<NA>)$"):
        classifier.fit(texts, ["x", "y", "x", "y"])
    with pytest.raises(TamisError, match=r"^row 3: "):
        classifier.fit(["a", "b"], ["x", "y"]).predict(texts)
    # also where one label is all there is
    with pytest.raises(TamisError, match=r"^row 3: "):
        classifier.fit(texts, ["x"] * 4)


@pytest.mark.parametrize("labels", NO_TEXT.values(), ids=NO_TEXT)
def test_a_missing_label_is_an_error_that_names_its_row(labels: Any) -> None:
    with pytest.raises(TamisError, match=r"^row 3: expected text, got (null|None|nan|<NA>)$"):
        TamisClassifier().fit(["a", "b", "c", "d"], labels)


def test_labels_that_are_not_all_there_or_not_all_text_are_errors() -> None:
    with pytest.raises(TamisError, match="masked array"):
        TamisClassifier().fit(["a", "b"], np.ma.array(["x", "y"], mask=[0, 1]))
    with pytest.raises(TamisError, match="got bytes among them"):
        TamisClassifier().fit(["a", "b"], ["x", b"y"])
    with pytest.raises(TamisError, match="^row 1: expected text, got int"):
        TamisClassifier().fit(["a", "b"], ["x", 5])


class Strange:
    """What offers Arrow's interface, and gives something else."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.given


@pytest.mark.parametrize("given", [5, None, (1, 2), pa.array(["a"]).__arrow_c_array__()[0]])
def test_what_only_claims_to_be_of_arrow_is_an_error(given: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        TamisClassifier().fit(Strange(given), ["x"])


def test_all_null_is_an_error() -> None:
    with pytest.raises(TamisError, match="^row 0: expected text, got null"):
        TamisClassifier().fit(pa.nulls(2), ["x", "y"])


@pytest.mark.parametrize("form", BINARY_FORMS.values(), ids=BINARY_FORMS)
def test_what_is_no_utf8_is_an_error_that_names_its_row_or_as_asked(form: Any) -> None:
    texts, labels = [b"apple", b"gold", b"pe\xffar"], ["x", "y", "x"]
    with pytest.raises(TamisError, match="^row 2: 'utf-8' codec can't decode byte 0xff"):
        TamisClassifier().fit(form(texts), labels)
    ignored = model(form(texts), labels, decode_error="ignore")
    assert ignored == model(["apple", "gold", "pear"], labels)
    replaced = model(form(texts), labels, decode_error="replace")
    assert replaced == model(["apple", "gold", "pe\ufffdar"], labels)
    latin = model(form(texts), labels, encoding="latin-1")
    assert latin == model(["apple", "gold", "peÿar"], labels)


def test_text_of_arrow_that_is_no_utf8_is_an_error_too() -> None:
    offsets, data = pa.py_buffer(np.array([0, 1, 2], dtype=np.int32)), pa.py_buffer(b"a\xff")
    texts = pa.StringArray.from_buffers(2, offsets, data)
    with pytest.raises(TamisError, match="^row 1: 'utf-8' codec"):
        TamisClassifier().fit(texts, ["x", "y"])


def test_offsets_beyond_the_buffer_are_an_error() -> None:
    offsets, data = pa.py_buffer(np.array([0, 9, 3], dtype=np.int32)), pa.py_buffer(b"abc")
    texts = pa.StringArray.from_buffers(2, offsets, data)
    with pytest.raises(TamisError):
        TamisClassifier().fit(texts, ["x", "y"])
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a"]), safe=False)
    with pytest.raises(TamisError):
        TamisClassifier().fit(keys, ["x", "y"])


@pytest.mark.parametrize("form", [list, lambda v: np.array(v, dtype=object), lambda v: pd.Series(v, dtype=object)])
def test_lone_surrogates_are_errors_of_decoding(form: Any) -> None:
    texts, labels = ["a", "b\udc80c"], ["x", "y"]
    with pytest.raises(TamisError, match="^row 1: 'utf-8' codec can't encode character"):
        TamisClassifier().fit(form(texts), labels)
    assert model(form(texts), labels, decode_error="ignore") == model(["a", "bc"], labels)
    assert model(form(texts), labels, decode_error="replace") == model(["a", "b?c"], labels)
    with pytest.raises(TamisError, match="^row 1: "):
        TamisClassifier().fit(["a", "b"], ["x", "y\udc80"])


def test_mail_is_bytes_and_text_stands_for_them() -> None:
    mails = [b"Subject: lunch\n\nSoup at noon\xe9\n", b"Subject: pills\n\nCheap pills\n"]
    as_text = [mail.decode("utf-8", "surrogateescape") for mail in mails]
    expected = Filter.train(mails, ["ham", "spam"]).to_bytes()
    assert Filter.train(as_text, ["ham", "spam"]).to_bytes() == expected
    assert Filter.train(pa.array(mails), ["ham", "spam"]).to_bytes() == expected
    with pytest.raises(TamisError, match="^row 1: expected the bytes of a message, got null$"):
        Filter.train(pa.array([mails[0], None]), ["ham", "spam"])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "got one str"),
        (b"one text", "got one bytes"),
        ({"a": "b"}, "got one dict"),
        ({"a", "b"}, "got one set"),
        (5, "got one int"),
        (None, "got one NoneType"),
        (["a", 5], "^row 1: expected text, got int"),
        ([1, 2], "^row 0: expected text, got int"),
        (np.array([["a", "b"], ["c", "d"]]), r"^expected one column of text, got an array of shape \(2, 2\)"),
        (np.array(["a", 5], dtype=object), "^row 1: expected text, got int"),
    ],
)
def test_what_is_no_text_is_an_error_in_plain_words(texts: Any, message: str) -> None:
    with pytest.raises(TamisError, match=message):
        TamisClassifier().fit(texts, ["x", "y"])


COLUMN = ["apples", "iron"]


@pytest.mark.parametrize(
    "texts",
    [
        pd.DataFrame({"a": COLUMN}),
        pd.DataFrame({"a": COLUMN}, dtype=object),
        pl.DataFrame({"a": COLUMN}),
        pa.table({"a": COLUMN}),
        np.array(COLUMN).reshape(-1, 1),
        np.array(COLUMN, dtype=object).reshape(-1, 1),
    ],
    ids=["pandas", "pandas of objects", "polars", "arrow", "numpy", "numpy of objects"],
)
def test_the_only_column_of_a_table_is_taken(texts: Any) -> None:
    expected = TamisClassifier().fit(COLUMN, ["x", "y"])
    classifier = TamisClassifier().fit(texts, ["x", "y"])
    assert classifier.filter_.to_bytes() == expected.filter_.to_bytes()
    assert classifier.predict(texts).tolist() == expected.predict(COLUMN).tolist()


def test_labels_that_scikit_learn_refuses_are_errors_of_tamis() -> None:
    for labels in [[0.5, 1.25], [[0.5, 1.25], [1.25, 0.5]]]:
        with pytest.raises(TamisError):
            TamisClassifier().fit(COLUMN, labels)


@pytest.mark.parametrize("texts", [pa.array([1, 2]), pl.Series([1.5, 2.5])])
def test_arrays_of_something_else_are_errors(texts: Any) -> None:
    with pytest.raises(TamisError, match="^expected text, got an Arrow array of"):
        TamisClassifier().fit(texts, ["x", "y"])


def test_lengths_that_differ_and_no_documents_are_errors() -> None:
    with pytest.raises(TamisError, match="as many labels as documents, 3, got 2"):
        TamisClassifier().fit(["a", "b", "c"], ["x", "y"])
    with pytest.raises(TamisError, match="as many labels as documents, 3, got 2"):
        TamisClassifier().fit(["a", "b", "c"], ["x", "x"])
    with pytest.raises(ValueError, match="expected documents of at least 2 labels, got 0"):
        TamisClassifier().fit([], [])
    assert TamisClassifier().fit(TEXTS, LABELS).predict([]).shape == (0,)
    assert TamisClassifier().fit(TEXTS, LABELS).predict_proba(pa.array([], pa.string())).shape == (0, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decode_error": "surrogateescape"}, "decode_error: expected 'strict', 'ignore' or 'replace'"),
        ({"encoding": "klingon"}, "encoding: expected one that Python knows, got \"klingon\""),
        ({"encoding": "hex"}, "expected text from hex"),
        ({"kind": "sound"}, "kind: expected mail, text or table, got \"sound\""),
        ({"n_jobs": 0}, "n_jobs: expected 1 to 1024"),
    ],
)
def test_wrong_ways_of_reading_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TamisError, match=message):
        TamisClassifier(**options).fit([b"61", b"62"], ["x", "y"])
