"""Trains on a query of polars and scores in another, also one that streams.

    python polars_score.py TRAIN NEW SCORED

All are Parquet: TRAIN has columns `text` and `label`, NEW has `text`; SCORED is NEW with a struct `score`.
"""

import sys

import polars as pl

import tamis

SCORE = pl.Struct({"label": pl.String, "probability": pl.Float64, "log_odds": pl.Float64})


def score(texts, model):
    """An expression: of each text a struct of label, probability and log-odds in nats."""
    return texts.map_batches(
        lambda series: pl.DataFrame(model.score_table(series)).to_struct().cast(SCORE),
        return_dtype=SCORE,
        is_elementwise=True,
    )


if __name__ == "__main__":
    source, new, scored = sys.argv[1:]
    known = pl.read_parquet(source, columns=["text", "label"])
    model = tamis.Filter.train(known["text"], known["label"], kind="text", n_jobs=-1)
    pl.scan_parquet(new).with_columns(score(pl.col("text"), model).alias("score")).sink_parquet(scored)
