"""The filter for mail and text: the program's scores, any number of threads, pickles, damaged models."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import ROOT, run

import tamis

MAIL, TOPICS = ROOT / "corpora" / "mail", ROOT / "corpora" / "topics"


def labelled(folder: Path) -> tuple[list[bytes], list[str]]:
    """The files of a folder of folders, and the names of these."""
    files = sorted(path for path in folder.glob("*/*") if path.is_file() and path.parent.name != "inbox")
    return [path.read_bytes() for path in files], [path.parent.name for path in files]


@pytest.fixture(scope="module")
def mail() -> tamis.Filter:
    return tamis.Filter.train(*labelled(MAIL), deduplicate=True)


@pytest.fixture(scope="module")
def topics() -> tamis.Filter:
    return tamis.Filter.train(*labelled(TOPICS / "train"), kind="text")


@pytest.fixture(scope="module")
def inbox() -> list[bytes]:
    return [path.read_bytes() for path in sorted((MAIL / "inbox").glob("*.eml"))]


def asked(program: Path, *arguments: object) -> list[dict]:
    """The JSON objects that the program prints."""
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_scores_are_those_of_the_program(tamis_program: Path, tmp_path: Path) -> None:
    model = tmp_path / "mail.tamis"
    run(tamis_program, "train", "-m", model, "--no-names", f"ham={MAIL / 'ham'}", f"spam={MAIL / 'spam'}")
    filter = tamis.Filter.open(model)
    files = sorted(MAIL.glob("*/*.eml"))
    assert len(files) == 179
    expected = asked(tamis_program, "score", "-m", model, "--json", *files)
    scores = filter.score_many([path.read_bytes() for path in files])
    got = [[score.label, score.probability, score.log_odds] for score in scores]
    assert got == [[e["label"], e["probability"], e["log_odds"]] for e in expected]
    assert [score.truncated for score in scores] == [e.get("truncated", False) for e in expected]
    assert filter.score(files[0].read_bytes()) == scores[0]


def test_topics_are_those_of_the_program(tamis_program: Path, tmp_path: Path, topics: tamis.Filter) -> None:
    model = tmp_path / "topics.tamis"
    run(tamis_program, "train", "-m", model, TOPICS / "train")
    topics.save(tmp_path / "own.tamis")
    assert (tmp_path / "own.tamis").read_bytes() == model.read_bytes()
    files = sorted((TOPICS / "test").glob("*/*.txt"))
    expected = asked(tamis_program, "score", "-m", model, "--json", *files)
    scores = topics.score_many([path.read_bytes() for path in files])
    assert [[s.label, s.log_odds] for s in scores] == [[e["label"], e["log_odds"]] for e in expected]


def test_explanations_are_those_of_the_program(
    tamis_program: Path, tmp_path: Path, mail: tamis.Filter, topics: tamis.Filter
) -> None:
    text = next((TOPICS / "test" / "cooking").glob("*.txt"))
    for filter, path in [(mail, MAIL / "inbox" / "01.eml"), (topics, text)]:
        filter.save(tmp_path / "model.tamis")
        arguments = ["--json", "--terms", 0, path]
        [expected] = asked(tamis_program, "explain", "-m", tmp_path / "model.tamis", *arguments)
        got = filter.explain(path.read_bytes())
        assert (got.label, got.against) == (expected["class"], expected["against"])
        assert (got.intercept, got.unknown) == (expected["intercept"], expected["unknown"])
        terms = [[t.term, t.count, t.documents, t.contribution] for t in got.terms]
        assert terms == [[t["term"], t["count"], t["documents"], t["contribution"]] for t in expected["terms"]]


def test_contributions_add_up_to_the_log_odds(mail: tamis.Filter, inbox: list[bytes]) -> None:
    for message in inbox:
        explanation = mail.explain(message)
        total = explanation.intercept + sum(term.contribution for term in explanation.terms)
        assert total == pytest.approx(explanation.score.log_odds, abs=1e-9)
        strengths = [abs(term.contribution) for term in explanation.terms]
        assert strengths == sorted(strengths, reverse=True)
        assert explanation.score == mail.score(message)


def test_evaluation_is_that_of_the_program(tamis_program: Path, tmp_path: Path, mail: tamis.Filter) -> None:
    documents, labels = labelled(MAIL)
    sources = [f"ham={MAIL / 'ham'}", f"spam={MAIL / 'spam'}"]
    mail.save(tmp_path / "model.tamis")
    [expected] = asked(tamis_program, "evaluate", "-m", tmp_path / "model.tamis", "--json", *sources)
    assert_equal_figures(mail.evaluate(documents, labels), expected)
    [expected] = asked(tamis_program, "evaluate", "--folds", 5, "--json", *sources)
    got = tamis.Filter.cross_validate(documents, labels, folds=5, deduplicate=True)
    assert 0.5 < got["accuracy"] < 1
    assert_equal_figures(got, expected)
    documents, labels = labelled(TOPICS / "train")
    [expected] = asked(tamis_program, "evaluate", "--folds", 3, "--json", TOPICS / "train")
    assert_equal_figures(tamis.Filter.cross_validate(documents, labels, folds=3, kind="text"), expected)


def assert_equal_figures(got: dict, expected: dict) -> None:
    # the program tells of the files too
    assert expected.pop("found")["read"] >= expected["documents"]
    assert got.keys() == expected.keys()
    for key, value in expected.items():
        # the program goes through its files in another order, which sums feel in their last digits
        if key in ("operating_points", "reliability", "log_odds"):
            # JSON has no number for the open ends
            rows = [{k: n if n is None else pytest.approx(n, rel=1e-9) for k, n in row.items()} for row in value]
            assert got[key] == rows, key
            continue
        assert got[key] == (value if key == "classes" else pytest.approx(value, rel=1e-9)), key


def test_evaluation_wants_a_label_for_each_document(mail: tamis.Filter, inbox: list[bytes]) -> None:
    with pytest.raises(tamis.TamisError, match="expected 12 labels to evaluate, got 1"):
        mail.evaluate(inbox, ["ham"])
    with pytest.raises(tamis.TamisError, match="expected documents to evaluate, got 0"):
        mail.evaluate([], [])
    with pytest.raises(tamis.TamisError, match=r"row 11: expected a label that the model knows \(ham, spam\)"):
        mail.evaluate(inbox, ["ham"] * 11 + ["junk"])
    with pytest.raises(tamis.TamisError, match="folds: expected at least 2, got 1"):
        tamis.Filter.cross_validate(*labelled(MAIL), folds=1)


@pytest.mark.parametrize("kind", ["mail", "text"])
def test_threads_do_not_matter(kind: str) -> None:
    documents, labels = labelled(MAIL if kind == "mail" else TOPICS / "train")
    filters = [tamis.Filter.train(documents, labels, kind=kind, n_jobs=n) for n in (1, 2, 8, -1)]
    assert len({filter.to_bytes() for filter in filters}) == 1
    many = documents * 5
    scores = [filters[0].score_many(many, n_jobs=n) for n in (None, 1, 2, 8, -1)]
    for other in scores[1:]:
        assert other.labels == scores[0].labels
        np.testing.assert_array_equal(other.log_odds, scores[0].log_odds)
        np.testing.assert_array_equal(other.probabilities, scores[0].probabilities)
    for n in (0, 100_000):
        with pytest.raises(tamis.TamisError, match="n_jobs: expected 1 to 1024 threads"):
            filters[0].score_many(many, n_jobs=n)


def test_any_shape_of_input_gives_the_same_scores(topics: tamis.Filter) -> None:
    texts = [document.decode() for document in labelled(TOPICS / "test")[0]]
    expected = topics.score_many(texts).log_odds
    shapes = [
        np.array(texts, dtype=object),
        np.array(texts),
        pd.Series(texts),
        pl.Series(texts),
        pa.array(texts),
        pa.chunked_array([texts[:7], texts[7:]]),
        (text for text in texts),
        [text.encode() for text in texts],
    ]
    for shape in shapes:
        np.testing.assert_array_equal(topics.score_many(shape).log_odds, expected)


def test_scores_are_a_sequence(topics: tamis.Filter) -> None:
    texts = ["a telescope", "flour and water", "", "qqqq"]
    scores = topics.score_many(texts)
    assert len(scores) == 4
    assert list(scores) == [topics.score(text) for text in texts]
    assert scores[-1] == scores[3]
    # without a known word the largest share decides, unless more is asked for
    assert scores.labels[2] == scores.labels[3] and not scores[2].is_unsure
    assert tamis.Filter.from_bytes(topics.to_bytes(), unsure=0.9).score("").is_unsure
    assert scores.probabilities.shape == (4, 5)
    np.testing.assert_allclose(scores.probabilities.sum(axis=1), 1)
    assert list(scores[1].probabilities) == topics.labels
    assert list(scores[1].probabilities.values()) == scores.probabilities[1].tolist()
    assert scores.probability.tolist() == [score.probability for score in scores]
    for at in (4, -5, sys.maxsize, -sys.maxsize - 1):
        with pytest.raises(IndexError):
            scores[at]
    assert len(topics.score_many([])) == 0
    assert topics.score_many([]).probabilities.shape == (0, 5)


def test_a_table_is_taken_by_every_library(mail: tamis.Filter, inbox: list[bytes]) -> None:
    scores, table = mail.score_many(inbox), mail.score_table(inbox, probabilities=True)
    columns = ["label", "probability", "log_odds", "probability_ham", "probability_spam"]
    assert table.column_names == columns
    by_arrow, by_polars = pa.table(table), pl.DataFrame(table)
    by_pandas = pd.DataFrame.from_arrow(table)
    assert by_arrow.column_names == by_polars.columns == list(by_pandas.columns) == columns
    assert by_arrow["label"].to_pylist() == by_polars["label"].to_list() == list(by_pandas["label"]) == scores.labels
    assert pa.record_batch(table)["log_odds"].to_pylist() == scores.log_odds.tolist()
    assert by_polars["probability_spam"].to_list() == scores.probabilities[:, 1].tolist()
    assert by_arrow.schema.field("log_odds").type == pa.float64()
    empty = mail.score_table([])
    assert len(empty) == 0 and pa.table(empty).num_rows == 0
    assert mail.score_table(inbox).column_names == columns[:3]


def test_a_filter_survives_pickling(mail: tamis.Filter, inbox: list[bytes], tmp_path: Path) -> None:
    mail.save(tmp_path / "model.tamis")
    strict = tamis.Filter.open(tmp_path / "model.tamis", unsure=0.999, spam_label="ham")
    for filter in (mail, strict):
        copy = pickle.loads(pickle.dumps(filter))
        assert copy.path is None
        assert copy.to_bytes() == filter.to_bytes()
        assert list(copy.score_many(inbox)) == list(filter.score_many(inbox))
    assert strict.score_many(inbox).labels != mail.score_many(inbox).labels
    for score in strict.score_many(inbox):
        copy = pickle.loads(pickle.dumps(score))
        assert copy == score and repr(copy) == repr(score)
        assert (copy.is_spam, copy.is_unsure, copy.truncated) == (score.is_spam, score.is_unsure, score.truncated)
        assert copy.probabilities == score.probabilities and copy.known_terms == score.known_terms


def test_verdicts_can_be_told_otherwise(mail: tamis.Filter, inbox: list[bytes]) -> None:
    data = mail.to_bytes()
    assert {score.label for score in mail.score_many(inbox)} == {"ham", "spam"}
    assert [score.is_spam for score in mail.score_many(inbox)] == [s.label == "spam" for s in mail.score_many(inbox)]
    cautious = tamis.Filter.from_bytes(data, unsure=0.9999)
    assert "unsure" in cautious.score_many(inbox).labels
    turned = tamis.Filter.from_bytes(data, spam_label="ham")
    np.testing.assert_allclose(turned.score_many(inbox).log_odds, -mail.score_many(inbox).log_odds)
    with pytest.raises(tamis.TamisError, match="junk"):
        tamis.Filter.from_bytes(data, spam_label="junk")
    with pytest.raises(tamis.TamisError, match="unsure: expected a probability of at least 0 and below 1"):
        tamis.Filter.from_bytes(data, unsure=1)


def test_documents_of_another_kind_are_refused(mail: tamis.Filter, topics: tamis.Filter) -> None:
    for filter, wrong in [(mail, 1), (mail, None), (topics, 3.5), (topics, ["text"])]:
        for ask in (filter.score, filter.explain, lambda one, of=filter: of.score_many([one])):
            with pytest.raises((TypeError, tamis.TamisError), match="expected"):
                ask(wrong)
    with pytest.raises((TypeError, tamis.TamisError)):
        mail.score_many(b"Subject: one message is no list\n\n")
    with pytest.raises(tamis.TamisError, match="row 1"):
        topics.score_many(["text", b"\xff\xfe"])


def test_models_cut_short_are_errors() -> None:
    texts = ["apples and pears", "iron and tin", "ripe pears", "a tin can"]
    whole = tamis.Filter.train(texts, ["fruit", "metal"] * 2, kind="text").to_bytes()
    for length in range(len(whole)):
        with pytest.raises((tamis.TamisError, OSError)):
            tamis.Filter.from_bytes(whole[:length]).explain(texts[0])


def test_damaged_models_are_errors(topics: tamis.Filter) -> None:
    whole, text = topics.to_bytes(), "a telescope in the garden"
    expected = topics.score(text)
    dice, harmless = random.Random(1), 0
    for _ in range(300):
        at = dice.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[at] ^= 1 << dice.randrange(8)
        try:
            filter = tamis.Filter.from_bytes(bytes(damaged))
            assert filter.score(text) == expected
            filter.explain(text), filter.strongest_terms("cooking"), filter.information
            harmless += 1
        except (tamis.TamisError, OSError):
            pass
    # what a document does not touch is not looked at
    assert 0 < harmless < 300


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tamis.Filter.open(tmp_path / "none.tamis")
    with pytest.raises(OSError):
        tamis.Filter.open(tmp_path)
    (tmp_path / "text").write_text("no model")
    with pytest.raises(tamis.TamisError, match="model"):
        tamis.Filter.open(tmp_path / "text")
    with pytest.raises(TypeError):
        tamis.Filter()


def test_many_threads_may_use_one_filter(mail: tamis.Filter) -> None:
    messages = labelled(MAIL)[0]
    expected = list(mail.score_many(messages))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(mail.score, messages * 3)) == expected * 3
        batches = pool.map(lambda n: list(mail.score_many(messages, n_jobs=n)), [1, 2, 3, 4])
        assert all(batch == expected for batch in batches)


def work_in_a_fork(data: bytes, documents: list[bytes], labels: list[str]) -> tuple[float, int]:
    filter = tamis.Filter.from_bytes(data)
    figures = filter.evaluate(documents, labels, n_jobs=2)
    return figures["accuracy"], len(tamis.Filter.merge([filter, filter], n_jobs=2).to_bytes())


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_too(mail: tamis.Filter) -> None:
    task = (mail.to_bytes(), *labelled(MAIL))
    expected = work_in_a_fork(*task)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(work_in_a_fork, task).get(timeout=60) == expected


def test_models_add_up(tmp_path: Path, inbox: list[bytes]) -> None:
    documents, labels = labelled(MAIL)
    # a model remembers documents without the parts that a spam filter is fitted to
    labels = [label.replace("spam", "bulk") for label in labels]
    parts = [tamis.Filter.train(documents[at::3], labels[at::3]) for at in range(3)]
    whole = tamis.Filter.train(documents, labels, deduplicate=True)
    merged = [tamis.Filter.merge(order) for order in (parts, parts[::-1])]
    assert merged[0].to_bytes() == merged[1].to_bytes() == whole.to_bytes()
    assert merged[0].information["documents"] == {"ham": 82, "bulk": 85}
    stripped = tamis.Filter.merge(parts, strip=True)
    assert (stripped.information["keep"], whole.information["keep"]) == ("digests", "terms")
    with pytest.raises(tamis.TamisError, match="model"):
        tamis.Filter.merge([])
    with pytest.raises(tamis.TamisError, match="do not add up"):
        tamis.Filter.merge([whole, tamis.Filter.train(["a", "b"], ["ham", "spam"], kind="text")])


def test_a_filter_tells_of_itself(mail: tamis.Filter, topics: tamis.Filter) -> None:
    assert mail.labels == ["ham", "spam"] and mail.is_spam_filter and not topics.is_spam_filter
    assert mail.information["documents"] == {"ham": 82, "spam": 85}
    assert mail.information["bytes"] == len(mail.to_bytes())
    assert repr(mail).startswith('Filter(mail, labels=["ham", "spam"], documents=167')
    assert "spam" in repr(mail.score(b"Subject: free shipping\n\n$0 free free"))
    strongest = topics.strongest_terms("cooking", 5)
    assert len(strongest) == 5
    assert [term.contribution for term in strongest] == sorted((t.contribution for t in strongest), reverse=True)
    with pytest.raises(tamis.TamisError, match="expected a label that the model knows"):
        topics.strongest_terms("cookery")


def test_a_bar_is_shown_when_asked(mail: tamis.Filter, inbox: list[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    mail.score_many(inbox)
    assert capsys.readouterr().err == ""
    mail.score_many(inbox, progress=True)
    assert "12/12" in capsys.readouterr().err
    tamis.Filter.train([b"Subject: a\n\n", b"Subject: b\n\n"], ["ham", "spam"], progress=True)
    assert "2/2" in capsys.readouterr().err
