"""The terms of a model and their weights, as the program exports them."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import generated

from tamis import Filter, TamisClassifier, TamisError

MODELS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "two": (["x", "y"], {}),
    "three": (["x", "y", "z"], {}),
    "pairs and pieces": (["x", "y"], {"ngrams": (1, 2), "ends": True, "pieces": (2, 5), "signs": True}),
    "many": (["x", "y"], {"labels": "many"}),
    "some": (["x", "y"], {"likelihood": "multinomial", "min_df": 3}),
}


@pytest.mark.parametrize("name", MODELS)
def test_terms_are_the_programs(name: str, tamis_program: Path, tmp_path: Path) -> None:
    labels, options = MODELS[name]
    texts, given = generated(100, labels)
    filter = Filter.train(texts, given, kind="text", **options)
    filter.save(tmp_path / "m")
    command = [str(tamis_program), "export", "--format", "csv", "-m", str(tmp_path / "m")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = sorted(csv.DictReader(done.stdout.splitlines()), key=lambda row: row["term"])

    table = filter.term_table()
    assert table.column_names == list(expected[0])
    found = pl.DataFrame(table)
    assert found["term"].to_list() == [row["term"] for row in expected]
    for column in table.column_names[1:]:
        shown = [row[column] for row in expected]
        if column.startswith("weight_"):
            assert ["" if of is None else f"{of:.6f}" for of in found[column].to_list()] == shown
        else:
            assert found[column].to_list() == [int(number) for number in shown]
    assert ("" in shown) == (name == "some")


def test_weights_are_those_of_the_strongest_terms() -> None:
    classifier = TamisClassifier(pieces=False).fit(*generated(100, ["x", "y", "z"]))
    table = pl.DataFrame(classifier.term_table())
    for label in "xyz":
        strongest = {term.term: term.contribution for term in classifier.filter_.strongest_terms(label, 9)}
        of_label = table.sort(f"weight_{label}", descending=True).head(9)
        assert dict(zip(of_label["term"], of_label[f"weight_{label}"])) == strongest
    with pytest.raises(TamisError, match="expected a model of at least 2 labels"):
        TamisClassifier().fit(["a"], ["x"]).term_table()
