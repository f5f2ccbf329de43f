"""The estimator `TamisClassifier`."""

from __future__ import annotations

import doctest
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import generated, run
from rows_as_words import Numbers
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from tamis import Filter, TamisClassifier, TamisError, _labels, classifier

MANY = generated(300, ["fruit", "metal", "wood", "Zinn"])
TWO = generated(300, ["ham", "spam"])


def model(data: tuple[Any, Any], **options: Any) -> bytes:
    return TamisClassifier(**options).fit(*data).filter_.to_bytes()


def test_scikit_learns_checks_pass() -> None:
    results = check_estimator(Numbers(), on_skip=None)
    outcomes = Counter(result["status"] for result in results)
    # in 1.6 and in 1.9; what is skipped needs SCIPY_ARRAY_API
    assert outcomes["passed"] >= 55, outcomes
    assert set(outcomes) <= {"passed", "skipped"}, results
    assert outcomes["skipped"] <= 1, results
    names = {result["check_name"] for result in results if result["status"] == "passed"}
    assert {"check_classifiers_train", "check_classifiers_classes", "check_fit_idempotent"} <= names
    assert {"check_decision_proba_consistency", "check_class_weight_classifiers"} <= names
    of_many = ["representation_invariance", *(f"output_format_{of}" for of in ("predict", "decision_function"))]
    assert {f"check_classifiers_multilabel_{check}" for check in of_many} <= names


OPTIONS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "default": ([], {}),
    "alpha": (["--alpha", "0.5"], {"alpha": 0.5}),
    "idf": (["--idf-power", "0.5"], {"idf_power": 0.5}),
    "regularisation": (["--regularisation", "2"], {"regularisation": 2}),
    "no correction": (["--correction", "off"], {"correction": False}),
    "multinomial": (["--likelihood", "multinomial"], {"likelihood": "multinomial"}),
    "occurrences": (
        ["--likelihood", "multinomial", "--occurrences", "--estimate", "map", "--alpha", "1.5"],
        {"likelihood": "multinomial", "occurrences": True, "estimate": "map", "alpha": 1.5},
    ),
    "maximum likelihood": (
        ["--likelihood", "multinomial", "--estimate", "ml"],
        {"likelihood": "multinomial", "estimate": "ml"},
    ),
    "bernoulli": (
        ["--likelihood", "bernoulli", "--class-prior", "uniform", "--min-df", "2", "--max-df", "0.5"],
        {"likelihood": "bernoulli", "class_prior": "uniform", "min_df": 2, "max_df": 0.5},
    ),
    "complement": (["--likelihood", "complement"], {"likelihood": "complement"}),
    "normalized": (
        ["--likelihood", "complement-normalized", "--max-features", "50"],
        {"likelihood": "complement-normalized", "max_features": 50},
    ),
    "selected": (
        ["--likelihood", "multinomial", "--select", "chi2=30"],
        {"likelihood": "multinomial", "select": "chi2=30"},
    ),
    "mail's words": (["--words", "mail", "--keep-case"], {"words": "mail", "keep_case": True}),
    "stems": (
        ["--stem", "german", "--min-chars", "2", "--max-chars", "6"],
        {"stem": "german", "min_chars": 2, "max_chars": 6},
    ),
    "words": (["--ngrams", "1"], {"ngrams": 1}),
    "pairs": (["--ngrams", "1-2"], {"ngrams": (1, 2)}),
    "characters": (["--characters", "3-4"], {"characters": (3, 4)}),
    "remembered": (["--documents"], {"documents": True}),
}


@pytest.mark.parametrize("data", [TWO, MANY], ids=["two labels", "four labels"])
@pytest.mark.parametrize("option", OPTIONS)
def test_the_model_is_the_programs(
    option: str, data: tuple[list[str], list[str]], tamis_program: Path, tmp_path: Path
) -> None:
    flags, keywords = OPTIONS[option]
    rows = [json.dumps({"text": text, "label": label}) for text, label in zip(*data, strict=True)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    run(tamis_program, "train", "-m", tmp_path / "m.tamis", tmp_path / "rows.jsonl", *flags)
    expected = (tmp_path / "m.tamis").read_bytes()
    for n_jobs in (1, 2, 8):
        assert model(data, n_jobs=n_jobs, **keywords) == expected


def test_stop_words_and_priors_are_the_programs(tamis_program: Path, tmp_path: Path) -> None:
    rows = [json.dumps({"text": text, "label": label}) for text, label in zip(*TWO, strict=True)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    (tmp_path / "stop.txt").write_text("word1 word2\nspam3")
    flags = ["--likelihood", "multinomial", "--class-prior", "spam=0.2,ham=0.8"]
    flags += ["--stop-words", tmp_path / "stop.txt"]
    run(tamis_program, "train", "-m", tmp_path / "m.tamis", tmp_path / "rows.jsonl", *flags)
    options: dict[str, Any] = {"class_prior": {"spam": 0.2, "ham": 0.8}, "stop_words": ("word1", "word2", "spam3")}
    assert model(TWO, likelihood="multinomial", **options) == (tmp_path / "m.tamis").read_bytes()


def mails() -> tuple[list[bytes], list[str]]:
    texts, labels = TWO
    bodies = enumerate(zip(texts, labels, strict=True))
    given = [f"Subject: {label}ish\nMessage-ID: <{n}@x>\n\n{text}\n".encode() for n, (text, label) in bodies]
    return [*given, given[0]], [*labels, labels[0]]


@pytest.mark.parametrize("deduplicate", [False, True])
def test_the_model_of_mail_is_the_programs(deduplicate: bool, tamis_program: Path, tmp_path: Path) -> None:
    for n, (mail, label) in enumerate(zip(*mails(), strict=True)):
        folder = tmp_path / "mail" / label
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{n}.eml").write_bytes(mail)
    flags = ["--no-names", "--as", "mail"] + ([] if deduplicate else ["--repeat"])
    run(tamis_program, "train", "-m", tmp_path / "m.tamis", tmp_path / "mail", *flags)
    expected = (tmp_path / "m.tamis").read_bytes()
    for n_jobs in (1, 2, 8):
        assert model(mails(), kind="mail", deduplicate=deduplicate, n_jobs=n_jobs) == expected


def test_the_program_reads_its_file_and_it_reads_the_programs(tamis_program: Path, tmp_path: Path) -> None:
    classifier = TamisClassifier().fit(*MANY)
    classifier.save(tmp_path / "saved.tamis")
    command = [str(tamis_program), "label", "-m", str(tmp_path / "saved.tamis"), "-"]
    done = subprocess.run(command, input=b"fruit1 fruit2 word3", capture_output=True, check=False)
    assert done.returncode == 0 and b"fruit" in done.stdout, done
    loaded = TamisClassifier.load(tmp_path / "saved.tamis", n_jobs=2)
    assert loaded.classes_.tolist() == ["Zinn", "fruit", "metal", "wood"] and loaded.n_documents_ == 305
    np.testing.assert_array_equal(loaded.predict_proba(MANY[0]), classifier.predict_proba(MANY[0]))
    with pytest.raises(FileNotFoundError):
        TamisClassifier.load(tmp_path / "none.tamis")
    (tmp_path / "rows.jsonl").write_text("no model")
    with pytest.raises(TamisError, match="not a tamis model"):
        TamisClassifier.load(tmp_path / "rows.jsonl")


def test_it_classifies() -> None:
    texts, labels = MANY
    classifier = TamisClassifier().fit(texts[:200], labels[:200])
    known = [n for n in range(200, 300) if any(word.startswith(labels[n]) for word in texts[n].split())]
    predicted = classifier.predict([texts[n] for n in known])
    right = np.mean(predicted == np.array([labels[n] for n in known]))
    assert len(known) > 40 and right > 0.8
    probabilities = classifier.predict_proba(texts)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    decisions = classifier.decision_function(texts)
    np.testing.assert_allclose(1 / (1 + np.exp(-decisions)), probabilities, atol=1e-12)
    np.testing.assert_array_equal(decisions.argmax(axis=1), probabilities.argmax(axis=1))


def test_decisions_between_two_are_log_odds_of_the_second() -> None:
    for labels in (TWO[1], ["b" if label == "spam" else "a" for label in TWO[1]]):
        classifier = TamisClassifier().fit(TWO[0], labels)
        decisions = classifier.decision_function(TWO[0])
        assert decisions.shape == (305,)
        probabilities = classifier.predict_proba(TWO[0])
        np.testing.assert_allclose(1 / (1 + np.exp(-decisions)), probabilities[:, 1], atol=1e-12)
        np.testing.assert_array_equal(classifier.predict(TWO[0]) == classifier.classes_[1], decisions > 0)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([10, 9, 100], [9, 10, 100]),
        ([True, False, True], [False, True]),
        ([2.0, 1.0, 3.0], [1.0, 2.0, 3.0]),
        (np.array([3, -1, 20]), [-1, 3, 20]),
        (pl.Series([10, 9, 100]), [9, 10, 100]),
        (pa.array([10, 9, 100]), [9, 10, 100]),
        (pd.Series([10, 9, 100], dtype="Int64"), [9, 10, 100]),
        (np.array(["b", "a", "c"], dtype=object), ["a", "b", "c"]),
    ],
)
def test_labels_need_not_be_text(labels: Any, classes: list[Any]) -> None:
    texts = ["apple", "gold", "oak"]
    classifier = TamisClassifier().fit(texts * 5, np.tile(np.asarray(labels), 5))
    assert classifier.classes_.tolist() == classes
    assert classifier.predict(texts).tolist() == np.asarray(labels).tolist()
    again = pickle.loads(pickle.dumps(classifier))
    assert again.predict(texts).tolist() == np.asarray(labels).tolist()


def test_one_label_is_the_answer() -> None:
    classifier = TamisClassifier().fit(["a", "b"], ["x", "x"])
    assert classifier.predict(["c"]).tolist() == ["x"]
    assert classifier.predict_proba(["c", "d"]).tolist() == [[1.0], [1.0]]
    with pytest.raises(TamisError, match="expected a model of at least 2 labels"):
        classifier.explain("c")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "explain", "score_table"])
def test_before_fit_nothing_is_predicted(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(TamisClassifier(), method)(["a"])


def test_pickle_and_clone() -> None:
    classifier = TamisClassifier(alpha=0.3, n_jobs=2).fit(*MANY)
    again = pickle.loads(pickle.dumps(classifier))
    assert again.filter_.to_bytes() == classifier.filter_.to_bytes()
    np.testing.assert_array_equal(again.predict_proba(MANY[0]), classifier.predict_proba(MANY[0]))
    fresh = clone(classifier)
    assert fresh.get_params() == classifier.get_params() and not hasattr(fresh, "filter_")
    assert fresh.set_params(alpha=0.3).fit(*MANY).filter_.to_bytes() == classifier.filter_.to_bytes()


def test_pipeline_grid_search_and_cross_validation() -> None:
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = Pipeline([("lower", lower), ("tamis", TamisClassifier())]).fit(*MANY)
    assert pipeline.score(*MANY) > 0.8
    grid = {"likelihood": ["weighted", "multinomial"], "alpha": [None, 0.5], "ngrams": [None, (1, 2)]}
    search = GridSearchCV(TamisClassifier(), grid, cv=3).fit(*MANY)
    assert search.best_score_ > 0.5 and search.best_estimator_.classes_.shape == (4,)
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    scores = cross_val_score(TamisClassifier(), np.array(MANY[0]), MANY[1], cv=4, scoring="neg_log_loss")
    assert scores.shape == (4,) and np.isfinite(scores).all()
    in_processes = cross_val_score(TamisClassifier(), *MANY, cv=2, n_jobs=2)
    assert in_processes.tolist() == cross_val_score(TamisClassifier(), *MANY, cv=2).tolist()


def test_score_table_goes_to_any_library() -> None:
    classifier = TamisClassifier().fit(*MANY)
    table = classifier.score_table(MANY[0])
    probabilities = classifier.predict_proba(MANY[0])
    columns = ["label", "probability", "probability_Zinn", "probability_fruit", "probability_metal"]
    for frame in (pa.table(table).to_pandas(), pl.DataFrame(table).to_pandas()):
        assert frame.columns.tolist() == [*columns, "probability_wood"]
        assert frame["label"].tolist() == classifier.predict(MANY[0]).tolist()
        np.testing.assert_array_equal(frame["probability"], probabilities.max(axis=1))
        np.testing.assert_array_equal(frame[frame.columns[2:]], probabilities)


def test_an_explanation_adds_up() -> None:
    explanation = TamisClassifier().fit(*TWO).explain("spam1 spam2 word3 unheard")
    assert explanation.label == "spam" and explanation.unknown == 1
    total = explanation.intercept + sum(term.contribution for term in explanation.terms)
    assert total == pytest.approx(explanation.score.log_odds)
    assert explanation.terms[0].term in ("spam1", "spam2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"likelihood": "gaussian"}, "likelihood: expected one of weighted, bernoulli"),
        ({"alpha": 0}, "alpha: .*greater than 0"),
        ({"idf_power": 9}, "idf_power: "),
        ({"regularisation": -1}, "regularisation: "),
        ({"regularisation": 1, "correction": False}, "regularisation: expected none"),
        ({"occurrences": True}, "occurrences: expected naive Bayes"),
        ({"likelihood": "bernoulli", "occurrences": True}, "occurrences: "),
        ({"likelihood": "multinomial", "correction": True}, "correction: expected weighted scoring"),
        ({"likelihood": "multinomial", "class_prior": "odd"}, "class_prior: expected learned"),
        ({"likelihood": "multinomial", "class_prior": {"ham": 1}}, "class_prior: expected a share for \"spam\""),
        ({"likelihood": "multinomial", "class_prior": {"ham": 0.5, "x": 0.5}}, "class_prior: expected labels"),
        ({"likelihood": "multinomial", "select": "chi=3"}, "select: expected chi2=N or mi=N"),
        ({"likelihood": "multinomial", "estimate": "odd"}, "estimate: expected mean, map or ml"),
        ({"likelihood": "multinomial", "max_df": 2.0}, "max_df"),
        ({"words": "odd"}, "words: "),
        ({"stem": "klingon"}, "stem: "),
        ({"ngrams": (2, 1)}, "n-gram"),
        ({"ngrams": 1, "characters": 3}, "characters: expected none beside ngrams"),
        ({"min_chars": 0}, "min_chars"),
        ({"deduplicate": True}, "deduplicate: expected mail"),
        ({"content_only": True}, "content_only: expected mail"),
    ],
)
def test_wrong_options_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TamisError, match=message):
        TamisClassifier(**options).fit(*TWO)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": "much"}, "alpha: expected a number, got 'much'"),
        ({"max_features": 1.5}, "max_features: expected a whole number of 0 or more, got 1.5"),
        ({"ngrams": "1-2"}, "ngrams: expected a whole number or a pair of them"),
        ({"ngrams": 300}, "ngrams: expected a whole number or a pair of them"),
        ({"min_df": -1}, "min_df: expected a whole number of 0 or more, got -1"),
        ({"correction": "off"}, "correction: expected True or False, got 'off'"),
        ({"class_prior": 5}, "class_prior: expected 'learned', 'smoothed', 'uniform' or a dict"),
        ({"n_jobs": "2"}, "n_jobs: expected a whole number, got '2'"),
        ({"encoding": 8}, "encoding: expected a name"),
    ],
)
def test_options_of_a_wrong_type_are_errors_in_plain_words(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TamisError, match=message):
        TamisClassifier(**options).fit(*TWO)


def test_a_label_outside_of_classes_is_an_error() -> None:
    classifier = TamisClassifier().partial_fit(["apples"], ["fruit"], classes=["fruit", "metal"])
    for _ in range(2):
        with pytest.raises(TamisError, match=r"expected labels that are in classes \(fruit, metal\), got 'tools'"):
            classifier.partial_fit(["hammer"], ["tools"])
    assert classifier.n_documents_ == 1
    classifier.partial_fit(["iron"], ["metal"])
    assert classifier.classes_.tolist() == ["fruit", "metal"]
    # without classes any label may come
    assert TamisClassifier().partial_fit(["a"], ["x"]).partial_fit(["b"], ["y"]).classes_.tolist() == ["x", "y"]


def test_refit_fits_to_all_that_was_counted() -> None:
    texts, labels = ["apples", "iron"] * 5, ["fruit", "metal"] * 5
    classifier = TamisClassifier().partial_fit(texts, labels).partial_fit(["pears"], ["fruit"])
    assert classifier.n_fitted_ < classifier.n_documents_
    assert classifier.refit().n_fitted_ == classifier.n_documents_ == 11
    expected = TamisClassifier().fit([*texts, "pears"], [*labels, "fruit"])
    assert classifier.filter_.to_bytes() == expected.filter_.to_bytes()
    with pytest.raises(TamisError, match="fit and load keep no counts"):
        expected.refit()


def test_a_text_without_a_known_word_gets_one_label_in_every_door() -> None:
    texts, labels = ["apples", "pears", "plums", "iron"], ["fruit", "fruit", "fruit", "metal"]
    classifier = TamisClassifier().fit(texts, labels)
    assert classifier.predict(["zebra"]).tolist() == ["fruit"]
    assert classifier.filter_.score("zebra").label == "fruit"


def test_without_scikit_learn_it_says_what_to_install() -> None:
    program = "import sys; sys.modules['sklearn'] = None; from tamis import TamisClassifier"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("TamisClassifier needs scikit-learn: pip install 'tamis[sklearn]'")


@pytest.mark.parametrize("label", ["", "a\nb"])
def test_labels_that_a_model_cannot_have_are_errors(label: str) -> None:
    with pytest.raises(TamisError, match="^row 1: "):
        TamisClassifier().fit(["a", "b"], ["x", label])


def test_ctrl_c_stops_training(request: pytest.FixtureRequest) -> None:
    # a shell that starts the tests in the background lets them ignore it
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, handler))
    text = " ".join(f"word{n}" for n in range(2_000))
    texts, labels = [text] * 300_000, ["x", "y"] * 150_000
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        TamisClassifier().fit(texts, labels)
    assert time.monotonic() - start < 5


def test_progress_is_shown_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    classifier = TamisClassifier(progress=True).fit(*MANY)
    classifier.predict(MANY[0])
    assert capsys.readouterr().err.count("305/305") == 2
    classifier.set_params(progress=False).predict(MANY[0])
    assert capsys.readouterr().err == ""


def test_a_notebook_shows_the_model_below_the_diagram() -> None:
    assert "305 documents" not in TamisClassifier()._repr_html_()
    classifier = TamisClassifier().fit(*MANY)
    for html in (classifier._repr_html_(), classifier._repr_mimebundle_()["text/html"]):
        assert "305 documents" in html and "Zinn" in html and "sk-" in html


def test_importing_tamis_does_not_import_scikit_learn() -> None:
    code = "import sys, tamis; assert 'sklearn' not in sys.modules; assert tamis.TamisClassifier"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_learning_does_not_change_what_was_given() -> None:
    texts, labels = np.array(MANY[0]), np.array(MANY[1])
    before = (texts.copy(), labels.copy())
    TamisClassifier().fit(texts, labels)
    np.testing.assert_array_equal(texts, before[0])
    np.testing.assert_array_equal(labels, before[1])


@pytest.mark.parametrize("module", [classifier, _labels])
def test_its_examples_run(module: Any) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0 and outcome.failed == 0


def test_a_filter_trains_as_the_classifier_does() -> None:
    assert Filter.train(*MANY, kind="text").to_bytes() == model(MANY)


@pytest.mark.parametrize("options", [{}, {"likelihood": "multinomial"}, {"correction": False}, {"ngrams": 2}])
@pytest.mark.parametrize("data", [TWO, MANY], ids=["two labels", "four labels"])
def test_partial_fit_gives_the_model_of_fit(data: tuple[list[str], list[str]], options: dict[str, Any]) -> None:
    expected = model(data, **options)
    by_label = sorted(zip(*data, strict=True), key=lambda row: row[1])
    in_order: tuple[Any, Any] = tuple(zip(*by_label, strict=True))
    for texts, labels in (data, in_order):
        classifier = TamisClassifier(**options)
        for start in (0, 5, 10, 120):
            end = {0: 5, 5: 10, 10: 120, 120: 305}[start]
            classifier.partial_fit(list(texts[start:end]), list(labels[start:end]))
        assert classifier.n_fitted_ == classifier.n_documents_ == 305
        assert classifier.filter_.to_bytes() == expected


def test_partial_fit_fits_again_when_documents_have_grown_by_a_quarter() -> None:
    texts, labels = MANY
    classifier = TamisClassifier().partial_fit(texts[:100], labels[:100])
    before = classifier.filter_
    classifier.partial_fit(texts[100:124], labels[100:124])
    assert (classifier.n_documents_, classifier.n_fitted_) == (124, 100) and classifier.filter_ is before
    classifier.predict(texts)
    assert classifier.filter_ is before
    again = pickle.loads(pickle.dumps(classifier))
    for one in (classifier, again):
        one.partial_fit(texts[124:125], labels[124:125])
        assert (one.n_documents_, one.n_fitted_) == (125, 125)
        assert one.filter_.to_bytes() == model((texts[:125], labels[:125]))


def test_a_label_that_comes_late_is_found_from_its_first_documents_on() -> None:
    texts = [f"{word} number {i}" for i in range(100) for word in ("apples and pears", "iron and tin")]
    classifier = TamisClassifier().partial_fit(texts, ["fruit", "metal"] * 100, classes=["fruit", "metal", "rain"])
    for i in range(10):
        classifier.partial_fit([f"clouds and showers, day {i}"], ["rain"])
    assert classifier.n_fitted_ < 1.1 * classifier.n_documents_
    assert classifier.predict(["showers and clouds"]).tolist() == ["rain"]
    # one more document of a label that is known well changes nothing
    before = classifier.filter_
    assert classifier.partial_fit(["apples"], ["fruit"]).filter_ is before


def test_partial_fit_knows_labels_that_come_later() -> None:
    classifier = TamisClassifier().partial_fit(["a", "b"], [10, 10], classes=[10, 9, 8])
    assert classifier.classes_.tolist() == [8, 9, 10]
    assert classifier.predict_proba(["a"]).tolist() == [[0.0, 0.0, 1.0]]
    classifier.partial_fit(["c", "d"], [8, 8])
    assert classifier.predict(["a", "c"]).tolist() == [10, 8]
    assert classifier.predict_proba(["a", "c"])[:, 1].tolist() == [0.0, 0.0]
    classifier.partial_fit([], []).partial_fit(["e", "f"], [7, 9], classes=[7])
    assert classifier.classes_.tolist() == [7, 8, 9, 10]
    assert classifier.predict(["a", "c", "e", "f"]).tolist() == [10, 8, 7, 9]


def test_partial_fit_after_fit_says_that_it_begins_anew() -> None:
    classifier = TamisClassifier().fit(*MANY)
    with pytest.warns(UserWarning, match="starts afresh"):
        classifier.partial_fit(*TWO)
    assert classifier.classes_.tolist() == ["ham", "spam"]
    assert classifier.filter_.to_bytes() == model(TWO)
    begun = TamisClassifier().partial_fit(*MANY)
    assert begun.fit(*TWO).filter_.to_bytes() == model(TWO)
    begun = TamisClassifier().partial_fit(*MANY).set_params(stem="german")
    with pytest.raises(TamisError, match="options"):
        begun.partial_fit(*MANY)
