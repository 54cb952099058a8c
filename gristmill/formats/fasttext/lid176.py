"""The languages of texts by fastText's lid.176, the model that ships: `gristmill/models/lid.176.ftz`.

Source: Joulin et al. 2016, "Bag of Tricks for Efficient Text Classification". The model's origin and licence
(CC BY-SA 3.0) are in its folder. Labels and scores are those of `fasttext.predict(line, k=3, threshold=0.01)`, bit for
bit.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gristmill.errors import RecipeError
from gristmill.formats.fasttext.model import LanguageModel
from gristmill.formats.fasttext.reading import read_model

MODEL = Path(__file__).parents[2] / "models" / "lid.176.ftz"
SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"

LANGUAGES = 3
LEAST = 0.01
DIGITS = 5
CODE_POINTS = 65_536  # memory grows with the text's length, and the rest rarely changes the language

_CODES = """
af als am an ar arz as ast av az azb ba bar bcl be bg bh bn bo bpy br bs bxr ca cbk ce ceb ckb co cs cv cy da de diq
dsb dty dv el eml en eo es et eu fa fi fr frr fy ga gd gl gn gom gu gv he hi hif hr hsb ht hu hy ia id ie ilo io is
it ja jbo jv ka kk km kn ko krc ku kv kw ky la lb lez li lmo lo lrc lt lv mai mg mhr min mk ml mn mr mrj ms mt mwl
my myv mzn nah nap nds ne new nl nn no oc or os pa pam pfl pl pms pnb ps pt qu rm ro ru rue sa sah sc scn sco sd sh
si sk sl so sq sr su sv sw ta te tg th tk tl tr tt tyv ug uk ur uz vec vep vi vls vo wa war wuu xal xmf yi yo yue zh
"""
CODES = tuple(_CODES.split())
"""All languages of the model."""


def languages_of(texts: Sequence[str], most: int = LANGUAGES) -> list[list[tuple[str, float]]]:
    """The likeliest languages of each text with their probabilities, the likeliest first.

    Only the first 65,536 code points are read. Languages below 0.01 are left out. A text without words has none.

    Args:
        texts: any texts.
        most: languages of a text at most.

    Raises:
        RecipeError: the model's file is missing, or is another.
    """
    found: list[list[tuple[str, float]]] = [[] for _ in texts]
    beginnings = [text[:CODE_POINTS] for text in texts]
    places = [place for place, text in enumerate(beginnings) if text.replace("\0", " ").strip()]
    likeliest = model().likeliest([beginnings[place] for place in places], most, LEAST)
    for place, languages in zip(places, likeliest, strict=True):
        # Sums of floats may exceed 1.
        found[place] = [(code, min(round(probability, DIGITS), 1.0)) for code, probability in languages]
    return found


@cache
def model() -> LanguageModel:
    """The model. It is loaded once for each process.

    Raises:
        RecipeError: the file is missing, or is another.
    """
    return read_model(model_bytes(MODEL))


def model_bytes(path: Path) -> bytes:
    """The bytes of the model's file, whose sha256 is compared.

    Args:
        path: the model's file.

    Raises:
        RecipeError: the file is missing, or is another.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecipeError(
            f"the model of languages {path.name} cannot be read ({error.strerror}); restore it"
        ) from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != SHA256:
        raise RecipeError(
            f"the model of languages {path.name} has sha256 {digest}, not {SHA256}; restore it, "
            "or declare a tagger of another name for another model"
        )
    return data
