"""What the executors do for `tamis.spark`, and how bytes travel to them and back.

The functions named in `on_executors` take and return rows of Spark.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import tamis
from tamis import Counter, Embedded, Filter
from tamis.distributed import FitPlan, counts_of, sample_of

if TYPE_CHECKING:
    import pyarrow as pa

# bytes in one row
PIECE = 16 << 20
# partials that one task merges
FAN_IN = 8
# rows of bytes in pieces: their kind and their partition
ROWS = "kind string, part int, piece int, bytes binary"


def on_executors(function: str, *arguments: Any) -> Any:
    """A function that calls the named function of this module on the executors.

    It uses nothing else of this module, so that it can check the version first.
    """
    version = tamis.__version__

    def call(data):  # type: ignore[no-untyped-def]  # Spark reads annotations, and pyarrow is not imported here
        import tamis

        if tamis.__version__ != version:
            import platform

            where = f"{tamis.__version__} on {platform.node()}"
            raise RuntimeError(f"expected tamis {version} on the executors, as on the driver, got {where}")
        from tamis import _spark

        return getattr(_spark, function)(data, *arguments)

    return call


def count(
    batches: Iterable[pa.RecordBatch], kind: str, options: dict[str, Any], names: list[str]
) -> Iterator[pa.RecordBatch]:
    """Counts a partition with the columns `names`."""
    from pyspark import TaskContext

    counter = Counter(kind=kind, **options)
    for batch in _without_nulls(batches, names):
        columns = dict(zip(batch.schema.names, batch.columns))
        counter.add(documents(columns), columns["label"], groups=columns.get("group"))
    if counter.n_documents:
        yield from pieces("partial", TaskContext.get().partitionId(), counter.partial())


def documents(columns: Mapping[str, Any]) -> Any:
    """The column of documents, with vectors beside them if there is such a column."""
    return Embedded(columns["document"], columns["vector"]) if "vector" in columns else columns["document"]


def _without_nulls(batches: Iterable[pa.RecordBatch], names: list[str]) -> Iterator[pa.RecordBatch]:
    """The same batches. A null in the last columns, which are called `names`, raises an error that says where."""
    from pyspark import TaskContext

    first = 0
    for batch in batches:
        for name, column in zip(reversed(names), reversed(batch.columns)):
            if column.null_count:
                row = first + column.is_null().to_pylist().index(True)
                where = f"partition {TaskContext.get().partitionId()}, row {row}, column {name!r}"
                expected = "a vector" if hasattr(column.type, "value_type") else "text"
                raise tamis.TamisError(f"{where}: expected {expected}, got null")
        yield batch
        first += batch.num_rows


def merge(table: pa.Table, kind: str, options: dict[str, Any]) -> pa.Table:
    """Merges the partials of a group."""
    import pyarrow as pa

    counter, part = Counter(kind=kind, **options), 0
    for _, part, partial in whole(table):
        counter.merge(partial)
    return pa.Table.from_batches(pieces("partial", part // FAN_IN, counter.partial()))


def counts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The counts of a partition, without its documents."""
    for kind, part, partial in _whole_batches(batches):
        yield from pieces(kind, part, counts_of(partial))


def sample(batches: Iterable[pa.RecordBatch], share: float) -> Iterator[pa.RecordBatch]:
    """The documents of a partition that are in the sample of this share."""
    for kind, part, partial in _whole_batches(batches):
        yield from pieces(kind, part, sample_of(partial, share))


def fit_round(batches: Iterable[pa.RecordBatch], plan: str, correction: str) -> Iterator[pa.RecordBatch]:
    """Runs a round of a partition. Yields its counts, its state after the round, and its change."""
    own: dict[int, dict[str, bytes]] = {}
    for kind, part, data in _whole_batches(batches):
        own.setdefault(part, {})[kind] = data
    for part, has in own.items():
        partial, weights = has["partial"], _sent(correction)
        state, change = _opened_plan(plan).round(partial, has.get("state"), weights)
        for kind, data in ("partial", partial), ("state", state), ("change", change):
            yield from pieces(kind, part, data)


def merge_changes(table: pa.Table, plan: str) -> pa.Table:
    """Merges the changes of a group."""
    import pyarrow as pa

    changes = list(whole(table))
    _, part, _ = changes[0]
    merged = _opened_plan(plan).merge([change for _, _, change in changes])
    return pa.Table.from_batches(pieces("change", part // FAN_IN, merged))


def score_rows(
    batches: Iterable[pa.RecordBatch], model: str, names: list[str], given: list[str]
) -> Iterator[pa.RecordBatch]:
    """Scores a partition, whose last columns hold the documents, and perhaps vectors, and are called `given`."""
    import pyarrow as pa

    filter = _opened(model)
    for batch in _without_nulls(batches, given):
        columns, last = batch.columns[: -len(given)], batch.columns[-len(given) :]
        table = filter.score_table(documents(dict(zip(("document", "vector"), last))))
        scores = pa.record_batch(table).select(["label", "probability", "log_odds"])
        yield pa.RecordBatch.from_arrays([*columns, *scores.columns], names=names)


def pieces(kind: str, part: int, data: bytes) -> Iterator[pa.RecordBatch]:
    """Bytes as rows."""
    import pyarrow as pa

    types = [("kind", pa.string()), ("part", pa.int32()), ("piece", pa.int32()), ("bytes", pa.binary())]
    for piece, start in enumerate(range(0, len(data), PIECE)):
        row = {"kind": [kind], "part": [part], "piece": [piece], "bytes": [data[start : start + PIECE]]}
        yield pa.RecordBatch.from_pydict(row, schema=pa.schema(types))


def whole(table: pa.Table) -> Iterator[tuple[str, int, bytes]]:
    """Joins pieces to bytes again, in order of parts, one part at a time."""
    names = list(zip(*(table.column(name).to_pylist() for name in ("part", "kind", "piece"))))
    order = sorted(range(table.num_rows), key=names.__getitem__)
    for (part, kind), rows in itertools.groupby(order, key=lambda row: names[row][:2]):
        yield kind, part, b"".join(table.column("bytes")[row].as_buffer() for row in rows)


def _whole_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int, bytes]]:
    """As `whole`, for the batches of a partition."""
    import pyarrow as pa

    batches = list(batches)
    if batches:
        yield from whole(pa.Table.from_batches(batches))


def send(spark: Any, data: bytes) -> str:
    """Sends bytes to the workers; returns the name of their file there."""
    name = f"{hashlib.sha256(data).hexdigest()[:16]}.tamis"
    path = os.path.join(_folder(), name)
    if not os.path.exists(path):
        with open(path, "wb") as file:
            file.write(data)
    if hasattr(spark, "_jsc"):
        spark.sparkContext.addFile(path)
    else:
        spark.addArtifacts(path, file=True)
    return name


@functools.cache
def _folder() -> str:
    """A folder for the files of this process: Spark expects a known file at the same path."""
    folder = tempfile.mkdtemp(prefix="tamis-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _path(name: str) -> str:
    """The path of a file that was sent."""
    from pyspark import SparkFiles

    return SparkFiles.get(name)


def _sent(name: str) -> bytes:
    with open(_path(name), "rb") as file:
        return file.read()


@functools.lru_cache(maxsize=2)
def _opened(name: str) -> Filter:
    """A model that was sent, once a process."""
    return Filter.open(_path(name), mapped=True)


@functools.lru_cache(maxsize=1)
def _opened_plan(name: str) -> FitPlan:
    """A plan that was sent, once a process."""
    return FitPlan(_sent(name))
