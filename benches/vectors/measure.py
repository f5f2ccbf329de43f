"""Text alone, logistic regression on vectors, and both in tamis, with few labels and with all: see README.md."""

import argparse
import os
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from sets import SETS, read, some
from sklearn.linear_model import LogisticRegression

from tamis import Embedded, TamisClassifier


def measured(model, documents, labels, test, test_labels):
    """Accuracy, log loss in nats, and seconds of training."""
    start = time.process_time()
    model.fit(documents, labels)
    seconds = time.process_time() - start
    probabilities = model.predict_proba(test)
    assert np.allclose(probabilities.sum(axis=1), 1) and len(probabilities) == len(test_labels)
    column = {label: at for at, label in enumerate(model.classes_)}
    own = probabilities[np.arange(len(test_labels)), [column[label] for label in test_labels]]
    return (model.classes_[probabilities.argmax(axis=1)] == test_labels).mean(), -np.log(np.maximum(own, 1e-300)).mean(), seconds


def compare(name, options):
    """Prints a line for each number of documents a label; returns those that fall short."""
    (labels, texts), (test_labels, test_texts) = read(name, options.corpora)
    found = np.load(Path(options.vectors) / f"{name}.npz")
    labels, texts = (of[found["train_rows"]] for of in (labels, texts))
    test_labels, test_texts = (of[found["test_rows"]] for of in (test_labels, test_texts))
    train, test = Embedded(list(texts), found["train"]), Embedded(list(test_texts), found["test"])
    short = []
    for size in options.per_label.split(","):
        figures = []
        for draw in range(1 if size == "all" else options.draws):
            rows = some(labels, None if size == "all" else int(size), draw)
            part, given = train[rows], labels[rows]
            three = [
                (TamisClassifier(), part.documents, test.documents),
                (LogisticRegression(max_iter=1000), part.vectors, test.vectors),
                (TamisClassifier(), part, test),
            ]
            figures.append([measured(model, of, given, to, test_labels) for model, of, to in three])
        text, vectors, both = np.mean(figures, axis=0)
        shown = " | ".join(f"{100 * accuracy:5.1f} {loss:6.3f} {seconds:6.1f} s" for accuracy, loss, seconds in (text, vectors, both))
        print(f"{name:8} {size:>3} {len(given):6} | {shown}", flush=True)
        if both[0] < max(text[0], vectors[0]) - 0.01 or both[1] > min(text[1], vectors[1]):
            short.append(f"{name} at {size}")
    return short


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("corpora", help="folder of corpora")
parser.add_argument("vectors", help="folder that encode.py wrote to")
parser.add_argument("--sets", default=",".join(SETS))
parser.add_argument("--per-label", default="4,8,16,64,all", help="documents to learn of each label")
parser.add_argument("--draws", type=int, default=5)
options = parser.parse_args()
print("set, documents a label, documents | accuracy, log loss, training by text | vectors, logistic regression | both in tamis")
short = [line for name in options.sets.split(",") for line in compare(name, options)]
print("not within a point of the best accuracy, or above the least log loss:", ", ".join(short) or "none")
