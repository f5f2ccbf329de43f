"""Writes import.json: pipelines of scikit-learn as the script of docs/guide/analyst.md writes them, and the logarithms of
the probabilities that they give some texts.

    pip install scikit-learn && python3 tests/golden/make_import.py

tests/learning/scikit_learn.rs imports them and compares.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import joblib
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

HERE = pathlib.Path(__file__)
GUIDE = (HERE.parents[2] / "docs/guide/analyst.md").read_text()

TEXTS = [
    ("Cheap pills, cheap offers! Buy pills now", "spam"),
    ("You have won a prize: buy now and win", "spam"),
    ("Lunch at noon? See you at the cafe", "ham"),
    ("The meeting moved to noon, see the agenda", "ham"),
    ("A prize for the best cafe in town", "news"),
    ("Town hall agenda and the news of the week", "news"),
    ("News of a cheap lunch in town", "news"),
]
UNSEEN = ["cheap lunch at noon", "win a prize in town and buy pills pills", "unheard words", "the news"]

CASES = [
    (MultinomialNB(), CountVectorizer()),
    (MultinomialNB(alpha=0.3, fit_prior=False), CountVectorizer(binary=True, ngram_range=(1, 2))),
    (MultinomialNB(class_prior=[0.5, 0.2, 0.3]), CountVectorizer(stop_words="english", lowercase=False)),
    (ComplementNB(), CountVectorizer(ngram_range=(1, 2), min_df=2)),
    (ComplementNB(alpha=0.5, norm=True), CountVectorizer(binary=True)),
]


def written(pipeline):
    script = re.search(r"```python\n(import json.*?)```", GUIDE, re.DOTALL).group(1)
    with tempfile.NamedTemporaryFile(suffix=".joblib") as saved:
        joblib.dump(pipeline, saved.name)
        done = subprocess.run([sys.executable, "-c", script, saved.name], check=True, capture_output=True)
    return json.loads(done.stdout)


def case(model, words):
    texts, labels = zip(*TEXTS)
    pipeline = make_pipeline(words, model).fit(texts, labels)
    return {
        "written": written(pipeline),
        "log_probabilities": pipeline.predict_log_proba(UNSEEN).tolist(),
        "labels": pipeline.predict(UNSEEN).tolist(),
    }


def main():
    made = {"texts": UNSEEN, "cases": [case(*pair) for pair in CASES]}
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.with_name("import.json")
    out.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
