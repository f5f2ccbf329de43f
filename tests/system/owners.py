"""`tamis mailbox` on mailboxes as people keep them, and in ordinary trouble."""

import base64
import contextlib
import email
import hashlib
import http.server
import itertools
import json
import os
import re
import shutil
import signal
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from agent import DAY, Agent, Cutter, filed, move, name_of, odd_set_up, topic_mail, where
from dovecot import NOBODY, PASSWORD, Dovecot, bodies, ok
from imapd import Box, Imapd, arrivals
from support import MAIL, check, equal, need, run, wait_for

SHARED = """
namespace public {
  prefix = Public/
  separator = /
  location = maildir:FOLDER/public
  type = public
  list = yes
}
"""


def example(label):
    return [path.read_bytes() for path in sorted((MAIL / label).iterdir())]


def labels(agent):
    """The label of each folder in the settings."""
    found = re.findall(r"\[\[account\.folder\]\]\nname = (?:\"([^\"\n]*)\"|'(.*)')\n(?:label = (?:\"([^\"\n]*)\"|'(.*)'))?",
                       agent.settings.read_text())
    return {a or b: c or d for a, b, c, d in found}


def kept():
    """An emptied inbox with everything in the archive, yearly archives, subfolders of folders that are no labels, shared
    folders, names with quotes: good mail stays out of the junk, and training that would harm is refused."""
    server = Dovecot(more=SHARED)
    now, ham, spam = int(time.time()), example("ham"), example("spam")
    dated = [(now - 60 * DAY + n * 60_000, it) for n, it in enumerate(ham)]
    fill = lambda name, mails: server.fill("anna", name, mails)
    fill("INBOX", [])
    fill("Archive", dated[:40])
    fill("Archive/2024", dated[40:60])
    fill("Junk", [(now - 60 * DAY + n * 60_000, it) for n, it in enumerate(spam)])
    topic = lambda name: [(now - 50 * DAY + n * 3_600, topic_mail(name, n)) for n in range(40)]
    client = server.client("anna")
    (server.folder / "public").mkdir()
    os.chown(server.folder / "public", NOBODY, NOBODY)
    odd = ['The "best" \\\\ of', "Sent/2024", "Drafts/old", "Trash/Rust", "Public/team"]
    for name in odd:
        ok(client.create('"' + name.replace('"', '\\"') + '"'))
    fill("Rust/2023", topic("Rust")[:20])
    fill("Rust/2024", topic("Rust")[20:])
    agent = Agent()
    said = agent.set_up(server, "anna")
    equal(labels(agent), {"INBOX": "inbox", "Archive": "inbox", "Archive/2024": "inbox", "Junk": "spam", "Rust/2023": "Rust",
                          "Rust/2024": "Rust", 'The "best" \\ of': 'The "best" \\ of'}, said)
    # settings of someone who takes the archive for nothing: refused, with the lines to change
    whole = agent.settings.read_text()
    agent.settings.write_text(re.sub(r'(name = "Archive.*"\n)label = "inbox"\n', r"\1", whole))
    said = agent.run("train", expected=3)
    lines = agent.settings.read_text().splitlines()
    for name in ("INBOX", "Archive"):
        line = lines.index(f'name = "{name}"') + 1
        check(f"(line {line} of the settings)" in said, said)
    check(not agent.model("anna").exists(), "no model is made")
    # a folder that is the same as another
    for name in ("Again", "Twice"):
        fill(name, [(now - n * 3_600, topic_mail("same", len(name + str(n)) * 100 + n + (name == "Twice") * 50)) for n in range(40)])
    agent.settings.write_text(whole + "".join(f'\n[[account.folder]]\nname = "{it}"\nlabel = "{it}"\n' for it in ("Again", "Twice")))
    said = agent.run("train", expected=3)
    check("Again (line" in said and "Twice (line" in said, said)
    agent.settings.write_text(whole)
    agent.run("train")
    for message in ham[60:]:
        ok(client.append("INBOX", None, None, message))
    agent.run("run", "--once")
    junked = len(bodies(client, "Junk")) - len(spam)
    equal(junked, 0, f"of {len(ham) - 60} good messages, in the junk")
    return f"{len(ham) - 60} good messages, none in the junk"


def mailbox_of(boxes, capability="IMAP4rev1 IDLE MOVE UIDPLUS", quirk=None):
    """A scripted server with 40 messages in each folder but those of the program, and a trained agent."""
    filed(boxes, {name: 40 for name, box in boxes.items() if "\\" not in box.attributes or "Junk" in box.attributes})
    imapd = Imapd(boxes, capability, quirk)
    agent = Agent()
    odd_set_up(imapd, agent)
    agent.change(("confirm_days = 1", "confirm_days = 0"), ("poll_seconds = 60", "poll_seconds = 1"))
    agent.run("train")
    return imapd, agent


def stays():
    """What stays is a label; threads, lists and rules decide; who was written to is not junk; what is taken back is ham."""
    boxes = {"INBOX": Box(), "Junk": Box("\\Junk"), "Rust": Box(), "Bills": Box(), "Sent": Box("\\Sent")}
    imapd, agent = mailbox_of(boxes)
    inbox, junk, rust, bills = (boxes[name] for name in ("INBOX", "Junk", "Rust", "Bills"))

    def learned(message):
        return agent.learned("eve").get(name_of(message), [])

    def run():
        agent.run("run", "--once", "-q")

    def there(box, message):
        return [uid for uid, (it, _) in box.messages.items() if it == message]

    def take(source, message, target):
        [uid] = there(source, message)
        return target.add(*source.messages.pop(uid))

    run()
    # in the inbox: unread is nothing, read is a label once, and a later move corrects it
    message = topic_mail("something new", 1)
    uid = inbox.add(message)
    run()
    equal(learned(message), [], "unread in the inbox")
    inbox.messages[uid][1].add("\\Seen")
    for _ in range(2):
        run()
    equal(learned(message), ["inbox"], "read and left in the inbox")
    take(inbox, message, bills)
    run()
    equal(learned(message), ["Bills"], "moved later")
    # a copy in the inbox unlearns nothing
    inbox.add(message)
    for _ in range(2):
        run()
    equal(learned(message), ["Bills"], "copied into the inbox")

    # what the provider junks is not its owner's decision until it stays there
    junked = topic_mail("Junk", 5_000)
    uid = junk.add(junked)
    run()
    equal(learned(junked), [], "junked by the provider")
    junk.messages[uid][1].add("\\Seen")
    run()
    equal(learned(junked), ["spam"], "read and left in the junk")

    # an answer follows its thread, a list the messages of the list, a rule outranks all
    def unknown(n, head):
        words = " ".join(f"zebra{n}x{i}" for i in range(20))
        return f"Message-ID: <z{n}@example.net>\r\n{head}\r\n\r\n{words}\r\n".encode()

    for n in range(3):
        take_in = unknown(n, "List-Id: <garden.example>\r\nSubject: roses in may")
        rust.add(take_in)
        arrivals[take_in] = time.time()
    run()
    agent.change(('[[account.folder]]\nname = "INBOX"', '[[account.rule]]\nsubject = "INVOICE"\nfolder = "Bills"\n\n[[account.rule]]\n'
                  'from = "rust@"\n\n[[account.folder]]\nname = "INBOX"'))
    cases = {unknown(10, "In-Reply-To: <z1@example.net>"): (rust, "answers a message there"),
             unknown(11, "Subject: Re: roses in May"): (rust, "answers a message there"),
             unknown(12, "List-Id: Gardens <garden.example>"): (rust, "its mailing list is there"),
             unknown(13, "Subject: Your invoice"): (bills, "by a rule"),
             topic_mail("Rust", 7_000): (inbox, None)}
    for mail in cases:
        inbox.add(mail)
    run()
    log = agent.run("log")
    for mail, (box, why) in cases.items():
        equal(len(there(box, mail)), 1, f"{mail[:90]} goes to its place")
        check(why is None or why in log, log)

    # nobody to whom the owner has written goes to the junk
    spam = topic_mail("Junk", 6_000)
    friend = spam.replace(b"From: junk@", b"From: Friend <junk@").replace(b"example.net\r\nSub", b"example.net>\r\nSub").replace(b"<junk-6", b"<friend-6")
    for mail in (friend, spam.replace(b"junk@", b"other@")):
        arrivals[mail] = time.time()
    sent = b"From: eve@example.org\r\nTo: \"A friend\" <JUNK@example.net>\r\nMessage-ID: <s1@x>\r\n\r\nhello\r\n"
    boxes["Sent"].add(sent)
    inbox.add(friend)
    inbox.add(spam.replace(b"junk@", b"other@"))
    run()
    equal((len(there(inbox, friend)), len(there(junk, spam.replace(b"junk@", b"other@")))), (1, 1), "a friend's and another's")
    equal(learned(sent), [], "sent mail is not learned")

    # undone, junked and taken back is ham
    other = spam.replace(b"junk@", b"other@")
    agent.run("undo", "--since", "1m")
    take(inbox, other, junk)
    run()
    equal(learned(other), ["spam"], "junked after it was undone")
    take(junk, other, inbox)
    run()
    equal(learned(other), ["inbox"], "taken back after that")
    imapd.close()
    return "inbox, junk, threads, lists, rules, correspondents, undo"


class IdentityServer:
    """Gives codes and tokens: first those whom nobody has let in yet, then in a hurry, then with a token. Sends a browser back
    with a code if its owner lets tamis in."""

    def __init__(self):
        self.asked, self.refuses, self.refresh, self.challenge = [], False, "r0", None
        identity = self

        class Door(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                identity.asked.append((self.path, form))
                status, answer = identity.answer(self.path, form)
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                asked = dict(urllib.parse.parse_qsl(self.path.partition("?")[2]))
                identity.challenge = asked["code_challenge"], asked["redirect_uri"]
                fields = {"error": "access_denied"} if identity.refuses else {"code": "c/1&+"}
                self.send_response(302)
                self.send_header("Location", f"{asked['redirect_uri']}?{urllib.parse.urlencode(fields | {'state': asked['state']})}")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Door)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, form):
        if form.get("client_id") != "tamis-test":
            return 400, {"error": "invalid_client"}
        if path == "/device":
            return 200, {"device_code": "d1", "user_code": "WXYZ", "verification_uri": "http://id.example/device", "interval": 1}
        if form["grant_type"] == "refresh_token":
            if self.refuses or form["refresh_token"] != self.refresh:
                return 400, {"error": "invalid_grant"}
            self.refresh += "r"
            return 200, {"access_token": f"a-{self.refresh}", "expires_in": 3600, "refresh_token": self.refresh}
        if form["grant_type"] == "authorization_code":
            digest = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
            if (form["code"], digest, form["redirect_uri"]) != ("c/1&+", *self.challenge):
                return 400, {"error": "invalid_grant"}
            return 200, {"access_token": "b1", "expires_in": 3600, "refresh_token": self.refresh}
        n = sum(path == "/token" for path, _ in self.asked)
        if n == 1:
            return 400, {"error": "authorization_pending"}
        return 200, {"access_token": "a1", "expires_in": 3600, "refresh_token": self.refresh}


def oauth():
    """A token by device code, kept in a private file, renewed when it ends, and asked for again when it is refused."""
    boxes = filed({"INBOX": Box(), "Junk": Box("\\Junk"), "Rust": Box()}, {"INBOX": 40, "Junk": 40, "Rust": 40})
    imapd, agent, identity = Imapd(boxes), Agent(), IdentityServer()
    where = "--client-id", "tamis-test", "--device-url", f"{identity.url}/device", "--token-url", f"{identity.url}/token"
    said = odd_set_up(imapd, agent, *where, "--scope", "imap")
    check("open http://id.example/device and enter WXYZ" in said, said)
    bearer = lambda: imapd.tokens[-1].split(b"Bearer ")[1].strip(b"\x01").decode()
    equal(bearer(), "a1", "the token")
    path = agent.state("eve") / "token.json"
    equal(path.stat().st_mode & 0o777, 0o600, "mode of the tokens")
    check("a1" not in agent.settings.read_text(), "no token is in the settings")
    agent.run("train")
    n = len(identity.asked)
    agent.run("run", "--once")
    equal((bearer(), len(identity.asked)), ("a1", n), "a token is used until it ends")

    def ends():
        path.write_text(json.dumps(json.loads(path.read_text()) | {"ends_at": 0}))

    for token in ("a-r0r", "a-r0rr"):
        ends()
        agent.run("run", "--once")
        equal(bearer(), token, "renewed, with what the server gave last")
    equal(identity.asked[-1], ("/token", {"grant_type": "refresh_token", "refresh_token": "r0r", "scope": "imap", "client_id": "tamis-test"}),
          "the request")
    identity.refuses = True
    ends()
    said = agent.run("run", "--once", expected=77)
    check("invalid_grant; run tamis mailbox setup eve again" in said and said.count("\n") == 1, said)
    said = agent.run("setup", "eve")
    check("enter WXYZ" in said and "already" in said, said)
    agent.run("run", "--once")
    identity.server.shutdown()
    ends()
    identity.server.server_close()
    said = agent.run("run", "--once", expected=3)
    check("the identity server" in said and said.count("\n") == 1, said)
    imapd.close()
    return "device code, renewed twice, refused, asked again, gone"


def by_browser():
    """A token by a browser of this machine: whatever else comes to its port, only the identity server's answer counts."""
    boxes = filed({"INBOX": Box(), "Junk": Box("\\Junk")}, {"INBOX": 40, "Junk": 40})
    imapd, agent, identity = Imapd(boxes), Agent(), IdentityServer()
    where = ("setup", "eve", "--host", "127.0.0.1", "--tls", "none", "--port", str(imapd.port), "--client-id", "tamis-test", "--client-secret", "s",
             "--auth-url", f"{identity.url}/auth?prompt=consent", "--token-url", f"{identity.url}/token", "--scope", "https://mail.example/ a")

    def browse(address):
        """Status and text of a page."""
        try:
            with urllib.request.urlopen(address, timeout=5) as page:
                return page.status, page.read().decode()
        except urllib.error.HTTPError as page:
            return page.code, page.read().decode()

    def begin():
        agent.said.write_text("")
        agent.start(command=where)
        return wait_for(lambda: re.search(r"open (http.*) in a browser", agent.said.read_text()), "the address")[1]

    identity.refuses = True
    check("not let into the mailbox" in browse(begin())[1], "refused")
    equal(agent.process.wait(20), 3, "exit status")
    check("access_denied" in agent.said.read_text() and not agent.settings.exists(), agent.said.read_text())
    identity.refuses = False
    address = begin()
    asked = dict(urllib.parse.parse_qsl(address.partition("?")[2]))
    equal((asked["prompt"], asked["client_id"], asked["scope"], asked["code_challenge_method"]),
          ("consent", "tamis-test", "https://mail.example/ a", "S256"), "the request")
    here = asked["redirect_uri"]
    check(here.startswith("http://127.0.0.1:"), here)
    for wrong in ("/favicon.ico", "/?code=c1", "/?code=c1&state=", "/?code=c1&state=x", "/?error=access_denied&state=x", f"/?state={asked['state']}"):
        equal(browse(here + wrong)[0], 400, wrong)
    host = ("127.0.0.1", urllib.parse.urlsplit(here).port)
    with socket.create_connection(host) as silent, socket.create_connection(host) as endless:
        silent.sendall(b"GET /?code=c1&state=")
        with contextlib.suppress(OSError):
            endless.sendall(b"GET /" + b"x" * (1 << 20))
        status, text = browse(address)
    equal((status, "close this page" in text), (200, True), text)
    equal(agent.process.wait(20), 0, f"exit status: {agent.said.read_text()}")
    equal(imapd.tokens[-1].split(b"Bearer ")[1].strip(b"\x01"), b"b1", "the token")
    path, form = identity.asked[-1]
    equal((path, form["client_secret"], form["redirect_uri"]), ("/token", "s", here), "the exchange")
    check(form["code_verifier"] not in address and asked["state"] != form["code_verifier"], "the proof is not in the address")
    agent.run("train")
    settings = json.loads((agent.state("eve") / "token.json").read_text())
    (agent.state("eve") / "token.json").write_text(json.dumps(settings | {"ends_at": 0}))
    agent.run("run", "--once")
    equal(imapd.tokens[-1].split(b"Bearer ")[1].strip(b"\x01"), b"a-r0r", "renewed")
    identity.server.shutdown()
    imapd.close()
    return "refused, other requests, let in, renewed"


def labels_change():
    """A label that is renamed in the settings goes on, while the agent runs and after it is trained again; one that is gone is told."""
    boxes = {"INBOX": Box(), "Junk": Box("\\Junk"), "Rust": Box(), "Bills": Box()}
    imapd, agent = mailbox_of(boxes)
    rust, numbers = boxes["Rust"], itertools.count(1_000)

    def sorts():
        message = topic_mail("Rust", next(numbers))
        boxes["INBOX"].add(message)
        wait_for(lambda: message in [it for it, _ in rust.messages.values()], f"it is sorted: {agent.said.read_text()}")

    agent.start()
    agent.wait_for_look("eve")
    agent.change(('label = "Rust"', 'label = "rust-lang"'), ('label = "spam"', 'label = "junk"'))
    wait_for(lambda: "takes the label Rust for rust-lang" in agent.said.read_text(), "the new name")
    sorts()
    boxes["INBOX"].add(topic_mail("Junk", 1_000))
    wait_for(lambda: len(boxes["Junk"].messages) == 41, "junk is junk by any name")
    # what is moved there is learned with what is there
    moved = topic_mail("something new", 1)
    rust.add(moved)
    wait_for(lambda: agent.learned("eve").get(name_of(moved)) == ["Rust"], "a move is learned")
    agent.run("train")
    wait_for(lambda: agent.said.read_text().count("goes on with") == 1 and agent.learned("eve")[name_of(moved)] == ["rust-lang"], "trained")
    sorts()
    agent.change(('label = "Bills"\n', ""))
    wait_for(lambda: "no folder has the label Bills" in agent.said.read_text(), "a label that is gone")
    agent.kill()
    said = agent.said.read_text()
    for trouble in ("the label Rust", "the label spam", "the label Bills"):
        equal(sum(trouble in line for line in said.splitlines()), 1, f"lines about {trouble}: {said}")
    imapd.close()
    return "renamed, trained, gone"


def digest():
    """Once a day a message tells what was filed and what was unsure; it is neither sorted nor learned."""
    boxes = {"INBOX": Box(), "Junk": Box("\\Junk"), "Rust": Box(), "Bills": Box()}
    inbox = boxes["INBOX"]
    imapd, agent = mailbox_of(boxes)
    agent.change(("digest = false", "digest = true"))
    path = agent.state("eve") / "positions.json"

    def a_day_later():
        known = json.loads(path.read_text())
        path.write_text(json.dumps(known | {"digest_at": known["digest_at"] - DAY}))
        agent.run("run", "--once")
        return [message for message, _ in inbox.messages.values() if b"Subject: tamis: " in message]

    agent.run("run", "--once")
    equal(a_day_later(), [], "nothing was filed")
    inbox.add(topic_mail("Rust", 1_000))
    inbox.add(topic_mail("Bills", 1_000))
    for n in range(7):
        head, _, body = topic_mail("Rust", 2_000 + n).partition(b"\r\n\r\n")
        inbox.add(head.replace(b"rust@", b"?@").replace(b"Subject: rust", b"Subject: half") + b"\r\n\r\n" + body[:80] + topic_mail("Bills", n)[-90:])
    agent.run("run", "--once")
    n_unsure = len(inbox.messages) - 40
    check(n_unsure >= 6, f"{n_unsure} are unsure")
    [sent] = a_day_later()
    mail = email.message_from_bytes(sent)
    text = mail.get_payload(decode=True).decode()
    n_filed = 9 - n_unsure
    equal(mail["Subject"], f"tamis: {n_filed} messages filed, {n_unsure} unsure", text)
    check("Rust (" in text and "Bills (" in text and "rust 1000" in text, text)
    equal(text.count(": half"), 5 + n_filed - 2, text)
    for message, flags in inbox.messages.values():
        flags.add("\\Seen")
    agent.run("run", "--once")
    sent = a_day_later()
    equal(len(sent), 2, "digests are neither sorted nor told")
    for _ in range(2):
        check(not {name_of(it) for it in sent} & set(agent.learned("eve")), "digests are not learned")
        agent.run("train")
    imapd.close()
    return mail["Subject"]


def existing():
    """What already lies in the inbox is sorted when asked for, as if it had not been learned; what was put back stays."""
    boxes = {"INBOX": Box(), "Junk": Box("\\Junk"), "Rust": Box()}
    inbox, rust = boxes["INBOX"], boxes["Rust"]
    there = [topic_mail("Rust", 1_000 + n) for n in range(10)]
    for message in there:
        inbox.add(message, ["\\Seen"])
    imapd, agent = mailbox_of(boxes)
    count = lambda: (len(inbox.messages), len(rust.messages))
    learned = lambda: [agent.learned("eve").get(name_of(message)) for message in there]
    agent.run("run", "--once")
    equal(count(), (50, 40), "without being asked, nothing is sorted")
    said = agent.run("run", "--once", "--existing", "--dry-run")
    equal((said.count("would go to Rust"), count(), learned()), (10, (50, 40), [["inbox"]] * 10), said)
    agent.run("run", "--once", "--existing")
    equal((count(), learned()), ((40, 50), [None] * 10), "the inbox is sorted, and its label is forgotten")
    # they were read before, so that they lie there says nothing
    agent.run("run", "--once")
    equal(learned(), [None] * 10, "what the filter put there is no evidence")
    [uid] = [uid for uid, (message, _) in rust.messages.items() if message == there[0]]
    inbox.add(*rust.messages.pop(uid))
    for _ in range(2):
        agent.run("run", "--once", "--existing")
    equal((count(), learned()), ((41, 49), [["inbox"]] + [None] * 9), "what its owner took back stays")
    agent.run("undo")
    agent.run("run", "--once", "--existing")
    equal(count(), (50, 40), "undone, it stays undone")
    imapd.close()
    return f"{len(there)} of 50 messages"


def troubles():
    """Passing trouble of all kinds: each is told once, and everything goes on."""
    boxes = {"INBOX": Box(), "Junk": Box("\\Junk"), "Rust": Box(), "Bills": Box(), "Trips": Box()}
    state = {}

    def quirk(words):
        for trouble, answer in state.items():
            if " ".join(words).startswith(trouble):
                return answer
        return None

    imapd, agent = mailbox_of(boxes, quirk=quirk)
    # Courier tells UIDNEXT by STATUS alone
    imapd.uid_next_on_open = False
    secret = agent.home / "secret"
    agent.change((f"echo {PASSWORD}", f"cat {secret}"))
    state |= {"STATUS Bills": b"TAG NO [NOPERM] Permission denied\r\n", "UID MOVE": b"TAG NO [OVERQUOTA] Quota exceeded\r\n"}
    agent.start()
    wait_for(lambda: "printed nothing" in agent.said.read_text(), "the keyring is locked")
    secret.write_text(PASSWORD)
    agent.wait_for_look("eve")
    refused = boxes["INBOX"].add(topic_mail("Rust", 1_000))
    wait_for(lambda: "the mailbox is full" in agent.said.read_text(), "the move is refused")
    # Courier puts this in place of a message that is gone, which is no message
    gone = b"From: System Administrator <root@localhost>\r\nSubject: message unavailable\r\n\r\nThis message is no longer available on the server.\r\n"
    arrivals[gone] = time.time()
    boxes["Trips"].add(gone)
    # a folder behind the one that cannot be read is learned from
    message = topic_mail("Bills", 2_000)
    boxes["Trips"].add(message)
    wait_for(lambda: agent.learned("eve").get(name_of(message)) == ["Trips"], "the other folders are looked into")
    equal(len(agent.learned("eve")), 201, "messages that were learned")
    del state["UID MOVE"]
    agent.kill()
    agent.run("run", "--once", "-q")
    check(refused not in boxes["INBOX"].messages, "what was refused is moved later")

    # folders go and come, settings are edited, with a mistake at first
    agent.start()
    saved = boxes.pop("Rust")
    wait_for(lambda: "no folder Rust (any more)" in agent.said.read_text(), "a folder that is gone")
    boxes["Rust"] = saved
    text = agent.settings.read_text()
    agent.settings.write_text(text.replace("threshold = 0.8", "treshold = 0.8"))
    wait_for(lambda: "treshold" in agent.said.read_text(), "a mistake in the settings")
    line = text.splitlines().index("threshold = 0.8") + 1
    check(f"line {line}" in agent.said.read_text(), agent.said.read_text())
    agent.settings.write_text(text + '\n[[account.rule]]\nsubject = "junk"\nfolder = "Trips"\n')
    wait_for(lambda: "changed settings" in agent.said.read_text(), "the settings are read again")
    boxes["INBOX"].add(topic_mail("Junk", 3_000))
    wait_for(lambda: topic_mail("Junk", 3_000) in [it for it, _ in boxes["Trips"].messages.values()], "the new rule holds")
    check(agent.process.poll() is None, "it still runs")
    agent.kill()
    said = agent.said.read_text()
    # it was started twice
    for trouble, n in (("Permission denied", 2), ("Quota exceeded", 1), ("no folder Rust", 1), ("treshold", 1)):
        equal(sum(trouble in line for line in said.splitlines()), n, f"lines about {trouble}: {said}")
    check("code:" not in said and "docs.rs" not in said, said)

    # a refused login is told at once and touches no other account
    other = text.replace('"eve"', '"bad"', 1).replace(str(secret), "/dev/null")
    agent.settings.write_text(text + "\n" + other)
    agent.start()
    wait_for(lambda: "bad: account bad: there is no model" in agent.said.read_text(), "the other account")
    check(agent.process.poll() is None, "the account that can go on does")
    agent.kill()
    imapd.close()
    return "keyring, quota, rights, folders, settings, another account"


QUOTA = """
mail_plugins = $mail_plugins quota
plugin {
  quota = count:user
  quota_vsizes = yes
  quota_rule = *:messages=QUOTA
}
"""

# for a certificate of the past; `req` begins them now
CERTIFICATE_AUTHORITY = """
[ca]
default_ca = own
[own]
database = index
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = extensions
[any]
commonName = supplied
[extensions]
subjectAltName = DNS:localhost
basicConstraints = critical,CA:FALSE
"""


def week():
    """What goes wrong on a server in a week, each for some seconds, to one agent that runs through: each is one line."""
    # with MOVE, a full mailbox would refuse nothing
    server, now = Dovecot(more=QUOTA.replace("QUOTA", "10000"), capability="IMAP4rev1 IDLE UIDPLUS CONDSTORE"), int(time.time())
    for name in ("INBOX", "Junk", "Rust", "Bills"):
        server.fill("anna", name, [(now - 9 * DAY + n, topic_mail(name, n)) for n in range(40)], seen=False)
    agent, cutter = Agent(), Cutter(server.tls_port)
    server.tls_port, secret = cutter.port, agent.home / "secret"
    secret.write_text(PASSWORD)
    agent.set_up(server, "anna")
    agent.change((f"echo {PASSWORD}", f"cat {secret}"), ("poll_seconds = 60", "poll_seconds = 1"))
    text = agent.settings.read_text()
    # the certificate that the agent trusts is a file of its own
    shutil.copy(server.certificate, agent.home / "ca.pem")
    text = text.replace(str(server.certificate), str(agent.home / "ca.pem"))
    agent.settings.write_text(text)
    agent.run("train")
    agent.start("-q")
    kept, numbers, maildir = server.config.read_text(), itertools.count(1_000), server.folder / "mail/anna/Maildir"

    def set_quota(messages):
        server.config.write_text(kept.replace("messages=10000", f"messages={messages}"))
        server.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        cutter.cut()

    def other_certificate(*commands):
        for name in ("cert.pem", "key.pem"):
            shutil.copy(server.folder / name, server.folder / f"own-{name}")
        for command in commands:
            run([need("openssl"), *command.split()], cwd=server.folder)
        server.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        cutter.cut()

    def portal():
        other_certificate("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=portal.example -keyout key.pem -out cert.pem")

    def expire():
        (server.folder / "index").touch()
        (server.folder / "ca").write_text(CERTIFICATE_AUTHORITY)
        other_certificate("req -new -key key.pem -subj /CN=localhost -out request",
                          "ca -batch -selfsign -config ca -keyfile key.pem -in request -startdate 20240101000000Z -enddate 20240102000000Z "
                          "-notext -out cert.pem")

    def own_certificate():
        for name in ("cert.pem", "key.pem"):
            shutil.copy(server.folder / f"own-{name}", server.folder / name)
        server.process.send_signal(signal.SIGHUP)

    def forget_password():
        secret.write_text("")
        cutter.cut()

    def rename(name, to):
        client = server.client("anna")
        ok(client.rename(name, to))
        client.logout()

    faults = {
        "no connection": (lambda: (server.stop(), cutter.cut()), server.start),
        "peer certificate": (portal, own_certificate),
        "certificate expired": (expire, own_certificate),
        "printed nothing": (forget_password, lambda: secret.write_text(PASSWORD)),
        "the mailbox is full": (lambda: set_quota(100), lambda: set_quota(10_000)),
        "looking at Bills": (lambda: (maildir / ".Bills").chmod(0), lambda: (maildir / ".Bills").chmod(0o755)),
        "no folder Bills": (lambda: rename("Bills", "Old"), lambda: rename("Old", "Bills")),
        "treshold": (lambda: agent.settings.write_text(text.replace("threshold", "treshold")), lambda: agent.settings.write_text(text)),
    }
    arrived = []

    def sorts():
        """A new message is sorted."""
        arrived.append(topic_mail("Rust", next(numbers)))
        client = server.client("anna")
        ok(client.append("INBOX", None, None, arrived[-1]))

        def is_there():
            # Dovecot itself may be at a loss for a moment
            with contextlib.suppress(AssertionError):
                return arrived[-1] in bodies(client, "Rust").values()

        wait_for(is_there, f"it sorts again: {agent.said.read_text()}", 40)
        client.logout()

    sorts()
    for what, (begin, end) in faults.items():
        before = agent.said.stat().st_size
        begin()
        if "full" in what:
            (maildir / "new/1.M1P1.host").write_bytes(topic_mail("Bills", next(numbers)))
            os.chown(maildir / "new/1.M1P1.host", NOBODY, NOBODY)
        time.sleep(9)
        lines = agent.said.read_text()[before:].splitlines()
        end()
        sorts()
        # one for the fault, and one for the connection if it is lost with it
        check(any(what in line for line in lines) and len(lines) <= 2 and len(set(lines)) == len(lines), f"lines about {what}: {lines}")
        check(agent.process.poll() is None, "it still runs")
    for _ in range(3):
        cutter.cut()
        sorts()
    agent.kill()
    agent.run("run", "--once")
    client = server.client("anna")
    places = where(client, ["INBOX", "Rust", "Bills", "Junk"])
    equal([len(places[message]) for message in arrived], [1] * len(arrived), "copies of what arrived")
    equal(len(bodies(client, "Bills")), 41, "what was refused is moved later")
    return f"{len(faults)} faults and cuts, {len(arrived)} messages sorted meanwhile"


def away():
    """After a week without an agent: what was read and left in the inbox stays and is learned, what is unread is sorted."""
    boxes = {"INBOX": Box(), "Junk": Box("\\Junk"), "Rust": Box()}
    imapd, agent = mailbox_of(boxes)
    agent.run("run", "--once")
    path = agent.state("eve") / "positions.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps(known | {"inbox_read_at": known["inbox_read_at"] - 7 * DAY}))
    read, unread, moved = topic_mail("Rust", 1_000), topic_mail("Rust", 1_001), topic_mail("something new", 1)
    arrivals.update(dict.fromkeys([read, unread, moved], time.time() - 3 * DAY))
    boxes["INBOX"].add(read, ["\\Seen"])
    boxes["INBOX"].add(unread)
    boxes["Junk"].add(moved, ["\\Seen"])
    for _ in range(2):
        agent.run("run", "--once")
    learned = agent.learned("eve")
    equal([learned.get(name_of(message)) for message in (read, unread, moved)], [["inbox"], None, ["spam"]], "what was learned")
    equal({name: len(box.messages) for name, box in boxes.items()}, {"INBOX": 41, "Junk": 41, "Rust": 41}, "places")
    imapd.close()
    return "read, unread, moved"


def two_without_keywords():
    """Two machines at a server that keeps no keywords: what was moved unread counts once it has been read and left."""
    boxes = {"INBOX": Box(), "Junk": Box("\\Junk"), "Rust": Box(), "Bills": Box()}
    refuse = lambda words: b"TAG NO no such flag\r\n" if words[:2] == ["UID", "STORE"] and "tamis-" in words[-1] else None
    imapd, one = mailbox_of(boxes, quirk=refuse)
    other, inbox, rust = Agent(), boxes["INBOX"], boxes["Rust"]
    odd_set_up(imapd, other)
    other.change(("confirm_days = 1", "confirm_days = 0"))
    other.run("train")
    for agent in (one, other):
        agent.change(("others = false", "others = true"))
        agent.run("run", "--once")
    messages = [topic_mail("Rust", 1_000 + n) for n in range(6)]

    def look(expected):
        # the second look learns what the first has seen to be where it is
        for agent in (one, other) * 2:
            agent.run("run", "--once", "-q")
        for agent in (one, other):
            equal([agent.learned("eve").get(name_of(message), []) for message in messages], expected, f"learned by {agent.home.name}")

    for message in messages[:3]:
        inbox.add(message)
    look([[]] * 6)
    equal((len(inbox.messages), len(rust.messages)), (40, 43), "sorted once")
    # the owner files one that was read at once, and others unread; takes one back, reads one
    rust.add(messages[3], ["\\Seen"])
    boxes["Junk"].add(messages[4])
    boxes["Bills"].add(messages[5])
    place = {message: uid for uid, (message, _) in rust.messages.items()}
    inbox.add(*rust.messages.pop(place[messages[0]]))
    rust.messages[place[messages[1]]][1].add("\\Seen")
    look([["inbox"], ["Rust"], [], ["Rust"], [], []])
    equal((len(inbox.messages), len(rust.messages)), (41, 43), "what was taken out stays")
    imapd.close()
    return "sorted, taken back, read, filed"


def two_agents():
    """Two machines sort one mailbox: what one puts somewhere is no decision to the other, what the owner takes out stays."""
    server = Dovecot()
    now = int(time.time())
    for name in ("INBOX", "Rust", "Bills"):
        server.fill("anna", name, [(now - 9 * DAY + n, topic_mail(name, n)) for n in range(60)], seen=False)
    agents = [Agent(), Agent()]
    for agent in agents:
        agent.set_up(server, "anna")
        agent.change(("poll_seconds = 60", "poll_seconds = 1"))
        agent.run("train")
        agent.start()
    client = server.client("anna")
    for agent in agents:
        agent.wait_for_look("anna")
    rust, bills = ([topic_mail(name, 1_000 + n) for n in range(20)] for name in ("Rust", "Bills"))
    for pair in zip(rust, bills):
        for message in pair:
            ok(client.append("INBOX", None, None, message))
    wait_for(lambda: len(bodies(client, "Rust")) == 80 and len(bodies(client, "Bills")) == 80, "all are sorted")
    # the owner takes half of them out at once, and moves some that were not sorted there
    for message, uid in [(it, uid) for uid, it in bodies(client, "Rust").items() if it in rust]:
        ok(client.select("Rust"))
        move(client, uid, "INBOX")
    inbox_of = lambda agent, messages, label: all(agent.learned("anna").get(name_of(it)) == label for it in messages)
    wait_for(lambda: all(inbox_of(agent, rust, ["inbox"]) for agent in agents), "both learn what was taken out", 60)
    time.sleep(3)
    places = where(client, ["INBOX", "Rust", "Bills"])
    for messages, name, label in ((rust, "INBOX", ["inbox"]), (bills, "Bills", None)):
        for message in messages:
            equal([at for at, _ in places[message]], [name], f"place of {name_of(message)}")
        for agent in agents:
            check(inbox_of(agent, messages, label), f"what an agent learned of {name}")
    for agent in agents:
        agent.kill()
    return f"{len(rust)} of {len(rust) + len(bills)} taken out of where an agent put them"
