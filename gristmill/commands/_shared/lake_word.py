"""The word on a command line that is the lake. It has no imports, so that a command begins at once."""

_PATHS = ("/", "./", "../", "~")
"""How a word begins that is a path and no target."""


def is_path(word: str) -> bool:
    """Whether a word can be nothing but a lake.

    >>> [is_path(word) for word in ("-", "./wiki", "s3://corpus/lake", "wiki", "wiki/v1")]
    [True, True, True, False, False]
    """
    return word in {"-", ".", ".."} or "://" in word or word.startswith(_PATHS)
