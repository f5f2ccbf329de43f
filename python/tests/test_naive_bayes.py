"""tamis.naive_bayes against the installed scikit-learn: its checks, its tests, and the same bits."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sparse = pytest.importorskip("scipy.sparse")
sklearn = pytest.importorskip("sklearn")

import sklearn.naive_bayes as peer
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import tamis.naive_bayes as ours

MATRIX = ["MultinomialNB", "ComplementNB", "BernoulliNB"]
ALL = [*MATRIX, "CategoricalNB", "GaussianNB"]
VERSION = tuple(int(part) for part in re.findall(r"\d+", sklearn.__version__)[:2])

# Why tests of scikit-learn's own file may be skipped: all are about arrays of other libraries and settings
# not made here.
SKIPS = re.compile(
    "SCIPY_ARRAY_API is not set|(array_api_strict|array_api_compat|torch|cupy|dpnp) is not installed"
    "|not having compatible versions of|Set SKLEARN_RUN_FLOAT32_TESTS=1"
)


def assert_equal(expected: Any, got: Any, exact: bool, **options: Any) -> None:
    """The same bits; or within rounding, where numpy leaves the order of a sum to the BLAS of this processor."""
    if exact or not np.issubdtype(np.asarray(expected).dtype, np.floating):
        np.testing.assert_array_equal(expected, got, **options)
    else:
        options.pop("strict", None)  # not every numpy has it here
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12, **options)


def assert_same(expected: Any, got: Any, exact: bool = True) -> None:
    """Every fitted attribute and every prediction has the same type, shape and bits."""
    names = [name for name in vars(expected) if name.endswith("_")]
    assert len(names) >= 5, names
    for name in names:
        a, b = getattr(expected, name), getattr(got, name)
        pairs = zip(a, b, strict=True) if isinstance(a, list) else [(a, b)]
        for a, b in pairs:
            a, b = np.asarray(a), np.asarray(b)
            assert (a.dtype, a.shape) == (b.dtype, b.shape), name
            assert_equal(a, b, exact, err_msg=name, strict=True)


def pair(name: str, **parameters: Any) -> tuple[Any, Any]:
    """scikit-learn's estimator and ours."""
    return getattr(peer, name)(**parameters), getattr(ours, name)(**parameters)


def rows(seed: int, n: int = 60, n_features: int = 40, kind: str = "float64") -> np.ndarray:
    """Counts of which most are 0, as fractions if floats are asked for."""
    dice = np.random.default_rng(seed)
    counts = dice.poisson(0.4, (n, n_features))
    scale = dice.random((n, 1)) if kind.startswith("float") else 1
    return (counts * scale).astype(kind)


def labels(seed: int, n_classes: int, n: int = 60) -> np.ndarray:
    dice = np.random.default_rng(seed + 1000)
    y = np.concatenate([np.arange(n_classes), dice.integers(n_classes, size=n - n_classes)])
    return np.array([f"label{c:02}" for c in y])


@pytest.mark.parametrize("name", ALL)
def test_check_estimator(name: str) -> None:
    # scikit-learn 1.6's check subtracts a fraction from whole numbers, which it makes for estimators of
    # categories.
    known = name == "CategoricalNB" and VERSION < (1, 7)
    expected = {"check_positive_only_tag_during_fit": "the check itself fails"} if known else {}
    checks = check_estimator(
        getattr(ours, name)(), expected_failed_checks=expected, on_fail=None, on_skip=None
    )
    outcomes: dict[str, list[str]] = {}
    for check in checks:
        outcomes.setdefault(check["status"], []).append(check["check_name"])
    passed, skipped = outcomes.pop("passed"), outcomes.pop("skipped", [])
    assert outcomes == ({"xfail": list(expected)} if expected else {}), checks
    assert set(skipped) <= {"check_array_api_input"}
    # As many as scikit-learn's own estimator: no tag of ours leaves checks out.
    theirs = check_estimator(getattr(peer, name)(), on_fail=None, on_skip=None)
    n_theirs = sum(check["status"] == "passed" for check in theirs)
    assert len(passed) + len(expected) >= max(n_theirs, 50), (len(passed), n_theirs)


def test_scikit_learns_own_tests_pass_with_all_five_swapped(tmp_path: Path) -> None:
    source = Path(sklearn.__file__).parent / "tests" / "test_naive_bayes.py"
    swapped, n = re.subn(
        r"^from sklearn\.naive_bayes import", "from tamis.naive_bayes import", source.read_text(), flags=re.M
    )
    assert n == 1 and all(name in swapped for name in ALL)
    file, report = tmp_path / "test_swapped.py", tmp_path / "report.xml"
    file.write_text(swapped)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "sklearn.conftest",
        "-p",
        "no:cacheprovider",
        str(file),
    ]
    done = subprocess.run(
        [*command, f"--junitxml={report}"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    suite = ElementTree.parse(report).getroot()[0]
    n_tests, n_skipped = int(suite.attrib["tests"]), int(suite.attrib["skipped"])
    assert n_tests - n_skipped >= 80, suite.attrib
    reasons = [skip.attrib["message"] for skip in suite.iter("skipped")]
    assert len(reasons) == n_skipped
    for reason in sorted(set(reasons)):
        print(f"skipped {reasons.count(reason)} times: {reason}")
        assert SKIPS.search(reason), reason


PARAMETERS = [
    {},
    {"alpha": 0.1, "fit_prior": False},
    {"alpha": np.linspace(0.01, 2, 40)},
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("n_classes", [1, 2, 20])
@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "uint8"])
@pytest.mark.parametrize("name", MATRIX)
def test_counts_have_scikit_learns_bits(name: str, kind: str, n_classes: int, seed: int) -> None:
    X, y = rows(seed, kind=kind), labels(seed, n_classes)
    weights = np.random.default_rng(seed).random(len(y)) * 3
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    more = (
        [{"norm": True}] if name == "ComplementNB" else [{"binarize": 0.3}] if name == "BernoulliNB" else []
    )
    for parameters in PARAMETERS + more:
        if name == "BernoulliNB" and np.ndim(parameters.get("alpha", 1)):
            continue  # scikit-learn adds up shapes that do not belong together
        for matrix in (X, np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_matrix(X), wide):
            for sample_weight in (None, weights):
                exact = sparse.issparse(matrix) or not kind.startswith("float")
                theirs, mine = pair(name, **parameters)
                assert_same(theirs.fit(matrix, y, sample_weight), mine.fit(matrix, y, sample_weight), exact)
                for predict in ("predict_joint_log_proba", "predict_proba", "predict"):
                    assert_equal(getattr(theirs, predict)(matrix), getattr(mine, predict)(matrix), exact)
                theirs, mine = clone(theirs), clone(mine)
                for start in range(0, len(y), 25):
                    part = slice(start, start + 25)
                    given = None if sample_weight is None else sample_weight[part]
                    theirs.partial_fit(matrix[part], y[part], np.unique(y), given)
                    mine.partial_fit(matrix[part], y[part], np.unique(y), given)
                assert_same(theirs, mine, exact)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_categories_have_scikit_learns_bits(n_classes: int, seed: int) -> None:
    X, y = np.random.default_rng(seed).integers(7, size=(60, 9)), labels(seed, n_classes)
    for parameters in (
        {},
        {"alpha": 0.3, "min_categories": 9},
        {"min_categories": list(range(1, 10)), "fit_prior": False},
    ):
        for weights in (None, np.random.default_rng(seed).random(60)):
            theirs, mine = pair("CategoricalNB", **parameters)
            assert_same(theirs.fit(X, y, weights), mine.fit(X, y, weights))
            np.testing.assert_array_equal(theirs.predict_joint_log_proba(X), mine.predict_joint_log_proba(X))
            theirs, mine = pair("CategoricalNB", **(parameters | {"min_categories": 9}))
            for part in (slice(0, 20), slice(20, 60)):
                given = None if weights is None else weights[part]
                theirs.partial_fit(X[part], y[part], np.unique(y), given)
                mine.partial_fit(X[part], y[part], np.unique(y), given)
            assert_same(theirs, mine)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [1, 2, 5])
@pytest.mark.parametrize("kind", ["float64", "int64", "float32"])
def test_normal_distributions_have_scikit_learns_bits(kind: str, n_classes: int, seed: int) -> None:
    if kind == "float32" and VERSION < (1, 9):
        pytest.skip(f"scikit-learn {sklearn.__version__} fits float32 as float64; ours follows the newest")
    y = labels(seed, n_classes)
    X = (np.random.default_rng(seed).normal(3, 5, (60, 30)) + np.arange(30)).astype(kind)
    for parameters in ({}, {"var_smoothing": 0.1}, {"priors": np.full(n_classes, 1 / n_classes)}):
        for weights in (None, np.random.default_rng(seed).random(60)):
            for matrix in (X, np.asfortranarray(X)):
                theirs, mine = pair("GaussianNB", **parameters)
                assert_same(theirs.fit(matrix, y, weights), mine.fit(matrix, y, weights))
                np.testing.assert_array_equal(
                    theirs.predict_joint_log_proba(X), mine.predict_joint_log_proba(X)
                )
            theirs, mine = clone(theirs), clone(mine)
            for part in (slice(0, 20), slice(20, 60)):
                given = None if weights is None else weights[part]
                theirs.partial_fit(X[part], y[part], np.unique(y), given)
                mine.partial_fit(X[part], y[part], np.unique(y), given)
            assert_same(theirs, mine)


@pytest.mark.parametrize("name", MATRIX)
def test_20_newsgroups_have_scikit_learns_bits(name: str, newsgroups: Any) -> None:
    (X, y), (X_test, _) = newsgroups
    theirs, mine = pair(name)
    assert_same(theirs.fit(X, y), mine.fit(X, y))
    for test in (X_test, X_test[:1], X_test[100:140]):
        np.testing.assert_array_equal(
            theirs.predict_joint_log_proba(test), mine.predict_joint_log_proba(test)
        )


@pytest.fixture(scope="module")
def newsgroups(corpora: Path) -> Any:
    """20 Newsgroups by date, counted: rows and labels of both parts."""
    vectorizer, parts = CountVectorizer(dtype=np.float64), []
    for part in ("train", "test"):
        files = sorted((corpora / "20newsgroups-bydate" / part).glob("*/*"))
        assert len(files) > 7000
        texts = (file.read_bytes().decode("latin-1") for file in files)
        X = vectorizer.transform(texts) if parts else vectorizer.fit_transform(texts)
        parts.append((X, np.array([file.parent.name for file in files])))
    return parts


@pytest.mark.parametrize("name", ALL)
def test_estimators_work_with_what_scikit_learn_has_around_them(name: str) -> None:
    X, y = rows(1, kind="int64"), labels(1, 3)
    search = GridSearchCV(make_pipeline(getattr(ours, name)()), {}, cv=2, error_score="raise").fit(
        X[:, :3].clip(0, 1), y
    )
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X[:, :3].clip(0, 1)), search.predict(X[:, :3].clip(0, 1)))


@pytest.mark.parametrize("name", ALL)
def test_a_label_that_is_no_class_is_an_error(name: str) -> None:
    model = getattr(ours, name)().partial_fit([[1, 0], [0, 1]], [0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match=r"The target label\(s\) \[2\] in y do not exist"):
        model.partial_fit([[1, 1]], [2])


def test_bernoulli_takes_alpha_by_feature() -> None:
    X, y = rows(2), labels(2, 3)
    one = ours.BernoulliNB(alpha=0.5).fit(X, y)
    many = ours.BernoulliNB(alpha=np.full(40, 0.5)).fit(X, y)
    np.testing.assert_array_equal(one.feature_log_prob_, many.feature_log_prob_)


@pytest.mark.parametrize(
    ("name", "parameters", "text"),
    [
        ("MultinomialNB", {"alpha": -1}, "alpha: expected a number of at least 0, got -1"),
        ("MultinomialNB", {"alpha": np.nan}, "alpha: expected a number of at least 0, got nan"),
        ("ComplementNB", {"norm": 3}, "norm: expected True or False, got 3"),
        ("BernoulliNB", {"binarize": -0.5}, "binarize: expected a number of at least 0, got -0.5"),
        ("CategoricalNB", {"alpha": [1, 1]}, r"alpha: expected a number of at least 0, got \[1, 1\]"),
        ("GaussianNB", {"var_smoothing": "x"}, "var_smoothing: expected a number of at least 0, got 'x'"),
        ("MultinomialNB", {"class_prior": [1.0]}, "Number of priors must match number of classes"),
    ],
)
def test_parameters_are_checked(name: str, parameters: dict[str, Any], text: str) -> None:
    with pytest.raises((ValueError, TypeError), match=text):
        getattr(ours, name)(**parameters).fit([[1, 0], [0, 1]], [0, 1])


def test_an_unknown_category_names_row_and_feature() -> None:
    model = ours.CategoricalNB().fit([[0, 1], [1, 0]], [0, 1])
    with pytest.raises(IndexError, match="row 1: expected a category below 2 of feature 1, got 5"):
        model.predict([[0, 0], [0, 5]])


def test_threads_may_predict_at_once() -> None:
    X, y = sparse.csr_matrix(rows(3, 2000, 500)), labels(3, 20, 2000)
    model = ours.MultinomialNB().fit(X, y)
    expected, got = model.predict_proba(X), [None] * 4

    def predict(i: int) -> None:
        got[i] = model.predict_proba(X)

    threads = [threading.Thread(target=predict, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for proba in got:
        np.testing.assert_array_equal(proba, expected)
