"""The documents of a takedown: (source, id) pairs, each with the reason for it, as a file or a person names them."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from gristmill.errors import DataError, MalformedRow
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.id_index import hash_pair
from gristmill.lake.store.json_object import NOT_DECODED

REASON = "taken down"
"""The reason of a document for which no reason is given."""

_FORM = 'a line is {"source","id"}, and "reason" if you like, all strings'


class _WantedRow(msgspec.Struct):
    source: str
    id: str
    reason: str = ""


class Wanted:
    """The documents that are looked for.

    Args:
        reasons: reason why each document is taken down.

    Attributes:
        reasons: the same.
        digests: the hash of each pair, as id indexes have it.
        by_id: the pairs with each id, for rows that have no valid source.
    """

    def __init__(self, reasons: Mapping[Pair, str]) -> None:
        self.reasons = dict(sorted(reasons.items()))
        self.digests: dict[Pair, bytes] = {pair: hash_pair(pair) for pair in self.reasons}
        self.by_id: dict[str, list[Pair]] = {}
        for pair in self.reasons:
            self.by_id.setdefault(pair[1], []).append(pair)

    def __len__(self) -> int:
        return len(self.reasons)


def read_wanted(path: str, reason: str = REASON) -> dict[Pair, str]:
    """Reads a file of (source, id) pairs: JSON lines, as in a blocklist.

    Args:
        path: path of the file.
        reason: reason for the lines that have none.

    Returns:
        The reason of each pair.

    Raises:
        DataError: there is no such file, or it has no line.
        MalformedRow: a line is wrong; names the file and the number of the line, from 0.
    """
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); name a file of JSON lines: {_FORM}") from error
    reasons: dict[Pair, str] = {}
    for number, line in enumerate(lines):
        if line.strip():
            try:
                row = msgspec.json.decode(line, type=_WantedRow)
            except NOT_DECODED as error:
                raise MalformedRow(path, number, str(error), _FORM) from error
            reasons[row.source, row.id] = row.reason or reason
    if not reasons:
        raise DataError(f"{path}: names no document; {_FORM}")
    return reasons
