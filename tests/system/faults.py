"""Learning and scoring while everything goes wrong."""

import os
import random
import resource
import signal
import socket
import subprocess
import threading
import time

from support import (TAMIS, NotTold, Tamisd, ask, check, connect, equal, mail, model, register, run, tell, wait_for)

SECONDS = float(os.environ.get("FAULT_SECONDS", "10"))
DOORS = """
users = "FOLDER/%u.tamis"
[spamd]
listen = ["unix:FOLDER/spamd.sock"]
[milter]
listen = ["unix:FOLDER/milter.sock"]
[http]
listen = ["tcp:127.0.0.1:0"]
[limits]
command_seconds = 2
message_seconds = 4
"""


class Run:
    """What the threads share."""

    def __init__(self, server):
        self.server = server
        self.end = time.monotonic() + SECONDS
        self.acknowledged, self.forgotten, self.failures = set(), set(), []
        self.scored = self.refused = self.killed = self.restarts = self.attacks = self.overwritten = 0
        head = "User: joe\r\nMessage-class: spam\r\nSet: local\r\n"
        ask(server.unix("spamd"), "TELL SPAMC/1.5", head, mail(0, "joe"))
        self.backup = (server.folder / "joe.tamis").read_bytes()

    def goes_on(self):
        return time.monotonic() < self.end


def guarded(run, work, seed):
    def body():
        chance = random.Random(seed)
        try:
            while run.goes_on():
                work(run, chance)
        except Exception as error:
            run.failures.append(f"{work.__name__}: {error!r}")

    return threading.Thread(target=body, daemon=True)


def score(run, chance):
    try:
        user = chance.choice(["", "User: joe\r\n"])
        answer = ask(run.server.unix("spamd"), "CHECK SPAMC/1.5", user, mail(chance.randrange(10**6), "score"))
    except OSError:
        return
    if answer.startswith(b"SPAMD/1.1 0 EX_OK\r\nSpam: "):
        run.scored += 1
    else:
        check(answer.split()[1] in (b"75", b"79"), f"an answer to CHECK: {answer!r}")
        run.refused += 1


_numbers = iter(range(10**9))


def teach(run, chance):
    number = next(_numbers)
    try:
        tell(run.server.unix("spamd"), chance.choice(["ham", "spam"]), mail(number, "fault"))
        run.acknowledged.add(number)
        if chance.random() < 0.1:
            # whether it was forgotten is not known if there is no answer
            run.acknowledged.discard(number)
            tell(run.server.unix("spamd"), None, mail(number, "fault"))
            run.forgotten.add(number)
    except (OSError, NotTold):
        run.refused += 1


def attack(run, chance):
    """Resets, half messages, slow peers, garbage."""
    run.attacks += 1
    kind = chance.randrange(5)
    try:
        door = chance.choice([run.server.unix("spamd"), run.server.unix("milter"), ("127.0.0.1", run.server.port("http"))])
        with connect(door, 5) as stream:
            if kind == 0:
                stream.sendall(chance.randbytes(chance.randrange(1, 4000)))
            elif kind == 1:
                stream.sendall(b"TELL SPAMC/1.5\r\nMessage-class: spam\r\nSet: local\r\nContent-length: 9999\r\n\r\nhalf")
            elif kind == 2:
                stream.sendall(b"POST /checkv2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000000\r\n\r\nx")
            elif kind == 3:
                for byte in b"PROCESS SPAMC/1.5\r\nUser: slow\r\n":
                    stream.send(bytes([byte]))
                    time.sleep(0.005)
            else:
                stream.sendall(b"\x00\x00\x00\x0dO\x00\x00\x00\x06\x00\x00\x01\xff\x00\x1f\xff\xff\x7f\xff\xff\xffL")
            if isinstance(door, tuple) and chance.random() < 0.5:
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    except (OSError, KeyError):
        pass
    time.sleep(0.002)


def kill_learners(run, chance):
    """Other processes that learn and are killed midway."""
    command = [TAMIS, "learn", "-q", "-m", run.server.model, "spam"]
    learner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    register(learner.pid)
    learner.stdin.write(mail(chance.randrange(10**6), "killed"))
    learner.stdin.close()
    time.sleep(chance.uniform(0, 0.03))
    learner.kill()
    learner.wait()
    run.killed += 1


def overwrite(run, chance):
    """Restores a user's model in place while it is in use, as `cp` does, and leaves a part of it for a moment."""
    path = run.server.folder / "joe.tamis"
    path.write_bytes(run.backup[:chance.choice([0, len(run.backup) // 2])])
    time.sleep(chance.uniform(0, 0.01))
    path.write_bytes(run.backup)
    time.sleep(chance.uniform(0, 0.02))
    run.overwritten += 1


def reload(run, chance):
    time.sleep(chance.uniform(0.5, 1))
    run.server.process.send_signal(signal.SIGHUP)


def restart(run, chance):
    time.sleep(chance.uniform(1.5, 3))
    check(run.server.process.poll() is None, "the server has not ended by itself")
    run.server.kill()
    run.server.check_said()
    run.server.start()
    run.restarts += 1


def retrain(run, chance):
    time.sleep(chance.uniform(1, 2))
    subprocess.run([TAMIS, "retrain", "-q", "-m", run.server.model], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def faults():
    server = Tamisd(DOORS)
    state = Run(server)
    works = [score, score, teach, teach, teach, attack, attack, kill_learners, overwrite, reload, restart, retrain]
    threads = [guarded(state, work, seed) for seed, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(state.failures, [], "failures")
    run([TAMIS, "verify", "-m", server.model])
    missing = 0
    for number in sorted(state.acknowledged):
        # it is forgotten, so it was known
        missing += not tell(server.unix("spamd"), None, mail(number, "fault"))
    equal(missing, 0, f"acknowledged messages that the model does not know, of {len(state.acknowledged)}")
    check(not any(tell(server.unix("spamd"), None, mail(number, "fault")) for number in sorted(state.forgotten)[:200]),
          "forgotten messages are not known")
    wait_for(lambda: server.n_descriptors() < 60, "descriptors are closed", 20)
    check(server.metrics()["tamis_defects_total"] == 0, "no defect")
    tasks = server.n_tasks()
    check(tasks < 80, f"{tasks} threads")
    server.stop()
    return (f"{SECONDS:.0f} s: {state.scored} scored, {len(state.acknowledged)} learned and all known, {state.killed} learners "
            f"killed, a user's model overwritten {state.overwritten} times, the server killed {state.restarts} times, "
            f"{state.attacks} attacks, {state.refused} told to try again")


def full_disk():
    """A file that may not grow stands for a full disk."""
    server = Tamisd(DOORS)
    size = server.model.stat().st_size
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    refused = 0
    for number in range(20):
        try:
            tell(server.unix("spamd"), "spam", mail(number, "full"))
        except NotTold as answer:
            check(answer.args[0].startswith(b"SPAMD/1.0 75 "), f"the answer of a full disk: {answer}")
            refused += 1
        got = ask(server.unix("spamd"), "CHECK SPAMC/1.5", body=mail(number, "full"))
        check(got.startswith(b"SPAMD/1.1 0 EX_OK"), f"scoring with a full disk: {got}")
    equal(refused, 20, "corrections refused")
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    check(tell(server.unix("spamd"), "spam", mail(1, "full")), "learning after the disk has room again")
    run([TAMIS, "verify", "-m", server.model])
    server.stop()
    return f"{refused} corrections answered by 75, all messages scored, the model whole"
