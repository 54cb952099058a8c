from oldshelf.sources.talks import TALKS

__all__ = ["TALKS"]
