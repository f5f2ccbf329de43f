"""Weights of documents and of labels."""

import numpy as np
import pytest
from conftest import run
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from tamis import TamisClassifier, TamisError

TEXTS = ["apples and pears", "ripe pears", "iron and tin", "old tin cans", "tin of pears"]
LABELS = ["fruit", "fruit", "metal", "metal", "both"]
WEIGHTS = [3, 1, 2, 1, 0]
REPEATED = [0, 0, 0, 1, 2, 2, 3]


def model(classifier, tmp_path):
    classifier.save(tmp_path / "model.tamis")
    return (tmp_path / "model.tamis").read_bytes()


def test_a_weighted_document_is_a_repeated_one(tmp_path):
    weighted = TamisClassifier().fit(TEXTS, LABELS, sample_weight=WEIGHTS)
    repeated = TamisClassifier().fit([TEXTS[n] for n in REPEATED], [LABELS[n] for n in REPEATED])
    assert model(weighted, tmp_path) == model(repeated, tmp_path)
    assert weighted.classes_.tolist() == ["fruit", "metal"] and weighted.n_documents_ == 7


@pytest.mark.parametrize("of", ["array", "pandas", "polars", "arrow", "matrix"])
def test_every_kind_of_column_can_be_weighted(of, tmp_path):
    texts, labels = TEXTS, LABELS
    if of == "array":
        texts, labels = np.array(TEXTS), np.array(LABELS)
    elif of == "matrix":
        labels = csr_matrix([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1]])
    else:
        library = pytest.importorskip("pyarrow" if of == "arrow" else of)
        column = library.array if of == "arrow" else library.Series
        texts, labels = column(TEXTS), column(LABELS)
    weighted = TamisClassifier().fit(texts, labels, sample_weight=np.array(WEIGHTS, dtype=float))
    given = np.asarray(labels.toarray() if of == "matrix" else LABELS)[REPEATED]
    repeated = TamisClassifier().fit([TEXTS[n] for n in REPEATED], given)
    assert model(weighted, tmp_path) == model(repeated, tmp_path)


def test_partial_fit_takes_weights_and_groups_follow(tmp_path):
    groups = ["a", "b", "c", "d", "e"]
    weighted = TamisClassifier().partial_fit(TEXTS, LABELS, groups=groups, sample_weight=WEIGHTS)
    rows = [TEXTS[n] for n in REPEATED], [LABELS[n] for n in REPEATED]
    repeated = TamisClassifier().partial_fit(*rows, groups=[groups[n] for n in REPEATED])
    assert model(weighted, tmp_path) == model(repeated, tmp_path)


@pytest.mark.parametrize(
    "weights, told",
    [
        ([1, -1, 1, 1, 1], "row 1: expected a number of at least 0, got -1"),
        ([1, float("nan"), 1, 1, 1], "row 1: expected a number of at least 0, got nan"),
        ([1, 1, 1e7, 1, 1], "row 2: weight: expected a number from 0 to 1,000,000, got 10000000"),
        ([1, 1], "expected 5 weights, one for every document, got 2"),
        ([[1] * 5], "a weight for every document"),
        ([0] * 5, "at least one non-zero number"),
        (["much"] * 5, "expected numbers"),
    ],
)
def test_other_weights_are_refused(weights, told):
    with pytest.raises(TamisError, match=told):
        TamisClassifier().fit(TEXTS, LABELS, sample_weight=weights)


LABEL_WEIGHTS = {"fruit": 2, "both": 0}
REPEATED_BY_LABEL = [0, 0, 1, 1, 2, 3]


@pytest.mark.parametrize("learn", [TamisClassifier.fit, TamisClassifier.partial_fit])
@pytest.mark.parametrize("of", [list, np.array, "pandas", "polars", "arrow"])
def test_a_weighted_label_is_that_of_repeated_documents(learn, of, tmp_path):
    if isinstance(of, str):
        library = pytest.importorskip("pyarrow" if of == "arrow" else of)
        of = library.array if of == "arrow" else library.Series
    weighted = learn(TamisClassifier(class_weight=LABEL_WEIGHTS), TEXTS, of(LABELS))
    rows = [TEXTS[n] for n in REPEATED_BY_LABEL], [LABELS[n] for n in REPEATED_BY_LABEL]
    assert model(weighted, tmp_path) == model(learn(TamisClassifier(), *rows), tmp_path)


def test_weights_of_documents_and_labels_are_multiplied(tmp_path):
    numbers = [["both", "fruit", "metal"].index(label) for label in LABELS]
    weighted = TamisClassifier(class_weight={1: 2, 2: 3.0}).fit(TEXTS, numbers, sample_weight=WEIGHTS)
    product = [weight * {0: 1, 1: 2, 2: 3}[number] for weight, number in zip(WEIGHTS, numbers)]
    assert product == [6, 2, 6, 3, 0]
    assert model(weighted, tmp_path) == model(TamisClassifier().fit(TEXTS, numbers, sample_weight=product), tmp_path)
    # a parameter as any other
    assert model(clone(weighted).fit(TEXTS, numbers, sample_weight=WEIGHTS), tmp_path) == model(weighted, tmp_path)
    search = GridSearchCV(TamisClassifier(), {"class_weight": [None, {"fruit": 3}]}, cv=2)
    assert search.fit(TEXTS[:4] * 5, LABELS[:4] * 5).best_score_ == 1


@pytest.mark.parametrize(
    "class_weight, labels, told",
    [
        ([2, 1], LABELS, r'class_weight: expected a dict of label to number or "balanced", got \[2, 1\]$'),
        ("even", LABELS, "expected a dict of label to number or \"balanced\", got 'even'"),
        ({"fruit": -1}, LABELS, "class_weight, label 'fruit': expected a number of at least 0, got -1"),
        ({"fruit": "2"}, LABELS, "label 'fruit': expected a number of at least 0, got '2'"),
        ({"fruit": float("inf")}, LABELS, "label 'fruit': expected a number of at least 0, got inf"),
        (dict.fromkeys(LABELS, 0), LABELS, "class_weight: expected at least one non-zero number"),
        ({"fruit": 2}, [["fruit"]] * 5, "class_weight: expected one label a document, got many; use sample_weight"),
        ({"fruit": 2}, LABELS[:4], "expected as many documents as labels, 4, got 5"),
    ],
)
def test_other_weights_of_labels_are_refused(class_weight, labels, told):
    with pytest.raises(TamisError, match=told):
        TamisClassifier(class_weight=class_weight).fit(TEXTS, labels)


def test_fractions_reach_the_fit_and_the_counts_stay_whole(tmp_path, tamis_program):
    texts, labels = [f"{text} {n}" for n in range(20) for text in TEXTS[:4]], LABELS[:4] * 20
    fractions = [(0.2, 1.4, 2.5, 0.7)[n // 4 % 4] for n in range(80)]
    weighted = TamisClassifier(documents=True).fit(texts, labels, sample_weight=fractions)
    nearest = [{0.2: 1, 1.4: 1, 2.5: 3, 0.7: 1}[weight] for weight in fractions]
    whole = TamisClassifier(documents=True).fit(texts, labels, sample_weight=nearest)
    assert weighted.n_documents_ == whole.n_documents_ == sum(nearest)
    assert not np.array_equal(weighted.predict_proba(TEXTS), whole.predict_proba(TEXTS))
    # in parts, and as a column of the program's table
    in_parts = TamisClassifier(documents=True)
    for part in (slice(None, 30), slice(30, None)):
        in_parts.partial_fit(texts[part], labels[part], sample_weight=fractions[part])
    assert model(in_parts.refit(), tmp_path) == model(weighted, tmp_path)
    rows = "".join(f"{label}\t{text}\t{weight}\n" for label, text, weight in zip(labels, texts, fractions))
    (tmp_path / "rows.tsv").write_text("label\ttext\tw\n" + rows)
    files = "-m", tmp_path / "program.tamis", tmp_path / "rows.tsv"
    run(tamis_program, "train", "-q", *files, "--weight", "w", "--documents")
    assert (tmp_path / "program.tamis").read_bytes() == model(weighted, tmp_path)
    with pytest.raises(TamisError, match="row 0: weight: expected a whole number unless scoring is weighted, .* got 0.2"):
        TamisClassifier(likelihood="bernoulli").fit(texts, labels, sample_weight=fractions)


def test_balanced_labels_weigh_the_same(tmp_path):
    texts = [f"{text} {n}" for n in range(12) for text in TEXTS[:3]]
    labels = ["fruit", "fruit", "metal"] * 12
    balanced = TamisClassifier(class_weight="balanced").fit(texts, labels)
    weights = [{"fruit": 36 / (2 * 24), "metal": 36 / (2 * 12)}[label] for label in labels]
    assert model(balanced, tmp_path) == model(TamisClassifier().fit(texts, labels, sample_weight=weights), tmp_path)
    with pytest.raises(TamisError, match='expected a dict of label to number in partial_fit, got "balanced"'):
        TamisClassifier(class_weight="balanced").partial_fit(texts, labels)


def test_logarithms_of_probabilities():
    classifier = TamisClassifier().fit(TEXTS, LABELS)
    logs, probabilities = classifier.predict_log_proba(TEXTS), classifier.predict_proba(TEXTS)
    assert np.allclose(np.exp(logs), probabilities) and np.isfinite(logs).all()
