"""How fast a second Python thread is while a classifier is fitted on one thread.

    python benches/gil.py

Prints the speed of a counting loop beside `TamisClassifier(n_jobs=1).fit`, as a share of its speed alone: median and range of
five. Where cores are shared or busy the loop also slows down for want of a core; how much, the same fit in another
process tells, which shares no lock with the loop.
"""

from __future__ import annotations

import multiprocessing
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

from tamis import TamisClassifier

N_DOCUMENTS = 20_000
RUNS = 5


def fit(started: Any, stopped: Any) -> None:
    """Fits again and again until it is told to stop."""
    texts = [" ".join(f"word{(row * 31 + n * n) % 5_000}" for n in range(200)) for row in range(N_DOCUMENTS)]
    labels = ["even" if row % 2 else "odd" for row in range(N_DOCUMENTS)]
    started.set()
    while not stopped.is_set():
        TamisClassifier(n_jobs=1, ngrams=1).fit(texts, labels)


def speed(seconds: float = 2.0) -> float:
    """Steps of a Python loop in a second."""
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(10_000):
            pass
        steps += 10_000
    return steps / (time.perf_counter() - start)


def share(worker: Callable[..., Any], event: Callable[[], Any]) -> float:
    """The loop's speed beside a fit, by its speed alone just before and after."""
    before = speed()
    started, stopped = event(), event()
    fitting = worker(target=fit, args=(started, stopped))
    fitting.start()
    started.wait()
    time.sleep(0.5)
    beside = speed()
    stopped.set()
    fitting.join()
    return 2 * beside / (before + speed())


def main() -> None:
    context = multiprocessing.get_context("spawn")
    kinds = {
        "a thread": lambda: share(threading.Thread, threading.Event),
        "a process": lambda: share(context.Process, context.Event),
    }
    shares: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(RUNS):
        for kind, measure in kinds.items():
            shares[kind].append(measure())
    for kind, values in shares.items():
        median = statistics.median(values)
        print(f"beside fit in {kind}: {median:.0%} of its speed ({min(values):.0%} to {max(values):.0%})")
    pairs = zip(shares["a thread"], shares["a process"], strict=True)
    print(f"thread to process: {statistics.median(thread / process for thread, process in pairs):.0%}")


if __name__ == "__main__":
    main()
