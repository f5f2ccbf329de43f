"""Fitting documents that stay in their partitions, in one process."""

from __future__ import annotations

import pytest
from conftest import fitted_by_partitions, generated

from tamis import Counter, Filter, TamisError
from tamis.distributed import DistributedFit, FitPlan, counts_of

LABELS = ["news", "sport", "weather"]


def halves(documents, labels):
    middle = len(labels) // 2
    return [(documents[:middle], labels[:middle]), (documents[middle:], labels[middle:])]


@pytest.mark.parametrize("n_labels", [2, 3])
def test_partitions_in_any_order_give_the_same_bytes_and_about_the_scores_of_one_machine(n_labels):
    shards = halves(*generated(5_000, LABELS[:n_labels]))
    # others have no word of their label
    rows = zip(*generated(500, LABELS[:n_labels], seed=2))
    test, answers = zip(*((text, label) for text, label in rows if label in text))
    model = fitted_by_partitions(shards, ngrams=1, pieces=False, signs=False)
    assert model == fitted_by_partitions(shards[::-1], ngrams=1, pieces=False, signs=False)

    def accuracy(filter: Filter) -> float:
        chances = [filter.score(text).probabilities for text in test]
        return sum(max(of, key=of.get) == label for of, label in zip(chances, answers)) / len(test)

    documents, labels = (sum(parts, []) for parts in zip(*shards))
    one = Filter.train(documents, labels, kind="text", ngrams=1, pieces=False, signs=False)
    assert accuracy(one) > 0.95
    assert accuracy(Filter.from_bytes(model)) >= accuracy(one) - 0.01


def test_options_of_scoring_and_decisions_count():
    shards = halves(*generated(800, LABELS[:2]))
    asked = [{}, {"max_fpr": 0.1}, {"alpha": 0.5}, {"correction": False}]
    models = {fitted_by_partitions(shards, ngrams=1, pieces=False, signs=False, **options) for options in asked}
    assert len(models) == len(asked)


def test_what_does_not_belong_together_is_refused():
    def counter(**options) -> Counter:
        made = Counter(**{"ngrams": 1, "pieces": False, "signs": False} | options)
        made.add(*generated(300, LABELS))
        return made

    partial = counter().partial()
    counts = counts_of(partial)
    assert len(counts) < len(partial)
    with pytest.raises(TamisError, match="documents"):
        alone = Counter(ngrams=1, pieces=False, signs=False)
        alone.merge(counts)
        alone.finish()
    with pytest.raises(TamisError, match="an open choice of terms"):
        counts_of(Counter().partial())
    with pytest.raises(TamisError, match="at least 2 labels"):
        DistributedFit(Counter(ngrams=1, pieces=False, signs=False), Counter(ngrams=1, pieces=False, signs=False), 1)
    lead = DistributedFit(counter(), counter(), 1)
    plan = FitPlan(lead.plan())
    state, change = plan.round(partial, None, lead.correction())
    with pytest.raises(TamisError):
        lead.add(state)
    lead.add(change)
    with pytest.raises(TamisError):
        lead.add(change)
    with pytest.raises(TamisError):
        plan.round(partial, None, lead.correction())
    with pytest.raises(TamisError):
        lead.finish()
