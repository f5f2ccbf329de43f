#!/usr/bin/env python3
"""What to label next: `tamis suggest` against random choice on 20 Newsgroups (stripped) and Ohsumed.

    nice -n 5 benches/labels/suggest.py CORPORA TAMIS > RESULT.md

CORPORA has `20newsgroups-bydate` and `ohsumed-23`. Starts from 5 random labels a class. A round trains, asks for as many documents
as there are classes, and labels them truly, until there are 50 times as many labels as classes. Random choice starts from the same
labels and draws from all others. Accuracy on the test part, mean of the seeds. `needed` is the number of labels with which suggestions
reach the accuracy of 50 random labels of each class (fewer where a class has fewer), as a share of those; the goal is .6. The harder
goal beside it is random choice from all documents, which needs no knowledge of their labels. `--unlabelled` shows what semi-supervised
training adds. 20 Newsgroups lacks headers, footers and quotes, as scikit-learn removes them.
"""

import random
import tempfile
from collections import Counter
from pathlib import Path

from common import Documents, Tamis, write_jsonl
from measure import labelled_lines, newsgroups, parser, plain_table

import numpy as np

FIRST, LAST, GOAL = 5, 50, 0.6
SHOWN = (5, 10, 15, 20, 25, 30, 40, 50)


def stripped(texts, labels):
    """Without headers, footers and quotes as scikit-learn removes them."""
    from sklearn.datasets import _twenty_newsgroups as sets

    texts = [sets.strip_newsgroup_header(text) if "\n\n" in text else text for text in texts]
    return [sets.strip_newsgroup_footer(sets.strip_newsgroup_quoting(text)) for text in texts], labels


class Set(Documents):
    """A corpus: a pool whose labels are asked for, and a test part."""

    def __init__(self, tamis, work, pool, test):
        super().__init__(tamis, work, *pool)
        self.classes = sorted(set(self.labels))
        self.test, self.truth = write_jsonl(work / "test.jsonl", test[0]), test[1]

    def train(self, known, options=()):
        super().train(sorted(known), options)

    def others(self, known):
        """The table of all documents that are not known, and their numbers."""
        rows = [n for n in range(len(self.texts)) if n not in known]
        return write_jsonl(self.work / "others.jsonl", [self.texts[n] for n in rows]), rows

    def suggestions(self, known, n):
        table, rows = self.others(known)
        paths = [row["path"] for row in self.tamis.json_lines("suggest", "-m", self.model, table, "-n", n)]
        chosen = {rows[int(path.rsplit(":", 1)[1]) - 1] for path in paths}
        assert len(chosen) == len(paths) == min(n, len(rows)), f"{len(paths)} suggestions, {len(chosen)} different ones"
        return chosen

    def accuracy(self):
        verdicts = self.tamis.label(self.model, self.test)
        assert len(verdicts) == len(self.truth)
        return np.mean([verdict["label"] == label for verdict, label in zip(verdicts, self.truth)])

    def some_of_each(self, chance, most):
        of_class = {label: [n for n, its in enumerate(self.labels) if its == label] for label in self.classes}
        return {n for rows in of_class.values() for n in chance.sample(rows, min(most, len(rows)))}


def curve(corpus, seed, is_random, unlabelled):
    """Accuracy by labels a class; and, at the shown sizes, with --unlabelled."""
    chance = random.Random(seed)
    known, size = corpus.some_of_each(chance, FIRST), len(corpus.classes)
    accuracies, with_others = {}, {}
    for a_class in range(FIRST, LAST + 1):
        if not is_random or a_class in SHOWN:
            if unlabelled and a_class in SHOWN:
                corpus.train(known, ["--unlabelled", corpus.others(known)[0]])
                with_others[a_class] = corpus.accuracy()
            corpus.train(known)
            accuracies[a_class] = corpus.accuracy()
        if a_class < LAST:
            rest = sorted(set(range(len(corpus.texts))) - known)
            known |= set(chance.sample(rest, size)) if is_random else corpus.suggestions(known, size)
    counts = Counter(corpus.labels[n] for n in known)
    return accuracies, with_others, min(counts.values())


def needed(accuracies, goal):
    """The labels a class at which the accuracy reaches the goal, between two rounds by interpolation."""
    before = None
    for a_class, accuracy in sorted(accuracies.items()):
        if accuracy >= goal:
            return a_class if before is None else before[0] + (goal - before[1]) / (accuracy - before[1]) * (a_class - before[0])
        before = a_class, accuracy
    return float("inf")


def of_each_class(corpus, seeds):
    """The number of labels, and the accuracy, with 50 random labels of each class."""
    accuracies = []
    for seed in range(seeds):
        known = corpus.some_of_each(random.Random(seed), LAST)
        corpus.train(known)
        accuracies.append(corpus.accuracy())
    return len(known), np.mean(accuracies)


def mean_of(curves):
    return {a_class: np.mean([curve[a_class] for curve in curves]) for a_class in curves[0]}


def compare(name, corpus, seeds, unlabelled, peers):
    kinds = ("random",) if peers else ("random", "suggest")
    runs = {kind: [curve(corpus, seed, kind == "random", unlabelled) for seed in range(seeds)] for kind in kinds}
    columns = {kind: mean_of([run[0] for run in its]) for kind, its in runs.items()}
    if unlabelled:
        columns |= {f"{kind}, --unlabelled": mean_of([run[1] for run in its]) for kind, its in runs.items()}
    print(f"## {name}: {len(corpus.texts):,} documents to choose from, {len(corpus.classes)} classes, {seeds} seeds\n")
    plain_table(["labels a class", *columns], [(n, *(f"{column[n]:.3f}" for column in columns.values())) for n in SHOWN])
    for kind, its in runs.items():
        print(f"labels of the rarest class at the end, {kind}: {np.mean([run[2] for run in its]):.1f}\n")
    n_labels, accuracy = of_each_class(corpus, seeds)
    print(f"50 random labels of each class: {n_labels:,} labels, accuracy {accuracy:.3f}\n")
    if not peers:
        size = len(corpus.classes)
        goals = {"50 of each class": (n_labels, accuracy), "random choice": (LAST * size, columns["random"][LAST])}
        for what, (n, accuracy) in goals.items():
            share = needed(columns["suggest"], accuracy) * size / n
            print(f"needed for the accuracy of {what}: {share:.2f} of its labels ({'reached' if share <= GOAL else 'missed'}; goal {GOAL})")
        print()


def main():
    arguments = parser(__doc__, "corpora", "tamis")
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--unlabelled", action="store_true", help="also train with --unlabelled (slow)")
    arguments.add_argument("--peers", action="store_true", help="random choice alone")
    args = arguments.parse_args()
    tamis, news, ohsumed = Tamis(args.tamis), args.corpora / "20newsgroups-bydate", args.corpora / "ohsumed-23"
    sets = {"20 Newsgroups, stripped": [stripped(*newsgroups(news / part)) for part in ("train", "test")],
            "Ohsumed": [labelled_lines(ohsumed / f"{part}.tsv") for part in ("train", "test")]}
    for name, (pool, test) in sets.items():
        with tempfile.TemporaryDirectory(prefix="tamis-labels-") as work:
            compare(name, Set(tamis, Path(work), pool, test), args.seeds, args.unlabelled, args.peers)


if __name__ == "__main__":
    main()
