"""Training and scoring on Spark: two worker processes, and the bytes of one machine."""

import os
import signal
import sys
import venv
from pathlib import Path

import numpy
import pytest

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
from conftest import fitted_by_partitions  # noqa: E402

import tamis  # noqa: E402
from tamis import Counter, Filter, TamisError  # noqa: E402
from tamis.spark import score, train  # noqa: E402


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master(os.environ.get("TAMIS_SPARK_MASTER", "local-cluster[2,1,1024]"))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        # what a killed executor held is given up at once
        .config("spark.shuffle.io.retryWait", "100ms")
        .getOrCreate()
    )
    yield session
    session.stop()


def texts(n: int, n_labels: int = 2) -> list[tuple[str, str]]:
    def text(i: int) -> str:
        words = [f"w{(i * 31 + k * k * 7 + k * (i % n_labels)) % (23 + 5 * (i % n_labels))}" for k in range(3 + i % 6)]
        return " ".join([*words, "good not bad" if i % n_labels == 1 else "bad not good"])

    return [("abcdefgh"[i % n_labels], text(i)) for i in range(n)]


def frame(spark, rows, partitions: int, sort: bool = False):
    df = spark.createDataFrame(rows, "label string, text string")
    return df.repartitionByRange(partitions, "label") if sort else df.repartition(partitions)


def alone(rows, **options) -> bytes:
    labels, documents = zip(*rows)
    kind = options.pop("kind", "text")
    return Filter.train(list(documents), list(labels), kind=kind, **options).to_bytes()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"documents": True},
        {"likelihood": "multinomial"},
        {"likelihood": "multinomial", "occurrences": True},
        {"likelihood": "bernoulli"},
        {"likelihood": "complement"},
        {"likelihood": "complement-normalized"},
        {"correction": False},
        {"ngrams": (1, 2)},
    ],
    ids=str,
)
@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("sort", [False, True], ids=["mixed", "sorted"])
def test_the_model_has_the_bytes_of_one_machine(spark, options, n_labels, sort):
    """Sorted by label, partitions have one label or nothing."""
    rows = texts(240, n_labels)
    model = train(frame(spark, rows, 11, sort), "label", "text", **options)
    assert model.to_bytes() == alone(rows, **options)


@pytest.mark.parametrize("fit", ["driver", "distributed"])
def test_groups_come_along(spark, fit):
    rows = [(label, text, f"author {i % 17}") for i, (label, text) in enumerate(texts(240, 3))]
    df = spark.createDataFrame(rows, "label string, text string, author string").repartition(5)
    options = {"ngrams": 1, "pieces": False, "signs": False, "fit": fit}
    page = train(df, "label", "text", group_col="author", **options).report().html
    assert "each held out as a whole" in page
    assert "drawn like these" in train(df, "label", "text", **options).report().html
    if fit == "driver":
        labels, documents, authors = zip(*rows)
        expected = Filter.train(list(documents), list(labels), groups=list(authors), kind="text", ngrams=1, pieces=False, signs=False)
        assert train(df, "label", "text", group_col="author", **options).to_bytes() == expected.to_bytes()


def test_vectors_come_along(spark, tmp_path):
    def vector(i):
        return [float(i % 3 == at) + (i * 7919 % 100) / 300 for at in range(3)] + [i % 5 / 10]

    rows = [(label, text, vector(i)) for i, (label, text) in enumerate(texts(240, 3))]
    df = spark.createDataFrame(rows, "label string, text string, vector array<float>").repartition(5)
    labels, documents, vectors = zip(*rows)
    both = tamis.Embedded(list(documents), list(vectors))
    model = train(df, "label", "text", vector_col="vector", encoder="e5")
    assert model.to_bytes() == Filter.train(both, list(labels), kind="text", encoder="e5").to_bytes()
    got = {row.text: row.probability for row in score(df, model, "text", vector_col="vector").collect()}
    assert got == dict(zip(documents, model.score_many(both).probability.tolist()))
    words = {"ngrams": 1, "pieces": False, "signs": False, "vector_col": "vector"}
    fitted = train(df, "label", "text", fit="distributed", **words)
    assert fitted.information["vectors"] == (4, "") and fitted.evaluate(both, list(labels))["accuracy"] > 0.9
    assert train(df, "label", "text", sample=100, vector_col="vector").information["vectors"] == (4, "")
    none = spark.createDataFrame([*rows, ("a", "b", None)], df.schema).coalesce(1)
    with pytest.raises(TamisError, match="^partition 0, row 240, column 'vector': expected a vector, got null$"):
        train(none, "label", "text", **words)
    with pytest.raises(TamisError, match="vectors.*expected a vector of 4 numbers|expected vectors of 4"):
        train(spark.createDataFrame([*rows, ("a", "b", [1.0])], df.schema).coalesce(1), "label", "text", **words)


def test_terms_of_many_rows_are_chosen_by_a_sample(spark):
    opinions = [("good", "not bad"), ("good", "very good"), ("bad", "not good"), ("bad", "very bad")]
    told_by_pairs = [(opinions[i % 4][0], f"{opinions[i % 4][1]} number{i}") for i in range(400)]
    stems = ["talo", "metsä", "kala"]
    endings = [first + last for first in "aeiouyäö" for last in ("ssa", "sta", "lla", "lta", "kin", "han")]
    told_by_pieces = [(stems[i % 3], stems[i % 3] + endings[i // 3 % 48] + endings[i % 47]) for i in range(400)]
    told_by_signs = [("xy"[i % 2], f"word{i % 9}" + "!?"[i % 2]) for i in range(400)]
    words = {"ngrams": 1, "pieces": False, "signs": False}
    pieces = [words | {"pieces": True}, words | {"pieces": (2, 5)}]
    pairs = [words | {"ngrams": (1, 2), "ends": True}]
    chosen = [(told_by_pairs, pairs), (texts(400), [words]), (told_by_pieces, pieces)]
    for rows, options in [*chosen, (told_by_signs, [words | {"signs": True}])]:
        model = train(frame(spark, rows, 3), "label", "text", sample=200)
        assert model.to_bytes() in [alone(rows, **fixed) for fixed in options]
        assert train(frame(spark, rows, 3), "label", "text").to_bytes() == alone(rows)


def test_mail_counts_once_where_asked(spark):
    mails = [(label, f"Subject: {i % 70}\n\n{text}\n".encode()) for i, (label, text) in enumerate(texts(140))]
    df = spark.createDataFrame(mails * 2, "label string, mail binary").repartition(5)
    model = train(df, "label", mail_col="mail", deduplicate=True)
    assert model.to_bytes() == alone(mails * 2, kind="mail", deduplicate=True)
    scores = score(df, model, mail_col="mail")
    assert scores.count() == 280 and scores.columns == ["label", "mail", "prediction", "probability", "log_odds"]


def test_scores_are_those_of_the_filter(spark, tmp_path):
    rows = texts(60, 3)
    model = train(frame(spark, rows, 3), "label", "text")
    path = tmp_path / "model.tamis"
    model.save(path)
    expected = {text: (s.label, s.probability) for _, text in rows for s in [model.score(text)]}
    for given in (model, path):
        got = score(frame(spark, rows, 4), given, "text").collect()
        assert {row.text: (row.prediction, row.probability) for row in got} == expected


def test_a_task_that_fails_and_is_tried_again_counts_once(spark, tmp_path):
    """The first try of every task dies with its process, after it has counted."""
    rows, marks = texts(120), str(tmp_path)

    def die_once(batches):
        from pyspark import TaskContext

        yield from batches
        mark = os.path.join(marks, str(TaskContext.get().partitionId()))
        if not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)

    df = frame(spark, rows, 3).mapInArrow(die_once, "label string, text string")
    model = train(df, "label", "text")
    assert len(os.listdir(marks)) == 3
    assert model.to_bytes() == alone(rows)


def test_what_killed_executors_counted_is_counted_again(spark, tmp_path):
    """Two executors die while they count, with what they had counted before."""
    if not spark.sparkContext.master.startswith("local-cluster"):
        pytest.skip("the executors are in the driver's process")
    rows, marks = texts(240), str(tmp_path)

    def kill_executor(batches):
        from pyspark import TaskContext

        yield from batches
        part = TaskContext.get().partitionId()
        mark = Path(marks, str(part))
        if part in (5, 8) and not mark.exists():
            # the executor started this process, or the one that did
            pid = os.getpid()
            while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            mark.write_text(str(pid))
            os.kill(pid, signal.SIGKILL)

    df = frame(spark, rows, 11).mapInArrow(kill_executor, "label string, text string")
    model = train(df, "label", "text")
    assert len({mark.read_text() for mark in tmp_path.iterdir()}) == 2
    assert model.to_bytes() == alone(rows)


def partitions(df) -> list[tuple[list[str], list[str]]]:
    """Texts and labels of each partition that has some."""
    from pyspark.sql import functions as F

    shards: dict[int, list] = {}
    for row in df.withColumn("part", F.spark_partition_id()).collect():
        shards.setdefault(row.part, []).append((row.text, row.label))
    return [tuple(map(list, zip(*shard))) for _, shard in sorted(shards.items())]


def test_executors_fit_as_partitions_in_one_process_do(spark):
    """More partitions than are merged at once, and empty ones."""
    rows = texts(600, 4)
    df = frame(spark, rows, 60).repartition(11, "text")
    model = train(df, "label", "text", fit="distributed")
    assert 8 < len(partitions(df)) <= 11
    choice = Counter()
    choice.add([text for _, text in rows], [label for label, _ in rows])
    assert model.to_bytes() == fitted_by_partitions(partitions(df), **choice.choose_terms())
    assert model.information["remembered"] == 0


def executors() -> list[int]:
    """The processes of the session's executors."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"CoarseGrainedExecutorBackend" in (folder / "cmdline").read_bytes():
                pid = parent = int(folder.name)
                while parent not in (0, os.getpid()):
                    parent = int(Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[1])
                found += [pid] if parent else []
        except OSError:
            continue
    return found


def test_what_executors_fitted_that_are_killed_between_rounds_is_fitted_again(spark, monkeypatch):
    if not spark.sparkContext.master.startswith("local-cluster"):
        pytest.skip("the executors are in the driver's process")
    from tamis import spark as module

    send, sent = module.send, []

    def send_and_kill(session, data):
        # the plan, then a correction a round
        sent.append(len(data))
        if len(sent) == 5:
            for executor in executors():
                os.kill(executor, signal.SIGKILL)
        return send(session, data)

    monkeypatch.setattr(module, "send", send_and_kill)
    df = frame(spark, texts(900), 3).repartition(3, "text")
    model = train(df, "label", "text", fit="distributed", max_fpr=0.2)
    assert len(sent) > 6
    # words alone, as the sample chooses
    assert model.to_bytes() == fitted_by_partitions(partitions(df), max_fpr=0.2, ngrams=1, pieces=False, signs=False)


def test_who_fits_is_told(spark, capsys):
    rows = texts(60)
    for most, options, told in [
        (1 << 30, {}, "at most driver_bytes (1,073.7 MB): the driver fits"),
        (1, {"likelihood": "bernoulli"}, "still the driver fits: expected weighted scoring"),
        (1, {"correction": False, "ngrams": 1, "pieces": False, "signs": False}, "more than driver_bytes (0.0 MB): the executors fit"),
    ]:
        model = train(frame(spark, rows, 2), "label", "text", driver_bytes=most, **options)
        assert told in capsys.readouterr().err
        assert (model.to_bytes() == alone(rows, **options)) == ("driver fits" in told)
    for options in [{"fit": "elsewhere"}, {"fit": "distributed", "likelihood": "multinomial"}]:
        with pytest.raises(TamisError, match="expected"):
            train(frame(spark, rows, 2), "label", "text", **options)


def test_wrong_rows_and_options_are_told(spark):
    df = spark.createDataFrame([("a", "text"), ("b", None)], "label string, text string").coalesce(1)
    with pytest.raises(TamisError, match="^partition 0, row 1, column 'text': expected text, got null$") as raised:
        train(df, "label", "text")
    # Spark's own report is not told again
    assert raised.value.__cause__ is None and raised.value.__suppress_context__
    with pytest.raises(TamisError, match="alpha"):
        train(df, "label", "text", alpha=-1)
    with pytest.raises(TamisError, match="expected one of text_col and mail_col"):
        train(df, "label")
    with pytest.raises(TamisError, match="expected documents of at least 2 labels, got 1"):
        train(df.limit(1), "label", "text")
    filter = Filter.train(["a", "b"], ["a", "b"], kind="text")
    with pytest.raises(TamisError, match="columns named as those of scores, got probability"):
        score(df.withColumnRenamed("label", "probability"), filter, "text")


def test_a_null_to_score_is_told_with_its_partition_row_and_column(spark):
    df = spark.createDataFrame([(1, "text"), (2, None)], "id int, words string").coalesce(1)
    filter = Filter.train(["a", "b"], ["a", "b"], kind="text")
    with pytest.raises(Exception, match="partition 0, row 1, column 'words': expected text, got null"):
        score(df, filter, "words").collect()


def test_what_executors_lack_is_told(spark, monkeypatch, tmp_path):
    """Another environment of the same Python, which gets one package after the other."""
    df = frame(spark, texts(10), 1)
    context = spark.sparkContext

    def told(message: str) -> None:
        with pytest.raises(RuntimeError, match=message) as raised:
            train(df, "label", "text")
        assert "\n" not in str(raised.value)
        assert raised.value.__cause__ is None and raised.value.__suppress_context__

    monkeypatch.setattr(context, "pythonExec", str(tmp_path / "bin" / "python"))
    told("the executors have no Python at PYSPARK_PYTHON")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to("/bin/false")
    told("Python does not start on the executors")
    venv.create(tmp_path, clear=True, symlinks=True)
    told("the executors have no pyarrow")
    (packages,) = tmp_path.glob("lib/python*/site-packages")
    for package in (numpy, pa):
        (packages / package.__name__).symlink_to(Path(package.__file__).parent)
    told("the executors have no tamis")
    (packages / "tamis").mkdir()
    (packages / "tamis" / "__init__.py").write_text("__version__ = '0.0'\n")
    told(f"expected tamis {tamis.__version__} on the executors, as on the driver, got 0.0 on ")
    # as if the driver had another Python
    monkeypatch.setattr(context, "pythonVer", "3.9")
    told("the executors have another Python than the driver")


def test_no_documents_at_all(spark):
    with pytest.raises(TamisError, match="at least 2 labels, got 0"):
        train(spark.createDataFrame([], "label string, text string"), "label", "text")


def test_a_partial_larger_than_a_row_is_sent_in_pieces(spark, monkeypatch):
    from tamis import _spark as module

    monkeypatch.setattr(module, "PIECE", 1000)
    rows = texts(240)
    counter = Counter()
    counter.add([text for _, text in rows], [label for label, _ in rows])
    partial = counter.partial()
    table = pa.Table.from_batches(module.pieces("partial", 3, partial))
    assert table.num_rows > 5
    backwards = table.take(list(reversed(range(table.num_rows))))
    assert list(module.whole(backwards)) == [("partial", 3, partial)]
