"""tamis.naive_bayes beside scikit-learn on 20 Newsgroups: equal answers, and how many times quicker.

    python python/benches/naive_bayes.py [CORPORA]

CORPORA is the folder of corpora, else $TAMIS_CORPORA or ../shared/corpora; without it the bench says that it
skips. Times are the least of interleaved runs on one thread; a ratio above 1 means that tamis is quicker.
Install the package as users do (`pip install ./python`): the profile that CI tests, `quick`, predicts more
slowly.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.naive_bayes as peer
from sklearn.feature_extraction.text import CountVectorizer

import tamis.naive_bayes as ours

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benches"))
from measure import in_turn, newsgroups, timed  # noqa: E402

ROUNDS = 15


def folder() -> Path:
    beside = Path(__file__).resolve().parents[3] / "shared" / "corpora"
    return (
        Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TAMIS_CORPORA") or beside)
        / "20newsgroups-bydate"
    )


def least(*tasks: Callable[[], Any]) -> list[float]:
    """The least time of each task in milliseconds; the tasks take turns."""
    runs = in_turn([lambda task=task: timed(task)[1].wall for task in tasks], ROUNDS)
    return [1e3 * min(seconds) for seconds in runs]


def check_equal(theirs: Any, mine: Any, X: Any) -> None:
    """Fitted attributes and joint log-likelihoods have the same bits."""
    names = [name for name in vars(theirs) if name.endswith("_")]
    assert "feature_log_prob_" in names
    for name in names:
        assert np.array_equal(getattr(theirs, name), getattr(mine, name)), name
    assert np.array_equal(theirs.predict_joint_log_proba(X), mine.predict_joint_log_proba(X))


def main() -> None:
    if not folder().is_dir():
        print(f"SKIPPED: {folder()} is not there")
        return
    (texts, labels), (tests, _) = newsgroups(folder() / "train"), newsgroups(folder() / "test")
    y = np.array(labels)
    vectorizer = CountVectorizer(dtype=np.float64)
    X, X_test = vectorizer.fit_transform(texts), vectorizer.transform(tests)
    print(f"{X.shape[0]} x {X.shape[1]}, {X.nnz} entries; least of {ROUNDS} interleaved runs, ms")
    print(f"{'':34}{'scikit-learn':>14}{'tamis':>10}{'ratio':>8}")
    for name in ("MultinomialNB", "ComplementNB", "BernoulliNB"):
        theirs, mine = getattr(peer, name)(), getattr(ours, name)()
        tasks = {"fit": (lambda: theirs.fit(X, y), lambda: mine.fit(X, y))}
        for rows, part in ((X, "train"), (X_test, "test"), (X_test[:1], "1 row")):
            for method in ("predict", "predict_proba"):
                both = (getattr(theirs, method), getattr(mine, method))
                tasks[f"{method}, {part}"] = tuple(lambda p=p, rows=rows: p(rows) for p in both)
        for task, both in tasks.items():
            a, b = least(*both)
            print(f"{name:15}{task:19}{a:14.2f}{b:10.2f}{a / b:8.2f}", flush=True)
        check_equal(theirs, mine, X_test)


if __name__ == "__main__":
    main()
