"""Three servers and a store that are killed at random while they learn, move and forget; all end at the same model."""

import json
import os
import random
import shutil
import struct
import threading
import time
import zlib

from support import (NotTold, Tamisd, TAMIS, ask, check, connect, equal, folder, free_port, mail, model, need, run, start, tell,
                     wait_for)

MESSAGES = int(os.environ.get("FLEET_MESSAGES", "2000"))
SETTINGS = """
[spamd]
listen = ["unix:FOLDER/spamd.sock"]
[http]
listen = ["tcp:127.0.0.1:0"]
[fleet]
url = "redis://127.0.0.1:{port}/"
"""


class Store:
    """A Redis that has written its stream before it answers, so that nothing is lost when it is killed: by default it puts
    writing off while the disk is busy."""

    def __init__(self):
        self.program, self.folder, self.port = need("redis-server"), folder("store"), free_port()
        self.process = None

    def start(self):
        self.process = start([self.program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder,
                              "--save", "", "--appendonly", "yes", "--appendfsync", "no", "--logfile", self.folder / "log"])

        def answers():
            try:
                with connect(("127.0.0.1", self.port)) as stream:
                    stream.sendall(b"PING\r\n")
                    return stream.recv(10).startswith(b"+PONG")
            except OSError:
                return False

        wait_for(answers, "the store answers")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def add(self, entry):
        """Puts bytes into the stream."""
        words = [b"XADD", b"tamis", b"*", b"entry", entry]
        with connect(("127.0.0.1", self.port)) as stream:
            stream.sendall(b"*5\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
            check(stream.recv(100).startswith(b"$"), "the store takes an entry")


def exported(server):
    """The model's lines after a fit, without the counter of what this server applied."""
    copy = server.folder / "compared.tamis"
    shutil.copy(server.model, copy)
    run([TAMIS, "retrain", "-q", "-m", copy])
    first, *rest = run([TAMIS, "export", "-m", copy, "--documents"]).splitlines()
    facts = json.loads(first)
    facts["model"].pop("changes")
    return [json.dumps(facts, sort_keys=True).encode(), *rest]


def keep_telling(servers, work, acknowledged, end):
    """Tells each change until it is acknowledged, but not beyond `end`. All changes of a message go to one server: otherwise
    it is the stream, not the time of the answer, that decides which is the last."""
    for number, label in work:
        server = servers[number % len(servers)]
        while time.monotonic() < end:
            try:
                tell(server.unix("spamd"), label, mail(number, "fleet"))
                acknowledged[number] = label
                break
            except (OSError, NotTold):
                time.sleep(0.02)


def fleet():
    store = Store()
    # the servers begin without it
    servers = [Tamisd(SETTINGS.format(port=store.port), name=f"server{n}") for n in range(3)]
    chance = random.Random(7)
    n_threads, kills = 4, 0
    works = [[] for _ in range(n_threads)]
    for number in range(MESSAGES):
        # all changes of a message in one thread, so that their order is known
        changes = [chance.choice(["ham", "spam"])]
        if chance.random() < 0.3:
            changes.append("ham" if changes[0] == "spam" else "spam")
        if chance.random() < 0.2:
            changes.append(None)
        works[number % n_threads].extend((number, label) for label in changes)
    acknowledged = {}
    end = time.monotonic() + 60 + MESSAGES / 20
    # a test that fails does not wait for them
    threads = [threading.Thread(target=keep_telling, args=(servers[:3], work, acknowledged, end), daemon=True)
               for work in works]
    for thread in threads:
        thread.start()
    time.sleep(1)
    store.start()
    joined = None
    while any(thread.is_alive() for thread in threads):
        time.sleep(chance.uniform(0.3, 1.2))
        victim = chance.choice([store, *servers])
        victim.kill()
        time.sleep(chance.uniform(0, 0.3))
        victim.start()
        kills += 1
        if joined is None and len(acknowledged) > MESSAGES / 2:
            # from a copy of another's files while it stands still
            servers[0].kill()
            at = folder("server3")
            # without a position, as when the store was never reached so far, the new server reads the whole stream
            for name in ("model.tamis", "fleet-position.json"):
                if (servers[0].folder / name).exists():
                    shutil.copy(servers[0].folder / name, at / name)
            servers[0].start()
            joined = Tamisd(SETTINGS.format(port=store.port), at=at)
    for thread in threads:
        thread.join()
    everyone = servers + ([joined] if joined else [])
    begun = time.monotonic()

    def is_quiet():
        return all(server.metrics()["tamis_fleet_waiting"] == 0 for server in everyone)

    wait_for(is_quiet, "the outboxes are empty", 30)
    # one more, after which all have read the stream to its end
    tell(servers[0].unix("spamd"), "spam", mail(10**9, "last"))

    def documents(server):
        return run([TAMIS, "export", "-m", server.model, "--documents"]).count(b'"digest"')

    # from what was told: a server that is asked now may not have read the stream to its end
    base = run([TAMIS, "export", "-m", model(), "--documents"]).count(b'"digest"')
    learned = sum(label is not None for label in acknowledged.values())
    expected_documents = base + learned + 1
    wait_for(lambda: {documents(server) for server in everyone} == {expected_documents}, "all have as many documents", 30, 0.2)
    settled = time.monotonic() - begun
    first, *others = [exported(server) for server in everyone]
    for server, other in zip(everyone[1:], others):
        for here, there in zip(first, other):
            equal(there, here, f"a line of the export of {server.folder.name}")
        equal(len(other), len(first), f"lines of the export of {server.folder.name}")
    equal(len(acknowledged), MESSAGES, "messages acknowledged")
    for number, label in random.Random(3).sample(sorted(acknowledged.items()), 40):
        if label is not None:
            check(not tell(servers[1].unix("spamd"), label, mail(number, "fleet")), f"message {number} is {label}")
    for server in everyone:
        server.stop()
    return (f"{MESSAGES} messages, {sum(map(len, works))} changes at three servers, {kills} kills of servers and store, "
            f"{'one joined, ' if joined else ''}equal exports {settled:.1f} s after the last")


def aside():
    """Records that cannot be applied, a user's model that is damaged, no users' models, a backlog: the rest goes on."""
    store = Store()
    store.start()
    settings = SETTINGS.format(port=store.port) + "[limits]\nwaiting_to_learn = 20\n"
    users = 'users = "FOLDER/%u.tamis"\n'
    here, there, bare = Tamisd(users + settings), Tamisd(users + settings), Tamisd(settings)
    (there.folder / "joe.tamis").write_bytes(b"no model")
    whole = struct.pack("<IIQQ", 0, 9, 7, 1) + b"no record"
    for entry in (b"torn", whole + struct.pack("<I", zlib.crc32(whole))):
        store.add(entry)
    for user in ("joe", "ann"):
        head = f"User: {user}\r\nMessage-class: spam\r\nSet: local\r\n"
        check(b"DidSet" in ask(here.unix("spamd"), "TELL SPAMC/1.5", head, mail(0, user)), f"{user} teaches")
    there.kill()
    for number in range(200):
        tell(here.unix("spamd"), "spam", mail(number, "backlog"))
    there.start()

    def documents(path):
        return run([TAMIS, "export", "-m", path, "--documents"]).count(b'"digest"')

    expected = documents(model()) + 200
    wait_for(lambda: {documents(server.model) for server in (here, there, bare)} == {expected}, "all have all", 30, 0.2)
    equal(documents(there.folder / "ann.tamis"), 1, "documents of another user")
    # the server that was killed has counted some before
    for server, n in ((here, 2), (there, 3), (bare, 4)):
        lines = [json.loads(line) for line in (server.folder / "fleet-set-aside").read_text().splitlines()]
        equal(len(lines), n, f"records set aside: {lines}")
        check(server is there or server.metrics()["tamis_fleet_set_aside_total"] == n, "they are counted")
        server.stop()
    return "2 bad records and those of a damaged model are set aside, 200 others are everywhere"
