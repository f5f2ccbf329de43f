"""What the scripts of this folder share. Import it first: numpy and measure.py need what it sets."""

import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure import ONE, THREADS, Command

for variable in THREADS:
    os.environ.setdefault(variable, "1")


def write_jsonl(path, texts, labels=None):
    """A row a text; `labels` holds a label or a list of labels for each."""
    with open(path, "w", encoding="utf-8") as file:
        for n, text in enumerate(texts):
            row = {"text": text} if labels is None else {"label": labels[n], "text": text}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


class Tamis:
    """The program, always with one thread."""

    def __init__(self, program):
        self.program = Path(program).resolve()

    def said(self, *arguments, ok=(0,)):
        return Command([self.program, *arguments], ok=ok).said()

    def json_lines(self, command, *arguments):
        said = self.said(command, "-q", *ONE, *arguments, "--format", "jsonl")
        return [json.loads(line) for line in said.output.splitlines()]

    def train(self, model, *sources, options=()):
        """Returns CPU seconds."""
        return self.said("train", "-q", *ONE, "-m", model, *options, *sources).cpu

    def label(self, model, *sources, options=()):
        """Returns the verdicts, one object a row."""
        return self.json_lines("label", "-m", model, *options, *sources)


class Documents:
    """Texts and labels, and in the folder `work` a model of some of them."""

    def __init__(self, tamis, work, texts, labels):
        self.tamis, self.work, self.texts, self.labels = tamis, work, texts, labels
        self.model = work / "model.tamis"

    def train(self, numbers, options=()):
        texts, labels = ([of[n] for n in numbers] for of in (self.texts, self.labels))
        table = write_jsonl(self.work / "train.jsonl", texts, labels)
        self.tamis.train(self.model, table, options=["--replace", *options])
