"""Runs the tests that are named, or all, and counts them."""

import os
import signal
import sys
import time
import traceback

import agent
import clients
import faults
import fleet
import milters
import mta
import sieve
import units
from support import Skipped, end_all

TESTS = {
    "spamc": clients.spamc,
    "http": clients.http,
    "idle": milters.idle,
    "exim": mta.exim,
    "sieve": sieve.sieve,
    "units": units.units,
    "fleet": fleet.fleet,
    "faults": faults.faults,
    "full": faults.full_disk,
    "mailbox": agent.mailbox,
    "moves": agent.moves,
    "gmail": agent.like_gmail,
    "copies": agent.cannot_move,
    "flags": agent.without_moving,
    "hostile": agent.hostile,
}


def main():
    names = sys.argv[1:] or list(TESTS)
    if unknown := set(names) - set(TESTS):
        sys.exit(f"expected tests of {', '.join(TESTS)}, got {', '.join(sorted(unknown))}")
    # the processes that tests started end by the `finally` below
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    must_not_skip = "TAMIS_SKIP_NOTHING" in os.environ
    passed = failed = skipped = 0
    for name in names:
        begun = time.monotonic()
        try:
            done = TESTS[name]()
            passed += 1
            outcome = "passed"
        except Skipped as why:
            done = ""
            if must_not_skip:
                failed += 1
                outcome = f"FAILED: nothing may be skipped, but {why}"
            else:
                skipped += 1
                outcome = "skipped"
                print(f"skipped: {name}: {why}")
        except Exception:
            traceback.print_exc(file=sys.stdout)
            failed += 1
            done, outcome = "", "FAILED"
        finally:
            end_all()
        took = time.monotonic() - begun
        print(f"{name}: {outcome}{': ' if done else ''}{done} ({took:.1f} s)", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    sys.exit(failed > 0)


main()
