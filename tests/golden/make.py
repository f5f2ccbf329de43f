"""Writes naive_bayes.json: what scikit-learn's MultinomialNB and BernoulliNB say about small count matrices.

    pip install scikit-learn && python3 tests/golden/make.py

crates/model/tests/golden.rs compares tamis-model with it. Matrices are dense rows of counts; every column
has a count in some training row, because scikit-learn takes all columns for features and tamis those with
counts. Logarithms are natural.
"""

import json
import pathlib

import numpy as np
import sklearn
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

ALPHAS = [1.0, 0.1, 1e-3]


def matrices():
    """(name, train, labels, unseen): sparse counts, a zero row each, terms that some classes never have."""
    rng = np.random.default_rng(20260401)
    for name, n_classes, n_rows, n_terms in [("two", 2, 9, 7), ("four", 4, 14, 11)]:
        labels = np.arange(n_rows) % n_classes
        labels[-3:] = 0  # classes of different sizes
        train = rng.poisson(0.7, (n_rows, n_terms))
        train[:, 0] = np.where(labels == 0, 2, 0)  # a term of one class only, in all of its documents
        train[:, 1] = np.where(labels == 1, 0, train[:, 1])
        train[4] = 0
        train[0] = np.maximum(train[0], 1)
        unseen = rng.poisson(1.0, (4, n_terms))
        unseen[1] = 0
        unseen[2] = 0
        unseen[2, 0] = 300
        yield name, train, labels, unseen


def priors(n_classes):
    """Learned, uniform and given class priors, as scikit-learn's keywords."""
    given = np.arange(1, n_classes + 1) / (n_classes * (n_classes + 1) / 2)
    return {"learned": {}, "uniform": {"fit_prior": False}, "given": {"class_prior": given.tolist()}}


def case(estimator, likelihood, counting, alpha, prior, keywords, train, labels, unseen):
    """One fitted model and its answers for the training rows followed by the unseen ones."""
    binary = (lambda x: np.minimum(x, 1)) if counting == "presence" else (lambda x: x)
    model = estimator(alpha=alpha, **keywords).fit(binary(train), labels)
    rows = binary(np.vstack([train, unseen]))
    return {
        "likelihood": likelihood,
        "counting": counting,
        "alpha": alpha,
        "prior": keywords.get("class_prior", prior),
        "feature_log_prob": model.feature_log_prob_.tolist(),
        "class_log_prior": model.class_log_prior_.tolist(),
        "joint_log_likelihood": model.predict_joint_log_proba(rows).tolist(),
        "log_proba": model.predict_log_proba(rows).tolist(),
        "proba": model.predict_proba(rows).tolist(),
        "predict": model.predict(rows).tolist(),
    }


def main():
    kinds = [
        (MultinomialNB, "multinomial", "occurrences"),
        (MultinomialNB, "multinomial", "presence"),
        (BernoulliNB, "bernoulli", "presence"),
    ]
    sets = []
    for name, train, labels, unseen in matrices():
        assert train.any(axis=0).all() and not train.any(axis=1).all()
        cases = [
            case(*kind, alpha, prior, keywords, train, labels, unseen)
            for kind in kinds
            for prior, keywords in priors(labels.max() + 1).items()
            # every smoothing with the learned prior, one with the others
            for alpha in (ALPHAS if prior == "learned" else ALPHAS[1:2])
        ]
        sets.append(
            {
                "name": name,
                "train": train.tolist(),
                "labels": labels.tolist(),
                "unseen": unseen.tolist(),
                "cases": cases,
            }
        )
    versions = {"scikit-learn": sklearn.__version__, "numpy": np.__version__}
    text = json.dumps({"versions": versions, "sets": sets}, separators=(",", ":"))
    # a line a case
    text = text.replace('{"likelihood"', '\n{"likelihood"').replace('{"name"', '\n{"name"')
    pathlib.Path(__file__).with_name("naive_bayes.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
