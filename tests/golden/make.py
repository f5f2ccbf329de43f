"""Writes naive_bayes.json: what scikit-learn's MultinomialNB, BernoulliNB and ComplementNB say about small count
matrices, and which of their columns it would select.

    pip install scikit-learn && python3 tests/golden/make.py

crates/model/tests/golden.rs compares tamis-model with it. Matrices are dense rows of counts; every column
has a count in some training row, because scikit-learn takes all columns for features and tamis those with
counts. Logarithms are natural; null stands for what is not finite, or NaN because scikit-learn multiplies
infinities with zero.
"""

import functools
import json
import math
import pathlib
import warnings

import numpy as np
import sklearn
from scipy.sparse import csr_matrix
from sklearn.feature_selection import chi2
from sklearn.metrics import mutual_info_score
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

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
    # term 0 in all documents of class 0 and nowhere else, term 1 the same everywhere
    train = np.array([[2, 1, 0, 0, 3], [1, 1, 2, 0, 0], [0, 1, 1, 4, 0], [0, 1, 0, 1, 0], [0, 1, 0, 0, 0]])
    yield "edges", train, np.array([0, 0, 1, 1, 2]), np.array([[0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 1, 0, 9, 0]])
    yield "one", np.array([[1, 0, 2], [0, 3, 0], [0, 0, 0]]), np.array([0, 0, 0]), np.array([[1, 2, 3]])


def priors(n_classes):
    """Learned, uniform and given class priors, as scikit-learn's keywords."""
    given = np.arange(1, n_classes + 1) / (n_classes * (n_classes + 1) / 2)
    return {"learned": {}, "uniform": {"fit_prior": False}, "given": {"class_prior": given.tolist()}}


def case(estimator, likelihood, counting, alpha, prior, keywords, train, labels, unseen):
    """One fitted model and its answers for the training rows followed by the unseen ones."""
    binary = (lambda x: np.minimum(x, 1)) if counting == "presence" else (lambda x: x)
    model = estimator(alpha=alpha, **keywords).fit(binary(train), labels)
    rows = binary(np.vstack([train, unseen]))
    if alpha == 0:
        rows = csr_matrix(rows)  # does not multiply infinities with zero
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


def selection(train, labels):
    """The scores of the columns, and the three best: of equal ones the first."""
    binary = np.minimum(train, 1)
    if labels.max() == 0:
        return None
    scores = {
        "chi_square_presence": chi2(binary, labels)[0],
        "chi_square_occurrences": chi2(train, labels)[0],
        "mutual_information": np.array([mutual_info_score(column, labels) for column in binary.T]),
    }
    best = {name: sorted(np.argsort(-np.round(x, 9), kind="stable")[:3].tolist()) for name, x in scores.items()}
    return {name: {"scores": x.tolist(), "best": best[name]} for name, x in scores.items()}


def finite(x):
    """The same with None for numbers that are not finite."""
    if isinstance(x, dict):
        return {key: finite(value) for key, value in x.items()}
    if isinstance(x, list):
        return [finite(value) for value in x]
    return None if isinstance(x, float) and not math.isfinite(x) else x


def alphas(name, likelihood, prior):
    """Every smoothing with the learned prior, one with the others; fewer for the complement, on small sets more."""
    if name == "edges":
        return (ALPHAS if "complement" in likelihood else [0.0]) if prior == "learned" else []
    if "complement" in likelihood or name == "one":
        return ALPHAS[1:2] if prior == "learned" and name != "two" else []
    if prior == "learned":
        return ALPHAS + [0.0] if name == "two" and likelihood == "bernoulli" else ALPHAS
    return ALPHAS[1:2]


def main():
    normalized = functools.partial(ComplementNB, norm=True)
    kinds = [
        (MultinomialNB, "multinomial", "occurrences"),
        (MultinomialNB, "multinomial", "presence"),
        (BernoulliNB, "bernoulli", "presence"),
        (ComplementNB, "complement", "occurrences"),
        (ComplementNB, "complement", "presence"),
        (normalized, "complement-normalized", "occurrences"),
        (normalized, "complement-normalized", "presence"),
    ]
    sets = []
    warnings.simplefilter("ignore")  # logarithms of zero
    for name, train, labels, unseen in matrices():
        assert train.any(axis=0).all() and (name == "edges" or not train.any(axis=1).all())
        cases = [
            case(*kind, alpha, prior, keywords, train, labels, unseen)
            for kind in kinds
            for prior, keywords in priors(labels.max() + 1).items()
            for alpha in alphas(name, kind[1], prior)
        ]
        sets.append(
            {
                "name": name,
                "train": train.tolist(),
                "labels": labels.tolist(),
                "unseen": unseen.tolist(),
                "selection": selection(train, labels),
                "cases": cases,
            }
        )
    versions = {"scikit-learn": sklearn.__version__, "numpy": np.__version__}
    text = json.dumps(finite({"versions": versions, "sets": sets}), allow_nan=False, separators=(",", ":"))
    # a line a case
    text = text.replace('{"likelihood"', '\n{"likelihood"').replace('{"name"', '\n{"name"')
    pathlib.Path(__file__).with_name("naive_bayes.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
