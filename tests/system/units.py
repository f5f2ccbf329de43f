"""The units of contrib/server, as far as they can be checked where systemd does not run."""

import re
import shutil
import subprocess

from support import ROOT, TAMISD, check, equal, folder, need, run

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
