"""Writes vectors.json: what numpy and scikit-learn say about discriminants of a few vectors.

    pip install scikit-learn && python3 tests/golden/make_vectors.py

crates/model/tests/vectors.rs compares tamis-model with it. The scores follow from the definition in
VectorDiscriminant, with scikit-learn's shrunk_covariance, which LinearDiscriminantAnalysis(shrinkage=...) uses too.
Values are multiples of 2^-16.
"""

import json
import pathlib

import numpy as np
import sklearn
from sklearn.covariance import shrunk_covariance

HERE = pathlib.Path(__file__)


def sets():
    """(name, classes, train, labels, unseen): the second has more dimensions than documents, a class with one
    document and one without; the third is far from 0."""
    rng = np.random.default_rng(1936)
    shapes = [("few", 3, 23, 5, 0), ("wide", 4, 9, 30, 0), ("far", 2, 14, 4, 900), ("single", 3, 3, 6, 0)]
    for name, n_classes, n, d, shift in shapes:
        labels = np.arange(n) % n_classes
        if name == "wide":
            labels = np.array([0, 0, 0, 1, 1, 1, 1, 3, 0])
        mixing = rng.normal(size=(d, d)) / d
        means = rng.normal(size=(n_classes, d)) * 0.3
        vectors = (rng.normal(size=(n, d)) + means[labels]) @ mixing + shift
        unseen = rng.normal(size=(4, d)) @ mixing + shift
        yield name, n_classes, round_to_steps(vectors), labels, round_to_steps(unseen)


def round_to_steps(x):
    return np.float32(np.round(x * 65536) / 65536).astype(float)


def scores(train, labels, unseen, n_classes, strength):
    n, d = train.shape
    counts = np.bincount(labels, minlength=n_classes)
    center = train.mean(axis=0)
    means = np.array([train[labels == c].mean(axis=0) if counts[c] else center for c in range(n_classes)])
    residuals = train - means[labels]
    freedom, prior = n - (counts > 0).sum(), strength * d
    variance = ((residuals**2).sum() / d + train.var(axis=0).mean()) / (freedom + 1)
    own = (residuals**2).sum() / n / d  # the target of shrunk_covariance is this times the identity
    if own > 0:
        shrinkage = prior * variance / (n * own + prior * variance)
        covariance = shrunk_covariance(residuals.T @ residuals / n, shrinkage)
        covariance *= (n / (1 - shrinkage)) / (freedom + prior)
    else:
        covariance = variance * np.eye(d) * prior / (freedom + prior)
    between = ((means - center)[counts > 0] ** 2).mean()
    k = variance / between
    shrunk = (counts[:, None] * means + k * center) / (counts[:, None] + k)
    distances = [[(x - m) @ np.linalg.solve(covariance, x - m) for m in shrunk] for x in unseen]
    return -0.5 * np.array(distances)


def case(train, labels, unseen, n_classes, strength):
    return {
        "strength": strength,
        "scores": scores(train, labels, unseen, n_classes, strength).tolist(),
    }


def main():
    golden = {"versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__}, "sets": []}
    for name, n_classes, train, labels, unseen in sets():
        lists = {"train": train.tolist(), "labels": labels.tolist(), "unseen": unseen.tolist()}
        cases = [case(train, labels, unseen, n_classes, s) for s in [0.1, 1.0, 4.0, 16.0]]
        golden["sets"].append({"name": name, "n_classes": n_classes, **lists, "cases": cases})
    text = json.dumps(golden, separators=(",", ":"))
    for start in ['{"name"', '{"strength"']:
        text = text.replace(start, "\n" + start)
    HERE.with_name("vectors.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
