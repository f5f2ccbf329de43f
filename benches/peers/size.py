#!/usr/bin/env python3
"""Training on more documents than fit into memory: CPU and peak memory at growing sizes, by generated rows through a pipe.

    cargo build --release --example generate_rows
    benches/peers/size.py [--words 150] 100000 1000000 10000000

Rows are generated beside the training and never stored. The time is the training's CPU time, so that waiting for the generator
does not count; a row's at each size is told by that of the first. Asserts that every row was learned and that the model labels
other rows about as well as it says.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from measure import machine, table

TARGET = Path(__file__).resolve().parents[2] / "target" / "release"
TESTED = 20_000


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+", type=int)
    parser.add_argument("--words", default=150, type=int, help="words in a row")
    parser.add_argument("--classes", default=4, type=int)
    parser.add_argument("--threads", default=1, type=int)
    parser.add_argument("--tamis", default=TARGET / "tamis", type=Path)
    parser.add_argument("--generator", default=TARGET / "examples" / "generate_rows", type=Path)
    parser.add_argument("train", nargs=argparse.REMAINDER, help="-- and more arguments of tamis train")
    return parser.parse_args()


def generate(options, rows, seed, **streams):
    shape = ["--words", str(options.words), "--classes", str(options.classes), "--seed", str(seed)]
    return subprocess.Popen([options.generator, str(rows), *shape], **streams)


def train(options, model, rows):
    """CPU seconds, and MiB at most."""
    generator = generate(options, rows, seed=1, stdout=subprocess.PIPE)
    arguments = ["train", "-m", model, "--threads", str(options.threads), "--input-format", "tsv", *options.train[1:], "-"]
    child = subprocess.Popen([options.tamis, *arguments], stdin=generator.stdout, stdout=subprocess.DEVNULL)
    generator.stdout.close()
    _, status, usage = os.wait4(child.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0 and generator.wait() == 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def check(options, model, rows):
    """The share of other rows that are labelled right."""
    told = subprocess.run(
        [options.tamis, "inspect", "--json", "--terms", "0", "-m", model], check=True, capture_output=True
    )
    told = json.loads(told.stdout)
    learned = sum(label["totals"]["documents"] for label in told["classes"])
    assert learned == rows, f"expected {rows} documents, got {learned}"
    with tempfile.NamedTemporaryFile(suffix=".tsv") as tested:
        assert generate(options, TESTED, seed=2, stdout=tested).wait() == 0
        evaluated = subprocess.run(
            [options.tamis, "evaluate", "-m", model, "--json", tested.name], check=True, capture_output=True
        )
    share = json.loads(evaluated.stdout)["accuracy"]
    assert share > 1.2 / options.classes, f"expected better than chance, got {share}"
    return share


def main():
    options = parse()
    print(f"# Training at growing sizes\n\n{machine()}\n\n{options.words} words a row, {options.classes} labels\n")
    lines, first = [], None
    with tempfile.TemporaryDirectory() as work:
        model = str(Path(work) / "size.tamis")
        for rows in options.rows:
            cpu, peak = train(options, model, rows)
            first = first or cpu / rows
            size = os.stat(model).st_size / 1e6
            share = check(options, model, rows)
            lines.append(
                [f"{rows:,}", f"{cpu:.1f}", f"{1e6 * cpu / rows:.1f}", f"{first / (cpu / rows):.2f}", f"{peak:,.0f}", f"{size:,.0f}", f"{share:.3f}"]
            )
            os.remove(model)
    table(["rows", "CPU, s", "us a row", "throughput of that of the first", "peak, MiB", "model, MB", "accuracy"], lines)


if __name__ == "__main__":
    main()
