"""Finds what no recipe reads: folders with a misspelt name, and files beside the raw folder of a source."""

import difflib
import re
from collections.abc import Collection, Iterator
from itertools import islice

from gristmill.lake.address import raw_folder
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.source import Source

UNREAD = "is read by nothing"
"""What a remark says of data that no recipe reads."""
_VERSION = re.compile(r"v[0-9].*")
_LAST = chr(0x10FFFF)
"""Sorts behind the names of a folder."""
NAMED = 5
"""Folders of a kind that are named; the others are counted."""


def remarks_on_unclaimed(lake: Store, catalogue: Catalogue) -> Iterator[str]:
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


def remarks_beside_raw(lake: Store, source: Source) -> Iterator[str]:
    """Remarks on files beside the raw folder of a source, which no recipe reads: often `raw/` was forgotten.

    Args:
        lake: the lake. Of each folder only the name is looked at, and of one that is named like a version its folders.
        source: the source.

    Yields:
        A remark for each folder and each file, in words with its mend.
    """
    raw = raw_folder(source.name)
    top = f"{raw.removesuffix('/').rpartition('/')[0]}/"
    folders = [path.removeprefix(top).rstrip("/") for path in lake.folders(top)]
    others = [name for name in folders if name != "raw" and not _is_ours(lake, source, top, name)]
    for name in others[:NAMED]:
        yield f"{top}{name}/ {UNREAD}: raw data lie in {raw}; move it to {raw}{name}/, or remove it"
    files = list(islice(_files_directly_in_folder(lake, top), NAMED + 1))
    for path in files[:NAMED]:
        yield f"{path} {UNREAD}: raw data lie in {raw}; move it to {raw}SNAPSHOT/, or remove it"
    if len(others) > NAMED or len(files) > NAMED:
        yield f"{top}: there is more that {UNREAD}"


def _is_ours(lake: Store, source: Source, top: str, name: str) -> bool:
    """Whether a folder of a source is a version, also one that the recipe had once, or has a name that we reserve."""
    if name in source.versions or name.startswith("."):
        return True
    made = {f"{top}{name}/{each}/" for each in ("documents", "attributes", "ledgers")}
    return bool(_VERSION.fullmatch(name)) and not made.isdisjoint(lake.folders(f"{top}{name}/"))


def _files_directly_in_folder(lake: Store, top: str) -> Iterator[str]:
    """The paths of the files directly in a folder. The listing leaps over its folders."""
    after, passed = "", ""
    while entry := next(lake.list(top, after, lambda _: None), None):
        name, below, _ = entry.path.removeprefix(top).partition("/")
        if below and name == passed:
            return  # a bucket that begins its listings elsewhere
        if not below:
            yield entry.path
        after, passed = (f"{top}{name}/{_LAST}", name) if below else (entry.path, "")
