"""Runs the tests that are named, or all, each in a process of its own, two at once, and counts them."""

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import agent
import clients
import faults
import fleet
import guide
import marks
import milters
import mta
import owners
import page
import servers
import sieve
import units
from support import Skipped, end_all, model

# Those that take longest come first.
TESTS = {
    "moves": agent.moves,
    "faults": faults.faults,
    "sieve": sieve.sieve,
    "mailbox": agent.mailbox,
    "fleet": fleet.fleet,
    "aside": fleet.aside,
    "spamc": clients.spamc,
    "http": clients.http,
    "idle": milters.idle,
    "exim": mta.exim,
    "rules": mta.rules,
    "guide": guide.guide,
    "page": page.page,
    "server": sieve.by_server,
    "units": units.units,
    "learning": units.learning,
    "full": faults.full_disk,
    "gmail": agent.like_gmail,
    "copies": agent.cannot_move,
    "flags": agent.without_moving,
    "waits": agent.cannot_idle,
    "hostile": agent.hostile,
    "kept": owners.kept,
    "stays": owners.stays,
    "oauth": owners.oauth,
    "browser": owners.by_browser,
    "labels": owners.labels_change,
    "digest": owners.digest,
    "existing": owners.existing,
    "marks": marks.marks,
    "topics": marks.topics,
    "own-marks": marks.own,
    "marked-spam": marks.marked_spam,
    "live-marks": marks.live,
    "troubles": owners.troubles,
    "courier": servers.courier,
    "cyrus": servers.cyrus,
    "courier-moves": servers.courier_moves,
    "cyrus-moves": servers.cyrus_moves,
    "week": owners.week,
    "two": owners.two_agents,
    "away": owners.away,
    "keywords": owners.two_without_keywords,
}
SKIPPED = 77


def run(name):
    """Runs a test here, says how it went, and ends with 0, 1 or SKIPPED."""
    begun = time.monotonic()
    code, done = 0, ""
    try:
        done = TESTS[name]()
        outcome = "passed"
    except Skipped as why:
        code, outcome = SKIPPED, f"skipped: {why}"
        if "TAMIS_SKIP_NOTHING" in os.environ:
            code, outcome = 1, f"FAILED: nothing may be skipped, but {why}"
    except Exception:
        traceback.print_exc(file=sys.stdout)
        code, outcome = 1, "FAILED"
    finally:
        end_all()
    print(f"{name}: {outcome}{': ' if done else ''}{done} ({time.monotonic() - begun:.1f} s)", flush=True)
    sys.exit(code)


def run_all(names):
    """Runs tests in processes of their own, which end by a signal if this one does."""
    # they share it
    model()
    running, is_stopped = set(), threading.Event()

    def stop(*_):
        is_stopped.set()
        for process in list(running):
            process.terminate()

    def run_there(name):
        if is_stopped.is_set():
            return 1
        process = subprocess.Popen([sys.executable, __file__, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        running.add(process)
        print(process.communicate()[0], end="", flush=True)
        running.remove(process)
        return process.returncode

    signal.signal(signal.SIGTERM, stop)
    with ThreadPoolExecutor(2) as two:
        codes = list(two.map(run_there, names))
    passed, skipped = codes.count(0), codes.count(SKIPPED)
    print(f"{passed} passed, {len(codes) - passed - skipped} failed, {skipped} skipped", flush=True)
    sys.exit(passed + skipped < len(codes))


def main():
    names = sys.argv[1:] or list(TESTS)
    if unknown := set(names) - set(TESTS):
        sys.exit(f"expected tests of {', '.join(TESTS)}, got {', '.join(sorted(unknown))}")
    if len(names) > 1:
        run_all(names)
    # the processes that a test started end by its `finally`
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    run(names[0])


main()
