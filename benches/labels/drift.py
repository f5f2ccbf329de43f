#!/usr/bin/env python3
"""Drift: does `tamis drift` notice what changed, and stay silent where nothing did?

    nice -n 5 benches/labels/drift.py CORPORA TAMIS > RESULT.md

CORPORA has `20newsgroups-bydate`. Exit status 0 means no drift, 1 drift; anything else fails.

time: a model of the training part; new are samples of the test part, which was written later. Must be detected.
topic left out: a model of half of the training part without a group; new are other documents of the training part, a share of
them of that group. Must be detected at 20 %; smaller shares show the power.
the same: models of random halves of the training part; new are samples of the other half. Not in 95 of 100.
"""

import random
import tempfile
from pathlib import Path

from common import Documents, Tamis, write_jsonl
from measure import ONE, newsgroups, parser, plain_table

LEFT_OUT = ("rec.autos", "sci.med", "comp.graphics", "talk.politics.mideast")
SIZES, SHARES, SAMPLES, MODELS = (100, 500, 2_000), (0.05, 0.1, 0.2), 5, 4


class Bench(Documents):
    def halves(self, seed, without=None):
        """A model of a random half; returns the numbers of the other half."""
        rows = list(range(len(self.texts)))
        random.Random(seed).shuffle(rows)
        middle = len(rows) // 2
        self.train([n for n in rows[:middle] if self.labels[n] != without])
        return [n for n in rows[middle:] if self.labels[n] != without]

    def is_drift(self, texts):
        new = write_jsonl(self.work / "new.jsonl", texts)
        return self.tamis.said("drift", *ONE, "-m", self.model, new, "--json", ok=(0, 1)).code == 1


def over_time(bench, later, chance):
    bench.train(range(len(bench.texts)))
    for size in SIZES:
        found = sum(bench.is_drift(chance.sample(later, size)) for _ in range(SAMPLES))
        yield "time", f"{size:,}", f"{found} of {SAMPLES}"
    assert bench.is_drift(later), "the test part is later than the training part"
    yield "time", f"{len(later):,}", "1 of 1"


def left_out(bench, chance):
    found = {(share, size): 0 for share in SHARES for size in SIZES}
    for seed, group in enumerate(LEFT_OUT):
        others = [bench.texts[n] for n in bench.halves(seed, without=group)]
        its = [text for text, label in zip(bench.texts, bench.labels) if label == group]
        for share, size in found:
            n = round(share * size)
            new = chance.sample(its, n) + chance.sample(others, size - n)
            found[share, size] += bench.is_drift(new)
    for (share, size), n in found.items():
        yield f"topic left out, {share:.0%}", f"{size:,}", f"{n} of {len(LEFT_OUT)}"
    assert found[0.2, max(SIZES)] == len(LEFT_OUT), found


def the_same(bench, chance, n_samples=100, size=500):
    found = 0
    for seed in range(MODELS):
        others = bench.halves(100 + seed)
        for _ in range(n_samples // MODELS):
            found += bench.is_drift([bench.texts[n] for n in chance.sample(others, size)])
    yield "the same", f"{size:,}", f"{found} of {n_samples}"
    assert found <= 0.05 * n_samples, found


def main():
    args = parser(__doc__, "corpora", "tamis").parse_args()
    news, chance = args.corpora / "20newsgroups-bydate", random.Random(1)
    later = newsgroups(news / "test")[0]
    with tempfile.TemporaryDirectory(prefix="tamis-labels-") as work:
        bench = Bench(Tamis(args.tamis), Path(work), *newsgroups(news / "train"))
        for rows in (over_time(bench, later, chance), left_out(bench, chance), the_same(bench, chance)):
            plain_table(["what changed", "new documents", "drift"], rows)


if __name__ == "__main__":
    main()
