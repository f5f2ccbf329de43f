"""Other real IMAP servers in folders: Courier and Cyrus, unpacked from Debian's packages, with nothing of theirs installed.

`tests/system/run` unpacks them below $SCRATCH; without that they are skipped.
"""

import contextlib
import imaplib
import os
import re
import subprocess
import time

from agent import DAY, Agent, moves, name_of, topic_mail, where
from dovecot import NOBODY, PASSWORD, Dovecot, bodies, ok
from support import IS_ROOT, SCRATCH, Skipped, check, equal, folder, free_port, listen, run, start, wait_for


def unpacked(name):
    """The folder of a server, and the environment of its programs."""
    at = SCRATCH / name
    if not at.is_dir():
        raise Skipped(f"{name} is not unpacked")
    libraries = sorted({str(path.parent) for path in at.rglob("*.so*")})
    return at, os.environ | {"LD_LIBRARY_PATH": ":".join(libraries)}


def ordinary(server):
    """Setup, training, sorting, learning and undoing, on whatever server."""
    now = int(time.time())
    for name in ("INBOX", "Junk", "Bills", "Lists/rust"):
        server.fill("anna", name, [(now - 9 * DAY + n, topic_mail(name, n)) for n in range(40)], seen=False)
    agent = Agent()
    agent.run("setup", "anna", "--host", "127.0.0.1", "--tls", "none", "--port", str(server.port), "--password", f"echo {PASSWORD}")
    agent.change(("poll_seconds = 60", "poll_seconds = 1"))
    agent.run("train")
    client = server.client("anna")
    bills, rust, junk = (server.name(name) for name in ("Bills", "Lists/rust", "Junk"))
    agent.start()
    agent.wait_for_look("anna")
    new = {name: [topic_mail(name, 1_000 + n) for n in range(5)] for name in ("Bills", "Lists/rust", "Junk", "INBOX")}
    for messages in zip(*new.values()):
        for message in messages:
            ok(client.append("INBOX", None, None, message))
    sizes = lambda: [len(bodies(client, server.name(name))) for name in new]
    wait_for(lambda: sizes() == [45, 45, 45, 45], "all are sorted", 60)
    # taken back, and moved on
    first = where(client, [bills, rust])
    for message, to in ((new["Bills"][0], "INBOX"), (new["Lists/rust"][0], bills)):
        [(name, uid)] = first[message]
        ok(client.select(f'"{name}"'))
        ok(client.uid("COPY", str(uid), f'"{to}"'))
        ok(client.uid("STORE", str(uid), "+FLAGS.SILENT", "(\\Deleted)"))
        ok(client.uid("EXPUNGE", str(uid)))
    labels = dict(re.findall(r'name = "([^"]+)"\nlabel = "([^"]+)"', agent.settings.read_text()))
    expected = {name_of(new["Bills"][0]): [labels["INBOX"]], name_of(new["Lists/rust"][0]): [labels[bills]]}
    wait_for(lambda: all(agent.learned("anna").get(it) == label for it, label in expected.items()), "both are learned", 60)
    equal(len(agent.learned("anna")), 162, "messages that were learned")
    agent.kill()
    agent.run("undo")
    equal(sizes(), [41, 40, 40, 59], "messages after undo")
    client.logout()
    equal({"inbox", "spam", "Bills"} - set(labels.values()), set(), "labels")
    return f"labels {sorted(labels.values())}"


class Courier:
    """Courier's imapd, behind a login of the test's own: its own asks a daemon at a path that cannot be chosen."""

    MOVES, owner = False, os.getuid()
    CAPABILITY = "IMAP4rev1 UIDPLUS CHILDREN NAMESPACE THREAD=ORDEREDSUBJECT THREAD=REFERENCES SORT QUOTA IDLE"

    def __init__(self):
        at, self.environment = unpacked("courier")
        self.imapd, self.folder, self.port = at / "usr/bin/imapd", folder("courier"), free_port()
        self.environment |= {
            "PROTOCOL": "IMAP", "IMAP_CAPABILITY": self.CAPABILITY, "IMAP_KEYWORDS": "1", "IMAP_USELOCKS": "1", "IMAP_UMASK": "022",
            "IMAP_EMPTYTRASH": "Trash:7", "IMAP_TRASHFOLDERNAME": "Trash", "IMAP_ENHANCEDIDLE": "0", "IMAP_OBSOLETE_CLIENT": "0",
            "IMAP_CHECK_ALL_FOLDERS": "0", "IMAP_IDLE_TIMEOUT": "1", "MAILDIRPATH": "Maildir"}
        # what tells it of changes, under a name of its own; a process on its own waits long for one
        name = self.environment["GAM_CLIENT_ID"] = f"tamis-{os.getpid()}-{self.port}"
        start([at / "usr/libexec/gam_server", "--notimeout", name], env=self.environment)
        self.listener = listen(self.port, self.log_in)

    def log_in(self, stream):
        # unbuffered: what follows the login is for another
        with contextlib.suppress(OSError, ValueError), stream, stream.makefile("rb", buffering=0) as lines:
            stream.sendall(b"* OK Courier-IMAP ready.\r\n")
            while line := lines.readline().decode():
                tag, verb, *words = line.split()
                if verb.upper() == "CAPABILITY":
                    stream.sendall(f"* CAPABILITY {self.CAPABILITY}\r\n{tag} OK CAPABILITY completed\r\n".encode())
                elif verb.upper() == "LOGIN" and words[1].strip('"') == PASSWORD:
                    user = words[0].strip('"')
                    environment = self.environment | {"AUTHENTICATED": user, "IMAPLOGINTAG": tag, "TCPREMOTEIP": "127.0.0.1", "TCPREMOTEPORT": "1"}
                    home = self.maildir(user).parent
                    start([self.imapd, "Maildir"], cwd=home, env=environment, stdin=stream, stdout=stream, stderr=subprocess.DEVNULL)
                    return
                else:
                    stream.sendall(f"{tag} NO Login failed.\r\n".encode())

    def maildir(self, user):
        path = self.folder / "mail" / user / "Maildir"
        for name in ("", ".Junk", ".Sent", ".Trash"):
            for part in ("cur", "new", "tmp"):
                (path / name / part).mkdir(parents=True, exist_ok=True)
        return path

    def client(self, user):
        client = imaplib.IMAP4("127.0.0.1", self.port, timeout=30)
        client.login(user, PASSWORD)
        return client

    def name(self, name):
        return name if name == "INBOX" else "INBOX." + name.replace("/", ".")

    def fill(self, user, name, mails, seen=True, begin=0):
        self.maildir(user)
        # it stores and expects the line ends of the system
        Dovecot.fill(self, user, name, [(date, mail.replace(b"\r\n", b"\n")) for date, mail in mails], seen, begin)
        # as if Courier itself had made them
        for path in (self.folder / "mail" / user).rglob("Maildir/.*"):
            (path / "maildirfolder").touch()


CYRUS = """
configdirectory: {at}/config
proc_path: {at}/proc
mboxname_lockpath: {at}/lock
partition-default: {at}/mail
defaultpartition: default
sieveusehomedir: false
sievedir: {at}/sieve
cyrus_user: nobody
cyrus_group: nogroup
servername: localhost
altnamespace: yes
unixhierarchysep: yes
allowplaintext: yes
sasl_pwcheck_method: auxprop
sasl_auxprop_plugin: sasldb
sasl_sasldb_path: {at}/sasldb2
sasl_mech_list: PLAIN
autocreate_quota: 0
autocreate_inbox_folders: Junk | Sent | Trash
xlist-junk: Junk
xlist-sent: Sent
xlist-trash: Trash
notifysocket: {at}/notify
idlesocket: {at}/idle
lmtpsocket: {at}/lmtp
"""


class Cyrus:
    """Cyrus, with its own master process, as another user."""

    MOVES = True
    USERS = ("anna", "bob", "probe")

    def __init__(self):
        if not IS_ROOT:
            raise Skipped("Cyrus switches users, which takes root")
        at, self.environment = unpacked("cyrus")
        self.folder, self.port = folder("cyrus"), free_port()
        for name in ("config", "proc", "lock", "mail", "sieve", "config/db", "config/socket"):
            (self.folder / name).mkdir()
        config, services = self.folder / "imapd.conf", self.folder / "cyrus.conf"
        config.write_text(CYRUS.format(at=self.folder))
        imapd = at / "usr/lib/cyrus/bin/imapd"
        services.write_text(f'START {{\n}}\nSERVICES {{\nimap cmd="{imapd} -C {config} -U 30" listen="127.0.0.1:{self.port}" '
                            f'prefork=0 maxchild=100\n}}\nEVENTS {{\n}}\n')
        for user in self.USERS:
            run([at / "usr/sbin/saslpasswd2", "-p", "-c", "-f", self.folder / "sasldb2", "-u", "localhost", user], PASSWORD.encode(),
                env=self.environment)
        for path in (self.folder, *self.folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        with open(self.folder / "log", "wb") as log:
            self.process = start([at / "usr/lib/cyrus/bin/master", "-C", config, "-M", services, "-p", self.folder / "pid", "-L", "/dev/null"],
                                 env=self.environment, stdout=log, stderr=log)
        wait_for(self.answers, "Cyrus answers")

    def answers(self):
        check(self.process.poll() is None, (self.folder / "log").read_text())
        try:
            self.client("probe").logout()
        except OSError:
            return False
        return True

    client, name = Courier.client, staticmethod(Dovecot.name)

    def fill(self, user, name, mails, seen=True, begin=0):
        client = self.client(user)
        # it may be there
        client.create(f'"{name}"')
        for date, mail in mails:
            ok(client.append(f'"{name}"', "(\\Seen)" if seen else None, imaplib.Time2Internaldate(date), re.sub(rb"\r?\n", b"\r\n", mail)))
        client.logout()


def courier():
    return ordinary(Courier())


def cyrus():
    return ordinary(Cyrus())


def courier_moves():
    return moves(Courier)


def cyrus_moves():
    return moves(Cyrus)
