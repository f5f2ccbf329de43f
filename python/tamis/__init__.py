"""Text classification for spam and topics: fast, exact and explainable."""

from tamis._tamis import __version__

__all__ = ["__version__"]
