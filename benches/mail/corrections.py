"""What corrections do to other mail, one `tamis learn` each, as a person makes them.

    python3 benches/mail/corrections.py TAMIS CORPUS [ROUNDS]

CORPUS is a folder with `ham` and `spam` of SpamAssassin's public corpus, whose newsletters are the files hard-ham*. A model is
trained on the half of the messages whose names have an MD5 that begins with 0 to 7. Of the other half, newsletters are marked as
spam, or spams as ham; what else changes is counted. ROUNDS different choices are made (3 by default).
"""

import hashlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def digest(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


class Judge:
    def __init__(self, tamis: str, corpus: Path, folder: Path) -> None:
        self.tamis, self.folder, self.base = tamis, folder, folder / "base.tamis"
        files = {label: sorted((corpus / label).iterdir()) for label in ("ham", "spam")}
        halves = {label: ([], []) for label in files}
        for label, paths in files.items():
            for path in paths:
                halves[label][digest(path.name)[0] > "7"].append(path)
        for label, (train, _) in halves.items():
            (folder / "train" / label).mkdir(parents=True)
            for path in train:
                (folder / "train" / label / path.name).symlink_to(path)
        self.run("train", "-m", self.base, folder / "train")
        self.known_ham, self.ham = halves["ham"]
        self.known_spam, self.spam = halves["spam"]

    def run(self, *arguments: object) -> str:
        done = subprocess.run([self.tamis, *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode == 3:
            sys.exit(done.stderr)
        return done.stdout

    def n_spam(self, model: list[object], paths: list[Path]) -> int:
        lines = self.run("score", *model, "--json", *paths).splitlines()
        assert len(lines) == len(paths)
        return sum(json.loads(line)["label"] == "spam" for line in lines)

    def share(self, model: list[object], paths: list[Path]) -> float:
        return 100 * self.n_spam(model, paths) / len(paths)

    def models(self, name: str) -> dict[str, list[object]]:
        """The options for a copy of the model, and for an empty one of a user before it."""
        own = self.folder / f"{name}.tamis"
        own.unlink(missing_ok=True)
        copy = self.folder / f"{name}-copy.tamis"
        shutil.copy(self.base, copy)
        return {"a model": ["-m", copy], "a user's, before it": ["-m", own, "--fallback", self.base]}

    def newsletters(self, round_: int) -> None:
        is_one = lambda path: path.name.startswith("hard-ham")
        test = sorted(filter(is_one, self.ham), key=lambda path: digest(f"{round_}{path.name}"))
        known = [path for path in self.known_ham if is_one(path)]
        for name, model in self.models(f"news{round_}").items():
            for n, new in ((20, test[:20]), (60, test[20:60])):
                for path in new:
                    self.run("learn", *model, "spam", path)
                lost, turned = self.share(model, test[n:]), self.share(model, known)
                marked, caught = self.n_spam(model, test[:n]), self.share(model, self.spam)
                row = f"{name}: {n} newsletters marked: {lost:.1f} % of others lost, {turned:.1f} % of those learned as ham"
                print(f"{row}, {marked} of {n} are spam; {caught:.1f} % of spam caught", flush=True)
                self.rows.setdefault((name, n), []).append((lost, turned))

    def spams(self, round_: int) -> None:
        test = sorted(self.spam, key=lambda path: digest(f"{round_}{path.name}") if round_ else path.name)
        for name, model in self.models(f"spams{round_}").items():
            for path in test[:20]:
                self.run("learn", *model, "ham", path)
            caught, known = self.share(model, test[20:]), self.share(model, self.known_spam)
            print(f"{name}: 20 spams marked as ham: {caught:.1f} % of others caught, {known:.1f} % of those learned")

    rows: dict[tuple[str, int], list[tuple[float, float]]] = {}


def main() -> None:
    tamis, corpus, *rounds = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(tamis, Path(corpus).resolve(), Path(folder))
        newsletters = [path for path in judge.ham if path.name.startswith("hard-ham")]
        print(f"before: {judge.share(['-m', judge.base], newsletters):.1f} % of {len(newsletters)} newsletters lost")
        print(f"before: {judge.share(['-m', judge.base], judge.spam):.1f} % of {len(judge.spam)} spams caught")
        for round_ in range(1, 1 + int(rounds[0] if rounds else 3)):
            judge.newsletters(round_)
        # by name, then in two other orders
        for round_ in range(3):
            judge.spams(round_)
        for (name, n), rows in judge.rows.items():
            lost, turned = (statistics.mean(column) for column in zip(*rows, strict=True))
            print(f"mean, {name}, {n} newsletters: {lost:.1f} % of others, {turned:.1f} % of those learned as ham")


main()
