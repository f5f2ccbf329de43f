"""Text classification for spam and topics: fast, exact and explainable."""

from tamis._tamis import TamisError, __version__

__all__ = ["TamisError", "__version__"]
