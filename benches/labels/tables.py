#!/usr/bin/env python3
"""Tables of numbers: tamis by default and as in the textbook, against scikit-learn's GaussianNB.

    nice -n 5 benches/labels/tables.py TAMIS > RESULT.md

Iris, wine, breast cancer and digits are those of scikit-learn. 40 % of the rows of each class are for testing. Accuracy
and log loss (nats) are means over 20 divisions; `one` is the division of seed 1 alone. Needs scikit-learn 1.9.
"""

import csv
import json
import tempfile
from pathlib import Path

from common import Tamis
from measure import ONE, parser, plain_table

import numpy as np

DIVISIONS = range(1, 21)


def write_csv(path, rows, classes):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([f"x{column}" for column in range(rows.shape[1])] + ["class"])
        writer.writerows([*map(float, row), f"c{label}"] for row, label in zip(rows, classes))
    return path


def measured(tamis, work, train, test, options):
    columns = [part for column in range(train[0].shape[1]) for part in ("--column", f"x{column}=gaussian")]
    tables = [write_csv(work / f"{name}.csv", *rows) for name, rows in (("train", train), ("test", test))]
    tamis.train(work / "model.tamis", tables[0], options=["--replace", "--target", "class", *columns, *options])
    figures = json.loads(tamis.said("evaluate", "-q", *ONE, "-m", work / "model.tamis", tables[1], "--json").output)
    return figures["accuracy"], figures["log_loss"]


def main():
    from sklearn import datasets
    from sklearn.metrics import log_loss
    from sklearn.model_selection import train_test_split
    from sklearn.naive_bayes import GaussianNB

    arguments = parser(__doc__.splitlines()[0], "tamis")
    arguments.add_argument("--divisions", type=int, default=len(DIVISIONS))
    args = arguments.parse_args()
    tamis, rows = Tamis(args.tamis), []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("iris", "wine", "breast_cancer", "digits"):
            numbers, classes = getattr(datasets, f"load_{name}")(return_X_y=True)
            figures = {"tamis": [], "textbook": [], "GaussianNB": []}
            for seed in DIVISIONS[: args.divisions]:
                split = train_test_split(numbers, classes, test_size=0.4, random_state=seed, stratify=classes)
                train, test = (split[0], split[2]), (split[1], split[3])
                for method, options in (("tamis", []), ("textbook", ["--correction", "off"])):
                    figures[method].append(measured(tamis, Path(folder), train, test, options))
                model = GaussianNB().fit(*train)
                figures["GaussianNB"].append((model.score(*test), log_loss(test[1], model.predict_proba(test[0]))))
            for method, of in figures.items():
                (accuracy, loss), (one_accuracy, one_loss) = np.mean(of, axis=0), of[0]
                rows.append([name, method, *(f"{x:.3f}" for x in (accuracy, loss, one_accuracy, one_loss))])
    plain_table(["table", "method", "accuracy", "log loss", "one: accuracy", "one: log loss"], rows)


if __name__ == "__main__":
    main()
