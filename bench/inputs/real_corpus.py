"""Real texts to measure with: every file of the sample data that is text, as one document, in the order of names."""

import gzip
import tarfile
from collections.abc import Iterator
from pathlib import Path

TEXTS = ("raw/peps", "raw/stack", "raw/books/gutenberg", "raw/multilingual", "raw/chat/ubuntu-irc")
"""About 50 MB: proposals, Python and Rust, four books, a declaration in 500 languages, short pages in 18, and chat."""


def real_texts(sample: Path) -> Iterator[str]:
    """The texts below the folder that GRISTMILL_SAMPLE_DATA names."""
    for folder in TEXTS:
        for path in sorted((sample / folder).iterdir()):
            for data in _contents(path):
                text = data.decode("utf-8", errors="replace")
                if text.strip():
                    yield text


def _contents(path: Path) -> Iterator[bytes]:
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield file.read()
    elif path.suffix == ".gz":
        yield gzip.decompress(path.read_bytes())
