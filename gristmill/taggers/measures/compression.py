"""COMPRESSION: how well a text compresses. Repetitive texts compress well, random ones badly.

Zstandard at level 3 is used, because its output depends on its release alone, not on the machine. That of zlib differs
between builds of Python, and that of igzip between processors. The release is checked by compressing a known text.
"""

from functools import cache

import zstandard

from gristmill.errors import RecipeError
from gristmill.lake.rows.document import Document
from gristmill.recipes.tagger import Label, Score, Tagger
from gristmill.text.characters.stretches import split_into_stretches

_LEVEL = 3
_KNOWN = b"".join(b"%d bottles of %d kinds\n" % (number * number % 97, number) for number in range(2000))
_KNOWN_SIZE = 6431


def tag(document: Document) -> dict[str, Label]:
    """The label `ratio`: compressed bytes divided by the bytes of UTF-8. A document without text has none.

    Texts of more than 2^20 code points are compressed in stretches of that length. A short text may exceed 1, because
    each stretch has a header of about ten bytes.

    Raises:
        RecipeError: the installed Zstandard compresses otherwise than the one that this tagger was measured with.

    >>> tag(Document(id="a", text="all work and no play " * 50, source="tales"))["ratio"] < 0.05
    True
    """
    if not document.text:
        return {"ratio": None}
    pack = compressor().compress
    size = packed = 0
    for stretch in split_into_stretches(document.text):
        data = stretch.encode("utf-8", "surrogatepass")
        size += len(data)
        packed += len(pack(data))
    return {"ratio": packed / size}


@cache
def compressor() -> zstandard.ZstdCompressor:
    """The compressor. It is made once per process.

    Raises:
        RecipeError: it compresses otherwise than the one that this tagger was measured with.
    """
    made = zstandard.ZstdCompressor(level=_LEVEL)
    size = len(made.compress(_KNOWN))
    if size != _KNOWN_SIZE:
        raise RecipeError(
            f"compression-1: this release of zstandard packs a known text into {size} bytes, not {_KNOWN_SIZE}; "
            "install the release that the lock file names, or declare a tagger of the next number"
        )
    return made


COMPRESSION = Tagger(
    name="compression-1",
    document=tag,
    labels=(Score("ratio", "compressed bytes divided by bytes", low=0, optional=True),),
    parameters={"codec": "zstd", "level": _LEVEL, "stretch": 2**20},
    description="The share of its size that a text has when it is compressed.",
)
