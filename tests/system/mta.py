"""Exim and Postfix with tamisd, in folders of their own. What Postfix does with verdicts is in the tests of crates/server."""

import grp
import os
import pwd
import re
import subprocess
import time

from guide import guide_block
from support import (INBOX, IS_ROOT, SCRATCH, TAMIS, Skipped, Tamisd, check, connect, equal, folder, free_port, model,
                     need, register, run, start, wait_for)


def spam_and_ham():
    """The most certain messages of the inbox."""
    scored = []
    for path in INBOX:
        line = run([TAMIS, "score", "-m", model()], path.read_bytes(), expected=None).decode()
        scored.append((float(line.split()[-1]), path))
    scored.sort()
    return scored[-1][1], scored[0][1]


def send(port, path, forged=(), xclient=None):
    """Sends a message with swaks. Returns the reply to its end, such as "250 OK"."""
    # the forged fields stand in the header
    lines = [field.encode() for field in forged] + path.read_bytes().splitlines()
    stuffed = [b"." + line if line.startswith(b".") else line for line in lines]
    data = folder("sent") / "mail"
    data.write_bytes(b"".join(line + b"\r\n" for line in [*stuffed, b"."]))
    # swaks sends these very bytes: percent signs and backslashes stay
    as_client = ["--xclient", xclient] if xclient else []
    done = subprocess.run(
        ["swaks", *as_client, "-s", f"127.0.0.1:{port}", "-f", "a@example.net", "-t", "b@example.org", "--no-data-fixup",
         "--data", f"@{data}", "--suppress-data", "--timeout", "20"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    # the reply that follows the end of the message, or the last error
    replies = [line for line in lines if re.match(r"<(-|\*\*)  ?\d{3}", line)]
    after = [n for n, line in enumerate(lines) if re.match(r" ->.*(lines sent| \.)$", line)]
    check(after, f"swaks sent no message: {done.stdout}{done.stderr}")
    replies = [line for line in lines[after[-1]:] if re.match(r"<(-|\*\*)  ?\d{3}", line)]
    check(replies, f"swaks got no reply: {done.stdout}{done.stderr}")
    return re.sub(r"^<(-|\*\*) +", "", replies[0])


def user_and_group(*names):
    """The first of these users that there is, and its group."""
    for name in names:
        try:
            user = pwd.getpwnam(name)
            return user, grp.getgrgid(user.pw_gid).gr_name
        except KeyError:
            continue
    raise Skipped(f"there is none of the users {', '.join(names)}")


EXIM = """
exim_path = {exim}
exim_user = {user}
exim_group = {group}
never_users =
deliver_drop_privilege
spool_directory = {at}/spool
log_file_path = {at}/log/%slog
pid_file_path = {at}/pid
keep_environment =
primary_hostname = mx.example.org
qualify_domain = example.org
tls_advertise_hosts =
host_lookup =
rfc1413_query_timeout = 0s
acl_smtp_rcpt = accept
acl_smtp_data = check_data
spamd_address = 127.0.0.1 {port} {variant}
begin acl
check_data:
  deny condition = ${{if eq{{$h_X-Test:}}{{reject}}}}
       spam = b
       message = looks like spam
{guide}
  warn spam = b:true/defer_ok
       add_header = X-Score: $spam_score int=$spam_score_int action=$spam_action
       add_header = X-Report: ${{sg{{$spam_report}}{{\\\\n}}{{ | }}}}
  accept
begin routers
all:
  driver = accept
  transport = box
begin transports
box:
  driver = appendfile
  file = {at}/mail/box
  user = {user}
  group = {group}
  mode = 0644
"""


def exim():
    need("swaks")
    unpacked = SCRATCH / "exim/exim"
    if unpacked.exists():
        program = str(unpacked)
    else:
        program = need("exim4")
        check_text = run([program, "-bV"], expected=None).decode()
        if "Content_Scanning" not in check_text:
            raise Skipped("this Exim has no content scanning (exim4-daemon-heavy has)")
    if not IS_ROOT:
        raise Skipped("Exim delivers as root alone")
    server = Tamisd('[spamd]\nlisten = ["tcp:127.0.0.1:0"]\n')
    user, group = user_and_group("Debian-exim", "mail", "nobody")
    spam, ham = spam_and_ham()
    scores = []
    for variant in ["", "variant=rspamd"]:
        at = folder("exim", 0o755)
        for name in ["spool", "log", "mail"]:
            (at / name).mkdir()
            os.chown(at / name, user.pw_uid, user.pw_gid)
        config = at / "exim.conf"
        config.write_text(EXIM.format(at=at, guide=guide_block("exim"), exim=program, user=user.pw_name, group=group, port=server.port("spamd"),
                                      variant=variant))
        port = free_port()
        with open(at / "said", "w") as said:
            daemon = start([program, "-C", config, "-bdf", "-oX", f"127.0.0.1.{port}"], stderr=said)
        box = at / "mail/box"

        def log():
            parts = [path.read_text(errors="replace") for path in [at / "said", *sorted((at / "log").iterdir())]]
            return "\n".join(parts)

        def greets():
            check(daemon.poll() is None, f"Exim ended: {log()}")
            try:
                with connect(("127.0.0.1", port)) as stream:
                    return stream.recv(100)
            except OSError:
                return None

        wait_for(greets, "Exim answers")
        for path, is_spam in [(spam, True), (ham, False)]:
            before = box.read_text(errors="replace").count("X-Score:") if box.exists() else 0
            reply = send(port, path)
            check(reply.startswith("250"), f"Exim with {variant or 'spamd'}: {reply}\n{log()}")
            wait_for(lambda: box.exists() and box.read_text(errors="replace").count("X-Score:") > before,
                     f"Exim delivers: {log()}")
            text = box.read_text(errors="replace").split("X-Score:")[-1]
            score, tenths = re.match(r" (-?[\d.]+) int=(-?\d+)", text).groups()
            equal(float(score) >= 5, is_spam, f"Exim's score of {path.name}: {text[:200]}")
            # Exim adds a half and truncates: -5.5 becomes -54
            check(abs(float(score) * 10 - int(tenths)) < 1.01, f"Exim's score {score} in tenths: {tenths}")
            scores.append(float(score))
            if not variant:
                check("Content analysis details" in text, f"Exim's report: {text[:600]}")
        # the guide's lines: the score of the one recipient's model, in place of a forged one
        send(port, ham, ["X-Spam-Score: -99", "X-Spam-Score: -98"])
        delivered = lambda: re.split(r"^From ", box.read_text(errors="replace"), flags=re.M)[-1]
        wait_for(lambda: box.read_text(errors="replace").count("\nX-Score: ") == 3, "Exim delivers what is forged")
        equal(re.findall(r"\nX-Spam-Score: (.*)", delivered()), [f"{scores[-1]:g}"], "Exim's header fields")
        reply = send(port, spam, ["X-Test: reject"])
        check(reply.startswith("550") and "looks like spam" in reply, f"Exim rejects: {reply}\n{log()}")
        reply = send(port, ham, ["X-Test: reject"])
        check(reply.startswith("250"), f"Exim accepts: {reply}")
        # the filter is away: /defer_ok lets mail pass
        server.kill()
        check(send(port, spam).startswith("250"), f"Exim without the filter: {log()}")
        server.start()
        daemon.terminate()
        daemon.wait(20)
    equal(scores[:2], scores[2:], "the scores of both variants")
    return f"{scores[0]:+.1f} and {scores[1]:+.1f} as spamd and as variant=rspamd, spam rejected, mail without the filter accepted"


MAIN = """
compatibility_level = 3.6
queue_directory = {at}/queue
data_directory = {at}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mx.example.org
mydestination = example.org
local_recipient_maps =
alias_maps =
alias_database =
mailbox_transport = virtual
virtual_mailbox_base = {at}/mail
virtual_mailbox_maps = static:box/
virtual_mailbox_domains =
mynetworks = 127.0.0.0/8
smtpd_authorized_xclient_hosts = 127.0.0.0/8
virtual_uid_maps = static:1000
virtual_gid_maps = static:1000
maillog_file = {at}/postfix.log
maillog_file_prefixes = {at}
smtpd_milters = unix:{socket}
milter_default_action = tempfail
"""
SERVICES = "cleanup qmgr pickup showq bounce defer trace error retry local virtual smtp proxymap anvil".split()
PROGRAMS = {"defer": "bounce", "trace": "bounce", "retry": "error"}


class Postfix:
    """Postfix with a milter, in a folder. `stop` ends it."""

    def __init__(self, socket):
        need("swaks")
        if not IS_ROOT or not os.path.exists("/usr/lib/postfix/sbin/master"):
            raise Skipped("Postfix is not installed, or this is not root")
        self.folder, self.port = folder("postfix", 0o755), free_port()
        for name, owner in [("etc", 0), ("queue", 0), ("data", pwd.getpwnam("postfix").pw_uid), ("mail", 1000)]:
            (self.folder / name).mkdir()
            os.chown(self.folder / name, owner, -1)
        (self.folder / "etc/main.cf").write_text(MAIN.format(at=self.folder, socket=socket))
        lines = [f"127.0.0.1:{self.port} inet n - n - - smtpd", "postlog unix-dgram n - n - 1 postlogd",
                 "rewrite unix - - n - - trivial-rewrite"]
        for name in SERVICES:
            program = PROGRAMS.get(name, name)
            private = "n" if name in ("cleanup", "qmgr", "pickup", "showq") else "-"
            unprivileged = "n" if name in ("local", "virtual") else "-"
            wakeup, most = {"qmgr": (300, 1), "pickup": (60, 1), "anvil": ("-", 1)}.get(name, ("-", "-"))
            most = 0 if program in ("bounce", "cleanup") else most
            lines.append(f"{name} unix {private} {unprivileged} n {wakeup} {most} {program}")
        (self.folder / "etc/master.cf").write_text("\n".join(lines) + "\n")
        self.control("start")
        register(int((self.folder / "queue/pid/master.pid").read_text()))

    def control(self, what):
        run(["/usr/sbin/postfix", "-c", self.folder / "etc", what])

    def stop(self):
        self.control("stop")


def rules():
    """Postfix tells who its clients are, and the milter does as the rules say."""
    server = Tamisd("""[milter]
listen = ["unix:FOLDER/milter.sock"]
mode = "0666"
reject = 0.5
[verdict]
authserv_id = "mx.example.org"
[[rule]]
authenticated = true
verdict = "skip"
[[rule]]
clients = ["192.0.2.0/24"]
verdict = "skip"
[[rule]]
from = ["@partner.example"]
verdict = "ham"
[[rule]]
from = ["@blocked.example"]
verdict = "spam"
""")
    spam, ham = spam_and_ham()
    postfix = Postfix(server.unix("milter"))
    proof = "Authentication-Results: mx.example.org; dkim=pass header.d=partner.example"
    try:
        for path, fields, author, client, code in [
            (spam, [], None, "ADDR=198.51.100.7", "550"),
            (spam, [], None, "ADDR=192.0.2.7", "250"),
            (spam, [], None, "ADDR=198.51.100.7 LOGIN=joe", "250"),
            (spam, [proof], "a@partner.example", None, "250"),
            (spam, [], "a@partner.example", None, "550"),
            (ham, [], None, None, "250"),
            (ham, [], "a@blocked.example", None, "550"),
        ]:
            # the author in place of the message's own
            text = re.sub(rb"^from:.*\n([ \t].*\n)*", b"", path.read_bytes(), count=1, flags=re.M | re.I) if author else path.read_bytes()
            message = folder("sent") / "message"
            message.write_bytes((f"From: {author}\n".encode() if author else b"") + text)
            reply = send(postfix.port, message, fields, client)
            equal(reply[:3], code, f"{path.name} with {fields} from {author} by {client}: {reply}")
    finally:
        postfix.stop()
    server.stop()
    return "seven messages let through or refused by client, sign-in and author"
