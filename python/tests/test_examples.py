"""The programs of `examples`: their models have the bytes of one machine. Skipped without their engine."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, generated

from tamis import Filter

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

EXAMPLES = ROOT / "python" / "examples"
LABELS = ["news", "sport", "weather"]


def example(name: str, **globals: object) -> dict:
    """What a program defines, without running it."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"), globals)


def run(command: list[object], **environment: str) -> str:
    command, environment = [str(part) for part in command], os.environ | environment
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    return done.stdout


@pytest.fixture(scope="module")
def rows() -> tuple[list[str], list[str]]:
    return generated(600, LABELS)


@pytest.fixture(scope="module")
def alone(rows) -> bytes:
    return Filter.train(*rows, kind="text").to_bytes()


@pytest.fixture
def parquet(rows, tmp_path: Path) -> Path:
    """A folder of eleven files, of which the first have one label each."""
    folder = tmp_path / "train"
    folder.mkdir()
    texts, labels = zip(*sorted(zip(*rows), key=lambda row: row[1]))
    table, size = pa.table({"text": texts, "label": labels}), -(-len(texts) // 11)
    for part in range(11):
        pq.write_table(table.slice(part * size, size), folder / f"part-{part:02}.parquet")
    return folder


def check_scores(table, model: bytes, names=("prediction", "probability", "log_odds")) -> None:
    expected = pa.table(Filter.from_bytes(model).score_table(table["text"]))
    assert table.num_rows > 100
    for name, of in zip(names, expected.column_names):
        assert table[name].to_pylist() == expected[of].to_pylist()


def test_dask(parquet, alone, tmp_path):
    pytest.importorskip("dask.dataframe")
    pytest.importorskip("distributed")
    model, scored = tmp_path / "dask.tamis", tmp_path / "scored"
    run([sys.executable, EXAMPLES / "dask_train.py", parquet, model, parquet, scored])
    assert model.read_bytes() == alone
    check_scores(pq.read_table(scored), alone)


def test_duckdb(rows, parquet, alone):
    duckdb = pytest.importorskip("duckdb")
    assert run([sys.executable, EXAMPLES / "duckdb_score.py"]) == "good\n"
    names, db = example("duckdb_score"), duckdb.connect()
    source = f"read_parquet('{parquet}/*.parquet')"
    model = names["train"](db, f"SELECT label, text FROM {source}")
    assert model.to_bytes() == alone
    names["add_function"](db, "topic", model)
    scores = db.sql(f"SELECT text, unnest(topic(text)) FROM {source}").to_arrow_table()
    check_scores(scores, alone, names=("label", "probability", "log_odds"))


def test_polars(parquet, alone, tmp_path):
    pytest.importorskip("polars")
    scored = tmp_path / "scored.parquet"
    run([sys.executable, EXAMPLES / "polars_score.py", parquet, parquet, scored])
    table = pq.read_table(scored)
    scores = table["score"].combine_chunks().flatten()
    names = ("prediction", "probability", "log_odds")
    check_scores(pa.table({"text": table["text"], **dict(zip(names, scores))}), alone)


def test_spark_connect(parquet, alone, tmp_path):
    """The program is a client of the server that pyspark starts for it."""
    for name in ("pyspark", "grpc", "grpc_status", "google.rpc", "zstandard"):
        pytest.importorskip(name)
    model, scored = tmp_path / "spark.tamis", tmp_path / "scored"
    # where Spark is tested, the server takes a free port
    environment = {"SPARK_REMOTE": "local[2]", "SPARK_TESTING": "1", "PYSPARK_PYTHON": sys.executable}
    run([sys.executable, EXAMPLES / "spark_train.py", parquet, model, parquet, scored], **environment)
    assert model.read_bytes() == alone
    check_scores(pq.read_table(scored), alone)


def test_spark_submit(parquet, alone, tmp_path):
    home = Path(pytest.importorskip("pyspark").__file__).parent
    model, scored = tmp_path / "spark.tamis", tmp_path / "scored"
    program = [EXAMPLES / "spark_train.py", parquet, model, parquet, scored]
    submit = [home / "bin" / "spark-submit", "--master", "local[2]", "--conf", "spark.ui.enabled=false"]
    run([*submit, *program], PYSPARK_PYTHON=sys.executable, SPARK_HOME=str(home))
    assert model.read_bytes() == alone
    check_scores(pq.read_table(scored), alone)
