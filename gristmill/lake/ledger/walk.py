"""Which assets a lake holds: the patterns of the table of asset kinds, filled in with the folders that there are."""

import re
from collections.abc import Iterator

from gristmill.lake.asset_kinds import PARTITIONED, AssetKind, field_expression
from gristmill.lake.store.protocol import Store

_FIELD = re.compile(r"\{(\w+)\}")


def folders_like(store: Store, pattern: str, **names: str) -> Iterator[str]:
    """The paths that a pattern stands for, in order; a folder is listed only where a name is not given.

    Args:
        store: the lake.
        pattern: as in the table of asset kinds, `token_caches/{mix}/{tokenizer}/{stream}`.
        names: those fields that are known, such as `mix="blend"`.
    """
    field = next((found for found in _FIELD.finditer(pattern) if found[1] not in names), None)
    if field is None:
        yield pattern.format(**names)
        return
    top = pattern[: field.start()].format(**names)
    fits = re.compile(field_expression(field[1]))
    for folder in store.folders(top):
        name = folder.removeprefix(top).rstrip("/")
        if fits.fullmatch(name):
            yield from folders_like(store, pattern, **names, **{field[1]: name})


def list_assets(store: Store, kind: AssetKind, **names: str) -> Iterator[str]:
    """The addresses of a kind for which there are folders; arguments as in folders_like()."""
    return folders_like(store, kind.address, **names)


def ledger_folders(store: Store, *kinds: AssetKind, **names: str) -> Iterator[str]:
    """The folders `.../ledgers/` of partitioned kinds, by default of all; each once."""
    for pattern in dict.fromkeys(kind.ledgers for kind in kinds or PARTITIONED):
        yield from folders_like(store, pattern, **names)
