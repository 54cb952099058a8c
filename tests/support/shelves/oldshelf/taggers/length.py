"""The shipped tagger, on this shelf too."""

from gristmill.taggers.length import LENGTH

__all__ = ["LENGTH"]
