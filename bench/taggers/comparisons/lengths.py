"""Lengths of documents, and of their paragraphs. Each twice: Dolma's taggers of Unicode words take 10 s for a megabyte.

`lengths-1` always finds Unicode words and sentences too. So the rows without those taggers are the harder ones for us.
"""

from collections.abc import Mapping

from bench.taggers.comparison import Attributes, Comparison, renamed

UNISEG_MB = 10
"""Millions of bytes of text for rows with Unicode words."""

_PLAIN = {
    "lengths-1__characters": "char_length_v1__length",
    "lengths-1__stripped_characters": "char_length_strip_ws_v1__length_no_ws",
    "lengths-1__bytes": "bytes_length_v1__bytes",
    "lengths-1__runs": "whitespace_tokenizer_v1__length",
}
_UNICODE = {"lengths-1__unicode_pieces": "uniseg_length_v1__length"}
_PARAGRAPHS = {
    "paragraph-lengths-1__characters": "char_length_with_paragraphs_v1__paragraph",
    "paragraph-lengths-1__runs": "whitespace_tokenizer_with_paragraphs_v1__paragraph",
}
_UNICODE_PARAGRAPHS = {"paragraph-lengths-1__unicode_words": "uniseg_length_paragraphs_v1__paragraph"}


def _row(name: str, module: str, names: Mapping[str, str], most_mb: int | None = None) -> Comparison:
    """The row of labels of one of our sets, with Dolma's name of each."""
    sets = {ours.rpartition("__")[0] for ours in names}
    return Comparison(
        name=name,
        modules=(f"gristmill.taggers.measures.{module}",),
        sets=tuple(sets),
        peer=tuple(theirs.rpartition("__")[0] for theirs in names.values()),
        bar=10.0,
        ours=renamed({name: name for name in names}),
        theirs=lambda attributes: runs(renamed({theirs: ours for ours, theirs in names.items()})(attributes)),
        most_mb=most_mb,
    )


def runs(attributes: Attributes) -> Attributes:
    """Dolma counts what is between runs, which is one more than the runs.

    >>> runs({"lengths-1__runs": [[0, 4, 2.0]], "lengths-1__bytes": [[0, 4, 4.0]]})
    {'lengths-1__runs': [[0, 4, 1.0]], 'lengths-1__bytes': [[0, 4, 4.0]]}
    """
    return {
        name: [[start, end, score - 1] for start, end, score in spans] if name.endswith("__runs") else spans
        for name, spans in attributes.items()
    }


LENGTHS = _row("lengths", "lengths", _PLAIN)
UNICODE_LENGTHS = _row("unicode-lengths", "lengths", _PLAIN | _UNICODE, UNISEG_MB)
PARAGRAPHS = _row("paragraphs", "paragraph_lengths", _PARAGRAPHS)
UNICODE_PARAGRAPHS = _row("unicode-paragraphs", "paragraph_lengths", _PARAGRAPHS | _UNICODE_PARAGRAPHS, UNISEG_MB)
