#!/usr/bin/env python3
"""Wrong labels among many: tamis's suspects and cleanlab's on 20 Newsgroups and sentence-polarity with flipped labels.

    nice -n 5 benches/labels/suspects.py CORPORA TAMIS > RESULT.md

CORPORA has `20newsgroups-bydate` and `sentence-polarity`; their training parts are used, with headers. 5 % and 20 % of the
labels are flipped to another label, each as likely; of polarity also 20 % of one label alone.
`cleanlab, adjusted` takes the mean probability of each label off (adjust_pred_probs). Every method ranks the documents, and as many are named as were flipped, so precision equals recall; a
method that names fewer has both. `proposed` is the share of the flipped documents named whose true label was proposed.
Wrong labels of the corpus itself count against every method alike. The probabilities are out of sample, from the same five folds.
`cleanlab finds` is find_label_issues with its defaults, which chooses how many to name. Needs scikit-learn 1.9, cleanlab 2.9.
"""

import json
import random
import tempfile
from pathlib import Path

from common import Documents, Tamis, write_jsonl
from measure import ANY_CODE, newsgroups, parser, plain_table

import numpy as np


def flip(labels, share, seed, only=None):
    """The labels with a share of them, or of `only` one label, changed, and which were."""
    chance, classes = random.Random(seed), sorted(set(labels))
    rows = [n for n, label in enumerate(labels) if only in (None, label)]
    flipped = sorted(chance.sample(rows, round(share * len(rows))))
    given = list(labels)
    for n in flipped:
        given[n] = chance.choice([label for label in classes if label != labels[n]])
    return given, flipped


def by_logistic_regression(texts, codes, folds):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline

    pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(max_iter=200))
    return cross_val_predict(pipeline, texts, codes, cv=folds, method="predict_proba")


def by_tamis(tamis, work, texts, given, folds, classes):
    documents, probabilities = Documents(tamis, work, texts, given), np.zeros((len(texts), len(classes)))
    for rest, held_out in folds:
        documents.train(rest)
        table = write_jsonl(work / "held-out.jsonl", [texts[n] for n in held_out])
        verdicts = tamis.label(documents.model, table, options=["--all"])
        assert len(verdicts) == len(held_out)
        probabilities[held_out] = [[verdict["probabilities"][label] for label in classes] for verdict in verdicts]
    return probabilities / probabilities.sum(1, keepdims=True)


def inspected(tamis, work, texts, given, n_named):
    """Rows that `inspect --suspects` names, the worst first, and the labels that it proposes; or why there are none."""
    table, model = write_jsonl(work / "all.jsonl", texts, given), work / "all.tamis"
    tamis.train(model, table, options=["--replace"])
    said = tamis.said("inspect", "-q", "-m", model, f"--suspects={n_named}", "--json", table, ok=ANY_CODE)
    if said.code:
        return said.errors.strip().removeprefix("tamis: "), None
    suspects = json.loads(said.output)["suspects"]
    rows = [int(suspect["path"].rsplit(":", 1)[1]) - 1 for suspect in suspects]
    assert all(given[row] == suspect["label"] for row, suspect in zip(rows, suspects))
    return rows, [suspect.get("proposed") for suspect in suspects]


def figures(named, flipped, proposed=None, true=None):
    hits = set(named) & set(flipped)
    right = [label == true[n] for n, label in zip(named, proposed) if n in hits] if proposed else []
    return len(named), f"{len(hits) / max(len(named), 1):.3f}", f"{len(hits) / len(flipped):.3f}", f"{np.mean(right):.3f}" if right else ""


def ranked_rows(name, probabilities, codes, flipped, classes, true):
    """Rows of cleanlab on these probabilities."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    proposals = [classes[n] for n in probabilities.argmax(1)]
    for method, is_adjusted in (("self_confidence", False), ("self_confidence", True), ("normalized_margin", False)):
        quality = get_label_quality_scores(codes, probabilities, method=method, adjust_pred_probs=is_adjusted)
        method = f"{method}, adjusted" if is_adjusted else method
        named = np.argsort(quality, kind="stable")[:len(flipped)]
        yield f"cleanlab, {method}; {name}", *figures(named, flipped, [proposals[n] for n in named], true)
    named = find_label_issues(codes, probabilities, return_indices_ranked_by="self_confidence", n_jobs=1)
    yield f"cleanlab finds; {name}", *figures(named, flipped, [proposals[n] for n in named], true)


def compare(heading, texts, labels, share, tamis, work, only=None):
    from sklearn.model_selection import StratifiedKFold

    given, flipped = flip(labels, share, 1, only)
    classes = sorted(set(labels))
    codes = np.array([classes.index(label) for label in given])
    folds = list(StratifiedKFold(5, shuffle=True, random_state=1).split(texts, codes))
    print(f"## {heading}, {share:.0%} flipped: {len(flipped)} of {len(texts):,}\n", flush=True)
    named, proposed = inspected(tamis, work, texts, given, len(flipped))
    rows = [("tamis inspect --suspects", named, "", "", "") if proposed is None else
            ("tamis inspect --suspects", *figures(named, flipped, proposed if any(proposed) else None, labels))]
    rows += ranked_rows("tamis, 5 folds", by_tamis(tamis, work, texts, given, folds, classes), codes, flipped, classes, labels)
    rows += ranked_rows("LogisticRegression, 5 folds", by_logistic_regression(texts, codes, folds), codes, flipped, classes, labels)
    plain_table(["", "named", "precision", "recall", "proposed"], rows)
    return rows


def main():
    args = parser(__doc__, "corpora", "tamis").parse_args()
    tamis = Tamis(args.tamis)
    texts, labels = newsgroups(args.corpora / "20newsgroups-bydate/train")
    pair = [n for n, label in enumerate(labels) if label in ("rec.autos", "rec.motorcycles")]
    lines = (args.corpora / "sentence-polarity/train.tsv").read_text().splitlines()
    polarity, sentences = zip(*(line.split("\t", 1) for line in lines))
    with tempfile.TemporaryDirectory(prefix="tamis-labels-") as work:
        for share, only in ((0.05, None), (0.2, None), (0.2, "pos"), (0.2, "neg")):
            compare(f"Sentence polarity{only and ', of ' + only or ''}", sentences, polarity, share, tamis, Path(work), only)
        for share in (0.05, 0.2):
            rows = compare("20 Newsgroups", texts, labels, share, tamis, Path(work))
            peer = float(rows[1][2])
            assert peer > 0.5, "cleanlab's precision on tamis's own probabilities"
            if share == 0.05:
                compare("Two of them", [texts[n] for n in pair], [labels[n] for n in pair], share, tamis, Path(work))


if __name__ == "__main__":
    main()
