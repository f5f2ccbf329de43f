"""Trains on a query of DuckDB, batch by batch, and scores inside of SQL, by a function over Arrow's columns.

    python duckdb_score.py

Needs duckdb and pyarrow.
"""

import duckdb
import pyarrow as pa

import tamis


def train(connection, query, **options):
    """A model of a query's columns `text` and `label`, which are never in memory as a whole."""
    counter = tamis.Counter(**options)
    for batch in connection.sql(query).to_arrow_reader(100_000):
        counter.add(batch["text"], batch["label"])
    return counter.finish(n_jobs=-1)


def add_function(connection, name, model):
    """Adds a function of SQL: of a text it gives a struct of label, probability and log_odds (in nats)."""

    def score(texts):
        table = pa.table(model.score_table(texts))
        return pa.StructArray.from_arrays([column.combine_chunks() for column in table.columns], names=NAMES)

    types = dict(zip(NAMES, ["VARCHAR", "DOUBLE", "DOUBLE"]))
    connection.create_function(name, score, ["VARCHAR"], duckdb.struct_type(types), type="arrow")


NAMES = ["label", "probability", "log_odds"]

if __name__ == "__main__":
    db = duckdb.connect()
    db.execute("CREATE TABLE reviews (text VARCHAR, label VARCHAR)")
    db.execute("INSERT INTO reviews VALUES ('a lovely film', 'good'), ('a dull film', 'bad')")
    db.execute("INSERT INTO reviews VALUES ('lovely', 'good'), ('dull', 'bad')")
    add_function(db, "sentiment", train(db, "SELECT text, label FROM reviews"))
    print(db.execute("SELECT sentiment('a lovely story').label").fetchone()[0])
