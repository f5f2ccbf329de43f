"""What several tests use: generated documents, the program, corpora."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tamis import Counter
from tamis.distributed import DistributedFit, FitPlan, counts_of, sample_of

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


def fitted_by_partitions(shards: Iterable[tuple[list, list]], kind: str = "text", **options: object) -> bytes:
    """The model of documents and labels in partitions, fitted by rounds in this process."""

    def merged(partials: list[bytes]) -> Counter:
        counter = Counter(kind=kind, **options)
        for partial in partials:
            counter.merge(partial)
        return counter

    partials = []
    for documents, labels in shards:
        counter = Counter(kind=kind, **options)
        counter.add(documents, labels)
        partials.append(counter.partial())
    counts = merged([counts_of(partial) for partial in partials])
    share = DistributedFit.sample_share(counts.n_documents)
    sample = merged([sample_of(partial, share) for partial in partials])
    lead = DistributedFit(counts, sample, len(partials))
    plan, states = FitPlan(lead.plan()), [None] * len(partials)
    while not lead.is_done:
        rounds = [plan.round(partial, state, lead.correction()) for partial, state in zip(partials, states)]
        states = [state for state, _ in rounds]
        lead.add(plan.merge([change for _, change in rounds]))
    assert lead.n_rounds <= 10
    return lead.finish().to_bytes()


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
