"""The units of contrib/server, as far as they can be checked where systemd does not run."""

import re
import shutil
import subprocess

from support import IS_ROOT, ROOT, TAMISD, Skipped, Tamisd, check, equal, folder, mail, need, run

MOST_EXPOSED = 1.5


def units():
    analyze = need("systemd-analyze")
    at = folder("units")
    for unit in (ROOT / "contrib/server").glob("tamisd*.s*"):
        shutil.copy(unit, at)
    service = at / "tamisd.service"
    service.write_text(service.read_text().replace("/usr/bin/tamisd", TAMISD))
    done = subprocess.run([analyze, "verify", "--man=no", *sorted(at.iterdir())], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)
    # of units of the machine itself nothing is asked
    about = [line for line in (done.stdout + done.stderr).splitlines() if "tamisd" in line]
    equal(about, [], "what systemd says about the units")
    said = run([analyze, "security", "--offline=yes", service]).decode()
    exposed = float(re.search(r"Overall exposure level for tamisd.service: ([\d.]+)", said)[1])
    check(exposed <= MOST_EXPOSED, f"exposure: expected at most {MOST_EXPOSED}, got {exposed}")
    return f"systemd takes the units; exposure {exposed} of 10"


def learning():
    """Who may learn, in the user namespace that the unit puts the server into, if it does."""
    spamc = need("spamc")
    if not IS_ROOT:
        raise Skipped("processes of other users need root")
    is_private = "\nPrivateUsers=yes" in (ROOT / "contrib/server/tamisd.service").read_text()
    within = ["unshare", "--user", "--map-root-user"] if is_private else []
    server = Tamisd('[spamd]\nlisten = ["unix:FOLDER/spamd.sock"]\nmode = "0666"\nlearn = ["games"]\n', within=within)

    def learns(user, number):
        done = subprocess.run([spamc, "-x", "-U", server.unix("spamd"), "-L", "spam"], input=mail(number, "learn"),
                              capture_output=True, user=user, timeout=60)
        return b"successfully" in done.stdout

    who = {user: learns(user, number) for number, user in enumerate(["root", "games", "daemon", "nobody"])}
    equal(who, {"root": True, "games": True, "daemon": False, "nobody": False}, "who may learn")
    server.stop()
    return "the listed user learns, others do not"
