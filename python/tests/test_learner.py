"""Learning one message at a time: locks, exact forgetting, the program's bytes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import run
from test_mail import MAIL, labelled

import tamis

SPAM = b"Message-ID: <1@spam.test>\nSubject: pills\n\nCheap pills, buy now!\n"
HAM = b"Message-ID: <1@ham.test>\nSubject: lunch\n\nSoup at noon?\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model file of the example mail."""
    path = tmp_path / "model.tamis"
    tamis.Filter.train(*labelled(MAIL), deduplicate=True).save(path)
    return path


def test_learning_then_forgetting_gives_the_same_scores(model: Path) -> None:
    messages = labelled(MAIL)[0]
    filter = tamis.Filter.open(model)
    before = list(filter.score_many(messages))
    assert filter.learn(SPAM, "ham") == "new"
    assert list(filter.score_many(messages)) != before
    assert filter.learn(SPAM, "ham") == "already"
    assert filter.learn(SPAM, "spam") == "moved"
    assert filter.information["documents"] == {"ham": 82, "spam": 86}
    filter.forget(SPAM)
    assert list(filter.score_many(messages)) == before
    assert filter.information["documents"] == {"ham": 82, "spam": 85}


def test_the_next_score_knows_what_was_learned(model: Path) -> None:
    filter, other = tamis.Filter.open(model), tamis.Filter.open(model)
    before = filter.score(SPAM).log_odds
    filter.learn(SPAM, "spam")
    assert filter.score(SPAM).log_odds > before
    assert other.score(SPAM).log_odds == before
    other.reload()
    assert other.score(SPAM) == filter.score(SPAM)
    filter.learn(SPAM, "ham")
    assert filter.score(SPAM).log_odds < before


def test_a_filter_without_a_file_says_how_to_get_one(tmp_path: Path) -> None:
    filter = tamis.Filter.train([HAM, SPAM], ["ham", "spam"])
    assert filter.path is None
    for change in (lambda: filter.learn(SPAM, "ham"), lambda: filter.forget(SPAM), filter.reload):
        with pytest.raises(tamis.TamisError, match=r"save\(path\) gives it one"):
            change()
    filter.save(tmp_path / "first.tamis")
    filter.save(tmp_path / "second.tamis")
    assert filter.path == tmp_path / "first.tamis"
    assert filter.learn(SPAM, "ham") == "moved"
    assert tamis.Filter.open(tmp_path / "first.tamis").information["documents"] == {"ham": 2, "spam": 0}
    assert tamis.Filter.open(tmp_path / "second.tamis").information["documents"] == {"ham": 1, "spam": 1}


def test_bytes_are_those_of_the_program(tamis_program: Path, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.tamis", tmp_path / "theirs.tamis"
    for label in ("ham", "spam"):
        files = sorted((MAIL / label).glob("*.eml"))[:20]
        with tamis.Learner.create(ours) as learner:
            for path in files:
                learner.learn(path.read_bytes(), label)
        run(tamis_program, "learn", "-m", theirs, label, *files)
        assert ours.read_bytes() == theirs.read_bytes()
    with tamis.Learner.open(ours) as learner:
        learner.retrain()
    run(tamis_program, "retrain", "-m", theirs)
    assert ours.read_bytes() == theirs.read_bytes()


def test_a_learner_commits_at_the_end_of_its_block(model: Path) -> None:
    with tamis.Learner.open(model) as learner:
        assert learner.labels == ["ham", "spam"] and learner.path == model
        assert learner.learn(SPAM, "spam") == "new"
        assert learner.forget(SPAM, "spam") is None
        assert learner.learn(SPAM, "spam") == "new"
        assert learner.explain(SPAM).score == learner.score(SPAM)
        assert tamis.Filter.open(model).score(SPAM) != learner.score(SPAM)
        learner.commit()
        assert tamis.Filter.open(model).score(SPAM) == learner.score(SPAM)
        learner.learn(HAM, "ham")
    after = tamis.Filter.open(model)
    assert after.information["documents"] == {"ham": 83, "spam": 86}
    for closed in (lambda: learner.score(SPAM), lambda: learner.learn(SPAM, "ham"), learner.commit):
        with pytest.raises(tamis.TamisError, match="closed"):
            closed()
    learner.close()


def test_nothing_is_learned_if_the_block_raises(model: Path) -> None:
    before = model.read_bytes()
    with pytest.raises(KeyError), tamis.Learner.open(model) as learner:
        learner.learn(SPAM, "spam")
        raise KeyError
    assert model.read_bytes() == before
    with tamis.Learner.open(model, lock_timeout=0) as learner:
        assert learner.learn(SPAM, "spam") == "new"


def test_names_are_told_when_forgotten(tmp_path: Path) -> None:
    with tamis.Learner.create(tmp_path / "model.tamis") as learner:
        learner.learn(SPAM, "spam")
        assert learner.forget(SPAM) == "1@spam.test"
    with tamis.Learner.create(tmp_path / "text.tamis", ["fruit", "metal"], kind="text") as learner:
        learner.learn("apples", "fruit")
        assert learner.forget("apples") is None
        learner.add_label("wood")
        assert learner.labels == ["fruit", "metal", "wood"]


def test_what_cannot_be_learned_is_told(model: Path) -> None:
    with tamis.Learner.open(model) as learner:
        with pytest.raises(tamis.TamisError, match='got "spma" \\(did you mean "spam"\\?\\)'):
            learner.learn(SPAM, "spma")
        with pytest.raises(tamis.TamisError, match="was never learned"):
            learner.forget(SPAM)
        learner.learn(SPAM, "spam")
        with pytest.raises(tamis.TamisError, match='was learned as "spam"'):
            learner.forget(SPAM, "ham")
        with pytest.raises((TypeError, tamis.TamisError), match="expected"):
            learner.learn(None, "spam")
    with pytest.raises(FileNotFoundError):
        tamis.Learner.open(model.parent / "none.tamis")
    with pytest.raises(tamis.TamisError, match="kind: expected mail or text"):
        tamis.Learner.create(model.parent / "new.tamis", kind="table")
    for seconds in (-1.0, float("nan"), float("inf")):
        with pytest.raises(tamis.TamisError, match="lock_timeout: expected seconds, at least 0"):
            tamis.Learner.open(model, lock_timeout=seconds)


HOLD = """
import sys, tamis
with tamis.Learner.open(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_of_another_process_is_waited_for(model: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(model)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        filter = tamis.Filter.open(model)
        ticks, done = [], threading.Event()

        def tick() -> None:
            while not done.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.01)

        other = threading.Thread(target=tick)
        other.start()
        start = time.monotonic()
        with pytest.raises(TimeoutError, match="another process is changing the model; waited 0.5 s"):
            filter.learn(SPAM, "spam", lock_timeout=0.5)
        waited = time.monotonic() - start
        done.set()
        other.join()
        assert 0.45 < waited < 10
        # Python's other threads ran meanwhile
        assert sum(start < at < start + 0.4 for at in ticks) > 5
        with pytest.raises(TimeoutError):
            tamis.Learner.open(model, lock_timeout=0)
        assert filter.score(SPAM).label in ("ham", "spam", "unsure")
        holder.communicate()
    assert filter.learn(SPAM, "spam", lock_timeout=10) == "new"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_ctrl_c_is_heard_while_waiting(model: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with tamis.Learner.open(model):
            start = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(KeyboardInterrupt):
                tamis.Filter.open(model).learn(SPAM, "spam", lock_timeout=60)
            assert time.monotonic() - start < 30
    finally:
        signal.signal(signal.SIGALRM, before)


def test_many_threads_may_learn(model: Path) -> None:
    filter = tamis.Filter.open(model)
    messages = [f"Subject: message {n}\n\nword{n}\n".encode() for n in range(24)]
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda message: filter.learn(message, "ham"), messages)) == {"new"}
        assert filter.information["documents"] == {"ham": 106, "spam": 85}
        assert [filter.score(message).label for message in messages] == ["ham"] * 24
        list(pool.map(filter.forget, messages))
    assert filter.information["documents"] == {"ham": 82, "spam": 85}
    with tamis.Learner.open(model) as learner, ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda message: learner.learn(message, "spam"), messages)) == {"new"}
    filter.reload()
    assert filter.information["documents"] == {"ham": 82, "spam": 109}


def test_a_mapped_filter_stays_mapped_and_its_copies_are_whole(model: Path, tmp_path: Path) -> None:
    mapped = tamis.Filter.open(model, mapped=True, unsure=0.9)

    def is_mapped() -> bool:
        return str(model) in Path("/proc/self/maps").read_text()

    for number in range(40):
        before = mapped.to_bytes()
        message = SPAM.replace(b"<1@", b"<%d@" % number) + b"number%d\n" % number
        assert mapped.learn(message, "spam") == "new"
        assert is_mapped()
        assert tamis.Filter.from_bytes(before).information["documents"] == {"ham": 82, "spam": 85 + number}
    mapped.reload()
    mapped.save(tmp_path / "copy.tamis")
    assert is_mapped()
    assert tamis.Filter.open(tmp_path / "copy.tamis", unsure=0.9).score(HAM) == mapped.score(HAM)


def test_a_mapped_filter_asks_again_when_its_file_was_written_in_place(model: Path) -> None:
    mapped = tamis.Filter.open(model, mapped=True)
    mapped.score(HAM)
    other = tamis.Filter.train([HAM, SPAM] * 40, ["spam", "ham"] * 40).to_bytes()
    # no shorter than it was, so that no mapped page is lost
    padded = other + bytes(max(0, model.stat().st_size - len(other)))
    with model.open("r+b") as file:
        file.write(padded)
    expected = tamis.Filter.from_bytes(padded).score(HAM)
    assert mapped.score(HAM) == expected
