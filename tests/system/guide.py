"""The commands and settings of docs/guide/server.md as they are printed, but for folders and ports."""

import json
import re
import shutil

from support import INBOX, MAIL, ROOT, SCRATCH, TAMIS, TAMISD, Skipped, Tamisd, check, equal, folder, model, need, run

TEXT = (ROOT / "docs/guide/server.md").read_text()


def blocks(language=""):
    """The blocks of the guide in a language."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.M | re.S)
    return [block for name, block in found if name == language]


def guide_block(language):
    (block,) = blocks(language)
    return block


# what the guide takes for granted, or would take minutes
NOT_RUN = {"cargo install --locked --path crates/server": "it builds", "tamisd": "its ports may be in use"}


def guide():
    for program in ["spamc", "curl", "rspamc"]:
        need(program)
    at = folder("guide")
    shutil.copy(INBOX[0], at / "message.eml")
    for name, source in [("Maildir/cur", "ham"), ("Maildir/.Junk/cur", "spam")]:
        shutil.copytree(MAIL / source, at / name)
    run([TAMIS, "train", "-m", at / "tickets.tamis", f"a={ROOT / 'docs'}", f"b={ROOT / 'contrib'}"], expected=None)
    hashed = run([TAMISD, "--hash-password"], b"q1").decode().strip()
    users = at / "users"
    users.mkdir()
    settings = f"""users = "FOLDER/users/%u.tamis"
named = {{ tickets = "FOLDER/tickets.tamis" }}
[spamd]
listen = ["unix:FOLDER/spamd.sock"]
[http]
listen = ["tcp:127.0.0.1:0"]
password = "{hashed}"
[log]
to = "FOLDER/verdicts.log"
"""
    server = Tamisd(settings, at=at)
    replaced = [("/run/tamis/", f"{at}/"), ("/var/lib/tamis/", f"{at}/"), ("/var/log/tamis/", f"{at}/"), ("users/", f"{at}/users/"),
                (f"{at}/{at}/", f"{at}/"), ("127.0.0.1:11333", f"127.0.0.1:{server.port('http')}"), ("-m FILE", f"-m {users}/joe.tamis"),
                ("cp BACKUP", f"cp {at}/backup")]
    (at / "bin").mkdir()
    (at / "bin/tamis").symlink_to(TAMIS)

    def ask(command):
        for printed, here in replaced:
            command = command.replace(printed, here)
        return run(["sh", "-ec", command], cwd=at, env={"PASSWORD": "q1", "PATH": f"{at}/bin:/usr/bin:/bin"}).decode(errors="replace")

    ran = 0
    for line in "".join(blocks()).splitlines():
        if line in NOT_RUN:
            continue
        said = ask(line)
        ran += 1
        expected = {"spamc": "successfully", "rspamc": "success = true", "tamis": "spam"}.get(line.split()[0])
        if line.startswith("curl") and "metrics" in line:
            expected = "# EOF"
        elif line.startswith("curl"):
            check("error" not in json.loads(said), f"{line}: {said}")
        check(expected is None or expected in said, f"{line}: {said}")
    # joe has a model now; the rest of the tables, from the first command of each row
    shutil.copy(users / "joe.tamis", at / "backup")
    for command in re.findall(r"^\| [^|]* \| .*?`((?:tamis|find|cp|spamc|rspamc) [^`]*)`", TEXT, re.M):
        if command in ("spamc -c", "tamis score --passthrough"):
            continue
        if command.startswith("spamc"):
            command += " < message.eml"
        ask(command)
        ran += 1
    ask(re.search(r"`(tamis train ham=Maildir[^`]*)`", TEXT)[1].replace("train", "train -m new.tamis"))
    server.stop()
    (at / "partners").write_text("# ours\nann@partner.example\n")
    for n, block in enumerate(blocks("toml")):
        config = at / f"{n}.toml"
        rest = "" if "listen" in block else '[http]\nlisten = ["tcp:127.0.0.1:0"]\n'
        if "[page]" in block:
            rest = f'[http]\npassword = "{hashed}"\n'
        config.write_text(block.replace("/etc/tamis/", f"{at}/") + rest)
        run([TAMISD, "--check", "-c", config])
    equal(set(re.findall(r"^```(\w+)$", TEXT, re.M)), {"toml", "exim", "sh"}, "languages of blocks; those of Exim and Dovecot have tests of their own")
    return f"{ran} commands and {len(blocks('toml'))} settings as printed; not run: {', '.join(NOT_RUN)}"
