"""Speed, memory and accuracy on text.

    python benches/text.py newsgroups CORPUS
    python benches/text.py rows ROWS.tsv PROGRAM

`newsgroups`: raw text of 20 Newsgroups (CORPUS/{train,test}/GROUP/ID) by TamisClassifier and by TfidfVectorizer with LinearSVC,
each with its defaults and one thread: the least time of interleaved runs.

`rows`: a table with columns label and text, such as `cargo run --release --example generate_rows -- 1000000 > rows.tsv`
writes, fitted from Arrow, against `PROGRAM train` on the file: documents a second and peak memory, each run in a process of its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))
from measure import Command, in_turn, newsgroups, parser, timed  # noqa: E402


def on_newsgroups(corpus: Path, runs: int) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    from tamis import TamisClassifier

    train, test = newsgroups(corpus / "train"), newsgroups(corpus / "test")
    makers: dict[str, Any] = {
        "TamisClassifier": lambda: TamisClassifier(n_jobs=1),
        "TfidfVectorizer + LinearSVC": lambda: make_pipeline(TfidfVectorizer(), LinearSVC()),
    }
    measures = in_turn([lambda make=make: measured(make(), train, test) for make in makers.values()], runs)
    best = [tuple(map(min, zip(*of, strict=True))) for of in measures]
    for name, (fit, predict, accuracy) in zip(makers, best, strict=True):
        print(f"{name}: fit {fit:.2f} s, predict {predict:.2f} s, accuracy {accuracy:.4f}")
    ours, others = best
    print(f"quicker: fit {others[0] / ours[0]:.2f} times, predict {others[1] / ours[1]:.2f} times")


def measured(classifier: Any, train: tuple[Any, Any], test: tuple[Any, Any]) -> tuple[float, float, float]:
    """Seconds of fit and of predict, and the accuracy."""
    _, fit = timed(lambda: classifier.fit(*train))
    predicted, predict = timed(lambda: classifier.predict(test[0]))
    right = sum(label == known for label, known in zip(predicted, test[1], strict=True))
    return fit.wall, predict.wall, right / len(test[1])


def on_rows(table: Path, program: Path, runs: int) -> None:
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
            by_program = Command([program, *asked], threads=threads)
            by_python = Command([sys.executable, __file__, "fit", arrow, threads], threads=threads)
            theirs, ours = in_turn([by_program.said, by_python.said], runs)
            # of Python what it says itself: without its start
            theirs = min((usage.wall, usage.peak) for usage in theirs)
            ours = min((float(usage.output), usage.peak) for usage in ours)
            for name, (seconds, peak) in (("program", theirs), ("Python", ours)):
                rate = f"{n / seconds:,.0f} documents/s"
                print(f"{threads} threads, {name}: {seconds:.2f} s, {rate}, peak {int(peak):,} MB")
            print(f"{threads} threads: {theirs[0] / ours[0]:.0%} of the program's throughput")


def fit(arrow: Path, threads: int) -> None:
    """Fits a table of Arrow, and prints the seconds that it took."""
    import pyarrow as pa

    from tamis import TamisClassifier

    with pa.memory_map(str(arrow)) as file:
        data = pa.ipc.open_file(file).read_all()
        classifier = TamisClassifier(n_jobs=threads)
        print(timed(lambda: classifier.fit(data["text"], data["label"]))[1].wall)


def main() -> None:
    arguments = parser(__doc__)
    commands = arguments.add_subparsers(dest="command", required=True)
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
    options = vars(arguments.parse_args())
    {"newsgroups": on_newsgroups, "rows": on_rows, "fit": fit}[options.pop("command")](**options)


if __name__ == "__main__":
    main()
