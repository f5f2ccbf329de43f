"""Training and scoring on Apache Spark: shards are counted where they lie, the driver fits.

The model has the bytes of training on one machine: what the executors send are counts, which add up.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import tamis
from tamis import Counter, Filter

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

__all__ = ["score", "train"]

# bytes of a partial in a row: Spark's rows are small
_PIECE = 16 << 20
# partials that one task merges
_FAN_IN = 8
_PARTIAL = "part int, piece int, bytes binary"


def train(
    df: DataFrame,
    label_col: str,
    text_col: str | None = None,
    mail_col: str | None = None,
    *,
    sample: int = 20_000,
    n_jobs: int | None = None,
    **options: Any,
) -> Filter:
    """Train a model on the documents of a DataFrame.

    Every partition is counted by itself, on one thread; the counts are merged in a tree, eight at a time, and
    the driver fits the model. With fewer documents than ``sample``, or with ``ngrams``, it has the bytes of
    training on one machine with the same options. With more, whether pairs of words are terms is chosen by
    ``sample`` of them first, and the bytes are those of one machine with ``ngrams`` set to that choice.

    Documents count as given, also equal ones. Tasks that are repeated or speculative count once.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Labelled documents, in any order and partitioning.
    label_col : str
        The column of labels: text, or what Spark casts to text.
    text_col : str
        The column of texts.
    mail_col : str
        Instead, the column of raw messages: binary or text.
    sample : int, default 20,000
        Documents by which the driver chooses whether pairs of words are terms.
    n_jobs : int, optional
        Threads of the driver for the fit: by default 1, -1 for one a core.
    **options
        Those of ``tamis train``: ``likelihood``, ``alpha``, ``ngrams`` and so on; ``deduplicate=True`` counts
        equal mail of a label once.

    Returns
    -------
    Filter
        The model. ``save`` writes it to a file.

    Raises
    ------
    TamisError
        A row is missing or cannot be read, or options do not suit each other.
    RuntimeError
        The executors have no tamis, another version of it, or no pyarrow.
    """
    kind, document = _document(text_col, mail_col)
    rows = df.select(_column(label_col).cast("string").alias("label"), document.alias("document"))
    # wrong options are told here, not by the executors
    Counter(kind=kind, **options)
    with _explained():
        options = _with_ngrams(rows, kind, options, sample)
        counter = Counter(kind=kind, **options)
        count = _on_executors("_count", kind, options)
        partials = rows.mapInArrow(count, _PARTIAL).persist(_on_disk())
        try:
            for _, partial in _whole(_merged(partials, kind, options).toArrow()):
                counter.merge(partial)
        finally:
            partials.unpersist()
    return counter.finish(n_jobs=n_jobs)


def score(
    df: DataFrame,
    model: Filter | str | os.PathLike[str],
    text_col: str | None = None,
    mail_col: str | None = None,
) -> DataFrame:
    """Score the documents of a DataFrame.

    The model is sent once to every worker, and mapped there by all its processes.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Documents, with any other columns.
    model : Filter or path
        The model.
    text_col : str
        The column of texts.
    mail_col : str
        Instead, the column of raw messages: binary or text.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of ``df``, then ``prediction`` (a label; of two labels "unsure" between the thresholds),
        ``probability`` and ``log_odds`` (in nats), as ``Filter.score_table`` has them.
    """
    from pyspark.sql import types as T

    _, document = _document(text_col, mail_col)
    taken = {"prediction", "probability", "log_odds"} & set(df.columns)
    if taken:
        raise tamis.TamisError(f"expected no columns named as those of scores, got {', '.join(sorted(taken))}")
    name = _send(df.sparkSession, model)
    types = [("prediction", T.StringType()), ("probability", T.DoubleType()), ("log_odds", T.DoubleType())]
    schema = T.StructType([*df.schema.fields, *(T.StructField(name, type) for name, type in types)])
    # no column of anyone has this name
    with_document = df.withColumn(f"document of {name.removesuffix('.tamis')}", document)
    return with_document.mapInArrow(_on_executors("_score", name, schema.names), schema)


def _document(text_col: str | None, mail_col: str | None) -> tuple[str, Column]:
    """The kind of documents, and their column."""
    if (text_col is None) == (mail_col is None):
        raise tamis.TamisError("expected one of text_col and mail_col")
    if text_col is not None:
        return "text", _column(text_col)
    return "mail", _column(mail_col).cast("binary")


def _column(name: str) -> Column:
    from pyspark.sql import functions as F

    # a name with dots is a name, not a path
    return F.col("`" + name.replace("`", "``") + "`")


def _on_disk() -> Any:
    from pyspark import StorageLevel

    return StorageLevel.DISK_ONLY


def _with_ngrams(rows: DataFrame, kind: str, options: dict[str, Any], sample: int) -> dict[str, Any]:
    """The options, with what a sample of many rows chooses for all: to count pairs of words or not.

    Of few rows the executors count both ways, and the choice is that of all.
    """
    from pyspark.sql import functions as F

    if kind != "text" or "ngrams" in options or "characters" in options:
        return options
    order = F.xxhash64("document")
    table = rows.orderBy(order, "document", "label").limit(sample + 1).toArrow()
    if table.num_rows <= sample:
        return options
    counter = Counter(kind=kind, **options)
    counter.add(table["document"][:sample], table["label"][:sample])
    return {**options, "ngrams": (1, 2) if counter.choose_pairs() else 1}


def _on_executors(function: str, *arguments: Any) -> Any:
    """What calls a function of this module on the executors.

    It refers to nothing of this module: the version is checked before anything of another one is looked for.
    """
    version = tamis.__version__

    def call(data):  # type: ignore[no-untyped-def]  # Spark looks at annotations, and finds no pyarrow here
        import tamis

        if tamis.__version__ != version:
            import platform

            where = f"{tamis.__version__} on {platform.node()}"
            raise RuntimeError(f"expected tamis {version} on the executors, as on the driver, got {where}")
        from tamis import spark

        return getattr(spark, function)(data, *arguments)

    return call


def _count(batches: Iterable[pa.RecordBatch], kind: str, options: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """Counts a partition."""
    from pyspark import TaskContext

    counter = Counter(kind=kind, **options)
    for batch in batches:
        counter.add(batch.column(1), batch.column(0))
    yield from _pieces(TaskContext.get().partitionId(), counter.partial())


def _merge(table: pa.Table, kind: str, options: dict[str, Any]) -> pa.Table:
    """Merges the partials of a group."""
    import pyarrow as pa

    counter, part = Counter(kind=kind, **options), 0
    for part, partial in _whole(table):
        counter.merge(partial)
    return pa.Table.from_batches(_pieces(part // _FAN_IN, counter.partial()))


def _score(batches: Iterable[pa.RecordBatch], model: str, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Scores a partition, of which the last column are the documents."""
    import pyarrow as pa

    filter = _opened(model)
    for batch in batches:
        *columns, documents = batch.columns
        scores = pa.record_batch(filter.score_table(documents))
        yield pa.RecordBatch.from_arrays([*columns, *scores.columns], names=names)


def _merged(partials: DataFrame, kind: str, options: dict[str, Any]) -> DataFrame:
    """The partials, merged in a tree until few are left."""
    from pyspark.sql import functions as F

    merge = _on_executors("_merge", kind, options)
    n_parts = 1 + (partials.agg(F.max("part")).first()[0] or 0)
    while n_parts > _FAN_IN:
        group = F.floor(F.col("part") / _FAN_IN)
        partials = partials.groupBy(group).applyInArrow(merge, _PARTIAL)
        n_parts = -(-n_parts // _FAN_IN)
    return partials


def _pieces(part: int, partial: bytes) -> Iterator[pa.RecordBatch]:
    """A partial in rows."""
    import pyarrow as pa

    schema = pa.schema([("part", pa.int32()), ("piece", pa.int32()), ("bytes", pa.binary())])
    for piece, start in enumerate(range(0, len(partial), _PIECE)):
        row = {"part": [part], "piece": [piece], "bytes": [partial[start : start + _PIECE]]}
        yield pa.RecordBatch.from_pydict(row, schema=schema)


def _whole(table: pa.Table) -> Iterator[tuple[int, bytes]]:
    """Partials put together again, in order, one at a time."""
    parts, pieces = (table.column(name).to_pylist() for name in ("part", "piece"))
    order = sorted(range(table.num_rows), key=lambda row: (parts[row], pieces[row]))
    for part, rows in itertools.groupby(order, key=parts.__getitem__):
        yield part, b"".join(table.column("bytes")[row].as_buffer() for row in rows)


def _send(spark: Any, model: Filter | str | os.PathLike[str]) -> str:
    """Sends a model to the workers; returns the name of its file there."""
    if isinstance(model, Filter):
        data = model.to_bytes()
    else:
        with open(model, "rb") as file:
            data = file.read()
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
    """A folder for the models of this process: Spark wants a file that it knows at the same path."""
    folder = tempfile.mkdtemp(prefix="tamis-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.lru_cache(maxsize=2)
def _opened(name: str) -> Filter:
    """A model that was sent, once a process."""
    from pyspark import SparkFiles

    return Filter.open(SparkFiles.get(name), mapped=True)


# what workers say, and what is to be done
_CAUSES = {
    "Cannot run program": "the executors have no Python at PYSPARK_PYTHON: set it to one that is there on every worker",
    "pyspark.daemon's stdout": "Python does not start on the executors: set PYSPARK_PYTHON to the driver's version",
    "No module named 'pyarrow'": "the executors have no pyarrow: install it there, in the Python of PYSPARK_PYTHON",
    "No module named 'tamis'": "the executors have no tamis: install it there, in the Python of PYSPARK_PYTHON",
    "PYTHON_VERSION_MISMATCH": "the executors have another Python than the driver: set PYSPARK_PYTHON to the same",
}


@contextmanager
def _explained() -> Iterator[None]:
    """Tells the cause of what executors raise in front of Spark's own report."""
    try:
        yield
    except Exception as error:
        text = str(error)
        found = [told for cause, told in _CAUSES.items() if cause in text]
        if found:
            raise RuntimeError(found[0]) from error
        for line in text.splitlines():
            kind, _, told = line.strip().partition(": ")
            raised = {"tamis.TamisError": tamis.TamisError, "RuntimeError": RuntimeError}.get(kind)
            if raised:
                raise raised(told) from error
        raise
