#!/usr/bin/env python3
"""What counting in shards and merging takes at growing sizes, and plans for larger ones from that (docs/scale.md).

    cargo build --release && cargo build --release --example generate_rows --example generate_mail
    benches/peers/scale.py [--rows 10000 100000 1000000] [CORPORA]

Rows are generated, dealt to eight shards, counted by `train --partial`, a process of one thread each, and merged. CPU is that of all
processes, peak memory that of the largest. Every merged model is compared with that of one training. CORPORA is a folder of public
corpora, by which the growth of terms is measured.
"""

import hashlib
import math
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import BUILT, COUNTS, ONE, Command, in_sequence, labelled, machine, parser, rows_generator, table

SHARDS = 8
WORDS = ["--ngrams", "1"]
WAYS = {"fitted": WORDS, "counts": COUNTS}


def parse():
    arguments = parser(__doc__)
    arguments.add_argument("--rows", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    arguments.add_argument("--other", type=int, default=20_000, help="rows of what varies labels, words, shards")
    arguments.add_argument("--mail-terms", type=int, default=1_000_000, help="different words of the generated mail")
    arguments.add_argument("--target", default=BUILT, type=Path, help="folder of built programs")
    arguments.add_argument("corpora", nargs="?", type=Path)
    return arguments.parse_args()


class Bench:
    def __init__(self, options, folder):
        self.target, self.folder = options.target, Path(folder)

    def tamis(self, *arguments):
        return Command([self.target / "tamis", *arguments]).run_for_peak()

    def deal(self, rows, shards=SHARDS, **shape):
        """Files of generated rows, each with its own."""
        paths = []
        for shard in range(shards):
            path = self.folder / f"{shard}.tsv"
            own = rows // shards + (shard < rows % shards)
            rows_generator(self.target / "examples/generate_rows", own, shard + 1, **shape).run(path)
            paths.append(path)
        return paths

    def count(self, sources, options):
        """The partials of sources, one each, their bytes, and what all took."""
        partials = [self.folder / f"{shard}.partial" for shard in range(len(sources))]
        of = [*ONE, *options]
        runs = [self.tamis("train", "--partial", "-m", partial, *of, source) for partial, source in zip(partials, sources)]
        return partials, sum(partial.stat().st_size for partial in partials), in_sequence(runs)

    def train(self, sources, options):
        """One training, by one thread."""
        self.whole = self.folder / "whole.tamis"
        return self.tamis("train", "-m", self.whole, "--replace", "--repeat", "--no-names", *ONE, *options, *sources)

    def merge(self, partials):
        """Partials to a model, which must be that of one training."""
        model = self.folder / "merged.tamis"
        run = self.tamis("merge", "--replace", "-m", model, *partials)
        assert model.read_bytes() == self.whole.read_bytes(), "expected the bytes of one training"
        return run, model.stat().st_size

    def every_step(self, sources, options):
        """The partials, the bytes of all partials and of the model, and what counting, merging and one training took."""
        whole = self.train(sources, options)
        partials, size, counted = self.count(sources, options)
        merged, model = self.merge(partials)
        return partials, size, model, (counted, merged, whole)


def mb(n):
    return f"{n / 1e6:,.2f}"


def cpu_and_peak(*usages):
    return [figure for usage in usages for figure in (f"{usage.cpu:,.2f}", f"{usage.peak:,.0f}")]


def growing(bench, sizes):
    """Documents. Returns what each size takes, by way."""
    lines, taken = [], {way: [] for way in WAYS}
    for rows in sizes:
        sources = bench.deal(rows)
        for way, options in WAYS.items():
            partials, size, model, (counted, merged, whole) = bench.every_step(sources, options)
            again = bench.tamis("merge", "--partial", "-m", bench.folder / "all.partial", *partials)
            sum_size = (bench.folder / "all.partial").stat().st_size
            figures = [size / 1e6, model / 1e6, counted.cpu, counted.peak, merged.cpu, merged.peak, whole.cpu]
            taken[way].append((rows, figures))
            sizes = [mb(size), f"{size / rows:,.0f}", mb(sum_size), mb(model)]
            lines.append([f"{rows:,}", way, *sizes, *cpu_and_peak(counted, again, merged, whole)])
    print(f"## Documents: rows of 60 words, 4 labels, {SHARDS} shards\n")
    table(
        ["rows", "way", "partials, MB", "bytes a row", "all in one, MB", "model, MB", "count s", "MiB", "merge to one s", "MiB"]
        + ["merge to a model s", "MiB", "one training s", "MiB"],
        lines,
    )
    return taken


def plan(taken):
    """The largest size as the two before it foretell it, and a thousand times as many: a line through the last two sizes."""
    lines = []
    names = ["partials, MB", "model, MB", "count s", "count MiB", "merge s", "merge MiB", "one training s"]
    for way, sizes in taken.items():
        for at, name in enumerate(names):
            points = [(rows, figures[at]) for rows, figures in sizes]
            rows, measured = points[-1]
            foretold = line(points[-3:-1], rows)
            lines.append([way, name, *(f"{y:,.2f}" for _, y in points[:-1]), f"{foretold:,.2f}", f"{measured:,.2f}"])
            lines[-1] += [f"{measured / foretold:.2f}", f"{line(points[-2:], 1000 * rows):,.0f}"]
    sizes = [f"{rows:,}" for rows, _ in taken["fitted"]]
    print("## Growth: a line through the two sizes before foretells the largest; through the last two, a thousand times as many\n")
    head = ["way", "", *sizes[:-1], f"{sizes[-1]} foretold", "measured", "by foretold", f"{1000 * rows:,}"]
    table(head, lines)


def line(points, x):
    (a, ya), (b, yb) = points
    return ya + (yb - ya) * (x - a) / (b - a)


def varying(bench, rows):
    """Labels, different words, words a row, shards; pairs of words."""
    shapes = [
        ("4 labels, 100,000 words, 60 a row, 8 shards", {}, WORDS),
        ("2 labels", {"classes": 2}, WORDS),
        ("20 labels", {"classes": 20}, WORDS),
        ("100 labels", {"classes": 100}, WORDS),
        ("10,000 words", {"terms": 10_000}, WORDS),
        ("1,000,000 words", {"terms": 1_000_000}, WORDS),
        ("240 words a row", {"words": 240}, WORDS),
        ("1 shard", {"shards": 1}, WORDS),
        ("64 shards", {"shards": 64}, WORDS),
        ("2 labels, pairs of words left open", {"classes": 2}, []),
    ]
    lines = []
    for name, shape, options in shapes:
        _, size, model, steps = bench.every_step(bench.deal(rows, **shape), options)
        lines.append([name, mb(size), mb(model), *cpu_and_peak(*steps)])
    print(f"## What else it grows with: {rows:,} rows, each line but one thing changed from the first\n")
    table(["", "partials, MB", "model, MB", "count s", "MiB", "merge s", "MiB", "one training s", "MiB"], lines)


def mail(bench, terms):
    """Mail: counting, fitting and scoring."""
    folder = bench.folder / "mail"
    Command([bench.target / "examples/generate_mail", folder, "--terms", terms]).run()
    mails = sum(1 for path in folder.rglob("*.eml"))
    lines = []
    for way, options in {"fitted": [], "counts": COUNTS}.items():
        _, size, model, steps = bench.every_step(labelled(folder), options)
        steps = *steps, bench.tamis("label", "-m", bench.whole, *ONE, folder)
        us = [f"{1e6 * run.cpu / mails:,.0f}" for run in steps]
        peaks = [f"{run.peak:,.0f}" for run in steps]
        lines.append([way, f"{size / mails:,.0f}", mb(model), *us, *peaks])
    shutil.rmtree(folder)
    print(f"## Mail: {mails:,} generated mails of 500 words and {terms:,} different ones, 2 shards; microseconds of CPU a mail, MiB\n")
    names = ["count", "merge", "one training", "label"]
    table(["way", "bytes a mail of partials", "model, MB", *(f"{s} us" for s in names), *(f"{s} MiB" for s in names)], lines)


def heaps(bench, corpora):
    """Different terms of growing parts of real collections."""
    lines = []
    for name, folder in [("20 Newsgroups", "20newsgroups-bydate"), ("SpamAssassin", "spamassassin")]:
        files = sorted(
            (path for path in (corpora / folder).rglob("*") if path.is_file() and path.suffix not in {".md", ".txt", ".csv", ".json"}),
            key=lambda path: hashlib.md5(str(path.relative_to(corpora)).encode()).digest(),
        )
        points = []
        for part in (16, 8, 4, 2, 1):
            own = files[: len(files) // part]
            names = "".join(f"{'ab'[at % 2]}={path}\n" for at, path in enumerate(own))
            (bench.folder / "list").write_text(names)
            arguments = ["train", "-m", bench.folder / "heaps.tamis", "--replace", "--repeat", *COUNTS, "--files-from", bench.folder / "list"]
            said = Command([bench.target / "tamis", *arguments]).said().said
            points.append((len(own), int(re.search(r": ([\d,]+) terms", said)[1].replace(",", ""))))
        (n, terms), (before, fewer) = points[-1], points[-2]
        power = math.log(terms / fewer) / math.log(n / before)
        lines.append([name, *(f"{terms:,} of {n:,}" for n, terms in points), f"{power:.2f}"])
    print("## Different terms of so many documents, and the power by which they grew last (Heaps)\n")
    table(["", "1/16", "1/8", "1/4", "1/2", "all", "power"], lines)


def main():
    options = parse()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        if options.rows:
            plan(growing(bench, options.rows))
        varying(bench, options.other)
        mail(bench, options.mail_terms)
        if options.corpora:
            heaps(bench, options.corpora)


if __name__ == "__main__":
    main()
