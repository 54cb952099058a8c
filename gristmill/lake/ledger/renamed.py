"""Counters that have been renamed. Ledgers of earlier versions are read under the new names.

A head or a table keeps its bytes until its partition is built again: its rows are then written under the new names.
No fingerprint holds a counter, so nothing that was made from such a partition is out of date.
"""

from typing import Any

import msgspec

from gristmill.lake.ledger.model import Ledger, Shard

RENAMED = {
    "another length": "wrong number of token ids",
    "brings its own template": "row brings its own template",
    "ids outside the vocabulary": "token ids outside the vocabulary",
    "ids that are none": "token ids are not integers",
    "no ids": "no token ids",
    "template variables that are none": "template variables are not valid",
    "weights of another length": "wrong number of loss weights",
    "weights out of range": "loss weights out of range",
}
"""Why a row has no place in a token cache: the reason in ledgers of 0.1, and the reason today."""

_COUNTERS = frozenset({"dropped", "kept"})


_KEPT = "kept: "
"""How the counters begin of rows that are kept although something is wrong with them."""

_OLD = frozenset(RENAMED) | {_KEPT + name for name in RENAMED}


def _rename_counters(counters: dict[str, int]) -> dict[str, int]:
    """Counters under their present names; the same object if they have no other."""
    if _OLD.isdisjoint(counters):
        return counters
    made: dict[str, int] = {}
    for name, count in counters.items():
        kept = _KEPT if name.startswith(_KEPT) else ""
        reason = name.removeprefix(kept)
        made[kept + RENAMED.get(reason, reason)] = count
    return dict(sorted(made.items()))


def _rename_extra_counters(value: Any) -> Any:
    """The counters at any depth of what only one kind of asset says of a shard."""
    if not isinstance(value, dict):
        return value
    return {
        key: _rename_counters(inner) if key in _COUNTERS and isinstance(inner, dict) else _rename_extra_counters(inner)
        for key, inner in value.items()
    }


def current_shard(shard: Shard) -> Shard:
    """A row of a table under the present names; the same object if it has no other.

    >>> shard = Shard("00", 1, 9, 9, "", "", "", "", (), dropped={"ids that are none": 2})
    >>> current_shard(shard).dropped
    {'token ids are not integers': 2}
    """
    dropped, counts = _rename_counters(shard.dropped), _rename_counters(shard.counts)
    if dropped is not shard.dropped or counts is not shard.counts:
        shard = msgspec.structs.replace(shard, dropped=dropped, counts=counts)
    if shard.extra:
        extra = _rename_extra_counters(shard.extra)
        if extra != shard.extra:
            shard = msgspec.structs.replace(shard, extra=extra)
    return shard


def current_head(head: Ledger) -> Ledger:
    """A head under the present names; the same object if it has no other."""
    dropped, totals = _rename_counters(head.dropped), _rename_counters(head.totals)
    if dropped is head.dropped and totals is head.totals:
        return head
    return msgspec.structs.replace(head, dropped=dropped, totals=totals)
