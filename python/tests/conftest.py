"""What several tests use: generated documents, the program, corpora."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def tamis_program() -> Path:
    """The program, of $TAMIS_BIN or of a build in target/."""
    named = os.environ.get("TAMIS_BIN")
    built = [ROOT / "target" / profile / "tamis" for profile in ("release", "debug")]
    for path in [Path(named)] if named else built:
        if path.is_file():
            return path
    pytest.skip("the program tamis is not built: set TAMIS_BIN, or run cargo build")


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of corpora, of $TAMIS_CORPORA or beside the repository."""
    path = Path(os.environ.get("TAMIS_CORPORA") or ROOT.parent / "shared" / "corpora")
    if not path.is_dir():
        pytest.skip("no corpora: set TAMIS_CORPORA")
    return path


def run(program: Path, *arguments: object) -> None:
    """Runs the program, which must succeed."""
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def generated(n: int, labels: list[str], seed: int = 1) -> tuple[list[str], list[str]]:
    """Texts of words of which some are of their label, and the labels; a few texts come twice."""
    dice = random.Random(seed)
    common = [f"word{rank}" for rank in range(200)]
    texts, given = [], []
    for _ in range(n):
        label = dice.choice(labels)
        own = [f"{label}{dice.randrange(20)}" for _ in range(dice.randrange(3))]
        texts.append(" ".join(dice.choices(common, k=dice.randrange(1, 30)) + own + ["Straße"]))
        given.append(label)
    return texts + texts[:5], given + given[:5]
