#!/usr/bin/env python3
"""Writes the tables of Parquet and Arrow that the tests read, into the folder `tables` beside it. Needs pyarrow."""

import datetime
import pathlib

import pyarrow as pa
from pyarrow import feather, ipc, parquet

FOLDER = pathlib.Path(__file__).parent / "tables"
day = lambda n: datetime.datetime(2026, 11, n, 12, 30)
rows = pa.table({
    "id": pa.array([1, 2, 3, 4, 5], pa.int64()),
    "score": pa.array([0.5, None, float("inf"), -1e-3, 2.0], pa.float64()),
    "date": pa.array([day(1), day(2), None, day(4), day(5)], pa.timestamp("ms", "UTC")),
    "new": pa.array([True, False, None, True, False]),
    "label": pa.array(["food", "drug", "food", "drug", None]).dictionary_encode(),
    "text": pa.array(["lunch at noon", "cheap pills", 'soup, "hot"\nat noon', "more pills €", None], pa.large_string()),
})
many = pa.table({
    "label": pa.array([["food"], ["drug", "drug"], [], ["a,b"], None], pa.list_(pa.string())),
    "text": ["lunch", "pills", "nothing", "comma", "null"],
})
nested = pa.table({"label": ["food"], "text": ["lunch"], "who": pa.array([{"name": "a"}])})

FOLDER.mkdir(exist_ok=True)
parquet.write_table(rows, FOLDER / "rows.parquet", row_group_size=2, compression={"text": "gzip", "id": "lz4"})
parquet.write_table(rows, FOLDER / "zstd.parquet", compression="zstd")
parquet.write_table(many, FOLDER / "many.parquet")
parquet.write_table(nested, FOLDER / "nested.parquet")
feather.write_feather(rows, str(FOLDER / "rows.feather"), compression="lz4", chunksize=2)
with ipc.new_stream(FOLDER / "rows.stream", rows.schema) as stream:
    stream.write_table(rows)
