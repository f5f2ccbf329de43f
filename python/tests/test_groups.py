"""Groups: documents of an author are held out together."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from conftest import run

import tamis
from tamis import Counter, Filter, TamisClassifier, TamisError


def written(authors: range) -> tuple[list[str], list[str], list[str]]:
    """Documents, labels and authors: each author writes under one label and has words of his own."""
    rows = []
    for author in authors:
        draw = random.Random(author)
        for _ in range(10):
            own = [f"author{author}x{draw.randrange(4)}" for _ in range(6)]
            topics = [author % 3 if draw.random() < 0.4 else draw.randrange(3) for _ in range(3)]
            hints = [f"topic{topic}x{draw.randrange(12)}" for topic in topics]
            rows.append((" ".join(own + hints), f"label{author % 3}", f"author {author}"))
    texts, labels, groups = (list(column) for column in zip(*rows, strict=True))
    return texts, labels, groups


TEXTS, LABELS, AUTHORS = written(range(45))
NEW = written(range(45, 90))


def test_cross_validation_keeps_groups_together() -> None:
    truth = TamisClassifier().fit(TEXTS, LABELS, groups=AUTHORS).score(NEW[0], NEW[1])

    def validated(groups: list[str] | None) -> float:
        return Filter.cross_validate(TEXTS, LABELS, groups=groups, folds=5, kind="text")["accuracy"]

    assert abs(validated(AUTHORS) - truth) < 0.1
    assert validated(None) > truth + 0.25


def test_the_model_is_the_programs_by_every_door(tamis_program: Path, tmp_path: Path) -> None:
    named = zip(TEXTS, LABELS, AUTHORS, strict=True)
    rows = [json.dumps({"text": text, "label": label, "author": author}) for text, label, author in named]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    run(tamis_program, "train", "-m", tmp_path / "m.tamis", tmp_path / "rows.jsonl", "--group", "author")
    expected = (tmp_path / "m.tamis").read_bytes()
    assert TamisClassifier().fit(TEXTS, LABELS, groups=AUTHORS).filter_.to_bytes() == expected
    assert TamisClassifier().fit(TEXTS, LABELS, groups=np.array(AUTHORS)).filter_.to_bytes() == expected
    assert Filter.train(TEXTS, LABELS, groups=AUTHORS, kind="text").to_bytes() == expected
    assert TamisClassifier().fit(TEXTS, LABELS).filter_.to_bytes() != expected
    in_parts = TamisClassifier()
    counters = Counter(), Counter()
    for half, counter in zip((slice(0, 200), slice(200, None)), counters, strict=True):
        in_parts.partial_fit(TEXTS[half], LABELS[half], groups=AUTHORS[half])
        counter.add(TEXTS[half], LABELS[half], groups=AUTHORS[half])
    assert in_parts.filter_.to_bytes() == expected
    counters[0].merge(counters[1].partial())
    assert counters[0].finish().to_bytes() == expected


def test_groups_need_not_be_text() -> None:
    numbers = [int(author.split()[1]) for author in AUTHORS]
    model = TamisClassifier().fit(TEXTS, LABELS, groups=numbers).filter_.to_bytes()
    assert model == TamisClassifier().fit(TEXTS, LABELS, groups=[str(number) for number in numbers]).filter_.to_bytes()


def test_a_page_of_the_model_says_what_was_held_out() -> None:
    page = TamisClassifier().fit(TEXTS, LABELS, groups=AUTHORS).filter_.report().html
    assert "documents of new groups (45 groups, each held out as a whole)" in page


def test_every_document_has_a_group() -> None:
    with pytest.raises(TamisError, match="as many groups as documents, 450, got 449"):
        TamisClassifier().fit(TEXTS, LABELS, groups=AUTHORS[1:])
    with pytest.raises(TamisError, match="as many groups as documents"):
        tamis.Counter().add(TEXTS, LABELS, groups=AUTHORS[1:])
