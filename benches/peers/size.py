#!/usr/bin/env python3
"""Training on more documents than fit into memory: CPU and peak memory at growing sizes, by generated rows through a pipe.

    cargo build --release --example generate_rows
    benches/peers/size.py [--words 150] 100000 1000000 10000000

Rows are generated beside the training and never stored. The time is the training's CPU time, so that waiting for the generator
does not count; a row's at each size is told by that of the first. Asserts that every row was learned and that the model labels
other rows about as well as it says.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import BUILT, Command, machine, parser, rows_generator, table

TESTED = 20_000


def parse():
    arguments = parser(__doc__)
    arguments.add_argument("rows", nargs="+", type=int)
    arguments.add_argument("--words", default=150, type=int, help="words in a row")
    arguments.add_argument("--classes", default=4, type=int)
    arguments.add_argument("--threads", default=1, type=int)
    arguments.add_argument("--tamis", default=BUILT / "tamis", type=Path)
    arguments.add_argument("--generator", default=BUILT / "examples/generate_rows", type=Path)
    arguments.add_argument("train", nargs=argparse.REMAINDER, help="-- and more arguments of tamis train")
    return arguments.parse_args()


def generate(options, rows, seed):
    return rows_generator(options.generator, rows, seed, words=options.words, classes=options.classes)


def train(options, model, rows):
    """What training takes on rows that are generated meanwhile."""
    command = [str(a) for a in generate(options, rows, seed=1).arguments]
    how = ["--threads", options.threads, "--input-format", "tsv", *options.train[1:]]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as generator:
        pipe = f"/dev/fd/{generator.stdout.fileno()}"
        usage = Command([options.tamis, "train", "-m", model, *how, "-"], pipe, threads=options.threads).run_for_peak()
    assert generator.returncode == 0
    return usage


def check(options, model, rows):
    """The share of other rows that are labelled right."""
    told = Command([options.tamis, "inspect", "--json", "--terms", "0", "-m", model]).json()
    learned = sum(label["totals"]["documents"] for label in told["classes"])
    assert learned == rows, f"expected {rows} documents, got {learned}"
    with tempfile.NamedTemporaryFile(suffix=".tsv") as tested:
        generate(options, TESTED, seed=2).run(tested.name)
        share = Command([options.tamis, "evaluate", "-m", model, "--json", tested.name]).json()["accuracy"]
    assert share > 1.2 / options.classes, f"expected better than chance, got {share}"
    return share


def main():
    options = parse()
    print(f"# Training at growing sizes\n\n{machine()}\n\n{options.words} words a row, {options.classes} labels\n")
    lines, first = [], None
    with tempfile.TemporaryDirectory() as work:
        model = str(Path(work) / "size.tamis")
        for rows in options.rows:
            usage = train(options, model, rows)
            a_row = usage.cpu / rows
            first = first or a_row
            size = os.stat(model).st_size / 1e6
            share = check(options, model, rows)
            figures = f"{usage.cpu:.1f}", f"{1e6 * a_row:.1f}", f"{first / a_row:.2f}", f"{usage.peak:,.0f}", f"{size:,.0f}", f"{share:.3f}"
            lines.append([f"{rows:,}", *figures])
            os.remove(model)
    table(["rows", "CPU, s", "us a row", "throughput of that of the first", "peak, MiB", "model, MB", "accuracy"], lines)


if __name__ == "__main__":
    main()
