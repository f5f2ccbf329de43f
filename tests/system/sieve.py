"""Learning by moving, and filing by label: Dovecot with IMAPSieve and LMTP, set up by what `tamis generate recipe` prints."""

import fcntl
import json
import os
import pwd
import shutil
import signal
import smtplib
import threading
from contextlib import contextmanager
from pathlib import Path

import dovecot
from dovecot import NOBODY, Dovecot, bodies, ok
from guide import guide_block
from support import IS_ROOT, TAMIS, Tamisd, Skipped, check, equal, folder, mail, need, run, wait_for

# the label of each folder, with words of its own
TOPICS = {
    "Work": "invoice budget meeting minutes report review project deadline client contract",
    "Geschäft 2": "lieferung rechnung angebot bestellung ware kunde lager preis rabatt vertrag",
    # not a name that Dovecot takes, since Maildir folders have dots between them
    "a.b": "trombone violin concert orchestra sonata quartet rehearsal choir piano flute",
    "INBOX": "tulip soil seeds compost roses pruning watering hedge lawn spade",
    "spam": "casino pills winner prize lottery free discount click offer bonus",
}

SIEVE = """
protocol lmtp {
  mail_plugins = $mail_plugins sieve
  postmaster_address = postmaster@example.org
}
service lmtp {
  inet_listener lmtp {
    address = 127.0.0.1
    port = LMTP_PORT
  }
}
plugin {
  sieve_filter_bin_dir = FOLDER/sieve-filter
  sieve_before = FOLDER/sieve/labels.sieve
}
namespace inbox {
  mailbox Bin {
    auto = create
    special_use = \\Trash
  }
  mailbox Unsure {
    auto = create
  }
}
"""


def sieve():
    need("sievec")
    if not Path("/usr/lib/dovecot/lmtp").exists():
        raise Skipped("there is no lmtp of Dovecot")
    dovecot = Learning()
    n_moved = moves(dovecot)
    n_hit = adversity(dovecot)
    n_filed = labels(dovecot)
    dovecot.stop()
    return f"{n_moved} moves of two users, {n_hit} with a busy or killed learner; {n_filed} messages filed by label"


class Learning(Dovecot):
    """Dovecot with the recipes, set up as their comments say."""

    def __init__(self):
        at = folder("sieve")
        # a copy, since users may not reach the program's folder
        self.tamis = at / "tamis"
        shutil.copy(TAMIS, self.tamis)
        self.tamis.chmod(0o755)
        self.program = at / "sieve-pipe/tamis-learn"
        recipe = self.recipe("dovecot-learn").replace("/etc/dovecot", str(at))
        (at / "tamis-learn").write_text(recipe)
        for name in ("conf.d", "sieve", "sieve-filter"):
            (at / name).mkdir()
        commands = [line[1:].strip() for line in recipe.splitlines() if line.startswith("#   ")]
        compiling = [command for command in commands if command.startswith("sievec ")]
        equal((len(commands), len(compiling)), (7, 2), "commands of the recipe")
        for command in commands:
            if command not in compiling:
                run(["sh", "-euc", command], cwd=at)
        (at / "sieve-filter/tamis").symlink_to(self.tamis)
        (at / "sieve/labels.sieve").write_text(self.recipe("sieve-labels"))
        settings = SIEVE.replace("FOLDER", str(at)) + (at / "conf.d/95-tamis.conf").read_text()
        super().__init__(settings, lmtp=True)
        for command in [*compiling, f"sievec {at}/sieve/labels.sieve"]:
            run(["sh", "-euc", command.replace("sievec", f"sievec -c {self.config}")])

    def recipe(self, name):
        environment = {name: value for name, value in os.environ.items() if name != "XDG_DATA_HOME"}
        return run([self.tamis, "generate", "recipe", name], env=environment).decode()

    def home(self, user):
        return self.folder / "mail" / user

    def model(self, user):
        return self.home(user) / ".local/share/tamis/model.tamis"

    def spooled(self, user):
        at = self.home(user) / ".local/share/tamis/spool"
        return [path.name for path in at.iterdir()] if at.exists() else []

    def learned(self, user):
        """The label of each message that the user's model knows, by Message-ID. Each may be known once."""
        found = {}
        if self.model(user).exists():
            for line in run([TAMIS, "export", "--documents", "-m", self.model(user)]).decode().splitlines():
                row = json.loads(line)
                if "digest" in row:
                    name = row["name"].removesuffix("@example.net")
                    check(name not in found and row["copies"] == 1, f"learned twice: {name}")
                    found[name] = row["label"]
        return found

    @contextmanager
    def busy(self, user):
        """Another process holds the user's model."""
        with open(f"{self.model(user)}.lock", "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def drain(self, user):
        """What cron does."""
        run([self.program], env={"HOME": str(self.home(user))}, user=NOBODY, group=NOBODY, extra_groups=[])

    def learners(self):
        """The ids of processes that are learning."""
        def is_learner(process):
            try:
                return os.readlink(process / "exe") == str(self.tamis)
            except OSError:
                return False

        return [int(process.name) for process in Path("/proc").iterdir() if process.name.isdigit() and is_learner(process)]


class Client:
    """A user's mail program, which knows messages by Message-ID."""

    def __init__(self, dovecot, user):
        self.imap = dovecot.client(user)
        self.user = user

    def append(self, name, number):
        text = mail(number, self.user)
        ok(self.imap.append(name, None, None, text))
        return f"{self.user}-{number}"

    def uid(self, name, message):
        ok(self.imap.select(name))
        found = ok(self.imap.uid("SEARCH", "HEADER", "Message-ID", f"<{message}@example.net>"))[0].split()
        equal(len(found), 1, f"{message} in {name}")
        return found[0].decode()

    def move(self, message, start, end):
        ok(self.imap.uid("MOVE", self.uid(start, message), end))

    def copy(self, message, start, end):
        ok(self.imap.uid("COPY", self.uid(start, message), end))


def moves(dovecot):
    anna, bert = Client(dovecot, "anna"), Client(dovecot, "bert")

    def expect(client, expected):
        equal(dovecot.learned(client.user), expected, f"learned for {client.user}; {dovecot.log()}")

    first = anna.append("INBOX", 1)
    expect(anna, {})
    anna.move(first, "INBOX", "Junk")
    expect(anna, {first: "spam"})
    anna.move(first, "Junk", "INBOX")
    expect(anna, {first: "ham"})
    second = anna.append("Junk", 2)
    expect(anna, {first: "ham", second: "spam"})
    # within Junk, and to the trash by whatever name, nothing changes
    anna.copy(second, "Junk", "Junk")
    expect(anna, {first: "ham", second: "spam"})
    for number, bin in ((3, "Trash"), (4, "Bin")):
        dovecot.fill("anna", "Junk", [(1_700_000_000, mail(number, "anna"))], begin=number)
        anna.move(f"anna-{number}", "Junk", bin)
        expect(anna, {first: "ham", second: "spam"})
    unsure = [anna.append("Unsure", number) for number in (5, 6, 7)]
    for message, name in zip(unsure, ("INBOX", "Junk", "Trash")):
        anna.move(message, "Unsure", name)
    known = {first: "ham", second: "spam", unsure[0]: "ham", unsure[1]: "spam"}
    expect(anna, known)
    expect(bert, {})
    his = bert.append("INBOX", 1)
    bert.move(his, "INBOX", "Junk")
    expect(bert, {his: "spam"})
    expect(anna, known)
    equal((dovecot.spooled("anna"), dovecot.spooled("bert")), ([], []), "spools")
    for user in ("anna", "bert"):
        at = dovecot.model(user).parent
        equal(at.stat().st_mode & 0o777, 0o700, "mode of the model's folder")
        equal((at / "spool").stat().st_mode & 0o777, 0o700, "mode of the spool")
    return 9


def adversity(dovecot):
    anna = Client(dovecot, "anna")
    known = dovecot.learned("anna")
    late, killed, after = (anna.append("INBOX", number) for number in (11, 12, 13))
    with dovecot.busy("anna"):
        anna.move(late, "INBOX", "Junk")
        anna.move(late, "Junk", "INBOX")
        equal((dovecot.learned("anna"), len(dovecot.spooled("anna"))), (known, 2), "learned while busy, spooled")
    dovecot.drain("anna")
    known[late] = "ham"
    equal((dovecot.learned("anna"), dovecot.spooled("anna")), (known, []), "learned by cron, spooled")
    with dovecot.busy("anna"):
        moving = threading.Thread(target=anna.move, args=(killed, "INBOX", "Junk"))
        moving.start()
        wait_for(lambda: any(not name.startswith(".") for name in dovecot.spooled("anna")), "a message in the spool")
        learners = wait_for(dovecot.learners, "a learner")
        for process in learners:
            os.kill(process, signal.SIGKILL)
        moving.join(60)
        check(not moving.is_alive(), "the move ends")
        equal((dovecot.learned("anna"), len(dovecot.spooled("anna"))), (known, 1), "learned by the killed, spooled")
    check("tamis-learn" in dovecot.log(), "Dovecot logs the failure")
    anna.uid("Junk", killed)
    anna.move(after, "INBOX", "Junk")
    known |= {killed: "spam", after: "spam"}
    equal((dovecot.learned("anna"), dovecot.spooled("anna")), (known, []), "learned with the next, spooled")
    run([TAMIS, "verify", "-m", dovecot.model("anna")])
    return 4


def message(label, number, more=""):
    words = TOPICS[label].split()
    body = " ".join(words[(number * k + k) % len(words)] for k in range(1, 30))
    head = f"From: a{number}@example.net\r\nTo: b@example.org\r\nSubject: {body[:30]}\r\nMessage-ID: <{label[:2]}{number}@x>\r\n"
    return f"{head}{more}\r\n{body}\r\nword{number}\r\n".encode()


def deliver(dovecot, user, text):
    with smtplib.LMTP("127.0.0.1", dovecot.lmtp_port, timeout=60) as client:
        client.sendmail("sender@example.net", [user], text)


def labels(dovecot):
    """A folder of Maildirs makes a model of labels, by which mail is filed."""
    boxes = folder("boxes")
    for label in TOPICS:
        for part in ("cur", "new", "tmp"):
            (boxes / label / part).mkdir(parents=True)
        for number in range(30):
            (boxes / label / "cur" / f"{number}.x:2,S").write_bytes(message(label, number))
    dovecot.fill("carl", "INBOX", [])
    dovecot.fill("dora", "INBOX", [])
    dovecot.model("carl").parent.mkdir(parents=True)
    run([TAMIS, "train", "-m", dovecot.model("carl"), boxes])
    kind = run([TAMIS, "inspect", "-m", dovecot.model("carl")]).decode().split()[2]
    equal(kind, "mail", "kind of the model")
    dovecot.fill("carl", "INBOX", [])
    carl = dovecot.client("carl")
    forged = "X-Tamis-Label: Forged\r\nx-tamis-label : Work\r\n"
    for label, name in (("Work", "Work"), ("Geschäft 2", '"Gesch&AOQ-ft 2"'), ("spam", "Junk"), ("INBOX", "INBOX")):
        deliver(dovecot, "carl", message(label, 101, forged))
        found = list(bodies(carl, name.strip('"')).values())
        equal(len(found), 1, f"messages in {name}; {dovecot.log()}")
        lines = [line for line in found[0].decode().splitlines() if line.lower().startswith("x-tamis-label")]
        equal(lines, [f"X-Tamis-Label: {label}"], "its label")
    # a label that is not the name of a folder: the script fails, and Dovecot keeps the message as it came
    deliver(dovecot, "carl", message("a.b", 101))
    kept = list(bodies(carl, "INBOX").values())[-1]
    check(b"word101" in kept and b"X-Tamis" not in kept, f"kept: {kept}")
    # unsure, and where tamis fails: both stay in the inbox
    deliver(dovecot, "carl", f"Subject: mixed\r\n{forged}\r\ntulip invoice casino lieferung\r\n".encode())
    unsure = list(bodies(carl, "INBOX").values())[-1]
    check(b"X-Tamis: unsure;" in unsure and b"x-tamis-label" not in unsure.lower(), f"unsure: {unsure}")
    deliver(dovecot, "dora", message("Work", 102, forged))
    dora = dovecot.client("dora")
    equal(len(bodies(dora, "INBOX")), 1, "messages of a user without a model")
    for client in (carl, dora):
        check(b"Forged" not in b"".join(ok(client.list())), "no folder of a forged label")
    check(b"Work" not in b"".join(ok(dora.list())), "no folder for a user without a model")
    return 7


def by_server():
    """The guide's program for tamisd: who moves a message teaches his model of the server."""
    need("sievec")
    need("spamc")
    if not IS_ROOT:
        raise Skipped("Dovecot switches users, which takes root")
    # mailboxes of a user of their own, who may teach
    dovecot.NOBODY = pwd.getpwnam("games").pw_uid
    server = Tamisd('users = "FOLDER/%u.tamis"\n[spamd]\nlisten = ["unix:FOLDER/spamd.sock"]\nmode = "0666"\nlearn = ["games"]\n')
    imap = Learning()
    imap.program.write_text(guide_block("sh").replace("/run/tamis", str(server.folder)))
    imap.fill("joe", "INBOX", [(1_700_000_000 + n, mail(n, "moved")) for n in range(3)])
    client = imap.client("joe")
    ok(client.select("INBOX"))
    ok(client.uid("MOVE", "1:2", "Junk"))

    def learned():
        path = server.folder / "joe.tamis"
        lines = run([TAMIS, "export", "--documents", "-m", path]).splitlines() if path.exists() else []
        return sorted((row["name"], row["label"]) for row in map(json.loads, lines) if "digest" in row)

    names = ["moved-0@example.net", "moved-1@example.net"]
    wait_for(lambda: learned() == [(name, "spam") for name in names], f"both are learned: {imap.log()}")
    ok(client.select("Junk"))
    ok(client.uid("MOVE", "1", "INBOX"))
    wait_for(lambda: learned() == [(names[0], "ham"), (names[1], "spam")], "one is learned as ham")
    client.logout()
    imap.stop()
    server.stop()
    return "moves teach the server by the guide's program"
