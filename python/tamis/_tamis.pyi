"""The compiled half of the package; everything public of it is in `tamis`."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

__version__: str

# or an Embedded
_Documents: TypeAlias = Iterable[str | bytes] | Any
_Document: TypeAlias = str | bytes | Mapping[str, Any] | Any
_Labels: TypeAlias = Iterable[str] | Any
_Kind: TypeAlias = Literal["mail", "text", "table"]
_Path: TypeAlias = str | os.PathLike[str]

class TamisError(ValueError):
    """A document, a label, an option or a model is not what it should be."""

def file_text(data: bytes) -> str: ...

@final
class Score:
    """The score of one document."""

    @property
    def label(self) -> str: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def probability(self) -> float: ...
    @property
    def log_odds(self) -> float: ...
    @property
    def probabilities(self) -> dict[str, float]: ...
    @property
    def is_spam(self) -> bool: ...
    @property
    def is_unsure(self) -> bool: ...
    @property
    def known_terms(self) -> int: ...
    @property
    def truncated(self) -> bool: ...
    def _repr_html_(self) -> str: ...

@final
class Scores:
    """The scores of many documents: a sequence of scores, and their columns."""

    @property
    def labels(self) -> list[str]: ...
    @property
    def probability(self) -> NDArray[np.float64]: ...
    @property
    def log_odds(self) -> NDArray[np.float64]: ...
    @property
    def probabilities(self) -> NDArray[np.float64]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: int, /) -> Score: ...
    def __iter__(self) -> Iterator[Score]: ...

@final
class Table:
    """A table of scores or terms. Other libraries read it without a copy by Arrow's PyCapsule interface."""

    @property
    def column_names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Term:
    """What a term adds to a score."""

    @property
    def term(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def documents(self) -> dict[str, int]: ...
    @property
    def contribution(self) -> float: ...

@final
class Report:
    """A report with pictures: HTML without scripts. A notebook shows it, and ``save`` writes it to a file."""

    @property
    def html(self) -> str: ...
    def save(self, path: _Path) -> None: ...
    def _repr_html_(self) -> str: ...

@final
class Explanation:
    """Why a document got its score: what each of its terms adds to the log-odds."""

    @property
    def score(self) -> Score: ...
    @property
    def label(self) -> str: ...
    @property
    def against(self) -> str: ...
    @property
    def intercept(self) -> float: ...
    @property
    def terms(self) -> tuple[Term, ...]: ...
    @property
    def unknown(self) -> int: ...
    @property
    def part(self) -> str | None: ...
    @property
    def doubt(self) -> str | None: ...
    def report(self, *, terms: int = 20, title: str = "a document") -> Report: ...
    def _repr_html_(self) -> str: ...

@final
class Counter:
    """Counts labelled documents, batch by batch, and merges the counts of others."""

    def __init__(self, *, kind: _Kind = "text", **options: Any) -> None: ...
    def add(
        self,
        documents: _Documents,
        labels: _Labels,
        *,
        groups: _Labels | None = None,
        weights: Sequence[float] | NDArray[np.float64] | None = None,
        encoding: str = "utf-8",
        decode_error: Literal["strict", "ignore", "replace"] = "strict",
    ) -> None: ...
    def merge(self, partial: bytes) -> None: ...
    def partial(self) -> bytes: ...
    def finish(self, *, n_jobs: int | None = None) -> Filter: ...
    def choose_terms(self) -> tuple[bool, bool]: ...
    @property
    def n_documents(self) -> int: ...
    @property
    def labels(self) -> list[str]: ...

class DistributedFit:
    """The lead of a distributed fit: documents stay in their partitions, and only changed weights travel."""

    def __init__(self, counts: Counter, sample: Counter, n_partitions: int) -> None: ...
    @staticmethod
    def sample_share(n_documents: int) -> float: ...
    def plan(self) -> bytes: ...
    def correction(self) -> bytes: ...
    def add(self, change: bytes) -> None: ...
    def finish(self, *, n_jobs: int | None = None) -> Filter: ...
    @property
    def n_rounds(self) -> int: ...
    @property
    def is_done(self) -> bool: ...

class FitPlan:
    """What every partition of a distributed fit needs."""

    def __init__(self, plan: bytes) -> None: ...
    def round(self, partial: bytes, state: bytes | None, correction: bytes) -> tuple[bytes, bytes]: ...
    def merge(self, changes: list[bytes]) -> bytes: ...

def counts_of(partial: bytes) -> bytes:
    """The counts of a partial without its documents."""

def sample_of(partial: bytes, share: float) -> bytes:
    """A sample of a partial's documents."""

class Filter:
    """A trained model in use: scores and explains messages or texts, and learns from corrections."""

    @classmethod
    def open(
        cls, path: _Path, *, unsure: float | None = None, spam_label: str | None = None, mapped: bool = False
    ) -> Self: ...
    @classmethod
    def from_bytes(cls, data: bytes, *, unsure: float | None = None, spam_label: str | None = None) -> Self: ...
    @classmethod
    def train(
        cls,
        documents: _Documents,
        labels: _Labels,
        /,
        *,
        groups: _Labels | None = None,
        weights: Sequence[float] | NDArray[np.float64] | None = None,
        unlabelled: _Documents | None = None,
        kind: _Kind = "mail",
        n_jobs: int | None = None,
        progress: bool = False,
        **options: Any,
    ) -> Self: ...
    @classmethod
    def merge(
        cls,
        filters: Sequence[Filter],
        *,
        retrain: bool = False,
        strip: bool = False,
        repeat: bool = False,
        n_jobs: int | None = None,
    ) -> Self: ...
    @classmethod
    def cross_validate(
        cls,
        documents: _Documents,
        labels: _Labels,
        /,
        *,
        groups: _Labels | None = None,
        folds: int = 10,
        kind: _Kind = "mail",
        n_jobs: int | None = None,
        progress: bool = False,
        **options: Any,
    ) -> dict[str, Any]: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def is_spam_filter(self) -> bool: ...
    @property
    def has_many_labels(self) -> bool: ...
    @property
    def information(self) -> dict[str, Any]: ...
    @property
    def path(self) -> os.PathLike[str] | None: ...
    def score(self, message: _Document) -> Score: ...
    def score_many(
        self, messages: _Documents, *, n_jobs: int | None = None, progress: bool = False
    ) -> Scores: ...
    def score_table(
        self, messages: _Documents, *, n_jobs: int | None = None, progress: bool = False, probabilities: bool = False
    ) -> Table: ...
    def explain(self, message: _Document, label: str | None = None) -> Explanation: ...
    def evaluate(
        self,
        documents: _Documents,
        labels: _Labels,
        *,
        n_jobs: int | None = None,
        progress: bool = False,
        encoding: str = "utf-8",
        decode_error: Literal["strict", "ignore", "replace"] = "strict",
    ) -> dict[str, Any]: ...
    def report(
        self,
        documents: _Documents | None = None,
        labels: _Labels | None = None,
        *,
        title: str | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
        encoding: str = "utf-8",
        decode_error: Literal["strict", "ignore", "replace"] = "strict",
    ) -> Report: ...
    def suspects(
        self,
        documents: _Documents | None = None,
        labels: _Labels | None = None,
        *,
        n_jobs: int | None = None,
        progress: bool = False,
        encoding: str = "utf-8",
        decode_error: Literal["strict", "ignore", "replace"] = "strict",
    ) -> list[dict[str, Any]]: ...
    def drift(
        self,
        documents: _Documents,
        *,
        level: float = 0.01,
        n_jobs: int | None = None,
        progress: bool = False,
        encoding: str = "utf-8",
        decode_error: Literal["strict", "ignore", "replace"] = "strict",
    ) -> dict[str, Any]: ...
    def suggest(
        self,
        documents: _Documents,
        n: int = 20,
        *,
        n_jobs: int | None = None,
        progress: bool = False,
        encoding: str = "utf-8",
        decode_error: Literal["strict", "ignore", "replace"] = "strict",
    ) -> list[dict[str, Any]]: ...
    def strongest_terms(self, label: str, n: int = 20) -> tuple[Term, ...]: ...
    def term_table(self) -> Table: ...
    def learn(
        self, message: _Document, label: str | Sequence[str], *, lock_timeout: float = 60.0
    ) -> Literal["new", "already", "moved"]: ...
    def forget(
        self, message: _Document, label: str | Sequence[str] | None = None, *, lock_timeout: float = 60.0
    ) -> str | None: ...
    def reload(self) -> None: ...
    def save(self, path: _Path) -> None: ...
    def to_bytes(self) -> bytes: ...
    def _repr_html_(self) -> str: ...

@final
class Learner:
    """A model file that is open for learning, locked against other writers; readers do not notice."""

    @classmethod
    def open(cls, path: _Path, *, lock_timeout: float = 60.0, retrain: bool = True) -> Self: ...
    @classmethod
    def create(
        cls,
        path: _Path,
        labels: Sequence[str] | None = None,
        *,
        kind: Literal["mail", "text"] = "mail",
        vectors: int | None = None,
        encoder: str | None = None,
        lock_timeout: float = 60.0,
        retrain: bool = True,
    ) -> Self: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def path(self) -> os.PathLike[str]: ...
    def learn(self, message: _Document, label: str | Sequence[str]) -> Literal["new", "already", "moved"]: ...
    def forget(self, message: _Document, label: str | Sequence[str] | None = None) -> str | None: ...
    def score(self, message: _Document) -> Score: ...
    def explain(self, message: _Document, label: str | None = None) -> Explanation: ...
    def commit(self) -> None: ...
    def retrain(self) -> None: ...
    def add_label(self, label: str) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None: ...

# What TamisClassifier is made of. Examples are documents, labels, groups, weights and documents without labels; `how` is
# n_jobs, progress, encoding and decode_error.

def train(examples: tuple[Any, Any, Any, Any, Any], options: dict[str, Any], *, kind: str, **how: Any) -> Filter: ...
def count(
    examples: tuple[Any, Any, Any, Any, Any], options: dict[str, Any], *, kind: str, **how: Any
) -> tuple[bytes, int]: ...
def fit(
    partials: Sequence[bytes], options: dict[str, Any], *, kind: str, n_jobs: int | None
) -> tuple[Filter | None, dict[str, float], bytes]: ...
def scores(
    filter: Filter, documents: Any, **how: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def column_kinds(table: Any, options: dict[str, Any], *, encoding: str, decode_error: str) -> dict[str, str]: ...
def texts(
    documents: Any, *, kind: str, encoding: str, decode_error: str, columns: list[str]
) -> list[str]: ...
def table(columns: dict[str, NDArray[np.float64] | list[str] | list[list[str]]]) -> Table: ...

# tamis.naive_bayes: rows are (indptr, indices, data, n_features) of a CSR matrix.
_Indices: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
_Csr: TypeAlias = tuple[_Indices, _Indices, NDArray[np.float64] | NDArray[np.float32], int]

def csr_count(
    rows: _Csr,
    codes: NDArray[np.int64],
    counts: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
    threshold: float | None = None,
) -> None: ...
def csr_product(
    rows: _Csr, weights: NDArray[np.float64], out: NDArray[np.float64], threshold: float | None = None
) -> None: ...
