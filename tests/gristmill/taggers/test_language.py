import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.taggers.language import _MODEL, _SHA256, LANGUAGE, model, tag

ENGLISH = "All human beings are born free and equal in dignity and rights. They are endowed with reason.\n"


def languages(text: str) -> dict[str, object]:
    return dict(tag(Document(id="0", text=text, source="t")))


def likeliest(text: str) -> str:
    found = tag(Document(id="0", text=text, source="t"))
    return max(found, key=lambda code: float(found[code]))  # type: ignore[arg-type] # only floats are given


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", ENGLISH),
        ("de", "Alle Menschen sind frei und gleich an Würde und Rechten geboren.\nSie sind mit Vernunft begabt."),
        ("fr", "Tous les êtres humains naissent libres et égaux en dignité et en droits."),
        ("ru", "Все люди рождаются свободными и равными в своём достоинстве и правах."),  # noqa: RUF001 - Russian is meant
        ("zh", "人人生而自由，在尊严和权利上一律平等。"),  # noqa: RUF001 - Chinese is meant
        ("ja", "すべての人間は、生まれながらにして自由である。"),
    ],
)
def test_a_text_is_tagged_with_its_language(code: str, text: str) -> None:
    assert likeliest(text) == code


def test_a_probability_is_a_rounded_number_up_to_one() -> None:
    found = languages(ENGLISH)
    assert 1 <= len(found) <= 3
    for probability in found.values():
        assert isinstance(probability, float)
        assert 0.01 <= probability <= 1.0
        assert probability == round(probability, 5)


@pytest.mark.parametrize("text", ["", " ", "\n\t\n", "\0", "\0\n\0"])
def test_a_document_without_a_word_has_no_label(text: str) -> None:
    assert languages(text) == {}


def test_line_feeds_and_nuls_part_words() -> None:
    assert languages("free\nand\0equal") == languages("free and equal")


def test_a_lone_surrogate_is_no_error() -> None:
    assert likeliest("\ud800 " + ENGLISH) == "en"


def test_only_the_beginning_of_a_very_long_document_is_looked_at() -> None:
    beginning = (ENGLISH * 1000)[:65_536]
    assert languages(beginning + "人" * 1_000_000) == languages(beginning)


def test_another_model_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "lid.176.ftz"
    other.write_bytes(b"another")
    with pytest.raises(RecipeError, match=r"lid\.176\.ftz has sha256 " + hashlib.sha256(b"another").hexdigest()):
        model(other, str(LANGUAGE.parameters["model"]))


def test_a_missing_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"lid\.176\.ftz cannot be read"):
        model(tmp_path / "lid.176.ftz", str(LANGUAGE.parameters["model"]))


def test_importing_the_tagger_loads_no_engine() -> None:
    probe = "import sys, gristmill.taggers.language; sys.exit('fasttext' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_the_tagger_is_declared_in_document_form() -> None:
    assert LANGUAGE.name == "language-1"
    assert LANGUAGE.document is tag
    assert LANGUAGE.batch is None


def test_every_language_of_the_model_is_declared_and_no_other() -> None:
    known = {label.removeprefix("__label__") for label in model(_MODEL, _SHA256).get_labels()}
    assert set(LANGUAGE.declared or ()) == known
    assert len(known) == 176
