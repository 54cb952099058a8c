"""Mixes whose shares follow from tokens, and how often training then reads each document, counted by hand.

There are 20 pages and 5 notes, of equally many tokens.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from blendlake import BYTES, STREAMS, TOKENIZER, Blend
from testkit import SNAPSHOT, Mill

from gristmill.stages.cache_index.index import index_cache

PAGES, NOTES = 20, 5
TOKENS = BYTES + 2  # one at the start, one at the end


class ShareCase(NamedTuple):
    """Options of the mix, repeats of its streams, how often a page and a note are read, and a block of sequences."""

    options: Mapping[str, Any]
    repeats: Mapping[str, float]
    pages: int
    notes: int
    block: int


_CASES = {
    "proportions": ShareCase(
        {"proportions": {"pages": 0.5, "notes": 0.5}, "token_budget": 40 * TOKENS}, {}, pages=1, notes=4, block=10
    ),
    "temperature": ShareCase({"temperature": 0.5, "token_budget": 30 * TOKENS}, {}, pages=1, notes=2, block=12),
    "repeats": ShareCase({}, {"notes": 3.0}, pages=1, notes=3, block=14),
    "all of them": ShareCase(
        {"temperature": 0.5, "token_budget": 60 * TOKENS}, {"pages": 0.5, "notes": 8.0}, pages=1, notes=8, block=12
    ),
}
"""Temperature 0.5: 20 pages and 5 notes are as 2 to 1. Of all of them: 10 and 40, so they are as 1 to 2."""

CASES = [
    pytest.param(case, id=name, marks=[] if name == "all of them" else pytest.mark.exhaustive)
    for name, case in _CASES.items()
]


def blend_of(mill: Mill, case: ShareCase, exports: Mapping[str, Any]) -> Blend:
    """The lake with the token caches, and the exports."""
    options = {**case.options, "block": case.block}
    return Blend(mill, exports, dict.fromkeys(STREAMS, 1.0), repeats=case.repeats, options=options)


def write(blend: Blend) -> None:
    """Makes everything, and the index of the token cache."""
    blend.write({"2024/a": range(PAGES)}, NOTES)
    blend.make(SNAPSHOT, tokens=True)
    sources = {stream: blend.mill.source(stream) for stream in STREAMS}
    index_cache(blend.mill.store, blend.mix, TOKENIZER, sources, dict.fromkeys(STREAMS, (SNAPSHOT,)))
