"""Models of many labels a document."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import run
from rows_as_words import Numbers
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.utils.estimator_checks import check_classifier_multioutput

from tamis import Counter, Filter, Learner, TamisClassifier, TamisError

SUBJECTS = ["wheat", "gold", "oil"]


def documents(n: int = 300) -> tuple[list[str], np.ndarray]:
    """Texts about any of three subjects, and a column for each subject."""
    dice = random.Random(7)
    matrix = np.array([[dice.randrange(2) for _ in SUBJECTS] for _ in range(n)])
    words = [[f"{subject}{dice.randrange(5)}" for subject, has in zip(SUBJECTS, row) if has] for row in matrix]
    return [" ".join([*of, "report", f"word{dice.randrange(50)}"]) for of in words], matrix


TEXTS, MATRIX = documents()
LISTS = [[subject for subject, has in zip(SUBJECTS, row) if has] for row in MATRIX]


def model(labels: Any, **options: Any) -> bytes:
    return TamisClassifier(**options).fit(TEXTS, labels).filter_.to_bytes()


def rows(path: Path) -> Path:
    pairs = zip(TEXTS, LISTS, strict=True)
    path.write_text("\n".join(json.dumps({"text": text, "label": labels}) for text, labels in pairs))
    return path


OPTIONS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "default": ([], {}),
    "precision": (["--min-precision", "90%"], {"min_precision": 0.9}),
    "alpha": (["--alpha", "0.5"], {"alpha": 0.5}),
    "pairs": (["--ngrams", "1-2"], {"ngrams": (1, 2)}),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_the_model_is_the_programs(option: str, tamis_program: Path, tmp_path: Path) -> None:
    flags, keywords = OPTIONS[option]
    run(tamis_program, "train", "--labels", "many", "-m", tmp_path / "m", rows(tmp_path / "r.jsonl"), *flags)
    expected = (tmp_path / "m").read_bytes()
    for n_jobs in (1, 2, 8):
        assert model(LISTS, n_jobs=n_jobs, **keywords) == expected
    assert Filter.train(TEXTS, LISTS, kind="text", labels="many", **keywords).to_bytes() == expected


def test_labels_are_the_programs(tamis_program: Path, tmp_path: Path) -> None:
    classifier = TamisClassifier().fit(TEXTS, LISTS)
    classifier.save(tmp_path / "m")
    command = [str(tamis_program), "label", "-m", str(tmp_path / "m"), str(rows(tmp_path / "r.jsonl"))]
    done = subprocess.run([*command, "--format", "jsonl"], capture_output=True, check=True)
    expected = [sorted(json.loads(line)["label"]) for line in done.stdout.splitlines()]
    assert [classifier.classes_[row > 0].tolist() for row in classifier.predict(TEXTS)] == expected
    loaded = TamisClassifier.load(tmp_path / "m")
    assert loaded.classes_.tolist() == ["gold", "oil", "wheat"] and loaded.n_documents_ == 300
    np.testing.assert_array_equal(loaded.decision_function(TEXTS), classifier.decision_function(TEXTS))


@pytest.mark.parametrize(
    "labels",
    [
        csr_matrix(MATRIX),
        coo_matrix(MATRIX),
        csc_matrix(MATRIX.astype(float)),
        MATRIX.tolist(),
        list(MATRIX),
        MATRIX.astype(bool),
        pd.DataFrame(MATRIX),
        [np.flatnonzero(row) for row in MATRIX],
    ],
    ids=["csr", "coo", "csc of floats", "lists", "list of rows", "bool", "pandas", "lists of columns"],
)
def test_a_matrix_without_names_has_numbers_of_columns(labels: Any) -> None:
    classifier = TamisClassifier().fit(TEXTS, labels)
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert classifier.filter_.to_bytes() == model(MATRIX)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (pd.DataFrame(MATRIX, columns=SUBJECTS), SUBJECTS),
        (pl.DataFrame(MATRIX, schema=SUBJECTS), SUBJECTS),
        (pa.table({subject: MATRIX[:, at] for at, subject in enumerate(SUBJECTS)}), SUBJECTS),
        (tuple(map(tuple, LISTS)), sorted(SUBJECTS)),
        ([{*labels} for labels in LISTS], sorted(SUBJECTS)),
        ([[*labels, *labels] for labels in LISTS], sorted(SUBJECTS)),
        (pd.Series(LISTS), sorted(SUBJECTS)),
        (pl.Series(LISTS), sorted(SUBJECTS)),
        (pa.array(LISTS), sorted(SUBJECTS)),
        (pa.chunked_array([LISTS]), sorted(SUBJECTS)),
    ],
    ids=["pandas", "polars", "pyarrow", "tuples", "sets", "twice", "Series", "polars Series", "Arrow", "chunks"],
)
def test_labels_have_names(labels: Any, classes: list[str]) -> None:
    classifier = TamisClassifier().fit(TEXTS, labels)
    assert classifier.classes_.tolist() == classes
    assert classifier.filter_.to_bytes() == model(LISTS)
    expected = MATRIX[:, [SUBJECTS.index(label) for label in classes]]
    assert f1_score(expected, classifier.predict(TEXTS), average="micro") > 0.98


def test_each_label_is_found_by_itself() -> None:
    classifier = TamisClassifier().fit(TEXTS, MATRIX)
    assert classifier.n_documents_ == classifier.filter_.information["learned"] == 300
    predicted, probabilities = classifier.predict(TEXTS), classifier.predict_proba(TEXTS)
    decisions = classifier.decision_function(TEXTS)
    assert predicted.dtype == np.int64 and predicted.shape == probabilities.shape == decisions.shape == (300, 3)
    np.testing.assert_array_equal(predicted, decisions > 0)
    assert np.isfinite(decisions).all() and classifier.score(TEXTS, MATRIX) > 0.98
    # a decision is the log-odds less a threshold, which is one number for each label
    thresholds = np.log(probabilities) - np.log1p(-probabilities) - decisions
    np.testing.assert_allclose(thresholds, np.tile(thresholds[0], (300, 1)), atol=1e-6)
    np.testing.assert_array_equal(decisions.argsort(axis=0), probabilities.argsort(axis=0))
    explanation = classifier.explain("wheat1 wheat2 report")
    assert (explanation.label, explanation.against) == ("0", "the rest")
    table = pa.table(classifier.score_table(TEXTS[:9]))
    assert table.column_names == ["labels", "probability_0", "probability_1", "probability_2"]
    given = [np.flatnonzero(row).astype(str).tolist() for row in predicted[:9]]
    assert table["labels"].to_pylist() == given
    assert "300 documents" in classifier._repr_html_()


def test_scikit_learn_takes_it() -> None:
    check_classifier_multioutput("Numbers", Numbers())
    scores = cross_val_score(TamisClassifier(), TEXTS, MATRIX, cv=3, scoring="f1_micro")
    assert scores.min() > 0.95
    assert cross_val_predict(TamisClassifier(), TEXTS, MATRIX, cv=3, method="predict_proba").shape == (300, 3)
    classifier = TamisClassifier(min_precision=0.9).fit(TEXTS, MATRIX)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(again.predict(TEXTS), classifier.predict(TEXTS))
    assert clone(classifier).fit(TEXTS, MATRIX).filter_.to_bytes() == classifier.filter_.to_bytes()


@pytest.mark.parametrize("labels", [MATRIX, LISTS, pd.DataFrame(MATRIX, columns=SUBJECTS)])
def test_partial_fit_gives_the_model_of_fit(labels: Any) -> None:
    classifier, expected = TamisClassifier(), TamisClassifier().fit(TEXTS, labels)
    for start in range(0, 300, 75):
        classifier.partial_fit(TEXTS[start : start + 75], labels[start : start + 75])
    assert classifier.partial_fit([], []).n_fitted_ == classifier.n_documents_ == 300
    assert classifier.filter_.to_bytes() == expected.filter_.to_bytes()
    assert classifier.classes_.tolist() == expected.classes_.tolist()
    with pytest.raises(TamisError, match="expected many labels a document, as in earlier calls, got one label"):
        classifier.partial_fit(["a"], ["x"])
    one = TamisClassifier().partial_fit(["a"], ["x"])
    with pytest.raises(TamisError, match="expected one label a document, as in earlier calls, got many labels"):
        one.partial_fit(["a"], [["x"]])


def test_partial_fit_knows_labels_that_come_later() -> None:
    classifier = TamisClassifier().partial_fit(["a", "b"], [["x"], []], classes=["z", "y", "x"])
    assert classifier.filter_ is None and classifier.classes_.tolist() == ["x", "y", "z"]
    assert classifier.predict_proba(["a"]).tolist() == [[0.5, 0.0, 0.0]]
    with pytest.raises(TamisError, match=r"expected labels that are in classes \(x, y, z\), got 'w'"):
        classifier.partial_fit(["c"], [["w"]])
    classifier.partial_fit(["c", "d"], [["z"], ["z", "x"]])
    assert classifier.filter_.labels == ["x", "z"]
    assert classifier.predict_proba(["a"])[0, 1] == 0 and np.isfinite(classifier.decision_function(["a"])).all()


@pytest.mark.parametrize(
    ("labels", "shares", "predicted"),
    [
        (np.array([[0, 1], [0, 1]]), [0, 1], [0, 1]),
        (np.array([[0, 1], [0, 0], [0, 1]]), [0, 2 / 3], [0, 1]),
        (np.zeros((2, 3), dtype=int), [0, 0, 0], [0, 0, 0]),
        ([["a"], [], []], [1 / 3], [0]),
    ],
)
def test_fewer_than_two_labels_have_their_share(labels: Any, shares: list[float], predicted: list[int]) -> None:
    texts = TEXTS[: len(labels)]
    for classifier in (TamisClassifier().fit(texts, labels), TamisClassifier().partial_fit(texts, labels)):
        assert classifier.filter_ is None and classifier.n_documents_ == len(labels)
        assert classifier.predict_proba(["c"]).tolist() == [shares]
        assert classifier.predict(["c", "d"]).tolist() == [predicted, predicted]
        assert np.isfinite(classifier.decision_function(["c"])).all()


def test_a_label_of_all_documents_is_one_of_many() -> None:
    labels = np.column_stack([MATRIX[:, :2], np.ones(300, dtype=int), np.zeros(300, dtype=int)])
    classifier = TamisClassifier().fit(TEXTS, labels)
    assert classifier.filter_.labels == ["0", "1", "2"]
    assert (classifier.predict_proba(TEXTS)[:, 2] > 0.5).all() and not classifier.predict(TEXTS)[:, 3].any()


def test_columns_are_in_the_order_of_the_matrix() -> None:
    labels = np.zeros((300, 12), dtype=int)
    labels[:, [2, 10, 11]] = MATRIX
    classifier = TamisClassifier().fit(TEXTS, labels)
    assert classifier.filter_.labels == ["10", "11", "2"]
    assert classifier.classes_.tolist() == list(range(12))
    np.testing.assert_array_equal(classifier.predict(TEXTS), classifier.decision_function(TEXTS) > 0)
    assert f1_score(labels, classifier.predict(TEXTS), average="micro") > 0.98


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[], []], "expected documents of at least 2 labels, got 0"),
        ([["a"], "b"], "row 1: expected a list of labels, got 'b'"),
        ([["a"], None], "row 1: expected a list of labels, got None"),
        ([["a"], [1]], "row 1: expected labels of text, got 1"),
        ([["b"], ["a", ""]], "row 1: expected a list of labels, not empty and without U"),
        ([["b"], ["a\u2063b"]], "row 1: expected a list of labels, not empty and without U"),
        ([["unsure"], ["b"]], "row 0: expected a label other than"),
        ([["a"]], "expected as many labels as documents, 2, got 1"),
        (np.array([[0, 1], [2, 1]]), "row 1: expected labels of 0 and 1, got 2"),
        (np.array([[0, np.nan], [1, 1]]), "row 0: expected labels of 0 and 1, got nan"),
        (np.array([["a", "b"], ["c", "d"]]), "labels: expected a matrix of 0 and 1, got one of <U1"),
        (np.array([["a", "b"], ["c", "d"]], dtype=object), "labels: expected a matrix of 0 and 1"),
        (pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"]), "expected a different name for every column"),
        (np.ma.masked_array([[0, 1], [1, 0]], [[0, 1], [0, 0]]), "got a masked array"),
    ],
)
def test_wrong_labels_are_errors(labels: Any, message: str) -> None:
    with pytest.raises(TamisError, match=message):
        TamisClassifier().fit(["a", "b"], labels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_precision": 2}, "min_precision: expected a share between 0 and 1, got 2"),
        ({"min_precision": "high"}, "min_precision: expected a number, got 'high'"),
        ({"likelihood": "multinomial"}, "labels: expected weighted scoring for many labels"),
    ],
)
def test_wrong_options_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TamisError, match=message):
        TamisClassifier(**options).fit(TEXTS, LISTS)


def test_what_is_of_one_label_says_so() -> None:
    with pytest.raises(TamisError, match="min_precision: expected a model of many labels"):
        TamisClassifier(min_precision=0.9).fit(TEXTS, MATRIX[:, 0])
    filter = Filter.train(TEXTS, LISTS, kind="text", labels="many")
    assert filter.has_many_labels and not Filter.train(["a", "b"], ["x", "y"], kind="text").has_many_labels
    with pytest.raises(TamisError, match="labels: expected one or many, got few"):
        Filter.train(TEXTS, LISTS, kind="text", labels="few")
    with pytest.raises(TamisError, match="row 0: expected a list of labels, not empty and without U.2063, got 5"):
        Filter.train(TEXTS, [5] * 300, kind="text", labels="many")


def test_a_filter_scores_many_labels() -> None:
    filter = Filter.train(TEXTS, LISTS, kind="text", labels="many")
    score, other = filter.score("wheat1 gold2"), filter.score("report")
    assert sorted(score.labels) == ["gold", "wheat"]
    assert score.label == score.labels[0] == max(score.probabilities, key=score.probabilities.get)
    assert (other.labels, other.is_unsure) == ([], True)
    assert pickle.loads(pickle.dumps(score)) == score and score != other
    assert [sorted(one.labels) for one in filter.score_many(TEXTS)] == [sorted(labels) for labels in LISTS]
    table = pa.table(filter.score_table(["wheat1 gold2", "report"]))
    assert table["labels"].to_pylist() == [score.labels, []]
    assert Filter.train(["a", "b"], ["x", "y"], kind="text").score("a").labels == ["x"]


def test_a_filter_learns_sets_of_labels(tmp_path: Path) -> None:
    filter = Filter.train(TEXTS, LISTS, kind="text", labels="many")
    filter.save(tmp_path / "m")
    before = filter.information["documents"]
    assert filter.learn("wheat9 oil9", ["oil", "wheat"]) == "new"
    assert filter.information["documents"] == {**before, "oil": before["oil"] + 1, "wheat": before["wheat"] + 1}
    with Learner.open(tmp_path / "m") as learner:
        assert learner.learn("wheat9 oil9", {"wheat", "oil"}) == "already"
        assert learner.learn("wheat9 oil9", []) == "moved"
        learner.forget("wheat9 oil9", [])
    filter.reload()
    assert filter.information["documents"] == before and filter.information["learned"] == 300
    for wrong in (5, ["a", 5], [""]):
        with pytest.raises(TamisError, match="expected a list of labels, not empty and without U"):
            filter.learn("wheat9", wrong)
    with pytest.raises(TamisError, match="silver"):
        filter.learn("wheat9", ["silver", "gold"])


def test_figures_are_the_programs(tamis_program: Path, tmp_path: Path) -> None:
    data = rows(tmp_path / "r.jsonl")
    run(tamis_program, "train", "--labels", "many", "-m", tmp_path / "m", data)
    test = tmp_path / "test.jsonl"
    test.write_text('{"text": "wheat1 oil2", "label": ["wheat", "zinc"]}\n{"text": "gold3 gold4", "label": []}')
    filter = Filter.open(tmp_path / "m")
    for path, texts, labels in (
        (data, TEXTS, LISTS),
        (test, ["wheat1 oil2", "gold3 gold4"], [["wheat", "zinc"], []]),
    ):
        command = [str(tamis_program), "evaluate", "--json", "-m", str(tmp_path / "m"), str(path)]
        done = subprocess.run(command, capture_output=True, check=True)
        expected = json.loads(done.stdout)
        # the program tells of the files too
        assert expected.pop("found")["read"] == len(texts)
        assert filter.evaluate(texts, labels, n_jobs=2) == expected
    assert "micro F1" in filter.report(TEXTS, LISTS).html
    command = [str(tamis_program), "evaluate", "--json", "--folds", "5", "--labels", "many", str(data)]
    done = subprocess.run(command, capture_output=True, check=True)
    figures = Filter.cross_validate(TEXTS, LISTS, kind="text", labels="many", folds=5, n_jobs=2)
    expected = json.loads(done.stdout)
    assert expected.pop("found")["read"] == len(TEXTS)
    assert figures == expected and 0.9 < figures["micro_f1"] < 1.0001
    for measure in (filter.evaluate, filter.report):
        with pytest.raises(TamisError, match="expected 2 labels to evaluate, got 1"):
            measure(["a", "b"], [["gold"]])
        with pytest.raises(TamisError, match="expected documents to evaluate, got 0"):
            measure([], [])


def test_a_counter_counts_lists() -> None:
    counter = Counter(labels="many")
    counter.add(TEXTS, LISTS)
    assert counter.finish().to_bytes() == model(LISTS)
