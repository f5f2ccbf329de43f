"""Trains and scores on Dask: partitions are counted where they lie, partials merged eight at a time.

    python dask_train.py TRAIN MODEL [NEW SCORED]

TRAIN and NEW are folders of Parquet with a column of texts, `text`; that of TRAIN also has `label`. The model
has the bytes of training on one machine. Needs dask[dataframe] and distributed.
"""

import sys

import dask
import dask.dataframe as dd
from dask.distributed import Client

import tamis

FAN_IN = 8


@dask.delayed(pure=True)
def count(frame, options):
    counter = tamis.Counter(**options)
    counter.add(frame["text"], frame["label"])
    return counter.partial()


@dask.delayed(pure=True)
def merge(partials, options):
    return merged(partials, options).partial()


def merged(partials, options):
    counter = tamis.Counter(**options)
    for partial in partials:
        counter.merge(partial)
    return counter


def train(df, **options):
    """A model of a Dask DataFrame; the options are those of `tamis train`.

    With `ngrams=1` partials of two labels are a fifth as large: else pairs of words are counted too.
    """
    partials = [count(part, options) for part in df[["text", "label"]].to_delayed()]
    while len(partials) > FAN_IN:
        groups = [partials[at : at + FAN_IN] for at in range(0, len(partials), FAN_IN)]
        partials = [merge(group, options) for group in groups]
    return merged(dask.compute(*partials), options).finish(n_jobs=-1)


def score(df, model):
    """The DataFrame, then `prediction`, `probability` and `log_odds`. Workers open the file `model` themselves."""

    def score_part(frame):
        scores = tamis.Filter.open(model, mapped=True).score_many(frame["text"])
        return frame.assign(
            prediction=scores.labels, probability=scores.probability, log_odds=scores.log_odds
        )

    return df.map_partitions(score_part, meta=df._meta.assign(prediction="", probability=0.0, log_odds=0.0))


if __name__ == "__main__":
    source, model, *new = sys.argv[1:]
    with Client() as client:
        train(dd.read_parquet(source)).save(model)
        if new:
            score(dd.read_parquet(new[0]), model).to_parquet(new[1])
