"""What the scripts of this folder share: corpora, tables on disk, runs of tamis."""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.dont_write_bytecode = True


def newsgroups(folder, part, stripped=False):
    """Texts and labels of `train` or `test`; `stripped` removes headers, footers and quotes as scikit-learn does."""
    paths = sorted(path for path in (folder / part).glob("*/*") if path.is_file())
    texts = [path.read_bytes().decode("latin-1") for path in paths]
    return [strip(text) for text in texts] if stripped else texts, [path.parent.name for path in paths]


def strip(text):
    from sklearn.datasets import _twenty_newsgroups as sets

    text = sets.strip_newsgroup_header(text) if "\n\n" in text else text
    return sets.strip_newsgroup_footer(sets.strip_newsgroup_quoting(text))


def labelled_lines(path):
    """Texts and labels of lines LABEL TAB TEXT."""
    pairs = [line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()]
    return [text for _, text in pairs], [label for label, _ in pairs]


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

    def run(self, *arguments, statuses=(0,)):
        """Returns the exit status, standard output and CPU seconds."""
        before = cpu_of_children()
        result = subprocess.run([self.program, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if result.returncode not in statuses:
            raise RuntimeError(f"tamis {' '.join(map(str, arguments))}: status {result.returncode}: {result.stderr.strip()}")
        return result.returncode, result.stdout, cpu_of_children() - before

    def train(self, model, *sources, options=()):
        """Returns CPU seconds."""
        return self.run("train", "-q", "--threads", 1, "-m", model, *options, *sources)[2]

    def label(self, model, *sources, options=()):
        """Returns the verdicts, one object a row."""
        output = self.run("label", "-q", "--threads", 1, "-m", model, "--format", "jsonl", *options, *sources)[1]
        return [json.loads(line) for line in output.splitlines()]


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(do):
    """Returns the result and the CPU seconds of this process."""
    begun = time.process_time()
    result = do()
    return result, time.process_time() - begun


def print_table(heading, rows):
    """Prints each row as soon as it is there; returns all."""
    print("| " + " | ".join(heading) + " |")
    print("| " + " | ".join("---" for _ in heading) + " |", flush=True)
    printed = []
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
        printed.append(row)
    print()
    return printed
