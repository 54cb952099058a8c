"""Where the sample data lie: real raw files, which the repository does not hold."""

import os
from pathlib import Path

UNSET = Path("sample-data-is-not-here")
"""Stands in recipes where no variable names the sample data; nothing is at this path."""


def sample(*names: str) -> str:
    """The path of a raw folder of the sample data: `sample("wiki")` is `$GRISTMILL_SAMPLE_DATA/raw/wiki`.

    A recipe may call it while it is imported: it reads no file. Nothing exists at the path if GRISTMILL_SAMPLE_DATA is
    not set.

    Args:
        names: the folder below `raw/`.
    """
    return str(folder().joinpath("raw", *names))


def folder() -> Path:
    """The folder of the sample data."""
    named = os.environ.get("GRISTMILL_SAMPLE_DATA")
    return Path(named) if named else UNSET
