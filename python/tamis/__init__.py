"""Text classification for spam and topics: fast, exact and explainable."""

from typing import TYPE_CHECKING, Any

from tamis._embedded import Embedded
from tamis._tamis import (
    Counter,
    Explanation,
    Filter,
    Learner,
    Report,
    Score,
    Scores,
    Table,
    TamisError,
    Term,
    __version__,
    file_text,
)

if TYPE_CHECKING:
    from tamis.classifier import TamisClassifier

__all__ = [
    "Counter",
    "Embedded",
    "Explanation",
    "Filter",
    "Learner",
    "Report",
    "Score",
    "Scores",
    "Table",
    "TamisClassifier",
    "TamisError",
    "Term",
    "__version__",
    "file_text",
]


def __getattr__(name: str) -> Any:
    # scikit-learn is slow to import and may be missing
    if name == "TamisClassifier":
        try:
            from tamis.classifier import TamisClassifier
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("sklearn", "scipy"):
                raise
            message = "TamisClassifier needs scikit-learn: pip install 'tamis[sklearn]'"
            raise ModuleNotFoundError(message, name=error.name) from None

        return TamisClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
