"""Lists the assets of a lake: fills the patterns in the table of asset kinds with the folders that exist."""

import re
from collections.abc import Iterator

from gristmill.lake.asset_kind import AssetKind, field_expression
from gristmill.lake.asset_kinds import PARTITIONED
from gristmill.lake.store.protocol import Store

_FIELD = re.compile(r"\{(\w+)\}")


def folders_matching_pattern(store: Store, pattern: str, **names: str) -> Iterator[str]:
    """The paths that match a pattern, in order. Folders are listed only for fields that have no given name.

    Args:
        store: the lake.
        pattern: a pattern of the table of asset kinds, such as `token_caches/{mix}/{tokenizer}/{stream}`.
        names: the fields that are given, such as `mix="blend"`.
    """
    field = next((match for match in _FIELD.finditer(pattern) if match[1] not in names), None)
    if field is None:
        yield pattern.format(**names)
        return
    top = pattern[: field.start()].format(**names)
    fits = re.compile(field_expression(field[1]))
    for folder in store.folders(top):
        name = folder.removeprefix(top).rstrip("/")
        if fits.fullmatch(name):
            yield from folders_matching_pattern(store, pattern, **names, **{field[1]: name})


def list_assets(store: Store, kind: AssetKind, **names: str) -> Iterator[str]:
    """The addresses of a kind that have folders in the lake; the arguments are as in folders_matching_pattern()."""
    return folders_matching_pattern(store, kind.address, **names)


def ledger_folders(store: Store, *kinds: AssetKind, **names: str) -> Iterator[str]:
    """The folders `.../ledgers/` of partitioned kinds (by default all kinds), without duplicates."""
    for pattern in dict.fromkeys(kind.ledger_folder_pattern for kind in kinds or PARTITIONED):
        yield from folders_matching_pattern(store, pattern, **names)
