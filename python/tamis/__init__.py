"""Text classification for spam and topics: fast, exact and explainable."""

from tamis._tamis import (
    Explanation,
    Filter,
    Learner,
    Score,
    Scores,
    Table,
    TamisError,
    Term,
    __version__,
)

__all__ = [
    "Explanation",
    "Filter",
    "Learner",
    "Score",
    "Scores",
    "Table",
    "TamisError",
    "Term",
    "__version__",
]
