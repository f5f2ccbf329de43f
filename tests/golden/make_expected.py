"""Writes expected.json: naive Bayes of scikit-learn with real-valued counts and sample weights.

    pip install scikit-learn && python3 tests/golden/make_expected.py

crates/model/tests/expected.rs compares tamis-model with it. Matrices are dense rows of weights; every column has one in
some training row, if only in a row whose sample weight is 0: such a column is a feature all the same. Logarithms are
natural. CategoricalNB has categories in place of weights, one a column.
"""

import json
import pathlib

import numpy as np
import sklearn
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB


def sets():
    """(name, train, labels, sample weights, unseen)."""
    rng = np.random.default_rng(20261121)
    for name, n_classes, n_rows, n_terms in [("two", 2, 9, 7), ("five", 5, 17, 12)]:
        labels = np.arange(n_rows) % n_classes
        train = np.round(rng.gamma(0.7, 2.0, (n_rows, n_terms)), 3) * (rng.random((n_rows, n_terms)) < 0.5)
        weights = np.round(rng.gamma(1.0, 1.0, n_rows), 3)
        weights[n_rows // 2] = 0.0
        train[:, -1] = 0.0
        train[n_rows // 2, -1] = 1.5  # a term of one document, which counts nothing
        train[0] = np.maximum(train[0], 0.25)
        train[0, -1] = 0.0
        train[3] = 0.0
        unseen = np.round(rng.gamma(1.0, 2.0, (4, n_terms)), 3)
        unseen[1] = 0.0
        unseen[2, 1:] = 0.0
        unseen[2, 0] = 300.5
        assert train.any(axis=0).all() and np.bincount(labels, weights).all()
        yield name, train, labels, weights, unseen


ESTIMATORS = {
    "multinomial": MultinomialNB,
    "bernoulli": BernoulliNB,
    "complement": ComplementNB,
    "complement-normalized": lambda alpha: ComplementNB(alpha=alpha, norm=True),
}


def case(likelihood, alpha, train, labels, weights, unseen):
    """One fitted model and its answers for the training rows followed by the unseen ones."""
    binary = (lambda x: (x > 0).astype(float)) if likelihood == "bernoulli" else (lambda x: x)
    model = ESTIMATORS[likelihood](alpha=alpha).fit(binary(train), labels, sample_weight=weights)
    rows = binary(np.vstack([train, unseen]))
    return {
        "likelihood": likelihood,
        "alpha": alpha,
        "class_count": model.class_count_.tolist(),
        "feature_count": model.feature_count_.tolist(),
        "feature_log_prob": model.feature_log_prob_.tolist(),
        "class_log_prior": model.class_log_prior_.tolist(),
        "joint_log_likelihood": model.predict_joint_log_proba(rows).tolist(),
        "proba": model.predict_proba(rows).tolist(),
        "predict": model.predict(rows).tolist(),
    }


def categorical():
    """Models of categories, of which some were never seen, and their answers as those of `case`."""
    rng = np.random.default_rng(20261122)
    n_categories = [3, 6, 2]
    train = rng.integers(0, [3, 4, 1], (14, 3))  # the last categories of two columns are only declared
    unseen = np.array([[2, 5, 1], [0, 4, 0], [1, 0, 1]])
    labels = np.arange(14) % 3
    weights = np.round(rng.gamma(1.0, 1.0, 14), 3)
    weights[[4, 9]] = 0.0
    cases = []
    for alpha in [1.0, 0.1, 1e-3]:
        model = CategoricalNB(alpha=alpha, min_categories=n_categories).fit(train, labels, sample_weight=weights)
        assert model.n_categories_.tolist() == n_categories
        rows = np.vstack([train, unseen])
        cases.append(
            {
                "alpha": alpha,
                "class_log_prior": model.class_log_prior_.tolist(),
                "feature_log_prob": [log_prob.tolist() for log_prob in model.feature_log_prob_],
                "joint_log_likelihood": model.predict_joint_log_proba(rows).tolist(),
                "predict": model.predict(rows).tolist(),
            }
        )
    return {
        "n_categories": n_categories,
        "train": train.tolist(),
        "labels": labels.tolist(),
        "weights": weights.tolist(),
        "unseen": unseen.tolist(),
        "cases": cases,
    }


def main():
    written = []
    for name, train, labels, weights, unseen in sets():
        cases = [
            case(likelihood, alpha, train, labels, weights, unseen)
            for likelihood in ESTIMATORS
            for alpha in [1.0, 0.1, 1e-3]
        ]
        written.append(
            {
                "name": name,
                "train": train.tolist(),
                "labels": labels.tolist(),
                "weights": weights.tolist(),
                "unseen": unseen.tolist(),
                "cases": cases,
            }
        )
    versions = {"scikit-learn": sklearn.__version__, "numpy": np.__version__}
    written = {"versions": versions, "sets": written, "categorical": categorical()}
    text = json.dumps(written, separators=(",", ":"))
    # a line a case
    text = text.replace('{"likelihood"', '\n{"likelihood"').replace('{"name"', '\n{"name"')
    text = text.replace('"categorical"', '\n"categorical"').replace('{"alpha"', '\n{"alpha"')
    pathlib.Path(__file__).with_name("expected.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
