"""A real IMAP server in a folder: Dovecot, with TLS of a certificate made there."""

import imaplib
import os
import shutil
import ssl

from support import IS_ROOT, Skipped, check, folder, free_port, need, run, start, wait_for

NOBODY = 65534
PASSWORD = "secret"

CONFIG = """
protocols = imap{lmtp}
base_dir = {at}/run
state_dir = {at}/state
log_path = {at}/dovecot.log
listen = 127.0.0.1
first_valid_uid = 1
disable_plaintext_auth = no
ssl = yes
ssl_cert = <{at}/cert.pem
ssl_key = <{at}/key.pem
mail_fsync = never
mail_location = maildir:{at}/mail/%u/Maildir
mail_max_userip_connections = 100
imap_capability = {capability}
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={uid} home={at}/mail/%u
}}
service imap-login {{
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = {imaps}
  }}
}}
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Junk {{
    auto = subscribe
    special_use = \\Junk
  }}
  mailbox Trash {{
    auto = subscribe
    special_use = \\Trash
  }}
  mailbox Sent {{
    auto = subscribe
    special_use = \\Sent
  }}
}}
{more}
"""


class Dovecot:
    """The server. `capability` replaces what it says it can do, as for one that cannot move."""

    MOVES = True

    def __init__(self, more="", capability="", lmtp=False):
        need("doveadm")
        if not IS_ROOT:
            raise Skipped("Dovecot switches users, which takes root")
        self.folder = folder("dovecot")
        # of the mailboxes, as it is set now
        self.owner = NOBODY
        self.port, self.tls_port, self.lmtp_port = free_port(), free_port(), free_port()
        self.certificate = self.folder / "cert.pem"
        run([need("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
             "-keyout", self.folder / "key.pem", "-out", self.certificate])
        mail = self.folder / "mail"
        mail.mkdir()
        os.chown(mail, NOBODY, NOBODY)
        more = more.replace("FOLDER", str(self.folder)).replace("LMTP_PORT", str(self.lmtp_port))
        self.config = self.folder / "dovecot.conf"
        self.config.write_text(CONFIG.format(
            at=self.folder, uid=NOBODY, imap=self.port, imaps=self.tls_port, password=PASSWORD, more=more,
            capability=capability, lmtp=" lmtp" if lmtp else "").replace("imap_capability = \n", ""))
        self.process = None
        self.start()

    def start(self):
        self.process = start([need("dovecot"), "-F", "-c", self.config])
        wait_for(self.answers, "Dovecot answers")

    def answers(self):
        check(self.process.poll() is None, f"Dovecot ended: {self.log()}")
        try:
            self.client("probe").logout()
        except OSError:
            return False
        return True

    def stop(self):
        self.process.terminate()
        self.process.wait(20)

    def log(self):
        path = self.folder / "dovecot.log"
        return path.read_text(errors="replace")[-2000:] if path.exists() else ""

    def client(self, user, tls=False):
        """A client that is logged in."""
        if tls:
            context = ssl.create_default_context(cafile=self.certificate)
            client = imaplib.IMAP4_SSL("localhost", self.tls_port, ssl_context=context, timeout=30)
        else:
            client = imaplib.IMAP4("127.0.0.1", self.port, timeout=30)
        client.login(user, PASSWORD)
        return client

    @staticmethod
    def name(name):
        """A folder's name as the server has it."""
        return name

    def fill(self, user, name, mails, seen=True, begin=0):
        """Puts messages into a folder as if they had arrived a second after one another, up to now."""
        box = self.folder / "mail" / user / "Maildir"
        if name != "INBOX":
            box = box / ("." + name.replace("/", "."))
        for part in ("cur", "new", "tmp"):
            (box / part).mkdir(parents=True, exist_ok=True)
        for n, (date, mail) in enumerate(mails, begin):
            path = box / "cur" / f"{date}.M{n}P1.host:2,{'S' if seen else ''}"
            path.write_bytes(mail)
            os.utime(path, (date, date))
        for at in [self.folder / "mail" / user, *(self.folder / "mail" / user).rglob("*")]:
            os.chown(at, self.owner, -1)


def ok(answer):
    """The data of an answer that must be OK."""
    status, data = answer
    check(status == "OK", f"{status} {data}")
    return data


def bodies(client, name):
    """The messages of a folder by UID, without marking them."""
    ok(client.select(f'"{name}"', readonly=True))
    uids = ok(client.uid("SEARCH", "UNDELETED"))[0].split()
    found = {}
    for begin in range(0, len(uids), 500):
        for part in ok(client.uid("FETCH", b",".join(uids[begin:begin + 500]).decode(), "(UID FLAGS BODY.PEEK[])")):
            if isinstance(part, tuple):
                uid = int(part[0].split(b"UID ")[1].split()[0])
                found[uid] = part[1]
    return found


def remove(path):
    shutil.rmtree(path, ignore_errors=True)
