"""Blocking checks: what must hold before a ledger is published; from tables and id indexes alone, so cheap.

Each has a twin in verification/audit.py that proves the same from the bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gristmill.lake.address import Place
from gristmill.lake.identity import hashes_of
from gristmill.lake.ledger.id_search import (
    BUCKET,
    first_duplicate,
    index_reader,
    lacking,
    loaded,
    present,
    repeated_highs,
    sightings,
)
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.blocklist import Blocklist
from gristmill.lake.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found.

    Attributes:
        name: of the check.
        passed: whether the partition may be published.
        description: one sentence for people, naming the first offender.
        metadata: what one would ask next: how much was compared, and where the first offender stands.
    """

    name: str
    passed: bool
    description: str
    metadata: dict[str, int | float | str] = field(default_factory=dict)


Check = Callable[[Store, Place, Sequence[Shard]], Verdict]
"""A blocking check: looks at the shards of a partition before its ledger is published."""


def _compared(shards: Sequence[Shard]) -> dict[str, int | float | str]:
    return {"shards": len(shards), "rows": sum(shard.rows for shard in shards)}


def ids_unique(store: Store, place: Place, shards: Sequence[Shard], bucket: int = BUCKET) -> Verdict:
    """No (source, id) pair twice in the partition; exact.

    Args:
        store: the lake.
        place: the partition.
        shards: its table.
        bucket: hashes compared at once; bounds the memory.

    Raises:
        DataError: an index is not what its ledger says.
        StoreError: the lake does not answer.
    """
    read = index_reader(store, place)
    facts = _compared(shards)
    highs = repeated_highs(read, shards, bucket)
    twice = first_duplicate(store, place, read, shards, highs) if len(highs) else None
    if twice is None:
        return Verdict("ids_unique", passed=True, description=f"{facts['rows']:,} ids, no two alike", metadata=facts)
    one, other = twice
    source, id_ = one.pair
    facts |= {
        "duplicate_ids": len(highs),
        "id": id_,
        "source": source,
        "first_shard": one.shard,
        "first_row": one.row,
        "second_shard": other.shard,
        "second_row": other.row,
    }
    text = (
        f"{len(highs):,} ids stand twice; the first: {id_!r} (source {source!r}) in {place.shard(one.shard)} row"
        f" {one.row} and in {place.shard(other.shard)} row {other.row}; mend the raw data or the converter's ids"
    )
    return Verdict("ids_unique", passed=False, description=text, metadata=facts)


def row_alignment(documents: Sequence[Shard], rows: Sequence[Shard]) -> Verdict:
    """The same shard names, the same rows, the same ids in the same order."""
    theirs = {shard.name: shard for shard in documents}
    ours = {shard.name: shard for shard in rows}
    facts = _compared(rows)
    wrong = [name for name in sorted(theirs.keys() | ours.keys()) if not _aligned(theirs.get(name), ours.get(name))]
    if not wrong:
        text = f"{facts['rows']:,} rows in {len(rows)} shards stand beside their documents"
        return Verdict("row_alignment", passed=True, description=text, metadata=facts)
    name = wrong[0]
    facts |= {"misaligned_shards": len(wrong), "first_shard": name}
    facts |= {"documents": _shown(theirs.get(name)), "found": _shown(ours.get(name))}
    text = (
        f"{len(wrong)} shards do not stand beside their documents; the first: shard {name}: the documents have"
        f" {facts['documents']}, this has {facts['found']}; make it again"
    )
    return Verdict("row_alignment", passed=False, description=text, metadata=facts)


def _aligned(one: Shard | None, other: Shard | None) -> bool:
    return one is not None and other is not None and (one.rows, one.ids) == (other.rows, other.ids)


def _shown(shard: Shard | None) -> str:
    return f"{shard.rows} rows of ids {shard.ids[:8]}" if shard else "no such shard"


def ids_stable(
    store: Store, before: Place, shards_before: Sequence[Shard], after: Place, shards_after: Sequence[Shard]
) -> Verdict:
    """Every id of a version stands in the shard of the same name of the version before it.

    Raises:
        DataError: an index is not what its ledger says.
        StoreError: the lake does not answer.
    """
    known = {shard.name: shard for shard in shards_before}
    read_before, read_after = index_reader(store, before), index_reader(store, after)
    facts = _compared(shards_after)
    strange = [shard.name for shard in shards_after if shard.name not in known]
    if strange:
        text = f"shard {strange[0]} is not in {before.asset} ({before.snapshot}): names stay from version to version"
        return Verdict("ids_stable", passed=False, description=text, metadata=facts | {"first_shard": strange[0]})
    changed = [shard for shard in shards_after if not shard.index or shard.index != known[shard.name].index]
    olds = loaded(read_before, [known[shard.name] for shard in changed])
    for (shard, hashes), (_, old) in zip(loaded(read_after, changed), olds, strict=True):
        new = lacking(hashes, old)
        if len(new):
            return _unstable(store, before, after, shard, new, facts)
    text = f"all {facts['rows']:,} ids stand in the same shards of {before.asset}"
    return Verdict("ids_stable", passed=True, description=text, metadata=facts)


def _unstable(
    store: Store,
    before: Place,
    after: Place,
    shard: Shard,
    new: "np.typing.NDArray[np.uint64]",
    facts: Mapping[str, int | float | str],
) -> Verdict:
    first = next(sightings(store, after, shard, np.unique(new[:, 0])), None)
    more: dict[str, int | float | str] = {"new_ids": len(new), "first_shard": shard.name}
    named = "a hash in its id index that no row has"
    if first is not None:
        more |= {"first_row": first.row, "source": first.pair[0], "id": first.pair[1]}
        named = f"row {first.row}, id {first.pair[1]!r} (source {first.pair[0]!r})"
    text = (
        f"{after.shard(shard.name)}: {len(new)} ids are not in {before.shard(shard.name)}; the first: {named};"
        " a version may drop documents, but not bring or move them"
    )
    return Verdict("ids_stable", passed=False, description=text, metadata={**facts, **more})


def blocklist_respected(
    store: Store, place: Place, shards: Sequence[Shard], blocklists: Sequence[Blocklist]
) -> Verdict:
    """No (source, id) pair of a blocklist stands in the partition.

    Raises:
        DataError: an index is not what its ledger says.
        StoreError: the lake does not answer.
    """
    pairs = sorted({pair for blocklist in blocklists for pair in blocklist.reasons})
    facts = _compared(shards) | {"blocked_ids": len(pairs)}
    blocked, read = hashes_of(pairs), index_reader(store, place)
    for shard, hashes in loaded(read, shards if pairs else ()):
        hits = present(blocked, hashes)
        for seen in sightings(store, place, shard, np.unique(hits[:, 0])) if len(hits) else ():
            named = [blocklist for blocklist in blocklists if seen.pair in blocklist]
            if not named:
                continue
            facts |= {"first_shard": shard.name, "first_row": seen.row, "blocklist": named[0].name}
            facts |= {"source": seen.pair[0], "id": seen.pair[1]}
            text = (
                f"{place.shard(shard.name)} row {seen.row}: id {seen.pair[1]!r} (source {seen.pair[0]!r}) is on the"
                f" blocklist {named[0].name} ({named[0].reasons[seen.pair]}); run the slice again"
            )
            return Verdict("blocklist_respected", passed=False, description=text, metadata=facts)
    text = f"none of {len(pairs):,} blocked ids among {facts['rows']:,} rows"
    return Verdict("blocklist_respected", passed=True, description=text, metadata=facts)
