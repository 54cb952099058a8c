"""The peer of language-1: the plain fastText engine, called document by document. So language-1 did once."""

from functools import cache
from typing import Any

from gristmill.formats.fasttext.lid176 import CODE_POINTS, DIGITS, LANGUAGES, LEAST, MODEL
from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Tagger


def tag(document: Document) -> dict[str, float]:
    """The likeliest languages of one document with their probabilities: the same k, threshold and cut."""
    line = document.text[:CODE_POINTS].replace("\n", " ").replace("\0", " ")
    if not line.isascii():
        line = line.encode("utf-8", "replace").decode("utf-8")
    if not line.strip():
        return {}
    codes, scores = _engine().predict(line, k=LANGUAGES, threshold=LEAST)
    names = (code.removeprefix("__label__") for code in codes)
    return {name: min(round(float(score), DIGITS), 1.0) for name, score in zip(names, scores, strict=True)}


@cache
def _engine() -> Any:
    import fasttext  # noqa: PLC0415 - takes 30 ms, and most benches do not need it

    return fasttext.load_model(str(MODEL))


PLAIN = Tagger(name="plain-language-1", document=tag, description="The peer of language-1: fastText by document.")
