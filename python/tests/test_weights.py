"""Weights of documents: how often each counts."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

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
        ([1, 1, 0.5, 1, 1], "row 2: expected a whole number"),
        ([1, -1, 1, 1, 1], "row 1: expected a whole number"),
        ([1, float("nan"), 1, 1, 1], "row 1: expected a whole number"),
        ([1, 1], "expected 5 weights, one for every document, got 2"),
        ([[1] * 5], "a weight for every document"),
        ([0] * 5, "at least one non-zero number"),
        (["much"] * 5, "expected whole numbers"),
    ],
)
def test_other_weights_are_refused(weights, told):
    with pytest.raises(TamisError, match=told):
        TamisClassifier().fit(TEXTS, LABELS, sample_weight=weights)


def test_logarithms_of_probabilities():
    classifier = TamisClassifier().fit(TEXTS, LABELS)
    logs, probabilities = classifier.predict_log_proba(TEXTS), classifier.predict_proba(TEXTS)
    assert np.allclose(np.exp(logs), probabilities) and np.isfinite(logs).all()
