"""`shard_ledger.json` of a Levanter token cache: its counts and layout, in Levanter's own JSON.

There are two layouts. A `consolidated` cache holds its arrays beside the ledger. A `sharded` one (only Marin's
Levanter has it) lists consolidated caches in row order, by paths relative to the ledger. Levanter takes a cache as
finished when its ledger says so. Therefore the writer writes the ledger last.

Source: marin-levanter 0.2, `levanter.store.cache`.
"""

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Literal, TypedDict

import msgspec

from gristmill.errors import DataError
from gristmill.lake.store.json_object import Integer, decode_object

LEDGER_NAME = "shard_ledger.json"


class Metadata(TypedDict):
    """How the cache was made. If it differs from the trainer's, Levanter logs that and continues."""

    preprocessor_metadata: dict[str, Any] | None


class CacheLedger(TypedDict):
    """The ledger, its keys in Levanter's order.

    Attributes:
        total_num_rows: documents of the cache.
        shard_rows: documents of each shard.
        is_finished: whether the cache is complete.
        finished_shards: the shards in the order of rows and tokens.
        field_counts: elements of each field over all shards; `field_counts["input_ids"]` is the token count.
        field_counts_by_shard: the same for each shard; empty in a consolidated ledger.
        layout: layout of the arrays; see above.
        metadata: record of how the cache was made.
    """

    total_num_rows: int
    shard_rows: dict[str, int]
    is_finished: bool
    finished_shards: list[str]
    field_counts: dict[str, int]
    field_counts_by_shard: dict[str, dict[str, int]]
    layout: Literal["consolidated", "sharded"]
    metadata: Metadata


class _StoredMetadata(msgspec.Struct):
    """See Metadata."""

    preprocessor_metadata: dict[str, Any] | None = None


class _Stored(msgspec.Struct):
    """A ledger as a file has it. The fields that older versions of Levanter did not write have defaults."""

    total_num_rows: Integer
    shard_rows: dict[str, Integer]
    is_finished: bool = False
    finished_shards: list[str] = []
    field_counts: dict[str, Integer] = {}
    field_counts_by_shard: dict[str, dict[str, Integer]] = {}
    layout: Literal["consolidated", "sharded"] = "consolidated"
    metadata: _StoredMetadata = msgspec.field(default_factory=_StoredMetadata)


def consolidated_ledger(
    shard_rows: Mapping[str, int],
    field_counts: Mapping[str, int],
    preprocessor: Mapping[str, Any] | None = None,
) -> CacheLedger:
    """The ledger of a cache whose arrays are beside it.

    Args:
        shard_rows: documents of each shard in the arrays, in order. Levanter does not use the names.
        field_counts: elements of each field.
        preprocessor: Levanter's `preprocessor_metadata` (tokenizer, vocab_size, append_bos, ...).

    >>> consolidated_ledger({"a": 2, "b": 1}, {"input_ids": 50})["total_num_rows"]
    3
    """
    return {
        "total_num_rows": sum(shard_rows.values()),
        "shard_rows": dict(shard_rows),
        "is_finished": True,
        "finished_shards": list(shard_rows),
        "field_counts": dict(field_counts),
        "field_counts_by_shard": {},
        "layout": "consolidated",
        "metadata": {"preprocessor_metadata": None if preprocessor is None else dict(preprocessor)},
    }


def merged_ledger(parts: Mapping[str, CacheLedger], preprocessor: Mapping[str, Any] | None = None) -> CacheLedger:
    """The ledger of a sharded cache that consists of finished parts.

    Args:
        parts: the ledger of each part, in the order of rows and tokens. A key is the path of the part's folder,
            relative to the merged ledger ("2024-12/part-00003-ab12cd").
        preprocessor: Levanter's `preprocessor_metadata`.

    Raises:
        DataError: a part is unfinished or itself sharded, or its name is not a plain relative path.

    >>> parts = {"p0": consolidated_ledger({"": 2}, {"input_ids": 50})}
    >>> parts["p1"] = consolidated_ledger({"": 1}, {"input_ids": 7})
    >>> merged_ledger(parts)["field_counts"], merged_ledger(parts)["shard_rows"]
    ({'input_ids': 57}, {'p0': 2, 'p1': 1})
    """
    totals: dict[str, int] = {}
    by_part: dict[str, dict[str, int]] = {}
    for name, part in parts.items():
        if not part["is_finished"] or part["layout"] != "consolidated":
            raise DataError(f"{name}: a part must be a finished consolidated cache; write it again")
        if part["total_num_rows"]:  # an empty part may have no arrays: Levanter must not look for fields in it
            by_part[name] = dict(part["field_counts"])
        for field, count in by_part.get(name, {}).items():
            totals[field] = totals.get(field, 0) + count
    merged: CacheLedger = {
        "total_num_rows": sum(part["total_num_rows"] for part in parts.values()),
        "shard_rows": {name: part["total_num_rows"] for name, part in parts.items()},
        "is_finished": True,
        "finished_shards": list(parts),
        "field_counts": totals,
        "field_counts_by_shard": by_part,
        "layout": "sharded",
        "metadata": {"preprocessor_metadata": None if preprocessor is None else dict(preprocessor)},
    }
    _check_ledger("the merged ledger", merged)
    return merged


def dump_ledger(ledger: CacheLedger) -> bytes:
    """The bytes of the ledger, equal to Levanter's (`json.dumps` with its defaults)."""
    return json.dumps(ledger).encode()


def load_ledger(data: bytes, path: str) -> CacheLedger:
    """Parses a ledger. Keys that older versions of Levanter did not write get their defaults.

    Args:
        data: bytes of the file.
        path: path of the file, for messages.

    Returns:
        The ledger.

    Raises:
        DataError: the bytes are not a ledger, or the ledger contradicts itself. (Levanter makes the same checks for
            sharded ledgers, and none for consolidated ones.)

    >>> ledger = consolidated_ledger({"": 3}, {"input_ids": 50})
    >>> load_ledger(dump_ledger(ledger), "cache/shard_ledger.json") == ledger
    True
    """
    stored = decode_object(data, _Stored, path, "a Levanter ledger", "write the cache again")
    ledger: CacheLedger = {
        "total_num_rows": stored.total_num_rows,
        "shard_rows": stored.shard_rows,
        "is_finished": stored.is_finished,
        "finished_shards": stored.finished_shards,
        "field_counts": stored.field_counts,
        "field_counts_by_shard": stored.field_counts_by_shard,
        "layout": stored.layout,
        "metadata": {"preprocessor_metadata": stored.metadata.preprocessor_metadata},
    }
    _check_ledger(path, ledger)
    return ledger


def _check_ledger(path: str, ledger: CacheLedger) -> None:
    wrong = _first_contradiction(ledger)
    if wrong:
        raise DataError(f"{path}: {wrong}; write the cache again")


def _first_contradiction(ledger: CacheLedger) -> str | None:
    """The first contradiction within the ledger, or None."""
    names, rows = ledger["finished_shards"], ledger["shard_rows"]
    if len(set(names)) != len(names) or set(names) - set(rows):
        return "finished_shards names a shard twice or one without rows"
    if min(rows.values(), default=0) < 0 or sum(rows[name] for name in names) != ledger["total_num_rows"]:
        return f"the shards' rows do not sum to {ledger['total_num_rows']}"
    if ledger["layout"] == "consolidated":
        return None
    for name in names:
        path = PurePosixPath(name)
        if path.is_absolute() or "://" in name or ".." in path.parts or str(path) != name or name == ".":
            return f"shard {name!r} is not a plain path relative to the ledger"
    return _wrong_row_count(ledger)


def _wrong_row_count(ledger: CacheLedger) -> str | None:
    by_shard, fields = ledger["field_counts_by_shard"], set(ledger["field_counts"])
    if set(by_shard) - set(ledger["finished_shards"]):
        return "field_counts_by_shard names an unknown shard"
    for name in ledger["finished_shards"]:
        if ledger["shard_rows"][name] and set(by_shard.get(name, {})) != fields:
            return f"shard {name!r} has rows but not the counts of {sorted(fields)}"
    totals = {field: sum(counts.get(field, 0) for counts in by_shard.values()) for field in fields}
    if totals != ledger["field_counts"]:
        return f"the shards' counts sum to {totals}, not {ledger['field_counts']}"
    return None
