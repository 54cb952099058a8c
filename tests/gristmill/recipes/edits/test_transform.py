from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from gristmill.errors import DataError, RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.edits.transform import Drop, Transform, TransformFailed, code_of_transforms

DOCUMENT = Document(id="d1", source="pages", text="to be", metadata={"n": 1})


def of_one(answer: Callable[[Document], Any]) -> Transform:
    return Transform(name="odd-1", document=answer)


def test_a_text_a_document_and_a_drop_are_answers() -> None:
    louder = msgspec.structs.replace(DOCUMENT, text="TO BE")
    assert of_one(lambda document: document.text.upper()).apply([DOCUMENT]) == [louder]
    assert of_one(lambda document: msgspec.structs.replace(document, text="TO BE")).apply([DOCUMENT]) == [louder]
    assert of_one(lambda _: Drop("empty")).apply([DOCUMENT]) == [Drop("empty")]
    assert Transform(name="odd-1", batch=lambda found: [each.text for each in found]).apply([DOCUMENT]) == [DOCUMENT]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "returned NoneType; return a text, a Document or a Drop"),
        (Drop("  "), "give a reason of 1 to 100 characters"),
        (Drop("x" * 101), "give a reason of 1 to 100 characters"),
        ("\ud83d", "lone surrogates"),
        (msgspec.structs.replace(DOCUMENT, id="d2"), "changed 'id'; a transform changes text and metadata alone"),
        (msgspec.structs.replace(DOCUMENT, added="2024"), "changed 'added'"),
        (msgspec.structs.replace(DOCUMENT, metadata=UNSET), "give metadata={} to empty them"),
    ],
)
def test_an_answer_that_cannot_be_written_names_the_document(answer: object, words: str) -> None:
    with pytest.raises(TransformFailed, match=words) as caught:
        of_one(lambda document: answer if document.id == "d1" else document).apply(
            [Document(id="d0", source="pages", text="x"), DOCUMENT]
        )
    assert caught.value.number == 1


def test_a_function_that_fails_or_answers_too_little_is_an_error() -> None:
    with pytest.raises(TransformFailed, match="ZeroDivisionError"):
        of_one(lambda document: str(1 // len(document.text[:0]))).apply([DOCUMENT])
    with pytest.raises(DataError, match="0 answers for 1 documents"):
        Transform(name="odd-1", batch=lambda _: []).apply([DOCUMENT])
    with pytest.raises(DataError, match="batch= failed: ValueError"):
        Transform(name="odd-1", batch=lambda _: [str(int("x"))]).apply([DOCUMENT])


def test_a_wrong_declaration_is_refused() -> None:
    with pytest.raises(RecipeError, match="must end in its number"):
        Transform(name="odd", document=lambda document: document.text)
    with pytest.raises(RecipeError, match="exactly one of document= and batch="):
        Transform(name="odd-1")


def test_the_code_of_transforms_that_no_shelf_gave_is_unknown() -> None:
    assert code_of_transforms([]).digest == code_of_transforms([of_one(lambda document: document.text)]).digest == ""
