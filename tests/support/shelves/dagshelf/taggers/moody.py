"""A tagger that does what a letter's first word tells it to; only letters have moods."""

from pathlib import Path

from gristmill.errors import DataError, StoreError
from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger


def look(document: Document) -> dict[str, Label]:
    match document.text.split():
        case ["RAISE", *_]:
            raise LookupError(document.id)
        case ["WRONG", *_]:
            raise DataError(f"{document.id}: these bytes are wrong")
        case ["NAN", *_]:
            return {"calm": float("nan")}
        case ["ONCE", marker, *_] if not Path(marker).exists():
            Path(marker).touch()
            raise StoreError("the lake did not answer")
        case ["AWAY", *_]:
            raise StoreError("http://bucket.example: timed out")
        case ["UNLESS", marker, *_] if not Path(marker).exists():
            raise DataError(f"{document.id}: {marker} is not there yet")
        case _:
            return {"calm": 1.0}


MOODY = Tagger(
    name="moody-1",
    document=look,
    labels=(Score("calm", "1 for every text that it looks at", low=1, high=1),),
    only=frozenset({"letters"}),
)
