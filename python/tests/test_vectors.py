"""Dense vectors beside documents: `Embedded`, and classifiers that make vectors of texts."""

from __future__ import annotations

import pickle
import warnings
from collections import Counter as Tally
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from rows_as_words import Numbers
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.utils.estimator_checks import check_estimator

import tamis
from tamis import Counter, Embedded, Filter, Learner, TamisClassifier, TamisError

LABELS = ["fruit", "metal", "wood"]
N_DIMENSIONS = 8


def vector_of(text: str) -> np.ndarray:
    """What an encoder might say: noise that the text decides, and the text's label."""
    random = np.random.RandomState(sum(ord(char) * place for place, char in enumerate(text, 1)))
    vector = random.normal(0, 0.25, N_DIMENSIONS)
    vector[int(text.split()[0]) % 3] += 1
    return vector


def encode(texts: list[str]) -> np.ndarray:
    assert isinstance(texts, list) and all(type(text) is str for text in texts)
    return np.array([vector_of(text) for text in texts])


def rows(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Texts whose words tell nothing, since the label is the first one's remainder by 3; and their labels."""
    random = np.random.RandomState(seed)
    labels = [LABELS[i % 3] for i in range(n)]
    words = [" ".join(f"w{word}" for word in random.randint(0, 40, 3)) for _ in labels]
    return [f"{999 * seed + i} {tail}" for i, tail in enumerate(words)], labels


TEXTS, GIVEN = rows(24, 1)
VECTORS = encode(TEXTS)
BOTH = Embedded(TEXTS, VECTORS)
TEST = rows(150, 2)
TEST_BOTH = Embedded(TEST[0], encode(TEST[0]))


def model(documents: Any, labels: Any = GIVEN, **options: Any) -> bytes:
    return Filter.train(documents, labels, kind="text", **options).to_bytes()


@pytest.fixture(scope="module")
def filter() -> Filter:
    return Filter.train(BOTH, GIVEN, kind="text")


FORMS = {
    "float64": lambda v: v,
    "float32": lambda v: v.astype(np.float32),
    "by column": np.asfortranarray,
    "every other row": lambda v: np.repeat(v, 2, axis=0)[::2],
    "lists": lambda v: v.tolist(),
    "list of arrays": list,
    "iterator": iter,
    "Arrow fixed-size lists": lambda v: pa.FixedSizeListArray.from_arrays(v.ravel(), N_DIMENSIONS),
    "Arrow slice": lambda v: pa.FixedSizeListArray.from_arrays(np.tile(v, (2, 1)).ravel(), N_DIMENSIONS)[len(v) :],
    "Arrow lists": lambda v: pa.array(v.tolist()),
    "Arrow chunks": lambda v: pa.chunked_array([v[:5].tolist(), v[5:].tolist()]),
    "polars arrays": lambda v: pl.Series(v, dtype=pl.Array(pl.Float64, N_DIMENSIONS)),
    "polars lists": lambda v: pl.Series(v.tolist()),
    "pandas arrays": lambda v: pd.Series(list(v), index=range(len(v), 0, -1)),
    "pandas lists": lambda v: pd.Series(v.tolist()),
    "pandas table": pd.DataFrame,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_vectors_of_any_form_are_the_same(form: Any, filter: Filter) -> None:
    for documents in (TEXTS, pd.Series(TEXTS), pl.Series(TEXTS), pa.array(TEXTS), np.array(TEXTS), iter(TEXTS)):
        both = Embedded(documents, form(VECTORS))
        assert both.vectors.dtype == np.float32 and both.vectors.flags.c_contiguous
        assert model(both) == filter.to_bytes()


@pytest.mark.parametrize(
    ("vectors", "told"),
    [
        ([[1, 2], [1]], "vectors, row 1: expected a vector of 2 numbers, as in row 0, got one of 1"),
        ([[1, 2], None], "vectors, row 1: .* got None"),
        (pl.Series([[1.0, 2.0], None]), "vectors, row 1: .* got None"),
        (pa.array([[1.0, 2.0], None]), "vectors, row 1: .* got None"),
        ([[1, 2], [1, np.nan]], "vectors, row 1: expected finite numbers .*, got nan in column 1"),
        (np.array([[1, 1e60], [1, 2]]), "vectors, row 0: expected finite numbers .*, got inf in column 1"),
        (np.array([[1, 2], [3, -1025]]), "vectors, row 1: expected finite numbers of at most 1,024 in magnitude, got -1025"),
        ([["a", "b"], ["c", "d"]], "vectors: expected numbers: "),
        (np.zeros((3, 2)), "expected as many vectors as documents, 2, got 3"),
        ([1.0, 2.0], r"expected a vector for each document, got an array of shape \(2,\)"),
        (np.zeros((2, 2, 2)), r"vectors: expected one for each document, got an array of shape \(2, 2, 2\)"),
        (None, r"vectors: expected one for each document, got an array of shape \(\)"),
    ],
)
def test_what_is_not_a_vector_is_refused(vectors: Any, told: str) -> None:
    with pytest.raises(TamisError, match=f"^{told}"):
        Embedded(["a", "b"], vectors)


def test_a_model_refuses_other_vectors(filter: Filter) -> None:
    short = Embedded(TEXTS, VECTORS[:, :5])
    with pytest.raises(TamisError, match="expected vectors of 8 numbers, got 5"):
        filter.score_many(short)
    with pytest.raises(TamisError, match="expected documents without vectors, as the model's are, got vectors of 8 numbers"):
        Filter.train(TEXTS, GIVEN, kind="text").score(BOTH[0])
    for dimensions in (0, 5000):
        with pytest.raises(TamisError, match=f"vectors.*4096.*{dimensions}|vectors: .*got {dimensions}"):
            Counter(vectors=dimensions)
    with pytest.raises(TamisError, match="vectors: expected weighted scoring"):
        model(BOTH, likelihood="multinomial")
    with pytest.raises(TamisError, match="encoder: expected documents with vectors, got none"):
        Counter(encoder="e5")
    with pytest.raises(TamisError, match="encoder: expected documents with vectors, got none"):
        Learner.create("never.tamis", LABELS, kind="text", encoder="e5")
    with pytest.raises(TamisError, match="expected one document, got 24"):
        filter.score(BOTH)


def test_with_few_labels_vectors_tell_what_words_do_not(filter: Filter) -> None:
    right = {}
    for name, one, test in (("both", filter, TEST_BOTH), ("words", Filter.train(TEXTS, GIVEN, kind="text"), TEST[0])):
        right[name] = one.evaluate(test, TEST[1])["accuracy"]
    assert right["both"] > 0.9 and right["words"] < 0.55, right
    assert filter.information["vectors"] == (8, "") and filter.information["chosen"]["parts"]["vectors"] < 1
    # without its vector, a document is scored by its words
    alone, both = (filter.score_many(of).probabilities.max(axis=1).mean() for of in (TEST[0], TEST_BOTH))
    assert alone < 0.65 < 0.8 < both
    measured = Filter.cross_validate(BOTH, GIVEN, folds=4, kind="text")
    assert measured["accuracy"] > 0.8 > 0.5 > Filter.cross_validate(TEXTS, GIVEN, folds=4, kind="text")["accuracy"]


def test_the_order_and_the_partition_leave_no_trace(filter: Filter) -> None:
    order = np.random.RandomState(3).permutation(24)
    labels = [GIVEN[i] for i in order]
    assert model(BOTH[order], labels, n_jobs=2) == filter.to_bytes()
    options = {"vectors": 8, "encoder": "e5"}
    whole = Counter(**options)
    for rows in (order[:7], order[7:8], order[8:]):
        part = Counter(**options)
        part.add(BOTH[rows], [GIVEN[i] for i in rows])
        whole.merge(part.partial())
    named = Filter.train(Embedded(TEXTS, VECTORS, "e5"), GIVEN, kind="text")
    assert whole.finish().to_bytes() == named.to_bytes() == model(BOTH, encoder="e5")
    with pytest.raises(TamisError, match="encoder: expected vectors by \"e5\", got some by \"MiniLM\""):
        named.score(Embedded("0 a", vector_of("0 a"), "MiniLM"))
    with pytest.raises(TamisError, match="e5"):
        Filter.merge([named, Filter.train(Embedded(TEXTS, VECTORS, "MiniLM"), GIVEN, kind="text")])
    with pytest.raises(TamisError, match="vectors=8 makes a model of them"):
        Counter().add(BOTH, GIVEN)


def test_learning_and_forgetting(tmp_path: Path) -> None:
    filter = Filter.train(BOTH, GIVEN, kind="text", documents=True)
    filter.save(tmp_path / "model.tamis")
    before = filter.score_many(TEST_BOTH).probabilities
    for document, label in zip(TEST_BOTH[:9], TEST[1]):
        assert filter.learn(document, label) == "new"
        assert filter.learn(document, label) == "already"
    assert not np.array_equal(filter.score_many(TEST_BOTH).probabilities, before)
    # words are enough to know a document by
    filter.forget(TEST[0][0])
    with Learner.open(tmp_path / "model.tamis", retrain=False) as learner:
        assert learner.score(TEST_BOTH[1]).label == learner.explain(TEST_BOTH[1]).label == TEST[1][1]
        for document in TEST_BOTH[1:9]:
            learner.forget(document)
        learner.retrain()
    filter.reload()
    np.testing.assert_array_equal(filter.score_many(TEST_BOTH).probabilities, before)
    with Learner.create(tmp_path / "new.tamis", LABELS, kind="text", vectors=8, encoder="e5") as learner:
        assert {learner.learn(document, label) for document, label in zip(BOTH, GIVEN)} == {"new"}
        learner.retrain()
    made = Filter.open(tmp_path / "new.tamis")
    assert made.information["vectors"] == (8, "e5") and made.evaluate(TEST_BOTH, TEST[1])["accuracy"] > 0.9


def test_what_is_said_of_documents_with_vectors(filter: Filter) -> None:
    wrong = ["metal", *GIVEN[1:]]
    many = Embedded(TEXTS + TEST[0], np.concatenate([VECTORS, encode(TEST[0])]))
    suspects = Filter.train(many, wrong + TEST[1], kind="text", documents=True).suspects(many, wrong + TEST[1])
    assert suspects[0]["rows"] == [0] and suspects[0]["proposed"] == "fruit"
    assert {one["row"] for one in filter.suggest(TEST_BOTH, 5)} < set(range(150))
    learned = Filter.train(many, GIVEN + TEST[1], kind="text", documents=True)
    texts, _ = rows(60, 5)
    assert learned.drift(Embedded(texts, encode(texts)))["drift"] is not None
    assert "vector of 8" in {term.term for term in filter.explain(TEST_BOTH[0]).terms}
    assert filter.report(TEST_BOTH, TEST[1]).html and len(filter.score_table(TEST_BOTH)) == 150
    own, given = rows(150, 6)
    with_more = Filter.train(BOTH, GIVEN, kind="text", unlabelled=Embedded(own, encode(own)))
    assert with_more.information["chosen"]["unlabelled"]["documents"] == 150


@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((24, 8)),
        np.ones((24, 8)),
        np.repeat(np.arange(8.0)[:, None], 3, axis=0) * np.ones(8),
        np.tile(np.eye(3, 8), (8, 1)),
        np.random.RandomState(0).normal(size=(24, 200)),
        np.zeros((24, 1)),
    ],
    ids=["zeros", "one for all", "copies", "a label's copies", "fewer documents than dimensions", "one dimension"],
)
@pytest.mark.parametrize("n", [3, 24])
def test_odd_vectors_have_a_sound_answer(vectors: np.ndarray, n: int) -> None:
    both = Embedded(TEXTS, vectors)
    probabilities = Filter.train(both[:n], GIVEN[:n], kind="text").score_many(both).probabilities
    assert np.isfinite(probabilities).all() and np.allclose(probabilities.sum(axis=1), 1)
    empty = Filter.train(Embedded([""] * n, vectors[:n]), GIVEN[:n], kind="text")
    assert np.isfinite(empty.score_many(both).probabilities).all()


def test_parts_are_as_of_an_array() -> None:
    documents = {"list": TEXTS, "pandas": pd.Series(TEXTS, index=range(24, 0, -1)), "polars": pl.Series(TEXTS), "Arrow": pa.array(TEXTS)}
    for of in documents.values():
        both = Embedded(of, VECTORS, "e5")
        for key in (slice(3, 9, 2), np.array([5, 1, 5]), np.arange(24) % 2 == 0, [2, 0], -1, (np.array([1]), ...)):
            part = both[key]
            rows = np.atleast_1d(np.arange(24)[key])
            assert list(map(str, part.documents)) == [TEXTS[row] for row in rows] and part.encoder == "e5"
            np.testing.assert_array_equal(part.vectors, both.vectors[rows])
            assert len(part) == part.shape[0] == len(rows)
        assert [len(one) for one in both] == [1] * 24
    assert repr(both) == "Embedded(24 documents, 8 dimensions, encoder='e5')"
    with pytest.raises(IndexError):
        both[24]


def test_scikit_learn_takes_parts() -> None:
    assert cross_val_score(TamisClassifier(), TEST_BOTH, TEST[1], cv=3).mean() > 0.9
    assert cross_val_score(TamisClassifier(), TEST_BOTH, TEST[1], cv=3, n_jobs=2).mean() > 0.9
    train, test, labels, expected = train_test_split(TEST_BOTH, TEST[1], random_state=1)
    classifier = TamisClassifier().fit(train, labels, sample_weight=np.arange(112) % 3)
    assert classifier.score(test, expected) > 0.9
    weighted = classifier.filter_.to_bytes()
    copies = np.repeat(np.arange(112), np.arange(112) % 3)
    assert TamisClassifier().fit(train[copies], np.array(labels)[copies]).filter_.to_bytes() == weighted


def test_an_encoder_is_called_wherever_texts_are_given(filter: Filter, tmp_path: Path) -> None:
    classifier = TamisClassifier(vectors=encode).fit(TEXTS, GIVEN)
    assert classifier.filter_.information["vectors"] == (8, "encode")
    assert classifier.filter_.to_bytes() == model(BOTH, encoder="encode")
    expected = filter.score_many(TEST_BOTH).probabilities
    for form in (list, np.array, pd.Series, pl.Series, pa.array, iter, lambda texts: [text.encode() for text in texts]):
        np.testing.assert_array_equal(classifier.predict_proba(form(TEST[0])), expected)
    assert classifier.predict_proba(TEST_BOTH).tolist() == expected.tolist()
    assert classifier.evaluate(*TEST)["accuracy"] == accuracy_score(TEST[1], classifier.predict(TEST[0])) > 0.9
    for text in (TEST[0][0], TEST[0][0].encode(), TEST_BOTH[0]):
        assert "vector of 8" in str(classifier.explain(text))
    assert classifier.report(*TEST).html and len(classifier.suggest(TEST[0], 4)) == 4
    assert classifier.predict([]).tolist() == []
    in_parts = TamisClassifier(vectors=encode).partial_fit([], [], classes=LABELS)
    for part in (slice(0, 5), slice(5, 24)):
        in_parts.partial_fit(TEXTS[part], GIVEN[part])
    assert in_parts.refit().filter_.to_bytes() == classifier.filter_.to_bytes()
    first = TamisClassifier(vectors=8).partial_fit(TEXTS[:4], GIVEN[:4]).partial_fit(BOTH[4:], GIVEN[4:])
    assert first.filter_.information["vectors"] == (8, "")
    with pytest.raises(TamisError, match="expected documents without vectors"):
        TamisClassifier().partial_fit(TEXTS[:4], GIVEN[:4]).partial_fit(BOTH[4:], GIVEN[4:])
    classifier.save(tmp_path / "model.tamis")
    loaded = TamisClassifier.load(tmp_path / "model.tamis", vectors=encode)
    np.testing.assert_array_equal(loaded.predict_proba(TEST[0]), expected)
    for other in (TamisClassifier.load(tmp_path / "model.tamis", vectors=encode, encoder="e5"), classifier.set_params(encoder="e5")):
        with pytest.raises(TamisError, match="encoder: expected vectors by \"encode\", got some by \"e5\""):
            other.predict(TEST[0])


def test_the_name_of_an_encoder() -> None:
    class Model:
        def encode(self, texts: list[str]) -> np.ndarray:
            return encode(texts)

    for vectors, options, name in [
        (lambda texts: encode(texts), {}, ""),
        (encode, {"encoder": "e5"}, "e5"),
        (Model().encode, {}, ""),
        (str.split, {}, "str.split"),
    ]:
        assert TamisClassifier(vectors=vectors, **options)._encoder() == name
    named = TamisClassifier().fit(Embedded(TEXTS, VECTORS, "e5"), GIVEN)
    assert named.filter_.information["vectors"] == (8, "e5")


@pytest.mark.parametrize(
    ("vectors", "told"),
    [
        (lambda texts: [[1.0, 2.0]], "expected as many vectors as documents, 24, got 1"),
        (lambda texts: [[np.nan]] * len(texts), "vectors, row 0: expected finite numbers .*, got nan"),
        (VECTORS, "vectors: expected a function .*tamis.Embedded.*got ndarray"),
    ],
)
def test_what_is_no_encoder_is_told(vectors: Any, told: str) -> None:
    with pytest.raises(TamisError, match=told):
        TamisClassifier(vectors=vectors).fit(TEXTS, GIVEN)
    with pytest.raises(TamisError, match="expected texts to encode, got mail"):
        TamisClassifier(vectors=encode, kind="mail").fit([b"a", b"b"], ["x", "y"])
    with pytest.raises(TamisError, match=r"tamis.Embedded\(texts, X\)"):
        TamisClassifier().fit(VECTORS, GIVEN)


class Model:
    """An encoder that must not be copied."""

    def __init__(self, words: list[str]) -> None:
        self.words = words

    def encode(self, texts: list[str]) -> np.ndarray:
        return encode(texts)

    def __deepcopy__(self, memo: Any) -> None:
        raise AssertionError("copied")


def test_clone_pickle_and_search() -> None:
    classifier = TamisClassifier(vectors=Model([]).encode, alpha=0.3).fit(TEXTS, GIVEN)
    fresh = clone(classifier)
    assert fresh.get_params() == classifier.get_params() and not hasattr(fresh, "filter_")
    assert classifier.filter_.information["vectors"] == (8, "Model.encode")
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict_proba(TEST[0]), classifier.predict_proba(TEST[0]))
    both = pickle.loads(pickle.dumps(BOTH))
    assert model(both) == model(BOTH)
    search = GridSearchCV(TamisClassifier(), {"vectors": [None, encode]}, cv=3).fit(*TEST)
    assert search.best_params_["vectors"] is not None and search.best_score_ > 0.9


def test_a_table_with_a_column_of_text_has_vectors_too() -> None:
    table = pd.DataFrame({"text": TEST[0], "size": np.arange(150) % 7.0})
    labels = pd.Series(TEST[1], name="label")
    classifier = TamisClassifier(vectors=encode).fit(table[:60], labels[:60])
    assert classifier.columns_ == {"text": "text", "size": "gaussian"} and classifier.score(table[60:], TEST[1][60:]) > 0.9
    both = Embedded(table, TEST_BOTH.vectors)
    for of in (both, Embedded(pl.from_pandas(table), both.vectors), Embedded(pa.Table.from_pandas(table), both.vectors)):
        filter = Filter.train(of[:60], labels[:60], kind="table", encoder="encode")
        assert filter.to_bytes() == classifier.filter_.to_bytes()
        assert filter.score_many(of[60:]).labels == classifier.predict(table[60:]).tolist()
    row = dict(table.iloc[70])
    for one in (Embedded(row, both.vectors[70]), Embedded(table.iloc[70], both.vectors[70]), both[70]):
        assert filter.score(one).probabilities == filter.score_many(both)[70].probabilities
    assert str(classifier.explain(row)) == str(classifier.explain(table.iloc[70])) == str(classifier.explain(table[70:71]))
    with pytest.raises(TamisError, match="expected a column of text to encode, got none"):
        TamisClassifier(vectors=encode).fit(table[["size", "size"]].set_axis(["a", "b"], axis=1), labels)


def test_many_labels_a_document() -> None:
    sets = [[label, *(["even"] if i % 2 else [])] for i, label in enumerate(TEST[1])]
    tagger = TamisClassifier(vectors=encode).fit(TEST[0], sets)
    texts, labels = rows(60, 9)
    given = tagger.predict(texts)[:, 1:]
    assert np.mean(given == (np.array(labels)[:, None] == tagger.classes_[1:])) > 0.9


def test_one_label_alone_is_predicted() -> None:
    one = TamisClassifier(vectors=encode).fit(TEXTS, ["x"] * 24)
    assert one.predict(BOTH[:2]).tolist() == one.predict(TEXTS[:2]).tolist() == ["x", "x"]


class EncodedNumbers(Numbers):
    """As `Numbers`, with vectors of the words' numbers."""


def floors(texts: list[str]) -> np.ndarray:
    """The numbers in the words, of which there are as many in every text."""
    return np.array([[float(word.partition("v")[2]) / 100 for word in text.split()] for text in texts])


def test_scikit_learns_checks_pass_with_an_encoder() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(EncodedNumbers(vectors=floors), on_skip=None, on_fail=None)
    outcomes = Tally(result["status"] for result in results)
    failed = [(result["check_name"], result["exception"]) for result in results if result["status"] == "failed"]
    assert not failed and outcomes["passed"] >= 55, failed


def test_its_example_runs() -> None:
    assert tamis.Embedded is Embedded and "Embedded" in tamis.__all__
