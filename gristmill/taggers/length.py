"""LENGTH: how long each document is, in the units that rules of mixes use."""

from collections.abc import Sequence

from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger
from gristmill.text.code_points import columns
from gristmill.text.words import Words

_COLUMN = 500_000  # code points that are processed together, so that they stay in the processor's cache


def tag(documents: Sequence[Document]) -> dict[str, list[Label]]:
    r"""Four counts for each document.

    * `chars`: code points, as in `len(text)`.
    * `words`: words between white space, as in `len(text.split())`.
    * `bytes`: bytes in UTF-8.
    * `lines`: as in `len(text.split("\n"))`, so one more than line feeds.

    >>> tag([Document(id="a", text="Zwölf Mühlen\nmahlen.", source="tales")])
    {'chars': [20.0], 'words': [3.0], 'bytes': [22.0], 'lines': [2.0]}
    """
    texts = [document.text for document in documents]
    words: list[Label] = [None] * len(texts)
    for places, column in columns(texts, _COLUMN):
        for place, count in zip(places, Words.of(column).counts.tolist(), strict=True):
            words[place] = float(count)
    return {
        "chars": [float(len(text)) for text in texts],
        "words": words,
        "bytes": [float(_bytes(text)) for text in texts],
        "lines": [text.count("\n") + 1.0 for text in texts],
    }


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


LENGTH = Tagger(
    name="length-1",
    batch=tag,
    labels=(
        Score("chars", "code points", unit="code points", low=0),
        Score("words", "words between white space", unit="words", low=0),
        Score("bytes", "bytes in UTF-8", unit="bytes", low=0),
        Score("lines", "line feeds and one", unit="lines", low=1),
    ),
    parameters={"words": "str.split", "lines": "line feeds + 1", "bytes": "utf-8"},
    description="Code points, words, UTF-8 bytes and lines.",
)
