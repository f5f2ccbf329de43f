"""Training and scoring on Apache Spark: executors count their partitions, and the driver or the executors fit.

A model fitted by the driver has the bytes of training on one machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import tamis
from tamis import Counter, Filter
from tamis._spark import FAN_IN, ROWS, documents, on_executors, send, whole
from tamis.distributed import DistributedFit, counts_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["score", "train"]


def train(
    df: DataFrame,
    label_col: str,
    text_col: str | None = None,
    mail_col: str | None = None,
    *,
    group_col: str | None = None,
    vector_col: str | None = None,
    fit: str = "auto",
    driver_bytes: int = 1 << 30,
    sample: int = 20_000,
    n_jobs: int | None = None,
    **options: Any,
) -> Filter:
    """Train a model on the documents of a DataFrame.

    Each partition is counted on one thread. The counts are merged in a tree, eight at a time, and the driver fits
    the model. With at most ``sample`` documents, or with ``ngrams``, ``pieces`` and ``signs``, it has the bytes of
    training on one machine with the same options. With more, ``sample`` documents first decide which of them are
    terms, and the bytes are those of one machine with all set to that choice.

    If the driver cannot hold the counts, the executors fit in at most 10 rounds: documents stay in their
    partitions, and only weights travel. Scores are nearly those of one machine. Equal partitions give equal bytes.
    The model remembers no documents.

    Every document counts, also one that equals another. Repeated and speculative tasks count once.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Labelled documents, in any order and partitioning.
    label_col : str
        The column of labels: text, or a type that Spark casts to text.
    text_col : str
        The column of texts.
    mail_col : str
        Instead, the column of raw messages: binary or text.
    group_col : str, optional
        The column of groups, such as authors: documents of a group are held out together. Text, or a type that Spark
        casts to text.
    vector_col : str, optional
        The column of dense vectors beside the documents, such as sentence embeddings: arrays of numbers, all of one length.
        The option ``encoder`` names what makes them.
    fit : {"auto", "driver", "distributed"}, default "auto"
        Who fits: by default the driver up to ``driver_bytes`` of counts, else the executors. A line on standard error
        says which. The executors fit weighted scoring.
    driver_bytes : int, default 2**30
        The limit of "auto": bytes of all partitions' counts, 150 to 350 for a short text.
    sample : int, default 20,000
        Number of documents by which the driver chooses whether pairs of words, pieces of words and signs are terms.
    n_jobs : int, optional
        Threads of the driver for the fit: by default 1, -1 for one per core.
    **options
        Those of ``tamis train``: ``likelihood``, ``alpha``, ``ngrams`` and so on; ``deduplicate=True`` counts
        equal mail of a label once (with ``fit="distributed"`` only mail that is equal byte for byte; with "auto"
        the driver fits).

    Returns
    -------
    Filter
        The model. ``save`` writes it to a file.

    Raises
    ------
    TamisError
        A row is missing or cannot be read, or options contradict each other.
    RuntimeError
        The executors have no tamis, a different version, or no pyarrow.
    """
    if fit not in ("auto", "driver", "distributed"):
        raise tamis.TamisError(f"fit: expected auto, driver or distributed, got {fit!r}")
    kind, document = _document(text_col, mail_col)
    columns = [_column(label_col).cast("string").alias("label"), document.alias("document")]
    if group_col is not None:
        columns.append(_column(group_col).cast("string").alias("group"))
    if vector_col is not None:
        columns.append(_column(vector_col).alias("vector"))
    rows = df.select(columns)
    if vector_col is not None and "vectors" not in options:
        options["vectors"] = _length_of(rows)
    # wrong options raise an error here, not on the executors
    Counter(kind=kind, **options)
    if fit == "distributed" and options.pop("deduplicate", False):
        rows = _deduplicated(rows)
    with _explained():
        options = _with_terms(rows, kind, options, sample, fit == "distributed")
        refusal = _refusal(kind, options)
        if fit == "distributed" and refusal:
            raise refusal
        names = [name for name in (label_col, mail_col or text_col, group_col, vector_col) if name]
        partials = rows.mapInArrow(on_executors("count", kind, options, names), ROWS).persist(_on_disk())
        try:
            size = _Size.of(partials)
            if fit == "auto":
                fit = _chosen(size.n_bytes, driver_bytes, refusal)
            if fit == "distributed":
                return _fit_by_rounds(partials, size, kind, options, n_jobs)
            counter = _counted(partials, size.n_parts, kind, options)
        finally:
            partials.unpersist()
    return counter.finish(n_jobs=n_jobs)


def score(
    df: DataFrame,
    model: Filter | str | os.PathLike[str],
    text_col: str | None = None,
    mail_col: str | None = None,
    *,
    vector_col: str | None = None,
) -> DataFrame:
    """Score the documents of a DataFrame.

    Each worker gets the model once, and all its processes map it.

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
    vector_col : str, optional
        The column of vectors beside them.

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
    name = send(df.sparkSession, _bytes_of(model))
    types = [("prediction", T.StringType()), ("probability", T.DoubleType()), ("log_odds", T.DoubleType())]
    schema = T.StructType([*df.schema.fields, *(T.StructField(name, type) for name, type in types)])
    # a name that no column has
    own = name.removesuffix(".tamis")
    given, rows = [mail_col or text_col], df.withColumn(f"document of {own}", document)
    if vector_col is not None:
        given, rows = [*given, vector_col], rows.withColumn(f"vector of {own}", _column(vector_col))
    return rows.mapInArrow(on_executors("score_rows", name, schema.names, given), schema)


def _document(text_col: str | None, mail_col: str | None) -> tuple[str, Column]:
    """The kind of documents, and their column."""
    if (text_col is None) == (mail_col is None):
        raise tamis.TamisError("expected one of text_col and mail_col")
    if text_col is not None:
        return "text", _column(text_col)
    return "mail", _column(mail_col).cast("binary")


def _deduplicated(rows: DataFrame) -> DataFrame:
    """Rows without those that equal another in label and document."""
    from pyspark.sql import functions as F

    others = [F.min(name).alias(name) for name in rows.columns if name not in ("label", "document")]
    return rows.groupBy("label", "document").agg(*others) if others else rows.dropDuplicates()


def _length_of(rows: DataFrame) -> int:
    """The length of the first vector; 1 if there is none."""
    from pyspark.sql import functions as F

    first = rows.select(F.size("vector")).where("vector is not null").first()
    return 1 if first is None else first[0]


def _column(name: str) -> Column:
    from pyspark.sql import functions as F

    # quoted, so that dots are part of the name
    return F.col("`" + name.replace("`", "``") + "`")


def _on_disk() -> Any:
    from pyspark import StorageLevel

    return StorageLevel.DISK_ONLY


def _with_terms(rows: DataFrame, kind: str, options: dict[str, Any], sample: int, always: bool) -> dict[str, Any]:
    """The options and, if there are many rows, the families of terms that a sample of them chooses.

    With few rows the executors keep the texts and all rows choose, unless `always` is set.
    """
    from pyspark.sql import functions as F

    if kind != "text" or {"ngrams", "pieces", "signs"} <= options.keys() or "characters" in options:
        return options
    order = F.xxhash64("document")
    # the executors raise the error for a null, with its partition
    table = rows.na.drop().orderBy(order, "document", "label").limit(sample + 1).toArrow()
    if table.num_rows <= sample and not always:
        return options
    counter = Counter(kind=kind, **options)
    columns = {name: table[name][:sample] for name in table.column_names}
    counter.add(documents(columns), columns["label"])
    return {**counter.choose_terms(), **options}


class _Size(NamedTuple):
    """The size of the partitions' counts."""

    # partitions with documents
    n_partitions: int
    # one more than the largest number of a partition
    n_parts: int
    n_bytes: int

    @classmethod
    def of(cls, partials: DataFrame) -> _Size:
        from pyspark.sql import functions as F

        first = F.sum((F.col("piece") == 0).cast("int"))
        row = partials.agg(first, F.max("part") + 1, F.sum(F.length("bytes").cast("long"))).first()
        return cls(*(number or 0 for number in row))


def _chosen(n_bytes: int, driver_bytes: int, refusal: tamis.TamisError | None) -> str:
    """Choose who fits, and print it."""
    counts, most = (f"{size / 1e6:,.1f} MB" for size in (n_bytes, driver_bytes))
    if n_bytes <= driver_bytes:
        fit, told = "driver", f"{counts} of counts, at most driver_bytes ({most}): the driver fits"
    elif refusal:
        fit, told = "driver", f"{counts} of counts, more than driver_bytes ({most}); still the driver fits: {refusal}"
    else:
        fit, told = "distributed", f"{counts} of counts, more than driver_bytes ({most}): the executors fit"
    print(f"tamis: {told}", file=sys.stderr)
    return fit


def _refusal(kind: str, options: dict[str, Any]) -> tamis.TamisError | None:
    """Why the executors cannot fit; None if they can."""
    if options.get("likelihood") not in (None, "weighted"):
        return tamis.TamisError("expected weighted scoring, which alone is fitted by executors, got naive Bayes")
    try:
        counts_of(Counter(kind=kind, **options).partial())
    except tamis.TamisError as error:
        return error
    return None


def _counted(partials: DataFrame, n_parts: int, kind: str, options: dict[str, Any]) -> Counter:
    """The merged counts of partials."""
    counter = Counter(kind=kind, **options)
    for _, _, partial in whole(_merged(partials, n_parts, "merge", kind, options).toArrow()):
        counter.merge(partial)
    return counter


def _fit_by_rounds(
    partials: DataFrame, size: _Size, kind: str, options: dict[str, Any], n_jobs: int | None
) -> Filter:
    """Fit without moving documents from their partitions.

    Each round is a job over the rows that the previous one left in its partitions. If an executor loses rows, Spark
    computes them again by the same jobs, so nothing depends on which task did what, or how often.
    """
    spark = partials.sparkSession

    def counted(function: str, *arguments: Any) -> Counter:
        rows = partials.mapInArrow(on_executors(function, *arguments), ROWS)
        return _counted(rows, size.n_parts, kind, options)

    counts = counted("counts")
    sample = counted("sample", DistributedFit.sample_share(counts.n_documents))
    lead = DistributedFit(counts, sample, size.n_partitions)
    plan, rounds = send(spark, lead.plan()), [partials]
    with _without_adaptive_plans(spark):
        try:
            while not lead.is_done:
                fit = on_executors("fit_round", plan, send(spark, lead.correction()))
                fitted = rounds[-1].where("kind <> 'change'").mapInArrow(fit, ROWS)
                rounds.append(fitted.persist(_on_disk()))
                changes = _merged(rounds[-1].where("kind = 'change'"), size.n_parts, "merge_changes", plan)
                for _, _, change in whole(changes.toArrow()):
                    lead.add(change)
                for done in rounds[1:-1]:
                    done.unpersist()
                rounds = [partials, rounds[-1]]
        finally:
            for done in rounds[1:]:
                done.unpersist()
    return lead.finish(n_jobs=n_jobs)


@contextmanager
def _without_adaptive_plans(spark: Any) -> Iterator[None]:
    """For chains of jobs that read each other's rows. Spark describes an adaptive plan twice, before and after, with the
    plans that it reads in both, so that after 10 rounds the description would be 2^20 times as long."""
    name = "spark.sql.adaptive.enabled"
    before = spark.conf.get(name)
    spark.conf.set(name, "false")
    try:
        yield
    finally:
        spark.conf.set(name, before)


def _merged(rows: DataFrame, n_parts: int, merge: str, *arguments: Any) -> DataFrame:
    """The rows of parts below `n_parts`, merged in a tree until few are left."""
    from pyspark.sql import functions as F

    while n_parts > FAN_IN:
        group = F.floor(F.col("part") / FAN_IN)
        rows = rows.groupBy(group).applyInArrow(on_executors(merge, *arguments), ROWS)
        n_parts = -(-n_parts // FAN_IN)
    return rows


def _bytes_of(model: Filter | str | os.PathLike[str]) -> bytes:
    if isinstance(model, Filter):
        return model.to_bytes()
    with open(model, "rb") as file:
        return file.read()


# errors of workers, and what to do about them
_CAUSES = {
    "Cannot run program": "the executors have no Python at PYSPARK_PYTHON: set it to one that is there on every worker",
    "pyspark.daemon's stdout": "Python does not start on the executors: set PYSPARK_PYTHON to the driver's version",
    "PyArrow >=": "pyarrow is missing or too old: pip install 'tamis[spark]', here and on the executors",
    "No module named 'pyarrow'": "the executors have no pyarrow: install it there, in the Python of PYSPARK_PYTHON",
    "No module named 'tamis'": "the executors have no tamis: install it there, in the Python of PYSPARK_PYTHON",
    "PYTHON_VERSION_MISMATCH": "the executors have another Python than the driver: set PYSPARK_PYTHON to the same",
}


@contextmanager
def _explained() -> Iterator[None]:
    """Replaces Spark's long report of an error, which its log has, by the cause."""
    try:
        yield
    except Exception as error:
        text = str(error)
        found = [told for cause, told in _CAUSES.items() if cause in text]
        if found:
            raise RuntimeError(found[0]) from None
        for line in text.splitlines():
            kind, _, told = line.strip().partition(": ")
            raised = {"tamis.TamisError": tamis.TamisError, "RuntimeError": RuntimeError}.get(kind)
            if raised:
                raise raised(told) from None
        raise
