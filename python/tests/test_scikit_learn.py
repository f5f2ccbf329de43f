"""What users of scikit-learn expect of the classifier."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import generated, run
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from test_html import Page
from test_labelling import answer

from tamis import Filter, TamisClassifier, TamisError

# of 120 documents
TEXTS, LABELS = generated(115, ["fruit", "metal", "wood"])
NUMBERS = [["fruit", "metal", "wood"].index(label) for label in LABELS]
KEPT = generated(60, ["fruit", "metal", "wood"], seed=7)


def test_weights_come_before_groups() -> None:
    weights, groups = [1 + n % 3 for n in range(120)], [f"author {n % 40}" for n in range(120)]
    expected = TamisClassifier().fit(TEXTS, LABELS, sample_weight=weights, groups=groups).filter_.to_bytes()
    assert TamisClassifier().fit(TEXTS, LABELS, weights, groups).filter_.to_bytes() == expected
    in_parts = TamisClassifier().partial_fit(TEXTS, LABELS, None, weights, groups)
    assert in_parts.filter_.to_bytes() == expected


@pytest.mark.parametrize("groups", [[0.5] * 120, np.ones(120), pd.Series([1.0, 2.0] * 60), [1, 2.5] * 60, [None] * 120])
def test_groups_that_look_like_weights_are_refused(groups: Any) -> None:
    for learn in (TamisClassifier.fit, TamisClassifier.partial_fit):
        with pytest.raises(TamisError, match=r"groups: expected names, text or whole numbers, got (\d\.\d|None); weights are sample_weight"):
            learn(TamisClassifier(), TEXTS, LABELS, groups=groups)
    with pytest.raises(TamisError, match="sample_weight: expected numbers; names of groups are groups="):
        TamisClassifier().fit(TEXTS, LABELS, ["author"] * 120)


def test_a_weight_of_no_label_is_an_error() -> None:
    told = r"class_weight: expected labels of the documents \(0, 1, 2\), got 'fruit'"
    with pytest.raises(TamisError, match=told):
        TamisClassifier(class_weight={0: 1, "fruit": 2}).fit(TEXTS, NUMBERS)
    with pytest.raises(TamisError, match=told):
        TamisClassifier(class_weight={"fruit": 2}).partial_fit(TEXTS, NUMBERS, classes=[0, 1, 2])
    # without classes, the label may come later
    assert TamisClassifier(class_weight={3: 2}).partial_fit(TEXTS, NUMBERS).n_documents_ == 120


def test_what_held_out_documents_tell_is_that_of_the_program(tamis_program: Path, tmp_path: Path) -> None:
    table = pd.DataFrame({"size": range(120), "text": TEXTS})
    for documents in (TEXTS, table):
        model = TamisClassifier().fit(documents, NUMBERS)
        model.save(tmp_path / "model.tamis")
        told = answer(tamis_program, "inspect", "-m", tmp_path / "model.tamis", "--json")
        assert model.expected_ == told["expected"]
        assert model.chosen_ == told["chosen" if documents is TEXTS else "table"] is not None
        assert TamisClassifier.load(tmp_path / "model.tamis").expected_ == model.expected_
    assert TamisClassifier().fit(TEXTS, [1] * 120).expected_ is None
    with pytest.raises(NotFittedError):
        TamisClassifier().expected_


def test_it_measures_itself_with_labels_of_any_type() -> None:
    by_name, by_number = TamisClassifier().fit(TEXTS, LABELS), TamisClassifier().fit(TEXTS, NUMBERS)
    numbers = [["fruit", "metal", "wood"].index(label) for label in KEPT[1]]
    figures = by_number.evaluate(KEPT[0], np.array(numbers))
    assert figures["accuracy"] == by_name.filter_.evaluate(*KEPT)["accuracy"] == by_number.score(KEPT[0], numbers)
    assert [of["label"] for of in figures["classes"]] == ["0", "1", "2"]
    assert by_name.report(*KEPT, title="A").html == by_name.filter_.report(*KEPT, title="A").html
    assert by_number.report().html == by_number.filter_.report().html
    latin = TamisClassifier(encoding="latin-1").fit([text.encode("latin-1") for text in TEXTS], LABELS)
    assert latin.evaluate(["m\xfcsli".encode("latin-1"), b"fruit"], ["fruit"] * 2)["documents"] == 2
    with pytest.raises(TamisError, match="row 1: expected a label that the model knows"):
        by_number.evaluate(TEXTS[:2], [0, 7])


@pytest.mark.parametrize("name", ["coef_", "feature_log_prob_", "get_feature_names_out"])
def test_what_has_no_meaning_says_what_has(name: str) -> None:
    model = TamisClassifier().fit(TEXTS, LABELS)
    assert not hasattr(model, name)
    with pytest.raises(AttributeError, match=rf"^TamisClassifier has no {name}; .*term_table\(\)"):
        getattr(model, name)


@pytest.mark.parametrize("shape", [(120, 4), (120, 0)])
def test_an_array_of_numbers_is_told_how_to_be_named(shape: tuple[int, int]) -> None:
    told = rf"expected one column of text, got an array of shape \({shape[0]}, {shape[1]}\); .*pandas.DataFrame"
    with pytest.raises(TamisError, match=told):
        TamisClassifier().fit(np.zeros(shape), LABELS)


def added(html: str) -> list[float]:
    """What the terms of a page add, those not shown, and their sum."""
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    return [float(adds[1]) for row in rows if (adds := re.search('<data value="(.*?)"', row))]


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("options", [{}, {"likelihood": "multinomial"}])
def test_the_page_of_an_explanation_adds_up(n_labels: int, options: dict[str, Any]) -> None:
    model = TamisClassifier(**options).fit(*generated(120, ["fruit", "metal", "wood"][:n_labels]))
    text = KEPT[0][0]
    probabilities = dict(zip(model.classes_.tolist(), model.predict_proba([text])[0]))
    for label in [None, *model.classes_]:
        explanation = model.explain(text, label=label)
        assert label is None or explanation.label == label
        odds = np.log(probabilities[explanation.label] / probabilities[explanation.against])
        html = explanation.report(terms=3).html
        page, (*parts, in_all) = Page(html), added(html)
        assert len(parts) == 5 and in_all == pytest.approx(odds) == pytest.approx(sum(parts))
        odds = f"{odds:+.3f}".replace("-", "−")
        assert f"log-odds of {explanation.label} against {explanation.against}, {odds}." in page.text
        assert ("against all others" in page.text) == (n_labels > 2)
    with pytest.raises(TamisError, match="expected a label that the model knows"):
        model.explain(text, label="oak")


def test_unlabelled_documents_and_the_seed_are_the_programs(tamis_program: Path, tmp_path: Path) -> None:
    (tmp_path / "few.jsonl").write_text("\n".join(json.dumps({"label": of, "text": text}) for text, of in zip(TEXTS, LABELS)))
    rest = tmp_path / "rest"
    rest.mkdir()
    for n, text in enumerate(KEPT[0]):
        (rest / f"{n}.txt").write_text(text)
    for options in ({}, {"likelihood": "multinomial"}, {"seed": 3}):
        flags = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        path = tmp_path / "model.tamis"
        run(tamis_program, "train", "-q", "--replace", "-m", path, tmp_path / "few.jsonl", "--unlabelled", rest, *flags)
        model = TamisClassifier(**options).fit(TEXTS, LABELS, unlabelled=KEPT[0])
        assert model.filter_.to_bytes() == path.read_bytes(), options
        assert Filter.train(TEXTS, LABELS, unlabelled=KEPT[0], kind="text", **options).to_bytes() == path.read_bytes()
        assert model.classes_.tolist() == ["fruit", "metal", "wood"]


def test_unlabelled_documents_are_told_and_checked() -> None:
    model = TamisClassifier().fit(TEXTS, LABELS, unlabelled=KEPT[0])
    assert model.chosen_["unlabelled"]["documents"] == sum(text not in TEXTS for text in KEPT[0])
    assert TamisClassifier().fit(TEXTS, LABELS).chosen_["unlabelled"] is None
    scores = cross_val_score(TamisClassifier(), TEXTS, LABELS, cv=3, params={"unlabelled": KEPT[0]})
    assert scores.mean() > 0.5
    with pytest.raises(TamisError, match="^unlabelled: row 1: expected text, got None"):
        TamisClassifier().fit(TEXTS, LABELS, unlabelled=["a", None])
    with pytest.raises(TamisError, match="seed: expected a whole number of 0 or more, got 'x'"):
        TamisClassifier(seed="x").fit(TEXTS, LABELS)
