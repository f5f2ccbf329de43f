"""Speed, memory and accuracy on text.

    python benches/text.py newsgroups CORPUS
    python benches/text.py rows ROWS.tsv PROGRAM

`newsgroups`: raw text of 20 Newsgroups (CORPUS/{train,test}/GROUP/ID) by TamisClassifier and by TfidfVectorizer with LinearSVC,
each with its defaults and one thread: the least time of interleaved runs.

`rows`: a table with columns label and text, such as `cargo run --release --example generate_rows -- 1000000 > rows.tsv`
writes, fitted from Arrow, against `PROGRAM train` on the file: documents a second and peak memory, each run in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any



def read(folder: Path) -> tuple[list[str], list[str]]:
    """Texts and their labels, by name of file."""
    paths = sorted(folder.glob("*/*"))
    return [path.read_text("latin-1") for path in paths], [path.parent.name for path in paths]


def newsgroups(corpus: Path, runs: int) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    from tamis import TamisClassifier

    train, test = read(corpus / "train"), read(corpus / "test")
    makers: dict[str, Any] = {
        "TamisClassifier": lambda: TamisClassifier(n_jobs=1),
        "TfidfVectorizer + LinearSVC": lambda: make_pipeline(TfidfVectorizer(), LinearSVC()),
    }
    times: dict[str, list[tuple[float, float, float]]] = {name: [] for name in makers}
    for _ in range(runs):
        for name, make in makers.items():
            times[name].append(measured(make(), train, test))
    best = {name: tuple(min(column) for column in zip(*all_, strict=True)) for name, all_ in times.items()}
    for name, (fit, predict, accuracy) in best.items():
        print(f"{name}: fit {fit:.2f} s, predict {predict:.2f} s, accuracy {accuracy:.4f}")
    ours, others = best.values()
    print(f"quicker: fit {others[0] / ours[0]:.2f} times, predict {others[1] / ours[1]:.2f} times")


def measured(classifier: Any, train: tuple[Any, Any], test: tuple[Any, Any]) -> tuple[float, float, float]:
    """Seconds of fit and of predict, and the accuracy."""
    start = time.perf_counter()
    classifier.fit(*train)
    fitted = time.perf_counter()
    predicted = classifier.predict(test[0])
    done = time.perf_counter()
    right = sum(label == known for label, known in zip(predicted, test[1], strict=True))
    return fitted - start, done - fitted, right / len(test[1])


def rows(table: Path, program: Path, runs: int) -> None:
    import pyarrow as pa
    from pyarrow import csv

    with tempfile.TemporaryDirectory() as folder:
        options = csv.ParseOptions(delimiter="\t", quote_char=False)
        data = csv.read_csv(table, parse_options=options)
        arrow = Path(folder) / "rows.arrow"
        with pa.ipc.new_file(arrow, data.schema) as writer:
            writer.write_table(data)
        n = data.num_rows
        del data
        for threads in (1, os.cpu_count() or 1):
            model = Path(folder) / "model.tamis"
            asked = ["train", "-m", model, "--threads", threads, "--input-format", "tsv", table]
            ours = [sys.executable, __file__, "fit", arrow, threads]
            pairs = [(timed([program, *asked]), timed(ours, own_time=True)) for _ in range(runs)]
            theirs, mine = (min(side) for side in zip(*pairs, strict=True))
            for name, (seconds, memory) in (("program", theirs), ("Python", mine)):
                rate = f"{n / seconds:,.0f} documents/s"
                print(f"{threads} threads, {name}: {seconds:.2f} s, {rate}, peak {memory:,} MB")
            print(f"{threads} threads: {theirs[0] / mine[0]:.0%} of the program's throughput")


def timed(command: list[Any], own_time: bool = False) -> tuple[float, int]:
    """Seconds that a command takes, or says that it took, and its peak memory in MB."""
    start = time.perf_counter()
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        out = process.stdout.read() if process.stdout else b""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    assert process.returncode == 0, command
    return json.loads(out) if own_time else seconds, usage.ru_maxrss // 1024


def fit(arrow: Path, threads: int) -> None:
    """Fits a table of Arrow, and prints the seconds that it took."""
    import pyarrow as pa

    from tamis import TamisClassifier

    with pa.memory_map(str(arrow)) as file:
        data = pa.ipc.open_file(file).read_all()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        start = time.perf_counter()
        TamisClassifier(n_jobs=threads).fit(data["text"], data["label"])
        print(time.perf_counter() - start)
        print(f"{before} MB before", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    of_newsgroups = commands.add_parser("newsgroups")
    of_newsgroups.add_argument("corpus", type=Path)
    of_rows = commands.add_parser("rows")
    of_rows.add_argument("table", type=Path)
    of_rows.add_argument("program", type=Path)
    for command in (of_newsgroups, of_rows):
        command.add_argument("--runs", type=int, default=5)
    of_fit = commands.add_parser("fit")
    of_fit.add_argument("arrow", type=Path)
    of_fit.add_argument("threads", type=int)
    arguments = vars(parser.parse_args())
    {"newsgroups": newsgroups, "rows": rows, "fit": fit}[arguments.pop("command")](**arguments)


if __name__ == "__main__":
    main()
