"""Writes real.json: what scikit-learn's GaussianNB, CategoricalNB and LinearDiscriminantAnalysis say about
small tables and about Iris; and ../data/iris.csv, the table itself.

    pip install scikit-learn && python3 tests/golden/make_real.py

crates/model/tests/real.rs compares tamis-model with it. Logarithms are natural. Where the two differ by
intention:

* With sample weights GaussianNB smooths by a portion of the *unweighted* largest variance, tamis-model by the
  weighted one. `var_smoothing` is scaled here so that both add the same.
* With given priors LinearDiscriminantAnalysis weighs the covariances of the classes by them; the maximum
  likelihood estimate weighs by their documents. The model is fitted with learned priors here, then its
  intercepts are moved by the difference of the log-priors.
"""

import csv
import json
import pathlib

import numpy as np
import sklearn
from scipy.special import log_softmax
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import CategoricalNB, GaussianNB

HERE = pathlib.Path(__file__)


def given(n_classes):
    return (np.arange(1, n_classes + 1) / (n_classes * (n_classes + 1) / 2)).tolist()


def real_sets():
    """(name, train, labels, unseen): features of different scales, correlated, far from 0."""
    rng = np.random.default_rng(1936)
    for name, n_classes, n_rows, n_features in [("two", 2, 11, 2), ("three", 3, 17, 4)]:
        labels = np.arange(n_rows) % n_classes
        labels[-3:] = 0  # classes of different sizes
        mixing = rng.normal(size=(n_features, n_features))
        scale = 10.0 ** rng.integers(-2, 3, n_features)
        means = rng.normal(size=(n_classes, n_features))
        train = ((rng.normal(size=(n_rows, n_features)) + means[labels]) @ mixing + 5) * scale
        unseen = ((rng.normal(size=(4, n_features)) * 2) @ mixing + 5) * scale
        yield name, train.round(4), labels, unseen.round(4)


def table(name, train, labels, unseen, cases):
    lists = {"train": train.tolist(), "labels": labels.tolist(), "unseen": unseen.tolist()}
    return {"name": name, **lists, "cases": cases}


def gaussian(train, labels, unseen, prior, var_smoothing, weights=None):
    scaled = var_smoothing
    if weights is not None:
        mean = np.average(train, axis=0, weights=weights)
        weighted = np.average((train - mean) ** 2, axis=0, weights=weights)
        scaled *= weighted.max() / train.var(axis=0).max()
    model = GaussianNB(priors=None if prior == "learned" else prior, var_smoothing=scaled)
    model.fit(train, labels, sample_weight=weights)
    rows = np.vstack([train, unseen])
    return {
        "model": "gaussian",
        "prior": prior,
        "var_smoothing": var_smoothing,
        "weights": None if weights is None else weights.tolist(),
        "mean": model.theta_.tolist(),
        "variance": model.var_.tolist(),
        "joint_log_likelihood": model.predict_joint_log_proba(rows).tolist(),
        "log_proba": model.predict_log_proba(rows).tolist(),
        "predict": model.predict(rows).tolist(),
    }


def discriminant(train, labels, unseen, prior, shrinkage):
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(train, labels)
    rows = np.vstack([train, unseen])
    decision = model.decision_function(rows)
    if decision.ndim == 1:
        decision = np.column_stack([np.zeros(len(rows)), decision])
    if prior != "learned":
        decision += np.log(prior) - np.log(np.bincount(labels) / len(labels))
    log_proba = model.predict_log_proba(rows) if prior == "learned" else log_softmax(decision, axis=1)
    return {
        "model": "discriminant",
        "prior": prior,
        "shrinkage": shrinkage,
        "mean": model.means_.tolist(),
        "covariance": model.covariance_.tolist() if shrinkage is None else None,
        # against the first class
        "decision_function": (decision - decision[:, :1]).tolist(),
        "log_proba": log_proba.tolist(),
        "predict": decision.argmax(axis=1).tolist(),
    }


def real_cases(train, labels, unseen):
    priors = ["learned", given(labels.max() + 1)]
    weights = np.random.default_rng(7).uniform(0.1, 3, len(labels)).round(3)
    weights[4] = 0
    for prior in priors:
        # every smoothing with the learned prior, one with the other
        for var_smoothing in [1e-9, 1e-2] if prior == "learned" else [1e-9]:
            yield gaussian(train, labels, unseen, prior, var_smoothing)
            yield gaussian(train, labels, unseen, prior, var_smoothing, weights)
        for shrinkage in [None, 0.2, 1.0]:
            yield discriminant(train, labels, unseen, prior, shrinkage)


def constant_case(train, labels, unseen):
    """A feature that never varies, and one that does not in a class."""
    train, unseen = train.copy(), unseen.copy()
    train[:, 0] = unseen[:, 0] = 7
    train[labels == 1, 1] = train[0, 1]
    cases = [gaussian(train, labels, unseen, "learned", s) for s in [1e-9, 1e-3]]
    return table("constant", train, labels, unseen, cases)


def categorical_sets():
    """Categories 0..K; the declared minimum leaves some that no row has."""
    rng = np.random.default_rng(42)
    for name, n_classes, n_rows, n_categories in [("two", 2, 10, [2, 3, 5]), ("four", 4, 19, [4, 7])]:
        labels = np.arange(n_rows) % n_classes
        labels[-3:] = 0
        train = rng.integers(0, n_categories, (n_rows, len(n_categories)))
        train[0] = np.array(n_categories) - 1
        train[train[:, -1] == 1, -1] = 0  # category 1 of the last feature: below the highest, never seen
        yield name, train, labels, rng.integers(0, n_categories, (6, len(n_categories)))


def categorical(train, labels, unseen, prior, keywords, alpha, minimum):
    model = CategoricalNB(alpha=alpha, min_categories=minimum, **keywords).fit(train, labels)
    # the last category of each feature is one that no row of the training has, if there is a minimum
    rows = np.vstack([train, unseen, np.array(model.n_categories_) - 1])
    return {
        "prior": prior,
        "alpha": alpha,
        "min_categories": minimum,
        "class_log_prior": model.class_log_prior_.tolist(),
        "feature_log_prob": [p.tolist() for p in model.feature_log_prob_],
        "joint_log_likelihood": model.predict_joint_log_proba(rows).tolist(),
        "log_proba": model.predict_log_proba(rows).tolist(),
        "predict": model.predict(rows).tolist(),
    }


def categorical_cases(train, labels, unseen):
    share = given(labels.max() + 1)
    minimum = (train.max(axis=0) + 1 + np.arange(train.shape[1]) * 2).tolist()
    for alpha in [1.0, 0.1, 1e-3]:
        for declared in [None, minimum]:
            yield categorical(train, labels, unseen, "learned", {}, alpha, declared)
    yield categorical(train, labels, unseen, "uniform", {"fit_prior": False}, 0.5, minimum)
    yield categorical(train, labels, unseen, share, {"class_prior": share}, 0.5, None)


def iris():
    """The table, as it is published, and what two models say of it."""
    data = load_iris()
    path = HERE.parent.parent / "data" / "iris.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["sepal_length", "sepal_width", "petal_length", "petal_width", "species"])
        for row, label in zip(data.data, data.target):
            writer.writerow([*row.tolist(), data.target_names[label]])
    none = np.empty((0, 4))
    learn = (data.data, data.target, none, "learned")
    cases = [gaussian(*learn, 1e-9), discriminant(*learn, None)]
    for case in cases:  # for brevity: the posteriors say as much
        case.pop("joint_log_likelihood", None)
        case.pop("decision_function", None)
    accuracy = [float(np.mean(np.array(case["predict"]) == data.target)) for case in cases]
    return {"accuracy": accuracy, "cases": cases}


def main():
    real = []
    for name, train, labels, unseen in real_sets():
        cases = list(real_cases(train, labels, unseen))
        real.append(table(name, train, labels, unseen, cases))
    real.append(constant_case(train, labels, unseen))
    categories = []
    for name, train, labels, unseen in categorical_sets():
        cases = list(categorical_cases(train, labels, unseen))
        categories.append(table(name, train, labels, unseen, cases))
    versions = {"scikit-learn": sklearn.__version__, "numpy": np.__version__}
    golden = {"versions": versions, "real": real, "categorical": categories, "iris": iris()}
    text = json.dumps(golden, separators=(",", ":"))
    # a line a case
    for start in ['{"model"', '{"prior"', '{"name"', '"iris"']:
        text = text.replace(start, "\n" + start)
    HERE.with_name("real.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
