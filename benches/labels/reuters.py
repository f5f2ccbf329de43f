#!/usr/bin/env python3
"""Documents with several labels: tamis, scikit-learn and fastText on Reuters-21578 (ModApte, 90 topics).

    nice -n 5 benches/labels/reuters.py SGML_FOLDER TAMIS > RESULT.md
    nice -n 5 benches/labels/reuters.py SGML_FOLDER TAMIS --joined 20NEWSGROUPS --work FOLDER >> RESULT.md

SGML_FOLDER holds reut2-000.sgm to reut2-021.sgm. The 90 topics have training and test documents; documents without any of
them are left out. `--joined` adds 20 Newsgroups with two and three posts (in turn) joined to one document. `--peers` leaves tamis out.
Micro and macro F1 (over all labels; 0 where undefined), exact = the share of documents with exactly the right labels, CPU =
user and system seconds of training from texts in memory (tamis, fastText: from a file), one thread.
Needs scikit-learn 1.9, fasttext-wheel 0.9.2.
"""

import html
import itertools
import random
import re
import tempfile
from pathlib import Path

from common import Tamis, write_jsonl
from measure import newsgroups, parser, plain_table, timed

import numpy as np

# (epochs, learning rate, wordNgrams, dim)
FASTTEXT = [(25, 0.5, 1, 50), (50, 0.5, 1, 50), (100, 0.5, 1, 50), (50, 1.0, 1, 50), (100, 1.0, 1, 50), (50, 0.5, 2, 50)]


def mod_apte(folder):
    """Texts and topics of the training and test documents."""
    split = {"TRAIN": [], "TEST": []}
    for path in sorted(folder.glob("reut2-*.sgm")):
        for document in re.findall(r"<REUTERS .*?</REUTERS>", path.read_bytes().decode("latin-1"), re.S):
            part = re.search(r'LEWISSPLIT="(.*?)"', document)[1]
            if 'TOPICS="YES"' in document.split(">", 1)[0] and part in split:
                topics = re.findall(r"<D>(.*?)</D>", re.search(r"<TOPICS>(.*?)</TOPICS>", document, re.S)[1])
                split[part].append((text_of(document), topics))
    known = [set().union(*(topics for _, topics in documents)) for documents in split.values()]
    topics = set.intersection(*known)
    sets = []
    for documents in split.values():
        kept = [(text, sorted(topics & set(its))) for text, its in documents if topics & set(its)]
        sets.append(([text for text, _ in kept], [labels for _, labels in kept]))
    sizes = len(topics), len(sets[0][0]), len(sets[1][0])
    assert sizes[0] == 90 and sizes[1] in (7_769, 7_770) and sizes[2] == 3_019, sizes
    return sets


def text_of(document):
    """Title and body, or the whole text of a document without a body."""
    text = re.search(r"<TEXT.*?>(.*)</TEXT>", document, re.S)[1]
    found = [re.search(f"<{name}>(.*?)</{name}>", text, re.S) for name in ("TITLE", "BODY")]
    parts = [part[1] for part in found if part] if found[1] else [re.sub(r"<[^>]*>", " ", text)]
    return re.sub(r"[\x00-\x08\x0e-\x1f]", " ", html.unescape("\n\n".join(parts))).strip()


def joined(folder):
    """Training and test documents of two and three posts in turn; few have posts of the same group only."""
    sets = []
    for part in ("train", "test"):
        posts = list(zip(*newsgroups(folder / part)))
        random.Random(1).shuffle(posts)
        groups, sizes = [], itertools.cycle((2, 3))
        while posts:
            size = next(sizes)
            groups.append(posts[:size])
            posts = posts[size:]
        sets.append((["\n\n".join(text for text, _ in group) for group in groups], [sorted({label for _, label in group}) for group in groups]))
    return sets


def figures(true, given):
    from sklearn.metrics import accuracy_score, f1_score

    micro, macro = (f1_score(true, given, average=average, zero_division=0) for average in ("micro", "macro"))
    return f"{micro:.4f}", f"{macro:.4f}", f"{accuracy_score(true, given):.4f}"


def scikit(train, test, true_train, true):
    """Rows of scikit-learn's pipelines."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.naive_bayes import ComplementNB, MultinomialNB
    from sklearn.svm import LinearSVC

    jobs = [("LinearSVC, TF-IDF", TfidfVectorizer(), LinearSVC()),
            ("LinearSVC, TF-IDF sublinear", TfidfVectorizer(sublinear_tf=True), LinearSVC()),
            ("LogisticRegression, TF-IDF sublinear", TfidfVectorizer(sublinear_tf=True), LogisticRegression(solver="liblinear")),
            ("LogisticRegression C=10, TF-IDF sublinear", TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10, solver="liblinear")),
            ("MultinomialNB, counts", CountVectorizer(), MultinomialNB()),
            ("ComplementNB, counts", CountVectorizer(), ComplementNB())]
    for name, vectorizer, model in jobs:
        model = OneVsRestClassifier(model)
        _, usage = timed(lambda: model.fit(vectorizer.fit_transform(train), true_train))
        yield f"OneVsRest {name}", *figures(true, model.predict(vectorizer.transform(test))), f"{usage.cpu:.1f}"


def words(text):
    return " ".join(re.findall(r"\w+", text.lower()))


def fasttext_rows(work, train, test, labels, true, topics):
    import fasttext

    path = work / "train.fasttext"
    lines = (" ".join("__label__" + label for label in its) + " " + words(text) for text, its in zip(train, labels))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    column = {"__label__" + topic: n for n, topic in enumerate(topics)}
    for epochs, rate, n, dim in FASTTEXT:
        model, usage = timed(lambda: fasttext.train_supervised(str(path), loss="ova", epoch=epochs, lr=rate, wordNgrams=n, dim=dim, thread=1,
                                                               bucket=200_000, seed=1, verbose=0))
        given = np.zeros_like(true)
        for row, text in enumerate(test):
            # model.predict fails with numpy 2
            for _, label in model.f.predict(words(text) + "\n", -1, 0.5, "strict"):
                given[row, column[label]] = 1
        yield f"fastText one-vs-all, {epochs} epochs, lr {rate}, wordNgrams {n}, dim {dim}", *figures(true, given), f"{usage.cpu:.1f}"


def tamis_row(tamis, work, topics, true):
    cpu = tamis.train(work / "many.tamis", work / "train.jsonl", options=["--labels", "many"])
    verdicts = tamis.label(work / "many.tamis", work / "test.jsonl")
    assert len(verdicts) == len(true)
    column, given = {topic: n for n, topic in enumerate(topics)}, np.zeros_like(true)
    for row, verdict in enumerate(verdicts):
        assert isinstance(verdict["label"], list), verdict
        given[row, [column[label] for label in verdict["label"]]] = 1
    return "tamis, default", *figures(true, given), f"{cpu:.1f}"


def compare(name, sets, tamis, work):
    from sklearn.preprocessing import MultiLabelBinarizer

    work.mkdir(parents=True, exist_ok=True)
    (train, labels), (test, test_labels) = sets
    write_jsonl(work / "train.jsonl", train, labels)
    write_jsonl(work / "test.jsonl", test, test_labels)
    binarizer = MultiLabelBinarizer().fit(labels)
    true_train, true = binarizer.transform(labels), binarizer.transform(test_labels)
    print(f"## {name}\n\n{len(train):,} and {len(test):,} documents, {len(binarizer.classes_)} labels, {true_train.sum(1).mean():.2f} a document\n",
          flush=True)
    rows = plain_table(["", "micro F1", "macro F1", "exact", "CPU, s"], itertools.chain(
        [tamis_row(tamis, work, binarizer.classes_, true)] if tamis else [], scikit(train, test, true_train, true),
        fasttext_rows(work, train, test, labels, true, binarizer.classes_)))
    peers = [row for row in rows if "SVC" in row[0] or "fastText" in row[0]]
    assert max(float(row[1]) for row in peers) > 0.5, peers
    if tamis:
        micro, macro = (float(rows[0][n]) - max(float(row[n]) for row in peers) for n in (1, 2))
        print(f"tamis against the best of LinearSVC and fastText: micro {micro:+.4f}, macro {macro:+.4f}\n")


def main():
    arguments = parser(__doc__, "sgml", "tamis")
    arguments.add_argument("--joined", type=Path, metavar="20NEWSGROUPS")
    arguments.add_argument("--peers", action="store_true", help="without tamis")
    arguments.add_argument("--work", type=Path, help="keep the tables in this folder")
    args = arguments.parse_args()
    tamis = None if args.peers else Tamis(args.tamis)
    with tempfile.TemporaryDirectory(prefix="tamis-labels-") as temporary:
        work = args.work or Path(temporary)
        compare("Reuters-21578, ModApte", mod_apte(args.sgml), tamis, work / "reuters")
        if args.joined:
            compare("20 Newsgroups, joined", joined(args.joined), tamis, work / "joined")


if __name__ == "__main__":
    main()
