"""Blocklists: (source, id) pairs that mixes must leave out, such as takedowns and evaluation sets."""

import msgspec

from gristmill.errors import MalformedRow, RecipeError
from gristmill.lake.address import blocklist_path
from gristmill.lake.asset_kinds import BLOCKLIST
from gristmill.lake.identity import Pair, digest_of
from gristmill.lake.rows.row_blocks import blocks
from gristmill.lake.rows.shard_file import rows_of
from gristmill.lake.store.json_object import NOT_DECODED
from gristmill.lake.store.protocol import Store


class _BlocklistRow(msgspec.Struct):
    source: str
    id: str
    reason: str


class Blocklist(msgspec.Struct, frozen=True):
    """A blocklist as read.

    Attributes:
        name: of the list.
        reasons: why each pair is on the list.
    """

    name: str
    reasons: dict[Pair, str]

    @property
    def digest(self) -> str:
        """The digest of the pairs. Reasons and order do not change it, because they decide nothing."""
        return digest_of(sorted(self.reasons))

    def __contains__(self, pair: object) -> bool:
        return pair in self.reasons


def read_blocklist(store: Store, name: str) -> Blocklist:
    """Reads a blocklist.

    Args:
        store: the lake.
        name: of the list.

    Returns:
        The list.

    Raises:
        RecipeError: the lake has no such list. A missing list is never taken for an empty one.
        MalformedRow: a row is not {"source", "id", "reason"}, all strings.
        DataError: a row is too long.
    """
    path = blocklist_path(name)
    if store.head(path) is None:
        raise RecipeError(
            f"{path}: a selection names this blocklist, but the lake has none; put one there (it may be empty)"
        )
    reasons: dict[Pair, str] = {}
    row = 0
    for block in blocks(store.stream(path), path):
        for line in rows_of(block):
            if line.strip():
                try:
                    entry = msgspec.json.decode(line, type=_BlocklistRow)
                except NOT_DECODED as error:
                    raise MalformedRow(
                        path, row, str(error), 'a row is {"source","id","reason"}, all strings'
                    ) from error
                reasons[entry.source, entry.id] = entry.reason
            row += 1
    return Blocklist(name, reasons)


def listed_pairs(store: Store) -> set[Pair]:
    """The (source, id) of all blocklists of the lake.

    Raises:
        DataError: a list cannot be read. Then nobody knows which documents must not be shown or copied.
    """
    top = BLOCKLIST.top
    names = [entry.path.removeprefix(top).removesuffix(".jsonl") for entry in store.list(top)]
    return {pair for name in names if "/" not in name for pair in read_blocklist(store, name).reasons}
