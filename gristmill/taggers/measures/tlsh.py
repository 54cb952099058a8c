"""TLSH: Trend Micro's locality sensitive hash, as OSCAR's releases give it. It needs the extra `tlsh`.

Source: Oliver, Cheng and Chen 2013, "TLSH - A Locality Sensitive Hash"; the package `python-tlsh`.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from gristmill.extras import extra, needs
from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger
from gristmill.text.fingerprints.stored import fingerprint_as_numbers, fingerprint_from_numbers

SIZE = 35
"""Bytes of a hash."""

PARTS = 6
_VERSION = "T1"


def tag(document: Document) -> dict[str, Label]:
    """The hash of the text's UTF-8 as six numbers, `part_0` to `part_5`: six bytes each, and five.

    A text that is too short (fewer than 50 bytes) or too uniform has no hash. `hash_of` gives the hash back.

    Raises:
        RecipeError: the package python-tlsh is not installed.

    >>> labels = tag(Document(id="a", text="".join(map(chr, range(32, 127))), source="tales"))
    >>> hash_of([labels[f"part_{part}"] for part in range(6)])[:2], tag(Document(id="b", text="short", source="tales"))
    ('T1', {})
    """
    digest = _import_tlsh().hash(document.text.encode("utf-8", "replace"))
    if not digest.startswith(_VERSION):
        return {}
    numbers = fingerprint_as_numbers(bytes.fromhex(digest.removeprefix(_VERSION)))
    return {f"part_{part}": float(number) for part, number in enumerate(numbers)}


def hash_of(parts: Sequence[float]) -> str:
    """The hash, in the form that TLSH's tools take, from the six numbers of a document.

    Args:
        parts: the scores `part_0` to `part_5`.
    """
    return _VERSION + fingerprint_from_numbers(parts, SIZE).hex().upper()


@cache
def _import_tlsh() -> Any:
    with extra():
        import tlsh  # noqa: PLC0415 - an extra
    return tlsh


TLSH = Tagger(
    name="tlsh-1",
    document=tag,
    labels=tuple(
        Score(
            f"part_{part}",
            "six bytes of the hash (the last: five), as a whole number",
            low=0,
            high=2**48 - 1,
            optional=True,
            exact=True,
        )
        for part in range(PARTS)
    ),
    parameters={"hash": "TLSH 128 1 T1"},
    needs=needs("tlsh"),
    description="TLSH: a locality sensitive hash of 35 bytes.",
)
