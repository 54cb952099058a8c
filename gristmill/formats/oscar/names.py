"""Names of OSCAR's files: `en/en_part_1.jsonl.gz`, `af/af.jsonl.gz`, `fr_meta/fr_meta_part_12.jsonl.zst`.

Sources: oscar-project/documentation, `docs/schema/schema-v2.md` (628abae8bf13bdd1ef2d371a1a9cdcc36ea3b53f) for 22.01.
The releases name their folders and parts `<lang>_meta`; 23.01 has Zstandard in place of gzip.
"""

import re

from gristmill.errors import RecipeError
from gristmill.formats.oscar.labels import has_tag_form

_NUMBER = re.compile(r"([0-9]+)")


def part_name(lang: str, part: int | None = None, packing: str = ".gz") -> str:
    """The name of a part, as 22.01 has it.

    Args:
        lang: the language label.
        part: its number, from 1; None if the language has a single part.
        packing: `.gz`, `.zst`, or empty.

    Raises:
        RecipeError: one of them is wrong.

    >>> part_name("en", 2), part_name("af")
    ('en_part_2.jsonl.gz', 'af.jsonl.gz')
    """
    if not has_tag_form(lang) or (part is not None and part < 1) or packing not in {"", ".gz", ".zst", ".zstd"}:
        raise RecipeError(f"no name of an OSCAR part: language {lang!r}, part {part!r}, packing {packing!r}")
    return f"{lang}{'' if part is None else f'_part_{part}'}.jsonl{packing}"


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts names as people do: part 2 comes before part 10.

    >>> sorted(["en_part_10.jsonl", "en_part_9.jsonl", "af.jsonl"], key=natural_key)
    ['af.jsonl', 'en_part_9.jsonl', 'en_part_10.jsonl']
    """
    return tuple((1, int(piece), piece) if piece.isdigit() else (0, 0, piece) for piece in _NUMBER.split(name))
