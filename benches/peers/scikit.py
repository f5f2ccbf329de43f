#!/usr/bin/env python3
"""A job done with scikit-learn, and what its parts took: {part: [CPU seconds, wall seconds]} in the file REPORT.

    scikit.py REPORT save PIPELINE FOLDER PICKLE    from files to a saved model
    scikit.py REPORT folders PIPELINE TRAIN TEST    texts of files in memory: train, label
    scikit.py REPORT rows PIPELINE TRAIN TEST       texts of tables in memory: train, label

Beside the parts, `right` is the share of the documents to test on that were labelled rightly.
"""

import json
import sys
import time

PARTS = {}


def part(name, do):
    cpu, wall = time.process_time(), time.perf_counter()
    result = do()
    PARTS[name] = [time.process_time() - cpu, time.perf_counter() - wall]
    return result


def parts_of(pipeline):
    """A vectorizer and a model; what is imported is what they need."""
    from sklearn.datasets import load_files

    if pipeline == "tfidf":
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.svm import LinearSVC

        return load_files, TfidfVectorizer(sublinear_tf=True), LinearSVC()
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    options = {
        "counts": {},
        # vowel signs are no letters to Python
        "marks": {"token_pattern": r"[\w\u0900-\u0963\u0970-\u097f]{2,}"},
        "pairs": {"analyzer": "char", "ngram_range": (2, 2)},
    }
    return load_files, CountVectorizer(**options[pipeline]), MultinomialNB()


def folder(load_files, path):
    files = load_files(path, encoding="latin-1")
    return files.data, files.target


def rows(path):
    with open(path, encoding="utf-8") as table:
        next(table)
        pairs = [line.rstrip("\n").split("\t", 1) for line in table]
    return [text for _, text in pairs], [label for label, _ in pairs]


def main(report, job, pipeline, train, other):
    load_files, vectorizer, model = part("imports", lambda: parts_of(pipeline))
    read = rows if job == "rows" else lambda path: folder(load_files, path)
    texts, labels = part("read", lambda: read(train))
    part("train", lambda: model.fit(vectorizer.fit_transform(texts), labels))
    if job == "save":
        import pickle

        with open(other, "wb") as file:
            part("save", lambda: pickle.dump((vectorizer, model), file))
    else:
        texts, labels = read(other)
        given = part("label", lambda: model.predict(vectorizer.transform(texts)))
        PARTS["right"] = sum(a == b for a, b in zip(given, labels)) / len(labels)
    with open(report, "w") as file:
        json.dump(PARTS, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
