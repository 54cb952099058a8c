"""Python's standard library: about 1,700 source files that every machine with Python has."""

from collections.abc import Iterator

from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.text import Unfit, python_text
from gristmill.recipes.raw_object import RawObject, Refused
from gristmill.recipes.rules import Rule, field, score
from gristmill.recipes.source import Hashed, Revision, Source


def convert(raw: RawObject) -> Iterator[Document | Refused]:
    """One document per source file. Its id is the path below the library, which is the same in every Python version.

    The library also has files that are wrong on purpose, to test Python itself, and empty `__init__.py` files. They are
    refused, with their reasons.
    """
    source = raw.read()
    try:
        text = python_text(source)
    except Unfit as unfit:
        yield Refused(reason=unfit.reason, where=raw.name, raw=source)
        return
    raw.raw_span = RawSpan(0, len(source))
    metadata = {"kind": "code", "license": "PSF-2.0", "path": raw.name, "programming_language": "Python"}
    yield Document(id=raw.name, text=text, source="stdlib", metadata=metadata)


STDLIB = Source(
    name="stdlib",
    description="The source files of Python's standard library, an edition a Python version",
    licence="PSF-2.0",
    owners=("team:corpus",),
    convert=convert,
    shards=Hashed(16),
    select=r"\.py$",
    snapshots="replace",
    quarantine_limit=0.1,  # a shard has about 110 files, and empty __init__.py files come in clusters
    parameters={"convert": 1},  # take the next number when the same file gives another document
    revisions=(
        Revision(
            version="v1",
            description="Without stubs, tables and texts that repeat themselves",
            columns=(
                field("metadata.path"),
                score("gopher-1__word_count", "words"),
                score("gopher-1__fraction_of_words_with_alpha_character", "with_letters"),
                score("gopher-1__fraction_of_characters_in_duplicate_10grams", "repeated"),
            ),
            exclude=(
                Rule("too-short", "words < 20", "stubs of a few words teach nothing but their licence lines"),
                Rule("table", "with_letters < 0.4", "tables of numbers and code points are data, not language"),
                Rule("repeats-itself", "repeated > 0.6", "generated sequences of almost equal lines"),
                Rule("bad-on-purpose", "path LIKE '%/bad%.py'", "files that break Python's own parser, to test it"),
            ),
        ),
    ),
)
