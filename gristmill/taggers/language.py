"""LANGUAGE: the languages of each document, by fastText's model of 176 languages.

Source: Joulin et al. 2016, "Bag of Tricks for Efficient Text Classification". The model is
`gristmill/models/lid.176.ftz`; its origin and licence (CC BY-SA 3.0) are in the same folder. Labels and scores
are those of `fasttext.predict(line, k=3, threshold=0.01)`, bit for bit.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gristmill.errors import RecipeError
from gristmill.formats.fasttext.model import FastTextModel
from gristmill.formats.fasttext.reading import read_model
from gristmill.lake.rows.document import Document
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Label, Score, Tagger

_MODEL = Path(__file__).parents[1] / "models" / "lid.176.ftz"
SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"

_LANGUAGES = 3
_LEAST = 0.01
_DIGITS = 5
_CODE_POINTS = 65_536  # memory grows with the text's length, and the rest rarely changes the language

_CODES = """
af als am an ar arz as ast av az azb ba bar bcl be bg bh bn bo bpy br bs bxr ca cbk ce ceb ckb co cs cv cy da de diq
dsb dty dv el eml en eo es et eu fa fi fr frr fy ga gd gl gn gom gu gv he hi hif hr hsb ht hu hy ia id ie ilo io is
it ja jbo jv ka kk km kn ko krc ku kv kw ky la lb lez li lmo lo lrc lt lv mai mg mhr min mk ml mn mr mrj ms mt mwl
my myv mzn nah nap nds ne new nl nn no oc or os pa pam pfl pl pms pnb ps pt qu rm ro ru rue sa sah sc scn sco sd sh
si sk sl so sq sr su sv sw ta te tg th tk tl tr tt tyv ug uk ur uz vec vep vi vls vo wa war wuu xal xmf yi yo yue zh
"""
CODES = tuple(_CODES.split())
"""All languages of the model."""


def tag(documents: Sequence[Document]) -> dict[str, list[Label]]:
    """A label for each of the three likeliest languages: the language's code, with its probability (0 to 1).

    Codes are the model's: ISO 639-1 (`en`) if there is one, else 639-3 (`ceb`). Languages below 0.01 are left out. A
    document without words has no label. Only the first 65,536 code points are read. A language with a probability over
    0.5 is the likeliest, so a rule needs no other label: `en > 0.5`.

    Raises:
        RecipeError: the model's file is missing, or is another.

    >>> labels = tag([Document(id="a", text="Once upon a time there was a mill by a slow river.", source="tales")])
    >>> labels["en"][0] > 0.5
    True
    """
    labels: dict[str, list[Label]] = {}
    for place, found in enumerate(languages_of(Batch.of(documents).texts)):
        for code, probability in found:
            labels.setdefault(code, [None] * len(documents))[place] = probability
    return labels


def languages_of(texts: Sequence[str]) -> list[list[tuple[str, float]]]:
    """The three likeliest languages of each text, the likeliest first; see `tag`.

    Raises:
        RecipeError: the model's file is missing, or is another.
    """
    found: list[list[tuple[str, float]]] = [[] for _ in texts]
    beginnings = [text[:_CODE_POINTS] for text in texts]
    places = [place for place, text in enumerate(beginnings) if text.replace("\0", " ").strip()]
    likeliest = model(_MODEL, SHA256).likeliest([beginnings[place] for place in places], _LANGUAGES, _LEAST)
    for place, languages in zip(places, likeliest, strict=True):
        # Sums of floats may exceed 1.
        found[place] = [(code, min(round(probability, _DIGITS), 1.0)) for code, probability in languages]
    return found


@cache
def model(path: Path, sha256: str) -> FastTextModel:
    """The model. It is loaded once per process and path.

    Args:
        path: the model's file.
        sha256: its expected sha256, in hex.

    Raises:
        RecipeError: the file is missing, or is another.
    """
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise RecipeError(f"language-1: its model {path.name} cannot be read ({error.strerror}); restore it") from error
    if digest != sha256:
        raise RecipeError(
            f"language-1: its model {path.name} has sha256 {digest}, not {sha256}; restore it, "
            "or declare a tagger of another name for another model"
        )
    return read_model(path)


LANGUAGE = Tagger(
    name="language-1",
    batch=tag,
    labels=tuple(
        Score(code, "probability of the language with this code", low=0, high=1, optional=True) for code in CODES
    ),
    parameters={
        "model": SHA256,
        "languages": _LANGUAGES,
        "least": _LEAST,
        "code_points": _CODE_POINTS,
        "digits": _DIGITS,
    },
    description="The likeliest languages by fastText's lid.176, each with its probability.",
    same_output=True,
    reason="batches are computed with numpy: the scores have the same bits",
)
