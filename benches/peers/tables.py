#!/usr/bin/env python3
"""What labelling rows takes by the format of the table: TSV, Parquet and Arrow. Needs pyarrow.

    cargo build --release --features parquet && cargo build --release --example generate_rows
    benches/peers/tables.py [--rows 1000000]

The same rows are labelled from each file in turn, by one thread.
"""

import argparse
import datetime
import subprocess
import sys
import tempfile
from pathlib import Path

from pyarrow import csv, feather, parquet

sys.dont_write_bytecode = True
from measure import Command, Program, alternate, machine, usage_table

TARGET = Path(__file__).resolve().parents[2] / "target" / "release"


def write_tables(arguments, folder):
    """The rows in every format; the first thousand are for a model."""
    tsv = folder / "rows.tsv"
    with open(tsv, "wb") as out:
        subprocess.run([arguments.target / "examples" / "generate_rows", str(arguments.rows)], stdout=out, check=True)
    rows = csv.read_csv(tsv, parse_options=csv.ParseOptions(delimiter="\t", quote_char=False))
    parquet.write_table(rows, folder / "rows.parquet")
    feather.write_feather(rows, str(folder / "rows.feather"), compression="lz4")
    csv.write_csv(rows.slice(0, 10_000), folder / "train.csv")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--target", default=TARGET, type=Path, help="folder of built programs")
    arguments = parser.parse_args()
    tamis = arguments.target / "tamis"
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_tables(arguments, folder)
        model = folder / "model.tamis"
        subprocess.run([tamis, "train", "-q", "-m", model, folder / "train.csv"], check=True, stdout=subprocess.DEVNULL)
        label = lambda name: Command([tamis, "label", "-q", "--threads", "1", "-m", model, folder / name])
        names = ["rows.tsv", "rows.parquet", "rows.feather"]
        programs = [Program(f"{name}, {(folder / name).stat().st_size / 1e6:,.0f} MB", [label(name)]) for name in names]
        alternate(programs, arguments.repeat)
    print(f"{datetime.date.today()}, {machine()}\n\n{arguments.rows:,} rows labelled, one thread\n")
    usage_table(programs)


if __name__ == "__main__":
    main()
