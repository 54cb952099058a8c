"""LANGUAGE: which languages each document is in, as fastText's model of 176 languages sees it.

Source: Joulin et al. 2016, "Bag of Tricks for Efficient Text Classification"; the model is
`gristmill/models/lid.176.ftz`, whose origin and licence (CC BY-SA 3.0) stand beside it.
"""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Tagger

_MODEL = Path(__file__).parents[1] / "models" / "lid.176.ftz"
_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
_PREFIX = "__label__"

_LANGUAGES = 3
_LEAST = 0.01
_DIGITS = 5
_CODE_POINTS = 65_536  # 4 ms; memory grows with what is read, and a longer text does not change its language


def tag(document: Document) -> dict[str, Label]:
    """A label for each of the three likeliest languages: its code, with its probability (0 to 1).

    Codes are the model's: ISO 639-1 (`en`) where there is one, else 639-3 (`ceb`). Languages below 0.01 are left
    out, and a document without any word has no label. The first 65,536 code points are looked at. A probability
    over 0.5 is that of the likeliest language, so that a rule needs no other label: `en > 0.5`.

    Raises:
        RecipeError: the model's file is not the one this tagger was made with.
    """
    # Both end a word for fastText; but it takes one line only, and Python does not strip a NUL.
    line = document.text[:_CODE_POINTS].replace("\n", " ").replace("\0", " ")
    if not line.isascii():
        line = line.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate is no UTF-8
    if not line.strip():
        return {}
    codes, probabilities = model(_MODEL, _SHA256).predict(line, k=_LANGUAGES, threshold=_LEAST)
    return {
        code.removeprefix(_PREFIX): min(round(float(probability), _DIGITS), 1.0)  # sums of floats may pass 1
        for code, probability in zip(codes, probabilities, strict=True)
    }


@cache
def model(path: Path, sha256: str) -> Any:
    """The model, read once a process.

    Raises:
        RecipeError: the file is missing or is another.
    """
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise RecipeError(f"language-1: its model {path.name} cannot be read ({error.strerror}): restore it") from error
    if found != sha256:
        raise RecipeError(
            f"language-1: its model {path.name} has sha256 {found}, not {sha256}: restore it, "
            "or declare a tagger of another name for another model"
        )
    import fasttext  # noqa: PLC0415 - costs 30 ms and is needed by those who tag languages only

    return fasttext.load_model(str(path))


LANGUAGE = Tagger(
    name="language-1",
    document=tag,
    parameters={
        "model": _SHA256,
        "languages": _LANGUAGES,
        "least": _LEAST,
        "code_points": _CODE_POINTS,
        "digits": _DIGITS,
    },
    description="The likeliest languages by fastText's lid.176, each with its probability.",
)
