"""`tamis mailbox` with a real IMAP server: sorting, learning from moves, undoing, and everything going wrong at once."""

import collections
import contextlib
import email
import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from dovecot import PASSWORD, Dovecot, bodies, ok
from imapd import Box, Imapd, arrivals
from support import INBOX, MAIL, TAMIS, check, equal, folder, free_port, mail, run, short, start, tamis_json, wait_for

DAY = 86_400
MAILBOX = Path(TAMIS).with_name("tamis-mailbox")


class Agent:
    """The agent in a home of its own."""

    def __init__(self, name="home"):
        self.home = folder(name)
        variables = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TAMIS_MODEL", "TAMIS_FALLBACK")
        self.environment = {k: v for k, v in os.environ.items() if k not in variables} | {"HOME": str(self.home)}
        self.settings = self.home / ".config/tamis/mailbox.toml"
        self.said = self.home / "said"
        self.process = None

    def model(self, account):
        return self.home / f".local/share/tamis/mailbox/{account}.tamis"

    def state(self, account):
        return self.home / f".local/state/tamis/mailbox/{account}"

    def run(self, *arguments, expected=0, timeout=120):
        """Runs a command to its end; returns all it says."""
        done = subprocess.run([TAMIS, "mailbox", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=self.environment, timeout=timeout, cwd=self.home)
        said = done.stdout + done.stderr
        equal(done.returncode, expected, f"exit status of {arguments}: {said}")
        check("panicked" not in said, said)
        return said

    def set_up(self, server, user, *arguments):
        return self.run("setup", user, "--host", "localhost", "--port", str(server.tls_port), "--ca", str(server.certificate),
                        "--password", f"echo {PASSWORD}", *arguments)

    def change(self, *replacements):
        text = self.settings.read_text()
        for old, new in replacements:
            check(old in text, f"{old} is not in the settings")
            text = text.replace(old, new)
        self.settings.write_text(text)

    def start(self, *arguments, command=("run",)):
        with open(self.said, "ab") as said:
            self.process = start([MAILBOX, *command, *arguments], stderr=said, stdout=said, env=self.environment)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def wait_for_look(self, account):
        """Waits until the inbox was read to its end for the first time."""
        path = self.state(account) / "positions.json"
        wait_for(lambda: json.loads(path.read_bytes())["inbox_read_at"], f"the first look: {self.said.read_text()}")

    def learned(self, account):
        """The label of each message that the model knows, by Message-ID."""
        lines = run([TAMIS, "export", "--documents", "-m", self.model(account)], timeout=120).splitlines()
        documents = [json.loads(line) for line in lines if line.startswith(b'{"digest"')]
        labels = collections.defaultdict(list)
        for document in documents:
            labels[document["name"]].extend([document["label"]] * document.get("copies", 1))
        return labels

    def events(self, account):
        path = self.state(account) / "journal.jsonl"
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        return [json.loads(line) for line in lines]


def name_of(message):
    return email.message_from_bytes(message)["Message-ID"].strip("<> ")


def where(client, folders):
    """The folders that each message is in, by its bytes."""
    found = collections.defaultdict(list)
    for name in folders:
        for uid, message in bodies(client, name).items():
            found[message].append((name, uid))
    return found


def move(client, uid, to):
    return ok(client.uid("MOVE", str(uid), f'"{to}"'))


def mailbox():
    server = Dovecot()
    now = int(time.time())
    for label, name in (("ham", "INBOX"), ("spam", "Junk")):
        mails = [path.read_bytes() for path in sorted((MAIL / label).iterdir())]
        server.fill("anna", name, [(now - 60 * DAY + n * 60_000, it) for n, it in enumerate(mails)], seen=False)
    agent = Agent()
    said = agent.set_up(server, "anna")
    check("Junk" in said and "would learn 167 messages" in said, said)
    equal(agent.settings.stat().st_mode & 0o777, 0o600, "mode of the settings")
    check("Next" in said and PASSWORD not in said.replace("echo", ""), said)
    said = agent.run("train", "--html", "report.html")
    check("would have gone where you put them" in said and "expected on messages" in said, said)
    check("</html>" in (agent.home / "report.html").read_text(), "the report is a page")
    equal(sorted(path.name for path in agent.state("anna").iterdir()), ["journal.jsonl", "positions.json"], "what is kept")
    client = server.client("anna", tls=True)

    # what arrives is sorted as `tamis score` says, within a second; nothing is marked as read
    agent.change(("poll_seconds = 60", "poll_seconds = 1"))
    agent.start()
    agent.wait_for_look("anna")
    expected, longest = {}, 0
    for path in INBOX:
        message = path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        is_spam = float(tamis_json(message, agent.model("anna"))["probability"]) >= 0.95
        begun = time.monotonic()
        ok(client.append("INBOX", None, None, message))
        if is_spam:
            wait_for(lambda: message in bodies(client, "Junk").values(), f"{path.name} is in Junk")
            longest = max(longest, time.monotonic() - begun)
        expected[message] = "Junk" if is_spam else "INBOX"
    time.sleep(0.5)
    places = where(client, ["INBOX", "Junk", "Trash"])
    for message, name in expected.items():
        equal([at for at, _ in places[message]], [name], f"place of {short(message[:80])}")
    ok(client.select("INBOX", readonly=True))
    for name in ("INBOX", "Junk"):
        ok(client.select(name, readonly=True))
        equal(ok(client.uid("SEARCH", "SEEN"))[0], b"", f"messages of {name} that were marked as read")

    # what a person moves is learned, what the filter moves is not; Junk to Trash teaches nothing
    before = agent.learned("anna")
    equal(len(before), 167, "messages learned before any was moved")
    sorted_away = [message for message, name in expected.items() if name == "Junk"]
    left = [message for message, name in expected.items() if name == "INBOX"]
    back, trashed, junked = sorted_away[0], sorted_away[1], left[0]
    ok(client.select("Junk"))
    move(client, dict(places[back])["Junk"], "INBOX")
    move(client, dict(places[trashed])["Junk"], "Trash")
    ok(client.select("INBOX"))
    move(client, dict(places[junked])["INBOX"], "Junk")
    wait_for(lambda: len(agent.learned("anna")) == 169, "two corrections are learned")
    time.sleep(1.5)
    learned = agent.learned("anna")
    equal((learned[name_of(back)], learned[name_of(junked)]), (["ham"], ["spam"]), "what was learned")
    check(name_of(trashed) not in learned, "what was thrown away teaches nothing")
    equal(where(client, ["INBOX", "Junk", "Trash"])[back][0][0], "INBOX", "what came back stays")

    # and again: the correction is corrected
    ok(client.select("Junk"))
    again = {message: uid for uid, message in bodies(client, "Junk").items()}
    ok(client.select("Junk"))
    move(client, again[junked], "INBOX")
    wait_for(lambda: agent.learned("anna")[name_of(junked)] == ["ham"], "it is ham again")

    # undo: what is still where the filter put it goes back, and stays there
    agent.kill()
    said = agent.run("undo")
    check(f"moved {len(sorted_away) - 2} messages back" in said and "1 message not where" in said, said)
    agent.run("run", "--once")
    places = where(client, ["INBOX", "Junk", "Trash"])
    for message in sorted_away:
        equal([at for at, _ in places[message]], ["Trash" if message == trashed else "INBOX"], "place after undo")
    check("undone" in agent.run("log"), "the log tells of it")

    # encrypted after STARTTLS; a certificate that is not known is refused
    carl = Agent()
    server.fill("carl", "INBOX", [(now, mail(1, "carl"))])
    carl.run("setup", "carl", "--host", "localhost", "--tls", "starttls", "--port", str(server.port), "--ca",
             str(server.certificate), "--password", f"echo {PASSWORD}")
    said = carl.run("setup", "dora", "--host", "localhost", "--port", str(server.tls_port), "--password", f"echo {PASSWORD}",
                    expected=3)
    check("certificate" in said and said.count("\n") == 1, said)
    said = carl.run("setup", "dora", "--host", "localhost", "--port", str(server.port), "--password", f"echo {PASSWORD}", expected=3)
    check("expected TLS from the start" in said and said.count("\n") == 1, said)

    # the server is found by its address, the password is asked of the keyring
    fred = Agent()
    tools = folder("tools")
    (tools / "secret-tool").write_text(f'#!/bin/sh\n[ "$1 $3 $5" = "lookup tamis-mailbox fred@localhost" ] && echo {PASSWORD}\n')
    (tools / "secret-tool").chmod(0o755)
    fred.environment["PATH"] = f"{tools}:{os.environ['PATH']}"
    server.fill("fred@localhost", "INBOX", [(now, mail(1, "fred"))])
    fred.run("setup", "fred@localhost", "--port", str(server.tls_port), "--ca", str(server.certificate))
    settings = fred.settings.read_text()
    check('localhost"\nport' in settings and f'"{PASSWORD}"' not in settings, settings)

    # a password that is refused is told in one line, and ends the program
    agent.change((f'"echo {PASSWORD}"', '"echo wrong"'))
    said = agent.run("run", "--once", expected=77)
    check(said.count("\n") == 1 and "refuses the login" in said, said)
    client.logout()
    return f"{len(sorted_away)} of {len(expected)} messages sorted, at the latest {longest:.2f} s after they arrived"


class Cutter:
    """Passes connections on, and cuts them when told to."""

    def __init__(self, port):
        self.to, self.port, self.connections = port, free_port(), []
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                here, _ = self.listener.accept()
                try:
                    there = socket.create_connection(("127.0.0.1", self.to))
                except ConnectionRefusedError:
                    here.close()
                    continue
                self.connections.append((here, there))
                for pair in ((here, there), (there, here)):
                    threading.Thread(target=self.pass_on, args=pair, daemon=True).start()

    @staticmethod
    def pass_on(source, sink):
        with contextlib.suppress(OSError):
            while part := source.recv(65_536):
                sink.sendall(part)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        while self.connections:
            for end in self.connections.pop():
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()


FOLDERS = ("INBOX", "Junk", "Lists/rust", "Bills", "Trips")
CLIENTS, MOVES = 20, 1_000


def moves(make=Dovecot):
    """Twenty clients move messages while an agent is killed, cut off, without disk, and its model rewritten, and another
    agent sorts the same mailbox."""
    total = int(os.environ.get("MOVES", MOVES))
    server = make()
    names = [server.name(name) for name in FOLDERS]
    now = int(time.time())
    for name in FOLDERS:
        mails = [topic_mail(name, number) for number in range(60)]
        server.fill("bob", name, [(now - 60 * DAY + number * 60_000, it) for number, it in enumerate(mails)], seen=False)
    cutter = Cutter(server.port)
    agent, other = Agent(), Agent()
    for one, port in ((agent, cutter.port), (other, server.port)):
        one.run("setup", "bob", "--host", "127.0.0.1", "--tls", "none", "--port", str(port), "--password", f"echo {PASSWORD}")
        one.change(("poll_seconds = 60", "poll_seconds = 1"))
        one.run("train")
    labels = dict(re.findall(r'name = "([^"]+)"\nlabel = "([^"]+)"', agent.settings.read_text()))
    equal(set(names) - set(labels), set(), "folders without labels")
    equal([labels[name] for name in names[:2]], ["inbox", "spam"], "labels")
    todo, failures, arrived = list(range(total)), [], []
    lock, over = threading.Lock(), threading.Event()

    def arrive(client, step):
        message = topic_mail(FOLDERS[step // 20 % len(FOLDERS)], 10_000 + step)
        ok(client.append("INBOX", None, None, message))
        arrived.append(message)

    def person(number):
        chance = random.Random(number)
        client = server.client("bob")
        try:
            while True:
                with lock:
                    if not todo:
                        break
                    step = todo.pop()
                if step % 40 == 20:
                    arrive(client, step)
                name, to = chance.sample(names, 2)
                ok(client.select(f'"{name}"'))
                uids = ok(client.uid("SEARCH", "UNDELETED"))[0].split()
                if not uids:
                    continue
                uid = chance.choice(uids).decode()
                # two that have one message in hand at a time would make two of it, whoever sorts
                with lock:
                    if client.uid("FETCH", uid, "(FLAGS)")[1][0] is None:
                        continue
                    # as programs do that cannot move
                    copies = not (number % 2 and server.MOVES)
                    try:
                        ok(client.uid("COPY" if copies else "MOVE", uid, f'"{to}"'))
                    except AssertionError as error:
                        # an agent has taken it since
                        if "EXPUNGEISSUED" not in str(error):
                            raise
                        copies = False
                    if copies:
                        ok(client.uid("STORE", uid, "+FLAGS.SILENT", "(\\Deleted)"))
                        ok(client.uid("EXPUNGE", uid))
                time.sleep(chance.random() * 1.6)
            client.logout()
        except Exception as error:  # told by the test
            failures.append(error)

    people = [threading.Thread(target=person, args=(number,)) for number in range(CLIENTS)]
    counts = collections.Counter()
    full_until = None

    def trouble():
        nonlocal full_until
        chance = random.Random(1)
        while not over.is_set():
            agent.start()
            if full_until is None and counts["kills"] == 3:
                full_until = time.monotonic() + 10
            if full_until and time.monotonic() < full_until:
                with contextlib.suppress(ProcessLookupError):
                    resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
                counts["starts without disk"] += 1
            over.wait(chance.uniform(0.3, 3))
            if chance.random() < 0.3:
                cutter.cut()
                counts["cuts"] += 1
                over.wait(chance.uniform(0.5, 3))
            if chance.random() < 0.3:
                run([TAMIS, "retrain", "-q", "-m", agent.model("bob")], expected=None, timeout=120)
                counts["rewritten"] += 1
            agent.kill()
            counts["kills"] += 1

    troubling = threading.Thread(target=trouble)
    troubling.start()
    other.start()
    other.wait_for_look("bob")
    client = server.client("bob")
    # soon the folders are mixed, and nothing is sure any more
    for step in range(0, total, 40):
        arrive(client, step)
    if not server.MOVES:
        # two that copy one message and remove it make two of it, so people wait until it is sorted
        time.sleep(5)
    for thread in people:
        thread.start()
    for thread in people:
        thread.join(300)
    over.set()
    troubling.join(60)
    equal(failures, [], "failures of clients")
    check(not todo, "all moves were made")
    check(other.process.poll() is None, "the other agent still runs")
    other.kill()
    # programs that copy first are waited for
    for _ in range(2):
        agent.run("run", "--once")
        other.run("run", "--once")
    places = where(client, [*names, server.name("Trash"), server.name("Sent")])
    at_first = {at: [topic_mail(name, number) for number in range(60)] for at, name in zip(names, FOLDERS)}
    everything = [message for mails in at_first.values() for message in mails] + arrived
    for message in everything:
        equal(len(places[message]), 1, f"copies of {name_of(message)}: {places[message]}")
    equal(len(places), len(everything), "messages")
    for name in names:
        ok(client.select(f'"{name}"', readonly=True))
        equal(ok(client.uid("SEARCH", "SEEN"))[0], b"", f"messages of {name} that were marked as read")
    put = {(event["message_id"].strip("<>"), event["to"]) for one in (agent, other) for event in one.events("bob")
           if event["event"] == "sorting"}
    # what its owner took out is never put back, by whichever agent
    put_at = collections.defaultdict(set)
    for one in (agent, other):
        before = {}
        for event in one.events("bob"):
            # one that was killed in between finds what the other did
            if event["event"] == "sorted" and event["place"] and before.get(event["id"]) == "sorting":
                put_at[event["id"]].add((event["place"]["folder"], event["place"]["uid"]))
            before[event["id"]] = event["event"]
    equal([places for places in put_at.values() if len(places) > 1], [], "places of messages that were sorted twice")
    check(put_at, "nothing was sorted")
    n_corrected = 0
    for one in (agent, other):
        learned = one.learned("bob")
        for message in everything:
            [(name, _)] = places[message]
            got = learned.get(name_of(message), [])
            is_new = message in arrived
            if is_new and not got:
                # it stayed where it arrived, is where an agent put it, or where its provider may have put it
                check(name in names[:2] or (name_of(message), name) in put, f"{name_of(message)} was moved to {name} and not learned")
                continue
            equal(got, [labels[name]], f"label of {name_of(message)}, which is in {name}")
            n_corrected += is_new or message not in at_first[name]
        said = one.said.read_text(errors="replace")
        check("panicked" not in said, said[-2000:])
    return (f"{total} moves by {CLIENTS} clients, {len(put_at)} messages sorted, {n_corrected} elsewhere than at first and learned so; {counts['kills']} kills, "
            f"{counts['cuts']} cuts, {counts['rewritten']} times rewritten, {counts['starts without disk']} starts without disk")


def odd_set_up(imapd, agent, *secret):
    return agent.run("setup", "eve", "--host", "127.0.0.1", "--tls", "none", "--port", str(imapd.port),
                     *(secret or ("--password", f"echo {PASSWORD}")))


def filed(boxes, counts):
    """Puts messages of a kind of their own into folders."""
    for name, n in counts.items():
        for number in range(n):
            arrivals[topic_mail(name, number)] = time.time() - 10 * DAY
            boxes[name].add(topic_mail(name, number))
    return boxes


def topic_mail(topic, number):
    word = re.sub(r"\W", "", topic).lower()
    chance = random.Random(f"{topic} {number}")
    body = " ".join(f"{word}{chance.randrange(30)}" for _ in range(30))
    return (f"From: {word}@example.net\r\nSubject: {word} {number}\r\nMessage-ID: <{word}-{number}@example.net>\r\n"
            f"Date: Mon, 2 Nov 2026 10:00:00 +0000\r\n\r\n{body}\r\n").encode()


def like_gmail():
    """Labels as folders, one that holds all mail, no QRESYNC, and commands that are refused for a while."""
    boxes = {"INBOX": Box(), "[Gmail]/All Mail": Box("\\All"), "[Gmail]/Spam": Box("\\Junk"), "[Gmail]/Trash": Box("\\Trash"),
             "Entw&APw-rfe f&APw-r Anna": Box(), "Rust": Box(), "[Gmail]/Important": Box("\\Important")}
    filed(boxes, {"INBOX": 40, "[Gmail]/Spam": 40, "Rust": 40, "Entw&APw-rfe f&APw-r Anna": 40, "[Gmail]/All Mail": 90})
    throttled = []

    def quirk(words):
        if words[:2] == ["UID", "MOVE"] and len(throttled) < 1:
            throttled.append(words)
            return b"TAG NO [THROTTLED] slow down\r\n"
        return None

    imapd = Imapd(boxes, "IMAP4rev1 IDLE MOVE UIDPLUS X-GM-EXT-1 SPECIAL-USE", quirk)
    agent = Agent()
    said = odd_set_up(imapd, agent, "--token", "echo ya29.token")
    equal(imapd.tokens, [b"user=eve\x01auth=Bearer ya29.token\x01\x01"], "XOAUTH2")
    check("Entwürfe für Anna" in said, said)
    settings = agent.settings.read_text()
    check("All Mail" not in settings and "Important" not in settings and "Trash" not in settings, settings)
    agent.run("train")
    for n in range(5):
        boxes["INBOX"].add(topic_mail("Rust", 1_000 + n))
    boxes["INBOX"].add(topic_mail("[Gmail]/Spam", 1_000))
    # refused for a while: nothing is lost, and the next look goes on
    said = agent.run("run", "--once", expected=3)
    check("THROTTLED" in said or "slow down" in said, said)
    agent.run("run", "--once")
    equal((len(boxes["Rust"].messages), len(boxes["[Gmail]/Spam"].messages), len(boxes["INBOX"].messages)), (45, 41, 40),
          "messages after sorting")
    equal(len(agent.learned("eve")), 160, "what was moved by the filter is no evidence")
    check(not any("\\Seen" in flags for box in boxes.values() for _, flags in box.messages.values()), "nothing is marked")
    check(not any(re.search(r"BODY\[|^EXPUNGE|UID FETCH.* RFC822\b", command) for command in imapd.commands), "commands")

    # what is read and has stayed in its place is learned
    boxes["Rust"].messages[boxes["Rust"].next_uid - 1][1].add("\\Seen")
    agent.change(("confirm_days = 1", "confirm_days = 0"))
    agent.run("run", "--once")
    equal(len(agent.learned("eve")), 161, "one message is confirmed")

    # a folder numbered anew: nothing is learned twice, nothing in the inbox is sorted that was there
    for name in ("INBOX", "Rust"):
        boxes[name].validity = 2
    agent.run("run", "--once")
    equal((len(agent.learned("eve")), len(boxes["INBOX"].messages)), (161, 40), "after UIDVALIDITY changed")
    agent.run("undo")
    equal((len(boxes["Rust"].messages), len(boxes["[Gmail]/Spam"].messages), len(boxes["INBOX"].messages)), (40, 40, 46),
          "messages after undo")
    imapd.close()
    return "labels as folders, throttled once, numbered anew, undone"


def without_moving():
    """Flags and copies instead of moves."""
    boxes = filed({"INBOX": Box(), "Junk": Box(), "Rust lists": Box()}, {"INBOX": 40, "Junk": 40, "Rust lists": 40})
    imapd = Imapd(boxes)
    agent = Agent()
    odd_set_up(imapd, agent)
    agent.run("train")
    boxes["INBOX"].add(topic_mail("Rust lists", 1_000))
    boxes["INBOX"].add(topic_mail("Junk", 1_000))
    said = agent.run("run", "--once", "--dry-run")
    equal((said.count("would go to"), len(imapd.boxes["INBOX"].messages)), (2, 42), said)
    check("looks at 2 messages of the inbox" in said, said)
    agent.run("run", "--once", "--flag-only")
    flags = [flags for _, flags in boxes["INBOX"].messages.values() if flags]
    equal(flags, [{"tamis-Rust_lists"}, {"$Junk", "tamis-spam"}], "keywords")
    boxes["INBOX"].add(topic_mail("Rust lists", 2_000))
    for _ in range(2):
        agent.run("run", "--once", "--copy")
    equal((len(boxes["INBOX"].messages), len(boxes["Rust lists"].messages)), (43, 41), "messages after copying")
    equal(len(agent.learned("eve")), 120, "what was copied by the filter is no evidence")

    # a copy that a person makes in the inbox stays there, teaches nothing, and is dealt with once
    agent.run("run", "--once")
    rust, inbox = boxes["Rust lists"], boxes["INBOX"]
    message = topic_mail("Rust lists", 3_000)
    inbox.add(message)
    agent.run("run", "--once")
    check(message in [it for it, _ in rust.messages.values()], "it was sorted")
    copy = inbox.add(message)
    for _ in range(2):
        agent.run("run", "--once")
    check(copy in inbox.messages and len(agent.learned("eve")) == 120, "a copy in the inbox")
    begun = len(imapd.commands)
    agent.run("run", "--once")
    check(not any("BODY" in command for command in imapd.commands[begun:]), "nothing is read again")
    imapd.close()
    return "told, flagged, copied"


def cannot_move():
    """Servers without MOVE, and without UIDPLUS: other messages that are marked as deleted stay."""
    for capability in ("IMAP4rev1 UIDPLUS", "IMAP4rev1"):
        boxes = filed({"INBOX": Box(), "Junk": Box(), "Rust": Box()}, {"INBOX": 40, "Junk": 40, "Rust": 40})
        boxes["INBOX"].add(topic_mail("INBOX", 5_000), ["\\Deleted"])
        cut = []

        def quirk(words):
            # the connection is lost between copying and deleting
            if words[:2] == ["UID", "STORE"] and not cut:
                cut.append(words)
                return "cut"
            if words[:2] == ["UID", "COPY"] and "UIDPLUS" in capability:
                # another agent copies it at the same time
                boxes["Rust"].add(boxes["INBOX"].messages[int(words[2])][0])
            return None

        imapd = Imapd(boxes, capability, quirk)
        agent = Agent()
        odd_set_up(imapd, agent)
        agent.run("train")
        for n in range(3):
            boxes["INBOX"].add(topic_mail("Rust", 1_000 + n))
        agent.run("run", "--once", expected=3)
        agent.run("run", "--once")
        equal(len(boxes["Rust"].messages), 43, f"messages that were sorted, {capability}")
        there = [(message, flags) for message, flags in boxes["INBOX"].messages.values() if "\\Deleted" not in flags]
        equal(len(there), 40, f"messages in the inbox, {capability}")
        check(any(message == topic_mail("INBOX", 5_000) for message, _ in boxes["INBOX"].messages.values()),
              "a message that was marked by someone else was not removed")
        check(not any(command.startswith("EXPUNGE") for command in imapd.commands), "a bare EXPUNGE")
        imapd.close()
    return "copied, marked and removed one by one; cut in between"


def cannot_idle():
    """A server without IDLE: the agent waits on one connection, and sorts what arrives at the next look."""
    boxes = filed({"INBOX": Box(), "Junk": Box(), "Rust": Box()}, {"INBOX": 40, "Junk": 40, "Rust": 40})
    imapd = Imapd(boxes, "IMAP4rev1 MOVE UIDPLUS")
    agent = Agent()
    odd_set_up(imapd, agent)
    agent.run("train")
    agent.change(("poll_seconds = 60", "poll_seconds = 1"))
    before = len(imapd.commands)
    agent.start()
    for n in range(1, 4):
        boxes["INBOX"].add(topic_mail("Rust", 1_000 + n))
        wait_for(lambda n=n: len(boxes["Rust"].messages) == 40 + n, "it is sorted")
    agent.kill()
    equal(sum(command.startswith("LOGIN") for command in imapd.commands[before:]), 1, "logins")
    imapd.close()
    return "one connection"


def hostile():
    """Whatever a server sends, the agent ends with one line, and takes little memory."""
    evil = {
        "a literal of 2 GB": lambda words: b"* 1 FETCH (UID 1 BODY[] {2147483648}\r\n" if words[0] == "LIST" else None,
        "a literal of 500 MB behind text": lambda words: (b"* OK {1000000}\r\n* 1 FETCH (UID 1 BODY[] {500000000}\r\n"
                                                          if words[0] == "LIST" else None),
        "parentheses": lambda words: b"* 1 FETCH (BODYSTRUCTURE " + b"(" * 1_000_000 if words[0] == "LIST" else None,
        "a line without end": lambda words: b"* LIST () \"/\" \"" + b"a" * (20 << 20) if words[0] == "LIST" else None,
        "no IMAP": lambda words: b"\x00\xff\r\n" * 10 if words[0] == "LIST" else None,
        "the end": lambda words: "cut" if words[0] == "LIST" else None,
        "goodbye": lambda words: b"* BYE Autologout\r\n" if words[0] == "LIST" else None,
        "UIDs of nothing": lambda words: b"* STATUS x (MESSAGES 4294967295 UIDNEXT 0 UIDVALIDITY 0)\r\nTAG OK\r\n" if words[0] == "STATUS" else None,
    }
    most = 0
    for what, quirk in evil.items():
        imapd = Imapd(filed({"INBOX": Box(), "Junk": Box()}, {"INBOX": 3, "Junk": 3}), quirk=quirk)
        agent = Agent()
        begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        said = agent.run("setup", "eve", "--host", "127.0.0.1", "--tls", "none", "--port", str(imapd.port),
                         "--password", "echo x", expected=3, timeout=60)
        equal(said.rstrip().count("\n"), 0, f"lines said about {what}: {said}")
        most = max(most, begun, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
        imapd.close()
    names = ['INBOX', 'Junk', '../../../etc/passwd', 'a\x1b[2Jb', '~root', '&AAo-', 'x' * 5_000, '-rf', '&Jjo-']
    boxes = {name: Box() for name in names}
    filed(boxes, {"INBOX": 20, "Junk": 20, "../../../etc/passwd": 20, "-rf": 20})
    imapd = Imapd(boxes)
    agent = Agent()
    said = odd_set_up(imapd, agent)
    check("\x1b" not in said and "left out 1 folder" in said, said)
    agent.run("train")
    boxes["INBOX"].add(topic_mail("../../../etc/passwd", 1_000))
    agent.run("run", "--once")
    equal(len(boxes["../../../etc/passwd"].messages), 21, "a folder is a name, not a path")
    outside = [path for path in agent.home.rglob("*") if path.is_file() and ".." in str(path.relative_to(agent.home))]
    equal(outside, [], "files of folders' names")
    imapd.close()
    check(most < 200_000, f"memory: {most} KB")
    return f"{len(evil)} kinds of nonsense, and odd names; at most {most // 1000} MB"
