"""What training on Spark takes beside two processes of the program, on the same halves of generated rows.

    cargo build --release && cargo build --release --example generate_rows
    python python/benches/spark.py [--rows 100000 300000 1000000] [--rounds 3] [--fit distributed]

The program counts the halves at once, on one thread each, then merges and fits on one. Spark does so on two executors
of one core; its halves are Parquet, the program's text. Their models must have equal bytes. With `--fit distributed`
the executors fit, to other bytes. Spark's own start is apart: its Java processes, and a first job of two tasks that do
nothing in Python. Memory is the peak of a process (VmHWM), of the largest of its kind. Install the package as users do
(`pip install "./python[spark]"`): the profile that CI tests, `quick`, is slower.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))
from measure import BUILT, ONE, Command, Together, machine, parser, rows_generator, table  # noqa: E402

MASTER = "local-cluster[2,1,1024]"
KINDS = {"worker": b"pyspark.daemon", "executor": b"CoarseGrainedExecutorBackend", "Java": b"SparkSubmit"}


def parse() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--rows", nargs="+", type=int, default=[100_000, 300_000, 1_000_000])
    arguments.add_argument("--rounds", type=int, default=3, help="runs of each, of which the medians count")
    arguments.add_argument("--fit", choices=["driver", "distributed"], default="driver", help="who fits on Spark")
    arguments.add_argument("--target", default=BUILT, type=Path, help="folder of built programs")
    return arguments.parse_args()


def generate(generator: Path, folder: Path, rows: int) -> list[Path]:
    """Two halves, as text and as Parquet of many row groups."""
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    (folder / "parquet").mkdir()
    halves = [folder / "0.tsv", folder / "1.tsv"]
    for seed, half in enumerate(halves, 1):
        rows_generator(generator, rows // 2, seed).run(half)
        read, parse = csv.ReadOptions(block_size=16 << 20), csv.ParseOptions(delimiter="\t", quote_char=False)
        with csv.open_csv(half, read_options=read, parse_options=parse) as reader:
            with pq.ParquetWriter(folder / "parquet" / f"{half.stem}.parquet", reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
    return halves


def by_program(tamis: Path, folder: Path, halves: list[Path]) -> dict[str, float]:
    model, partials = folder / "program.tamis", [half.with_suffix(".partial") for half in halves]
    for path in [model, *partials]:
        path.unlink(missing_ok=True)
    count = [tamis, "train", "--partial", *ONE, "--ngrams", "1", "-m"]
    counted = Together([Command([*count, *pair]) for pair in zip(partials, halves)]).run_for_peak()
    merged = Command([tamis, "merge", "-m", model, *partials]).run_for_peak()
    return {"count": counted.wall, "merge and fit": merged.wall, "program": counted.wall + merged.wall}


class Watch(threading.Thread):
    """The peak memory in MiB of the processes that this one started, by kind."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peaks = dict.fromkeys(KINDS, 0.0)
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(1):
            self.look()

    def look(self) -> None:
        folders = Path("/proc").glob("[0-9]*")
        seen = {int(path.name): status for path in folders if (status := read(path / "status"))}
        parents = {pid: int(re.search(rb"\nPPid:\s*(\d+)", status)[1]) for pid, status in seen.items()}
        for pid, status in seen.items():
            command, peak = read(Path(f"/proc/{pid}/cmdline")), re.search(rb"\nVmHWM:\s*(\d+) kB", status)
            if peak and is_below(pid, parents):
                for kind in (kind for kind, name in KINDS.items() if name in command):
                    self.peaks[kind] = max(self.peaks[kind], int(peak[1]) / 1024)

    def end(self) -> dict[str, float]:
        self.ended.set()
        self.join()
        self.look()
        return self.peaks


def read(path: Path) -> bytes:
    """A file of a process, empty if that has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def is_below(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()


def on_spark(folder: Path, fit: str) -> dict[str, float]:
    """What training takes; to be called in a process of its own."""
    from pyspark.sql import SparkSession

    from tamis.spark import train

    os.environ["PYSPARK_PYTHON"] = sys.executable
    times = [time.perf_counter()]
    session = SparkSession.builder.master(MASTER).config("spark.ui.enabled", "false").getOrCreate()
    session.range(2, numPartitions=2).mapInArrow(lambda batches: batches, "id long").collect()
    times.append(time.perf_counter())
    watch = Watch()
    watch.start()
    model = train(session.read.parquet(str(folder / "parquet")), "label", "text", fit=fit, ngrams=1)
    times.append(time.perf_counter())
    peaks = watch.end()
    model.save(folder / "spark.tamis")
    session.stop()
    peaks["driver"] = int(re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
    return {"start": times[1] - times[0], "train": times[2] - times[1], **peaks}


def in_new_process(folder: Path, fit: str) -> dict[str, float]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(on_spark, folder, fit).result()


def measure(options: argparse.Namespace, rows: int) -> dict[str, float]:
    """The medians of what one size takes."""
    with tempfile.TemporaryDirectory() as name:
        folder, runs = Path(name), []
        halves = generate(options.target / "examples" / "generate_rows", folder, rows)
        for _ in range(options.rounds):
            runs.append(by_program(options.target / "tamis", folder, halves) | in_new_process(folder, options.fit))
            models = [(folder / name).read_bytes() for name in ("program.tamis", "spark.tamis")]
            is_equal = models[0] == models[1]
            assert is_equal == (options.fit == "driver"), f"{rows} rows: expected the bytes of the program's model"
            (folder / "spark.tamis").unlink()
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def main() -> None:
    options = parse()
    print(f"{machine()}; {MASTER}; the {options.fit} fit; medians of {options.rounds}\n")
    taken = [(rows, measure(options, rows)) for rows in options.rows]
    times = ["count", "merge and fit", "program", "start", "train"]
    ratios = [f"{run['train'] / run['program']:.2f}" for _, run in taken]
    lines = [[f"{rows:,}", *(f"{run[name]:.2f}" for name in times), ratio] for (rows, run), ratio in zip(taken, ratios)]
    print("## Wall time, s: two processes of the program, and Spark\n")
    table(["rows", *times[:2], "both", "Spark's start", "Spark's training", "training / both"], lines)
    print("## Peak memory on Spark, MiB\n")
    kinds = ["worker", "executor", "driver", "Java"]
    table(
        ["rows", "a Python worker", "an executor's Java", "the driver's Python", "the driver's Java"],
        [[f"{rows:,}", *(f"{run[kind]:,.0f}" for kind in kinds)] for rows, run in taken],
    )
    print("## Growth of the training on Spark, from each size to the next\n")
    lines = []
    for (x0, y0), (x1, y1) in zip(taken, taken[1:]):
        longer, more = y1["train"] / y0["train"], x1 / x0
        lines.append([f"{x0:,}", f"{x1:,}", f"{longer:.2f}", f"{more:.2f}", f"{longer / more:.2f}"])
    table(["from", "to", "time, times", "rows, times", "time / rows"], lines)
    for (x0, y0), (x1, y1), (x2, y2) in zip(taken, taken[1:], taken[2:]):
        foretold = y1["train"] + (y1["train"] - y0["train"]) * (x2 - x1) / (x1 - x0)
        share = y2["train"] / foretold
        print(f"A line through {x0:,} and {x1:,} rows foretells {foretold:.1f} s of {x2:,}; it took {share:.2f} of it.")


if __name__ == "__main__":
    main()
