"""The corpora of this bench, and which of their documents have vectors."""

import csv
import itertools
from pathlib import Path

import numpy as np


def tsv(path):
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(label, "\t".join(text)) for label, *text in rows if text]


def folders(path):
    return [(file.parent.name, file.read_text("latin-1")) for file in sorted(path.glob("*/*"))]


def stripped(rows):
    from sklearn.datasets import _twenty_newsgroups as news

    strips = (news.strip_newsgroup_header, news.strip_newsgroup_quoting, news.strip_newsgroup_footer)
    for label, text in rows:
        for strip in strips:
            text = strip(text)
        yield label, text


def three_tenths(rows):
    n = int(len(rows) * 0.3)
    return rows[:n], rows[n:]


SETS = {
    "sib-200": lambda of: (tsv(of / "sib-200/eng/train.tsv"), tsv(of / "sib-200/eng/test.tsv")),
    "SMS": lambda of: three_tenths(tsv(of / "sms-spam-collection/messages.tsv")),
    "polarity": lambda of: (tsv(of / "sentence-polarity/train.tsv"), tsv(of / "sentence-polarity/test.tsv")),
    "R8": lambda of: (folders(of / "reuters21578-r8/train"), folders(of / "reuters21578-r8/test")),
    "Ohsumed": lambda of: (tsv(of / "ohsumed-23/train.tsv"), tsv(of / "ohsumed-23/test.tsv")),
    "20NG": lambda of: tuple(stripped(folders(of / "20newsgroups-bydate" / part)) for part in ("train", "test")),
}


def read(name, corpora):
    """Labels and texts to learn, and to score."""
    return [tuple(map(np.array, zip(*rows))) for rows in SETS[name](Path(corpora))]


def some(labels, per_label, seed):
    """The rows of at most so many documents of each label, in a random order."""
    order = np.random.RandomState(seed).permutation(len(labels))
    of_labels = ([row for row in order if labels[row] == label] for label in np.unique(labels))
    chosen = itertools.chain.from_iterable(rows[:per_label] for rows in of_labels)
    rank = {row: at for at, row in enumerate(order)}
    return np.array(sorted(chosen, key=rank.__getitem__))
