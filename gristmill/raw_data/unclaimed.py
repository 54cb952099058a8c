"""Folders on the lake that belong to no recipe on the shelves: most often, one of the two names is misspelt."""

import difflib
import re
from collections.abc import Collection, Iterator

from gristmill.lake.address import raw_folder
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue

_VERSION = re.compile(r"v[0-9]|\.")
NAMED = 5
"""Folders of a kind that are named; the others are counted."""


def unclaimed(lake: Store, catalogue: Catalogue) -> Iterator[str]:
    """Remarks on the folders that belong to no source, mix or tokenizer, with near names.

    Args:
        lake: the lake. Only the names of folders are listed.
        catalogue: the recipes.

    Yields:
        A remark for each folder, in words with its mend.
    """
    kinds: dict[str, tuple[str, Collection[str]]] = {
        "sources": ("source", catalogue.sources),
        "mixes": ("mix", catalogue.mixes),
        "tokenizers": ("tokenizer", catalogue.tokenizers),
        "token_caches": ("mix", catalogue.mixes),
        "exports": ("mix", catalogue.mixes),
    }
    for top, (noun, shelf) in kinds.items():
        names = [path.removeprefix(f"{top}/").rstrip("/") for path in lake.folders(f"{top}/")]
        others = [name for name in names if name not in shelf and not name.startswith(".")]
        for name in others[:NAMED]:
            near = difflib.get_close_matches(name, shelf, 3)
            asked = f" (near: {', '.join(near)})" if near else ""
            yield (
                f"{top}/{name}/ is on the lake, but no {noun} {name!r} is on the shelves{asked}, so nothing is made of"
                " it; rename the folder or the recipe, name its package with --shelves, or remove the folder"
            )
        if len(others) > NAMED:
            yield f"{top}/: so are {len(others) - NAMED} more folders"
    for name in catalogue.sources:
        yield from _beside_raw(lake, name)


def _beside_raw(lake: Store, source: str) -> Iterator[str]:
    """Remarks on what lies beside the raw folder of a source, where nothing reads it: often `raw/` was forgotten."""
    raw = raw_folder(source)
    top = f"{raw.removesuffix('/').rpartition('/')[0]}/"
    folders = [path.removeprefix(top).rstrip("/") for path in lake.folders(top)]
    for name in [name for name in folders if name != "raw" and not _VERSION.match(name)][:NAMED]:
        yield f"{top}{name}/ is read by nothing: raw data lie in {raw}; move it to {raw}{name}/, or remove it"
    if "raw" not in folders:
        first = next((entry.path for entry in lake.list(top)), "")
        if first and "/" not in first.removeprefix(top):
            yield f"{first} is read by nothing: raw data lie in {raw}; move it to {raw}SNAPSHOT/, or remove it"
