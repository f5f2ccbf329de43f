"""Tables of several columns: DataFrames give the model and the numbers of `tamis train --target`."""

from __future__ import annotations

import json
import pickle
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, run
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tamis import Counter, Filter, TamisClassifier, TamisError

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

IRIS = ROOT / "tests" / "data" / "iris.csv"
KINDS = {
    "age": "gaussian",
    "income": "gaussian",
    "city": "categorical",
    "code": "categorical",
    "member": "bernoulli",
    "flag": "bernoulli",
    "id": "skip",
    "empty": "skip",
    "comment": "text",
}


def mixed(n: int = 240) -> pd.DataFrame:
    """A table with columns of all kinds, a tenth of whose cells are missing."""
    dice = np.random.default_rng(7)
    label = dice.choice(["a", "b", "c"], n)
    words = ["good", "bad", "slow", "Straße", "fine"]
    table = pd.DataFrame(
        {
            "age": dice.integers(18, 90, n).astype(float),
            "income": dice.normal(np.where(label == "a", 0, 1), 1).round(6),
            "city": np.where(dice.random(n) < 0.5, label, "Bath"),
            "code": [f"{code:03}" for code in dice.integers(0, 9, n)],
            "member": dice.random(n) < np.where(label == "b", 0.7, 0.3),
            "flag": dice.integers(0, 2, n),
            "id": [f"user{row}" for row in range(n)],
            "empty": [None] * n,
            "comment": [" ".join([*dice.choice(words, 5), f"{one}word"]) for one in label],
        }
    )
    for column in ("age", "income", "city", "comment"):
        table.loc[dice.random(n) < 0.1, column] = None
    return table.assign(label=label)


@pytest.fixture(scope="module")
def mixed_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "mixed.csv"
    mixed().to_csv(path, index=False)
    return path


def parts(table: pd.DataFrame, target: str = "label") -> tuple[pd.DataFrame, pd.Series]:
    return table.drop(columns=target), table[target]


def model(*data: Any, **options: Any) -> bytes:
    return TamisClassifier(**options).fit(*data).filter_.to_bytes()


@pytest.mark.parametrize("correction", [True, False])
def test_iris_gives_the_model_and_the_numbers_of_the_program(
    tamis_program: Path, tmp_path: Path, correction: bool
) -> None:
    path, switch = tmp_path / "iris.tamis", "on" if correction else "off"
    run(tamis_program, "train", "-m", path, IRIS, "--target", "species", "--correction", switch)
    rows, species = parts(pd.read_csv(IRIS), "species")
    assert model(rows, species, correction=correction) == path.read_bytes()
    assert Filter.train(rows, species, kind="table", correction=correction).to_bytes() == path.read_bytes()
    check_scores(tamis_program, path, IRIS, rows)


def check_scores(program: Path, path: Path, csv: Path, rows: Any) -> None:
    """The program and Python give a model's answers to the last digit."""
    command = [program, "label", "-m", path, csv, "--format", "jsonl", "--all"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    classifier = TamisClassifier.load(path)
    expected = [[row["probabilities"][label] for label in classifier.classes_] for row in said]
    assert classifier.predict_proba(rows).tolist() == expected
    assert classifier.predict(rows).tolist() == [row["label"] for row in said]
    assert classifier.filter_.score_many(rows).log_odds.tolist() == [row["log_odds"] for row in said]


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "batch"])
def test_a_mixed_table_gives_the_model_and_the_numbers_of_the_program(
    tamis_program: Path, tmp_path: Path, mixed_csv: Path, library: str
) -> None:
    path = tmp_path / "mixed.tamis"
    run(tamis_program, "train", "-m", path, mixed_csv, "--target", "label")
    rows, labels = parts(pd.read_csv(mixed_csv, dtype={"code": str}))
    if library == "polars":
        rows, labels = pl.from_pandas(rows), pl.Series("label", labels.tolist())
    elif library != "pandas":
        rows = pa.Table.from_pandas(rows, preserve_index=False)
        rows = rows.to_batches()[0] if library == "batch" else rows
    classifier = TamisClassifier().fit(rows, labels)
    assert classifier.columns_ == KINDS
    assert classifier.filter_.to_bytes() == path.read_bytes()
    check_scores(tamis_program, path, mixed_csv, rows)


def test_the_figures_are_those_of_the_program(tamis_program: Path, tmp_path: Path, mixed_csv: Path) -> None:
    path = tmp_path / "mixed.tamis"
    run(tamis_program, "train", "-m", path, mixed_csv, "--target", "label")
    command = [tamis_program, "evaluate", "-m", path, mixed_csv, "--json"]
    expected = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    figures = Filter.open(path).evaluate(*parts(mixed()))
    assert {key: figures[key] for key in ("accuracy", "log_loss")} == {
        key: expected[key] for key in ("accuracy", "log_loss")
    }
    held_out = Filter.cross_validate(*parts(mixed()), kind="table", folds=5)
    assert 0.5 < held_out["accuracy"] < 1


def test_kinds_can_be_set() -> None:
    rows, labels = parts(mixed())
    chosen = {"age": "categorical", "flag": "gaussian", "id": "categorical", "comment": "skip"}
    classifier = TamisClassifier(columns=chosen).fit(rows, labels)
    assert classifier.columns_ == KINDS | chosen
    assert classifier.filter_.information["columns"] == {
        name: kind for name, kind in sorted((KINDS | chosen).items()) if kind != "skip"
    }
    del chosen["comment"]
    assert classifier.filter_.to_bytes() == model(rows.drop(columns="comment"), labels, columns=chosen)
    # the only column of a table
    assert TamisClassifier(columns={"age": "gaussian"}).fit(rows[["age"]], labels).columns_ == {"age": "gaussian"}
    assert TamisClassifier(kind="table").fit(rows[["age"]], labels).columns_ == {"age": "gaussian"}
    # whose texts are documents otherwise
    texts = rows[["comment"]].fillna("")
    assert model(texts, labels) == model(texts["comment"].tolist(), labels)


def test_types_say_what_a_column_is() -> None:
    numbers, labels = [1, 2, 3, 1, 2, 3], ["x", "y"] * 3
    for table in (
        pd.DataFrame({"n": numbers, "c": pd.Categorical(numbers), "b": [True, False, None] * 2}),
        pd.DataFrame({"n": pd.array(numbers, "Int64"), "c": pd.Categorical(numbers), "b": [True, False, pd.NA] * 2}),
        pd.DataFrame({"n": [Decimal(n) for n in numbers], "c": pd.Categorical(numbers), "b": ["t", "f", "?"] * 2}),
    ):
        kinds = {"n": "gaussian", "c": "categorical", "b": "bernoulli"}
        assert TamisClassifier().fit(table, labels).columns_ == kinds
        assert model(table, labels) == model(pd.DataFrame({**table, "n": numbers}), labels)
    words = [str(n) for n in numbers]
    for dtype in (pl.Categorical, pl.Enum(["1", "2", "3"])):
        table = pl.DataFrame({"n": numbers, "c": pl.Series(words, dtype=dtype)})
        assert TamisClassifier().fit(table, labels).columns_ == {"n": "gaussian", "c": "categorical"}


def test_numbers_are_exact() -> None:
    dice = np.random.default_rng(3)
    numbers = dice.normal(size=200) * 10.0 ** dice.integers(-30, 30, 200)
    labels = dice.choice(["x", "y"], 200)
    given = pd.DataFrame({"a": numbers, "b": 1})
    written = pd.DataFrame({"a": [repr(number) for number in numbers.tolist()], "b": "1"})
    expected = model(written, labels)
    assert model(given, labels) == expected
    assert model(given.astype({"a": object}), labels) == expected
    assert model(pl.DataFrame({"a": numbers, "b": np.ones(200)}), labels) == expected
    # a whole number is the same category with and without a point
    whole = pd.DataFrame({"a": [7, 8, 9, 7] * 5, "b": [1.5, 2.5, 0.5, 9.5] * 5})
    names = ["x", "x", "y", "y"] * 5
    same = whole.astype({"a": float}), whole.astype({"a": str})
    assert len({model(table, names, columns={"a": "categorical"}) for table in (whole, *same)}) == 1


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, "", " NA ", "?"])
def test_what_is_missing_does_not_count(missing: Any) -> None:
    rows, labels = parts(mixed())
    classifier = TamisClassifier().fit(rows, labels)
    row = rows.iloc[[0]].astype(object)
    gone, expected = row.copy(), row.copy()
    for column in ("age", "city", "member", "comment"):
        gone[column], expected[column] = [missing], [None]
    assert classifier.predict_proba(gone).tolist() == classifier.predict_proba(expected).tolist()
    assert classifier.predict_proba(gone).tolist() != classifier.predict_proba(row).tolist()


def test_columns_are_found_by_name() -> None:
    rows, labels = parts(mixed())
    classifier = TamisClassifier().fit(rows, labels)
    expected = classifier.predict_proba(rows).tolist()
    other = rows[sorted(rows, reverse=True)].drop(columns=["id", "empty"]).assign(more=pd.Timestamp(0))
    assert classifier.predict_proba(other).tolist() == expected
    assert model(rows[sorted(rows)], labels) == model(rows, labels)
    with pytest.raises(TamisError, match='^expected a column "age", got a table of income, city'):
        classifier.predict(rows.drop(columns="age"))
    assert classifier.feature_names_in_.tolist() == list(rows) and classifier.n_features_in_ == 9
    texts = classifier.fit(["apples", "iron"], ["fruit", "metal"])
    assert not hasattr(texts, "columns_") and not hasattr(texts, "n_features_in_")
    assert texts.predict(["apples"]).tolist() == ["fruit"]


def test_rows_are_scored_and_explained() -> None:
    rows, labels = parts(mixed())
    classifier = TamisClassifier().fit(rows, labels)
    expected = classifier.filter_.score_many(rows.iloc[:3])
    row = rows.iloc[0]
    for one in (row, row.to_dict(), rows.iloc[[0]], pl.from_pandas(rows).row(0, named=True)):
        assert classifier.filter_.score(one).log_odds == expected[0].log_odds
        explanation = classifier.explain(one)
        total = explanation.intercept + sum(term.contribution for term in explanation.terms)
        probability = explanation.score.probabilities
        assert total == pytest.approx(np.log(probability[explanation.label] / probability[explanation.against]))
    dicts = classifier.filter_.score_many(rows.iloc[:3].to_dict("records"))
    assert dicts.log_odds.tolist() == expected.log_odds.tolist()
    table = pa.table(classifier.score_table(rows))
    assert table["label"].to_pylist() == classifier.predict(rows).tolist()
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(rows)), classifier.predict_proba(rows))
    for one, told in (
        (rows, "expected one row, got 240"),
        ({"age": 3}, 'row 0: expected a column "city", got none'),
        ("a text", "expected a table with named columns, such as a DataFrame, got str"),
    ):
        with pytest.raises(TamisError, match=f"^{told}"):
            classifier.explain(one)


def test_files_and_pickles(tmp_path: Path) -> None:
    rows, labels = parts(mixed())
    classifier = TamisClassifier().fit(rows, labels)
    expected = classifier.predict_proba(rows).tolist()
    classifier.save(tmp_path / "model.tamis")
    loaded = TamisClassifier.load(tmp_path / "model.tamis")
    assert loaded.kind == "table" and loaded.filter_.information["target"] == "label"
    for again in (loaded, pickle.loads(pickle.dumps(classifier))):
        assert again.predict_proba(rows).tolist() == expected
        assert again.fit(rows, labels).filter_.to_bytes() == classifier.filter_.to_bytes()


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_weights_are_whole_copies(library: str) -> None:
    rows, labels = parts(mixed(60))
    weights = np.arange(60) % 3
    twice = {"a": 2, "b": 0}
    repeated = np.repeat(np.arange(60), weights)
    by_label = np.repeat(np.arange(60), [twice.get(label, 1) for label in labels])
    table = {"pandas": lambda: rows, "polars": lambda: pl.from_pandas(rows), "arrow": lambda: pa.table(rows)}[library]()
    columns = {"empty": "skip", "id": "skip"}
    assert model(table, labels, weights, columns=columns) == model(
        rows.iloc[repeated], labels.iloc[repeated], columns=columns
    )
    assert model(table, labels, columns=columns, class_weight=twice) == model(
        rows.iloc[by_label], labels.iloc[by_label], columns=columns
    )


def test_scikit_learn_takes_tables() -> None:
    rows, labels = parts(mixed())
    expected = cross_val_score(TamisClassifier(), rows, labels, cv=4)
    assert expected.mean() > 0.6
    pipeline = make_pipeline(FunctionTransformer(), clone(TamisClassifier()))
    assert cross_val_score(pipeline, rows, labels, cv=4).tolist() == expected.tolist()
    assert cross_val_score(TamisClassifier(), pl.from_pandas(rows), labels, cv=4).tolist() == expected.tolist()
    grid = {"correction": [True, False], "columns": [None, {"comment": "skip"}], "alpha": [0.5, 1]}
    search = GridSearchCV(TamisClassifier(), grid, cv=2, error_score="raise").fit(rows, labels)
    assert search.best_estimator_.predict(rows).shape == (240,)
    numbers = TamisClassifier().fit(rows, labels.map({"a": 0, "b": 1, "c": 2}))
    assert numbers.predict(rows).dtype.kind == "i" and numbers.score(rows, labels.map({"a": 0, "b": 1, "c": 2})) > 0.6


def test_parts_of_a_table_are_counted() -> None:
    rows, labels = parts(mixed())
    expected = TamisClassifier().fit(rows, labels)
    classifier = TamisClassifier().partial_fit(rows[:100], labels[:100])
    classifier.partial_fit(rows[100:].assign(more=1), labels[100:])
    assert classifier.refit().filter_.to_bytes() == expected.filter_.to_bytes()
    one = TamisClassifier().fit(rows, ["a"] * 240)
    assert one.predict(rows[:2]).tolist() == ["a", "a"] and one.columns_ == KINDS
    with pytest.raises(TamisError, match='expected a column "age"'):
        one.predict(rows.drop(columns="age"))
    kinds = {name: kind for name, kind in KINDS.items() if kind != "skip"}
    counter = Counter(kind="table", columns=kinds, target="label")
    counter.add(rows, labels)
    assert counter.finish().to_bytes() == expected.filter_.to_bytes()


ROWS = pd.DataFrame({"age": [1.5, 2, 3], "city": ["Bath", "Bath", "York"]})


@pytest.mark.parametrize(
    ("options", "table", "told"),
    [
        ({"columns": {"age": "normal"}}, ROWS, 'columns: "age": expected gaussian, .* or skip, got "normal"'),
        ({"columns": {"town": "text"}}, ROWS, 'columns: expected columns of the table, age, city, got "town"'),
        ({"columns": ["age"]}, ROWS, "columns"),
        ({"columns": {"age": 1}}, ROWS, r"columns: expected a dict of column \(str\) to kind \(str\), got "),
        ({"columns": {"age": "skip", "city": "skip"}}, ROWS, "columns: expected one to learn from, got none but"),
        ({"columns": {"city": "gaussian"}}, ROWS, 'row 0: column "city": expected a number, got "Bath"'),
        ({"columns": {"age": "gaussian"}}, [1, 2, 3], "expected a table with named columns, .* got list"),
        ({"kind": "mail", "columns": {"age": "text"}}, [b"a", b"b", b"c"], "columns: expected a table, got mail"),
        ({"keep_case": True}, ROWS, "options of terms, such as words: expected a column of text, got none"),
        ({"likelihood": "bernoulli"}, ROWS, "likelihood: expected none for a table"),
        ({}, ROWS.assign(when=pd.Timestamp(0)), 'column "when": expected text, a number, or true or false, got'),
        ({}, ROWS.assign(list=[[1], [2], [3]]), 'column "list": row 0: expected text, .* got list'),
        ({}, ROWS.assign(age=float("inf")), 'row 0: column "age": expected a number of magnitude at most 1e150'),
        ({}, ROWS.assign(species="x"), 'columns: expected "species", which names the labels, to be left out'),
        ({}, ROWS.set_axis(["age", "age"], axis=1), 'expected columns of different names, got "age" twice'),
        ({}, ROWS.set_axis([0, 1], axis=1), "expected columns named by text, got 0"),
        ({}, ROWS.to_numpy(), "expected one column of text, got an array of shape \\(3, 2\\); to learn a table, give its columns names"),
    ],
)
def test_what_cannot_be_learned_is_named(options: dict[str, Any], table: Any, told: str) -> None:
    with pytest.raises(TamisError, match=f"^{told}"):
        TamisClassifier(**options).fit(table, pd.Series(["x", "y", "x"], name="species"))
