#!/usr/bin/env python3
"""Compares every figure of `tamis evaluate` with scikit-learn's on random sets of labelled texts.

    benches/sources/figures.py TAMIS [--sets N] [--seed N] [--show N]

Each set has a model and documents to evaluate: of one label or many, few or many labels, easy or hard to tell apart, some
absent from the test, unknown to the model, or unsure. Prints how often each figure was compared and how often it differs by
more than a millionth, and exits with 1 if one does. Needs scikit-learn of PyPI; without it exits with 3.

With one label a document, macro F1 is over the labels that occur; with many, over those of the model. A document of an
unknown label is wrong. Precision at k is of the min(k, labels) most probable. Calibration error has 15 bins.
"""

import json
import math
import random
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import Command, parser, table

try:
    import numpy as np
    from sklearn import metrics
except ImportError:
    metrics = None

NOT_HERE, DIFFERS = 3, 1
NONE = math.nan  # scikit-learn has no such figure, so tamis should have none
ONE_LABEL = ("spam filter", "two labels", "labels", "absent label", "unknown label", "unsure")


class Comparison:
    """Figures compared and those that differ."""

    def __init__(self):
        self.compared, self.different = Counter(), defaultdict(list)

    def add(self, kind, ours, theirs):
        """Compares each of their figures with ours of that name."""
        for name, figure in theirs.items():
            our = NONE if ours.get(name) is None else ours[name]
            self.compared[kind, name] += 1
            if not (math.isnan(our) and math.isnan(figure) or math.isclose(our, figure, rel_tol=1e-6, abs_tol=1e-6)):
                self.different[kind, name].append(f"{our:.6f} for {figure:.6f}")

    def add_labels(self, kind, labels, theirs):
        """The same for each label."""
        ours = {figures["label"]: figures for figures in labels}
        for label, figures in theirs.items():
            self.add(kind, ours.get(label, {}), figures)


def text_of(labels, noise, rng):
    """Words that mean nothing, and some that hint at each label."""
    words = [f"w{rng.randrange(60)}" for _ in range(rng.randint(3, 12))]
    words += [f"{label}{rng.randrange(4)}" for label in labels for _ in range(2) if rng.random() > noise]
    return " ".join(words)


def write(path, truth, noise, rng):
    """Lines of texts that have a label, or a list of labels."""
    with open(path, "w", encoding="utf-8") as file:
        for labels in truth:
            text = text_of([labels] if isinstance(labels, str) else labels, noise, rng)
            file.write(json.dumps({"label": labels, "text": text}) + "\n")


def evaluate(tamis, work, options, rng, *sets):
    """Trains on the first set and evaluates on the second: figures and rows of --scores, or None if tamis stops."""
    noise, model, scores = rng.choice([0.2, 0.5, 0.8, 0.95]), work / "model.tamis", work / "scores.tsv"
    train, test = work / "train.jsonl", work / "test.jsonl"
    for path, truth in zip((train, test), sets):
        write(path, truth, noise, rng)
    many = ["--labels", "many"] * isinstance(sets[0][0], list)
    Command([tamis, "train", "-q", "--replace", "-m", model, *many, train]).run()
    command = [tamis, "evaluate", "-q", "-m", model, test, "--json", "--scores", scores, *options]
    said = Command(command, ok=range(256)).said()
    if said.code:
        return None, None
    names, *rows = (line.split("\t") for line in scores.read_text(encoding="utf-8").splitlines())
    return json.loads(said.output), [dict(zip(names, row)) for row in rows]


def probabilities_of(tamis, work):
    label = [tamis, "label", "-q", "-m", work / "model.tamis", work / "test.jsonl", "--all", "--format", "jsonl"]
    rows = map(json.loads, Command(label).said().output.splitlines())
    return np.array([[p for _, p in sorted(row["probabilities"].items())] for row in rows])


def roc_auc(truth, given):
    return metrics.roc_auc_score(truth, given) if truth.any() and not truth.all() else NONE


def of_label(truth, verdicts, labels, absent):
    """Precision, recall and F1 by label."""
    figures = metrics.precision_recall_fscore_support(truth, verdicts, labels=labels, zero_division=absent)[:3]
    return {label: dict(zip(("precision", "recall", "f1"), of)) for label, of in zip(labels, zip(*figures))}


def calibration_error(given, happened, bins=15):
    at = np.minimum((given * bins).astype(int), bins - 1)
    means = [(np.mean(at == n), given[at == n].mean() - happened[at == n].mean()) for n in set(at)]
    return sum(share * abs(difference) for share, difference in means)


def compare_one(tamis, work, comparison, rng):
    """One label a document."""
    kind = rng.choice(ONE_LABEL)
    labels = {"spam filter": ["ham", "spam"], "two labels": ["bad", "good"]}.get(kind)
    labels = labels or sorted(f"c{n}" for n in range(rng.choice([3, 4, 6, 12])))
    rare = [1 / (1 + n) ** 1.3 for n in range(len(labels))]
    train = labels + rng.choices(labels, rare, k=rng.choice([20, 60, 200]))
    of_test = labels[:-1] if kind == "absent label" else labels
    truth = rng.choices(of_test, rare[: len(of_test)], k=rng.choice([5, 20, 80, 300])) + ["x9"] * (kind == "unknown label")
    unsure = ["--unsure", str(rng.choice([0.5, 0.8, 0.95]))] if kind == "unsure" else []
    ours, rows = evaluate(tamis, work, unsure, rng, train, truth)
    comparison.add("one label", {"answers": ours is not None}, {"answers": True})
    if ours is None:
        return
    verdicts = [row["verdict"] for row in rows]
    used = sorted({*truth, *verdicts} - {"unsure"})
    macro = metrics.f1_score(truth, verdicts, labels=used, average="macro", zero_division=0)
    comparison.add("one label", ours, {"accuracy": metrics.accuracy_score(truth, verdicts), "macro_f1": macro})
    comparison.add_labels("a label", ours["classes"], of_label(truth, verdicts, labels, 0))
    if kind != "unknown label":  # scikit-learn has no log loss of a label without a probability
        compare_probabilities(kind, ours, comparison, np.array(truth), labels, probabilities_of(tamis, work))
    if kind == "spam filter" and len(set(truth)) == 2:
        scores = np.array([float(row["log_odds"]) for row in rows])
        compare_filter(ours, comparison, np.array(truth) == "spam", np.array(verdicts) == "spam", scores)


def compare_probabilities(kind, ours, comparison, truth, labels, given):
    certain, right = given.max(1), np.array(labels)[given.argmax(1)] == truth
    if kind == "spam filter":
        certain, right = given[:, 1], truth == "spam"
        comparison.add(kind, ours, {"brier": metrics.brier_score_loss(right, certain)})
    if len(labels) == 2:
        comparison.add("two labels", ours, {"roc_auc": roc_auc(truth == labels[1], given[:, 1])})
    loss = metrics.log_loss(truth, given, labels=labels)
    comparison.add("one label", ours, {"log_loss": loss, "expected_calibration_error": calibration_error(certain, right)})


def compare_filter(ours, comparison, spam, called, scores):
    fpr, tpr, _ = metrics.roc_curve(spam, scores, drop_intermediate=False)
    theirs = {f"missed_at_fpr_{most}_percent": 1 - tpr[fpr <= most / 100 + 1e-12].max() for most in (0.1, 0.5, 1)}
    rates = {"false_positive_rate": called[~spam].mean(), "false_negative_rate": (~called[spam]).mean()}
    comparison.add("spam filter", ours, theirs | rates | {"accuracy_at_0": metrics.accuracy_score(spam, scores > 0)})


def compare_many(tamis, work, comparison, rng):
    """Any number of labels a document."""
    labels = sorted(f"t{n}" for n in range(rng.choice([2, 3, 5, 12])))
    draw = lambda of, n: [[label for n, label in enumerate(of) if rng.random() < 0.6 / (1 + n)] for _ in range(n)]
    train = [[label] for label in labels] + draw(labels, rng.choice([30, 100, 300]))
    truth = draw(labels[:-1] if rng.random() < 0.3 else labels, rng.choice([5, 20, 100]))
    truth[0] += ["x9"] * (rng.random() < 0.3)
    ours, rows = evaluate(tamis, work, [], rng, train, truth)
    comparison.add("many labels", {"answers": ours is not None}, {"answers": True})
    if ours is None:
        return
    labels = [name.removeprefix("probability_") for name in rows[0] if name.startswith("probability_")]
    given = np.array([[float(row[f"probability_{label}"]) for label in labels] for row in rows])
    has = np.array([[label in of for label in labels] for of in truth])
    verdicts = np.array([[label in row["labels"].split(",") for label in labels] for row in rows])
    micro = metrics.precision_recall_fscore_support(has, verdicts, average="micro", zero_division=0)
    theirs = dict(zip(("precision", "recall", "micro_f1"), micro))
    clipped = np.clip(given, 1e-15, 1 - 1e-15)
    ranked = np.take_along_axis(has, np.argsort(-given, axis=1, kind="stable"), 1)
    comparison.add("many labels", ours, theirs | {
        "macro_f1": metrics.f1_score(has, verdicts, average="macro", zero_division=0),
        "exact": metrics.accuracy_score(has, verdicts),
        "log_loss": -np.where(has, np.log(clipped), np.log1p(-clipped)).sum(1).mean(),
        **{f"precision_at_{k}": ranked[:, :k].mean() for k in (1, 3, 5)},
    })  # fmt: skip
    of_each = {label: of_many(*of) for label, *of in zip(labels, has.T, verdicts.T, given.T)}
    comparison.add_labels("one of many", ours["labels"], of_each)


def of_many(has, verdicts, given):
    """The figures of one of many labels. F1 is 0 where precision or recall is of nothing."""
    figures = of_label(has, verdicts, [True], NONE)[True] | {"f1": metrics.f1_score(has, verdicts, zero_division=0)}
    figures["average_precision"] = metrics.average_precision_score(has, given) if has.any() else NONE
    return figures | {"roc_auc": roc_auc(has, given)}


def main():
    arguments = parser(__doc__, "tamis")
    arguments.add_argument("--sets", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--show", type=int, default=3)
    options = arguments.parse_args()
    if metrics is None:
        print("skipped: scikit-learn (pip install scikit-learn) is not here", file=sys.stderr)
        return NOT_HERE
    warnings.filterwarnings("ignore")
    comparison, tamis = Comparison(), options.tamis.resolve()
    with tempfile.TemporaryDirectory() as work:
        for n in range(options.sets):
            compare = compare_many if n % 4 == 3 else compare_one
            compare(tamis, Path(work), comparison, random.Random(f"{options.seed} {n}"))
    different, compared = comparison.different, sorted(comparison.compared.items())
    rows = ((*name, n, len(different[name]), "; ".join(different[name][: options.show])) for name, n in compared)
    table(["of", "figure", "compared", "differ", "tamis for scikit-learn"], rows)
    return DIFFERS if any(different.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
