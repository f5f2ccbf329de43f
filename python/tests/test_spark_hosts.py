"""Spark with workers on two hosts, both this machine: what is slow on one of them is also tried on the other."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import generated

pyspark = pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from tamis import Filter  # noqa: E402
from tamis.spark import train  # noqa: E402

HOSTS = ["127.0.0.1", "127.0.0.2"]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOSTS[0], 0))
        return listener.getsockname()[1]


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[Any]:
    """A master, a worker on each host, and a session."""
    from pyspark.sql import SparkSession

    if sys.platform != "linux":
        pytest.skip("only Linux has the whole of 127.0.0.0/8")
    home, processes = Path(pyspark.__file__).parent, []
    environment = os.environ | {"SPARK_HOME": str(home)}

    def start(name: str, *arguments: object) -> None:
        command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", "--webui-port", 0, *arguments]
        with open(tmp_path / f"{len(processes)}.log", "w") as log:
            processes.append(
                subprocess.Popen([str(part) for part in command], env=environment, stdout=log, stderr=log)
            )

    port = free_port()
    master = f"spark://{HOSTS[0]}:{port}"
    start("master.Master", "--host", HOSTS[0], "--port", port)
    for host in HOSTS:
        own = ["--cores", 1, "--memory", "1g", "--work-dir", tmp_path / host]
        start("worker.Worker", "--host", host, *own, master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        session = (
            SparkSession.builder.master(master)
            .config("spark.ui.enabled", "false")
            .config("spark.speculation", "true")
            .config("spark.speculation.quantile", "0.5")
            .getOrCreate()
        )
        yield session
        session.stop()
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def test_a_slow_task_that_runs_twice_counts_once(spark, tmp_path):
    documents, labels = generated(200, ["ham", "spam"])
    marks = tmp_path / "marks"
    marks.mkdir()
    marked = str(marks)

    def be_slow_once(batches):
        from pyspark import TaskContext

        yield from batches
        task = TaskContext.get()
        Path(marked, f"{task.partitionId()} {task.attemptNumber()}").touch()
        if (task.partitionId(), task.attemptNumber()) == (3, 0):
            time.sleep(120)

    df = spark.createDataFrame(list(zip(labels, documents)), "label string, text string").repartition(6)
    start = time.monotonic()
    model = train(df.mapInArrow(be_slow_once, "label string, text string"), "label", "text")
    assert time.monotonic() - start < 100
    assert sorted(mark.name for mark in marks.iterdir() if mark.name.startswith("3 ")) == ["3 0", "3 1"]
    assert model.to_bytes() == Filter.train(documents, labels, kind="text").to_bytes()
