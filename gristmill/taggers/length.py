"""LENGTH: how long each document is, in the units that rules of mixes use."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gristmill.lake.rows.document import Document
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Tagger
from gristmill.text.huge.windows import WINDOW, word_windows


def tag(documents: Sequence[Document]) -> dict[str, Any]:
    r"""The four counts for each document.

    * `chars`: code points, as in `len(text)`.
    * `words`: words between white space, as in `len(text.split())`.
    * `bytes`: bytes in UTF-8.
    * `lines`: as in `len(text.split("\n"))`, so one more than line feeds.

    >>> tag([Document(id="a", text="Zwölf Mühlen\nmahlen.", source="tales")])
    {'chars': array([20.]), 'words': array([3.]), 'bytes': [22.0], 'lines': [2.0]}
    """
    batch = Batch.of(documents)
    texts = batch.texts
    return {
        "chars": batch.lengths.astype(np.float64),
        **batch.measured(lambda column: {"words": column.words.counts}, _words_of_huge),
        "bytes": [float(_bytes(text)) for text in texts],
        "lines": [text.count("\n") + 1.0 for text in texts],
    }


def _words_of_huge(text: str) -> dict[str, Any]:
    return {"words": np.array([sum(len(text[start:end].split()) for start, end in word_windows(text))])}


def _bytes(text: str) -> int:
    if text.isascii():
        return len(text)
    pieces = (text[start : start + WINDOW] for start in range(0, len(text), WINDOW))  # of a huge text few at once
    return sum(len(piece.encode("utf-8", "surrogatepass")) for piece in pieces)


LENGTH = Tagger(
    name="length-1",
    batch=tag,
    labels=(
        Score("chars", "code points", unit="code points", low=0),
        Score("words", "words between white space", unit="words", low=0, words=True),
        Score("bytes", "bytes in UTF-8", unit="bytes", low=0),
        Score("lines", "line feeds and one", unit="lines", low=1),
    ),
    parameters={"words": "str.split", "lines": "line feeds + 1", "bytes": "utf-8"},
    description="Code points, words, UTF-8 bytes and lines.",
)
