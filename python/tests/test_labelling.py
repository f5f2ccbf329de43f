"""Suspects, drift and suggestions: what the program says, with rows in place of paths."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import generated, run

from tamis import Filter, TamisClassifier, TamisError

ONE = TamisClassifier().fit(["a", "b"], ["x", "y"])
MANY = TamisClassifier().fit(["a b", "c d", "a c"] * 9, [["a"], ["c"], []] * 9)
BAYES = TamisClassifier(likelihood="multinomial").fit(["a b", "c d"] * 9, ["a", "c"] * 9)


def answer(program: Path, *arguments: object) -> Any:
    """The JSON that the program prints; of several lines, a list."""
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines if "jsonl" in arguments else lines[0]


def table(path: Path, texts: list[str], labels: list[Any] | None = None) -> Path:
    rows = [{"text": text} for text in texts]
    if labels:
        rows = [{**row, "label": label} for row, label in zip(rows, labels)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def mislabelled(labels: list[str]) -> tuple[list[str], list[str]]:
    """Texts of which some have the label of another."""
    texts, given = generated(300, labels, seed=5)
    dice = random.Random(5)
    return texts, [dice.choice(labels) if dice.random() < 0.1 else label for label in given]


@pytest.mark.parametrize("labels", [["x", "y"], ["x", "y", "z"]])
def test_suspects_are_the_programs(labels: list[str], tamis_program: Path, tmp_path: Path) -> None:
    texts, given = mislabelled(labels)
    run(tamis_program, "train", "-m", tmp_path / "m", table(tmp_path / "r.jsonl", texts, given))
    expected = answer(tamis_program, "inspect", "--json", "--suspects=1000", "-m", tmp_path / "m")["suspects"]
    filter = Filter.open(tmp_path / "m")
    for n_jobs in (1, 2, 8):
        found = filter.suspects(n_jobs=n_jobs)
        assert [{**one, "path": None} for one in found] == [{**one, "rows": []} for one in expected]
    assert len(found) > 10

    found = filter.suspects(texts, given, n_jobs=2)
    assert [one["digest"] for one in found] == [one["digest"] for one in expected]
    for one in found:
        first, *others = one["rows"]
        assert all(texts[row] == texts[first] for row in others)
        assert all(given[row] == one["label"] != one["proposed"] for row in one["rows"])
    # one row of each suspect in a table that has every document once
    path = table(tmp_path / "once.jsonl", list(dict.fromkeys(texts)))
    named = answer(tamis_program, "inspect", "--json", "--suspects=1000", "-m", tmp_path / "m", path)["suspects"]
    once = path.read_text().splitlines()
    for one, of in zip(found, named, strict=True):
        line = int(of["path"].rsplit(":", 1)[1])
        assert json.loads(once[line - 1])["text"] == texts[one["rows"][0]]


def test_suspects_have_rows_and_labels_of_the_data() -> None:
    texts, given = mislabelled(["x", "y"])
    numbers = np.array([int(label == "y") for label in given])
    classifier = TamisClassifier().fit(texts, numbers)
    found = classifier.suspects(pd.Series(texts), numbers)
    assert found and {type(one["proposed"]) for one in found} == {int}
    for one in found:
        assert set(numbers[one["rows"]]) == {one["label"]} == {1 - one["proposed"]}
        numbers[one["rows"]] = one["proposed"]
    assert len(classifier.fit(texts, numbers).suspects()) < len(found)
    assert all(one["rows"] == [] for one in classifier.suspects([], []))
    with pytest.raises(TamisError, match="expected documents with labels, or neither"):
        classifier.suspects(texts)
    with pytest.raises(TamisError, match="expected as many labels as documents, 305, got 1"):
        classifier.suspects(texts, ["x"])


@pytest.mark.parametrize("mistaken", ["x", "y"])
def test_a_label_that_is_mistaken_more_often_is_suspected_first(mistaken: str) -> None:
    texts, labels = generated(3000, ["x", "y"], seed=6)
    dice = random.Random(7)
    wrong = {row for row, label in enumerate(labels) if label == mistaken and dice.random() < 0.2}
    given = ["xy".replace(label, "") if row in wrong else label for row, label in enumerate(labels)]
    found = TamisClassifier(n_jobs=2).fit(texts, given).suspects(texts, given)

    def precision(suspects: list[dict[str, Any]]) -> float:
        first = [row for one in suspects for row in one["rows"]][: len(wrong)]
        return len(wrong.intersection(first)) / len(wrong)

    by_confidence = sorted(found, key=lambda one: -abs(one["log_odds"]))
    assert precision(found) > precision(by_confidence) + 0.1


def test_suspects_of_mail_have_the_names_that_the_program_gave_them(tamis_program: Path, tmp_path: Path) -> None:
    texts, labels = mislabelled(["ham", "spam"])
    head = "From: a@example.org\nMessage-ID: <{}@example.org>\nSubject: hello\n\n{}\n"
    mails = [head.format(row, text).encode() for row, text in enumerate(texts)]
    for row, (mail, label) in enumerate(zip(mails, labels)):
        (tmp_path / label).mkdir(exist_ok=True)
        (tmp_path / label / f"{row}.eml").write_bytes(mail)
    run(tamis_program, "train", "-m", tmp_path / "m", tmp_path / "ham", tmp_path / "spam")
    expected = answer(tamis_program, "inspect", "--json", "--suspects=1000", "-m", tmp_path / "m")["suspects"]
    found = Filter.open(tmp_path / "m").suspects(mails, labels)
    keys = expected[0].keys() - {"path"}
    assert [{key: one[key] for key in keys} for one in found] == [{key: one[key] for key in keys} for one in expected]
    assert all(one["name"] in [f"{row}@example.org" for row in one["rows"]] for one in found)
    # Python stores no names
    named = Filter.train(mails, labels, deduplicate=True).suspects()
    assert [one["digest"] for one in named] == [one["digest"] for one in found]
    assert {one["name"] for one in named} == {None}


def test_drift_is_the_programs(tamis_program: Path, tmp_path: Path) -> None:
    for labels in (["x", "y"], ["x", "y", "z"]):
        texts, given = generated(300, labels)
        classifier = TamisClassifier().fit(texts, given)
        classifier.save(tmp_path / "m")
        others = [f"{text} news{n % 7} report{n % 3}" for n, text in enumerate(generated(60, labels, seed=2)[0])]
        for new, is_drift in ((others, True), (generated(60, labels, seed=3)[0], False), (others[:9], None)):
            command = "drift", "--json", "-m", tmp_path / "m", table(tmp_path / "new.jsonl", new)
            expected = answer(tamis_program, *command)
            # the program tells of the files too
            assert expected.pop("found")["read"] == len(new)
            assert expected["drift"] is is_drift
            assert classifier.drift(new) == expected
            for n_jobs in (1, 2, 8):
                assert classifier.filter_.drift(new, n_jobs=n_jobs) == expected
            stricter = answer(tamis_program, *command, "--level", "0.2")
            assert stricter.pop("found") and classifier.drift(new, level=0.2) == stricter


def test_new_mail_counts_once_in_drift() -> None:
    texts, labels = generated(100, ["ham", "spam"])
    mails = [f"Subject: hello\n\n{text}\n".encode() for text in texts]
    filter = Filter.train(mails, labels)
    once = filter.drift(sorted(set(mails)))
    assert filter.drift(mails * 3, n_jobs=8) == once and once["new"]["documents"] == len(set(mails))


@pytest.mark.parametrize("are_many", [False, True])
def test_suggestions_are_the_programs(are_many: bool, tamis_program: Path, tmp_path: Path) -> None:
    texts, labels = generated(200, ["x", "y", "z"])
    given = [[label] if n % 3 else [] for n, label in enumerate(labels)] if are_many else labels
    classifier = TamisClassifier().fit(texts, given)
    classifier.save(tmp_path / "m")
    unlabelled = generated(300, ["x", "y", "z"], seed=2)[0] + texts[:9]
    # of equal texts, the program names the least name, Python the first row
    path = table(tmp_path / "new.jsonl", unlabelled)
    expected = answer(tamis_program, "suggest", "--format", "jsonl", "-n", "30", "-m", tmp_path / "m", path)
    places = [int(one.pop("path").rsplit(":", 1)[1]) - 1 for one in expected]
    found = classifier.suggest(unlabelled, 30)
    rows = [one["row"] for one in found]
    assert [unlabelled[row] for row in rows] == [unlabelled[place] for place in places]
    assert len(set(rows)) == 30 and not {unlabelled[row] for row in rows} & set(texts)
    assert [{key: one[key] for key in one if key != "row"} for one in found] == expected
    for n_jobs in (2, 8):
        assert classifier.filter_.suggest(unlabelled, 30, n_jobs=n_jobs) == found
    assert classifier.filter_.suggest(unlabelled) == found[:20]


def test_suggested_labels_are_those_of_the_classifier() -> None:
    texts, labels = generated(100, ["x", "y"])
    classifier = TamisClassifier().fit(texts, [label == "y" for label in labels])
    found = classifier.suggest(generated(50, ["x", "y"], seed=2)[0], n=50)
    assert {one["label"] for one in found} == {False, True}
    assert classifier.suggest(texts) == classifier.suggest([]) == []
    bytes_of = [f"Straße {n}".encode("latin-1") for n in range(3)]
    reader = TamisClassifier(encoding="latin-1").fit(bytes_of * 2, ["x", "y", "z"] * 2)
    assert reader.suggest(bytes_of) == [] and len(reader.suggest([b"stra\xdfe 7"])) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MANY.suspects(), "suspects: expected a model of one label a document, got many"),
        (lambda: MANY.suspects(["a"], [["a"]]), "suspects: expected a model of one label a document, got many"),
        (lambda: MANY.drift(["a"]), "model: expected a model of one label a document, got many"),
        (lambda: BAYES.suspects(), "suspects: expected a model with weighted scoring, got naive Bayes"),
        (lambda: BAYES.drift(["a"]), "model: expected a model with weighted scoring"),
        (lambda: ONE.drift(["a"], level=1), "level: expected a number between 0 and 1, got 1"),
        (lambda: BAYES.suggest(["a"], 0), "n: expected 1 to 5000 suggestions, got 0"),
        (lambda: BAYES.suggest(["a", None]), "row 1: expected text, got None"),
        (lambda: BAYES.filter_.suggest(["a"], n_job=2), 'expected no option "n_job": there is none'),
        (lambda: TamisClassifier().fit(["a"], ["x"]).drift(["a"]), "expected a model of at least 2 labels"),
    ],
)
def test_what_cannot_be_answered_is_an_error(call: Any, message: str) -> None:
    with pytest.raises(TamisError, match=message):
        call()


def test_a_model_without_terms_says_what_it_lacks() -> None:
    texts, labels = generated(60, ["x", "y", "z"])
    classifier = TamisClassifier(documents=False).fit(texts, labels)
    for call in (classifier.suspects, lambda: classifier.drift(texts)):
        with pytest.raises(TamisError, match="remembers the terms of its documents, which documents=True"):
            call()
    # suggestions need no terms, and held-out scores of two labels are stored
    assert len(classifier.suggest(["something new"])) == 1
    assert TamisClassifier(documents=False).fit(texts, [label == "x" for label in labels]).suspects() is not None
