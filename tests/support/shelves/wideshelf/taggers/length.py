from gristmill.taggers.length import LENGTH

__all__ = ["LENGTH"]
