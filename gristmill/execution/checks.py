"""Blocking checks: a ledger is published only if they pass. They are cheap: they read tables and id indexes only.

For each of them, verification/audit.py has a counterpart that proves the same from the bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import DOCUMENTS, RAW, kind_of
from gristmill.lake.identity import sorted_pair_hashes
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.id_index import IdIndex
from gristmill.lake.ledger.id_search import (
    BUCKET,
    find_sightings,
    first_duplicate,
    index_reader,
    load_indexes,
    missing_hashes,
    possibly_known_hashes,
    repeated_upper_halves,
)
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.blocklists.blocklist import Blocklist
from gristmill.lake.rows.raw_spans import find_raw_span
from gristmill.lake.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check.

    Attributes:
        name: name of the check.
        passed: whether the partition may be published.
        description: one sentence for people, which names the first violation.
        metadata: amount of what was compared, and the place of the first violation.
        blocks: whether the partition is not published if it has not passed. Else it is a warning.
        picture: a drawing for people, as SVG; empty: none.
    """

    name: str
    passed: bool
    description: str
    metadata: dict[str, int | float | str] = field(default_factory=dict)
    blocks: bool = True
    picture: str = ""


def warning_sentences(verdicts: Sequence[Verdict]) -> list[str]:
    """The sentences of failed checks that do not hold a partition back: people should know them."""
    return [f"{each.name}: {each.description}" for each in verdicts if not (each.passed or each.blocks)]


Check = Callable[[Store, Place, Sequence[Shard]], Verdict]
"""A check: it takes the lake, the partition and its table, before the ledger is published."""


def compared_counts_in_words(shards: Sequence[Shard]) -> dict[str, int | float | str]:
    """The amount of what a check compared: shards and rows."""
    return {"shards": len(shards), "rows": sum(shard.rows for shard in shards)}


def check_unique_ids(store: Store, place: Place, shards: Sequence[Shard], bucket: int = BUCKET) -> Verdict:
    """Checks that no (source, id) pair occurs twice in the partition. The result is exact.

    Args:
        store: the lake.
        place: the partition.
        shards: its table.
        bucket: number of hashes compared at once; it limits the memory.

    Returns:
        The verdict, with the first id that occurs twice.

    Raises:
        DataError: an index is not what its ledger says.
        StoreError: the lake does not answer.
    """
    read = index_reader(store, place)
    facts = compared_counts_in_words(shards)
    highs = repeated_upper_halves(read, shards, bucket)
    duplicate = first_duplicate(store, place, read, shards, highs) if len(highs) else None
    if duplicate is None:
        return Verdict("ids_unique", passed=True, description=f"{facts['rows']:,} ids, all different", metadata=facts)
    first, second = duplicate
    source, id_ = first.pair
    both = [shard for shard in shards if shard.name in {first.shard, second.shard}]
    files = {shard.name: open_shard(store, place, shard).path for shard in both}
    facts |= {
        "duplicate ids": len(highs),
        "id": id_,
        "source": source,
        "first shard": first.shard,
        "first row": first.row,
        "second shard": second.shard,
        "second row": second.row,
    }
    rows = {shard.name: shard for shard in both}
    first_raw, second_raw = (_raw_place_in_brackets(store, place, rows[each.shard], each.row) for each in duplicate)
    text = (
        f"{len(highs):,} ids occur twice; the first: {id_!r} (source {source!r}) in"
        f" {files[first.shard]} row {first.row}{first_raw} and in {files[second.shard]} row"
        f" {second.row}{second_raw}; mend the raw data or the converter's ids"
    )
    return Verdict("ids_unique", passed=False, description=text, metadata=facts)


def _raw_place_in_brackets(store: Store, place: Place, shard: Shard, row: int) -> str:
    """Where a row of documents stands in the raw data, in brackets; empty if the shard does not say it."""
    packed = IdIndex(store, place, shard).raw_spans() if place.kind is DOCUMENTS and not shard.at else b""
    if not packed:
        return ""
    number, span = find_raw_span(packed, row, place.index(shard.name))
    read = [each.shard for each in shard.inputs if kind_of(each.asset) is RAW][number]
    if span is None:
        return f" ({read})"
    unit = "rows" if read.lower().endswith(".parquet") else "bytes"
    return f" ({read}{f', {span.member}' if span.member else ''}, {unit} {span.start}-{span.end})"


def alignment_check_with_asset(asset: str) -> Check:
    """The check that a partition has the rows of an asset's documents of one snapshot: see check_row_alignment()."""
    return lambda store, partition, shards: check_row_alignment(
        read_ledger(store, place(asset, partition.snapshot))[1], shards
    )


def check_row_alignment(documents: Sequence[Shard], rows: Sequence[Shard]) -> Verdict:
    """Checks that two tables have the same shard names, and each shard the same ids in the same order.

    Args:
        documents: table of the documents.
        rows: table of the partition that belongs to them, row by row.

    Returns:
        The verdict, with the first shard that differs.
    """
    of_documents = {shard.name: shard for shard in documents}
    of_rows = {shard.name: shard for shard in rows}
    facts = compared_counts_in_words(rows)
    wrong = [
        name
        for name in sorted(of_documents.keys() | of_rows.keys())
        if not _are_aligned(of_documents.get(name), of_rows.get(name))
    ]
    if not wrong:
        text = f"{facts['rows']:,} rows in {len(rows)} shards have the ids of their documents, in the same order"
        return Verdict("row_alignment", passed=True, description=text, metadata=facts)
    name = wrong[0]
    facts |= {"misaligned shards": len(wrong), "first shard": name}
    facts |= {"documents": _shard_in_words(of_documents.get(name)), "found": _shard_in_words(of_rows.get(name))}
    text = (
        f"{len(wrong)} shards do not match their documents row by row; the first: shard {name}: the documents have"
        f" {facts['documents']}, this has {facts['found']}; make the documents again, then this"
    )
    return Verdict("row_alignment", passed=False, description=text, metadata=facts)


def _are_aligned(one: Shard | None, other: Shard | None) -> bool:
    return one is not None and other is not None and (one.rows, one.ids) == (other.rows, other.ids)


def _shard_in_words(shard: Shard | None) -> str:
    return f"{shard.rows} rows of ids {shard.ids[:8]}" if shard else "no such shard"


def check_stable_ids(
    store: Store, before: Place, shards_before: Sequence[Shard], after: Place, shards_after: Sequence[Shard]
) -> Verdict:
    """Checks that every id of a version is in the shard of the same name of the version before it.

    Returns:
        The verdict, with the first id that moved or is new.

    Raises:
        DataError: an index is not what its ledger says.
        StoreError: the lake does not answer.
    """
    old_shards = {shard.name: shard for shard in shards_before}
    read_before, read_after = index_reader(store, before), index_reader(store, after)
    facts = compared_counts_in_words(shards_after)
    unknown = [shard.name for shard in shards_after if shard.name not in old_shards]
    if unknown:
        text = (
            f"shard {unknown[0]} is not in {before.asset} ({before.snapshot}): all versions must have the same shards"
        )
        return Verdict("ids_stable", passed=False, description=text, metadata=facts | {"first shard": unknown[0]})
    changed = [shard for shard in shards_after if not shard.index or shard.index != old_shards[shard.name].index]
    olds = load_indexes(read_before, [old_shards[shard.name] for shard in changed])
    for (shard, hashes), (_, old) in zip(load_indexes(read_after, changed), olds, strict=True):
        new = missing_hashes(hashes, old)
        if len(new):
            return _unstable_shard_verdict(store, before, after, shard, new, facts)
    text = f"all {facts['rows']:,} ids are in the same shards of {before.asset}"
    return Verdict("ids_stable", passed=True, description=text, metadata=facts)


def _unstable_shard_verdict(
    store: Store,
    before: Place,
    after: Place,
    shard: Shard,
    new: "np.typing.NDArray[np.uint64]",
    facts: Mapping[str, int | float | str],
) -> Verdict:
    first = next(find_sightings(store, after, shard, np.unique(new[:, 0])), None)
    more: dict[str, int | float | str] = {"new ids": len(new), "first shard": shard.name}
    named = "a hash in its id index that no row has"
    if first is not None:
        more |= {"first row": first.row, "source": first.pair[0], "id": first.pair[1]}
        named = f"row {first.row}, id {first.pair[1]!r} (source {first.pair[0]!r})"
    text = (
        f"{open_shard(store, after, shard).path}: {len(new)} ids are not in {before.shard(shard.name)}; the first:"
        f" {named}; a version may drop documents, but not add or move them"
    )
    return Verdict("ids_stable", passed=False, description=text, metadata={**facts, **more})


def check_blocklist(store: Store, place: Place, shards: Sequence[Shard], blocklists: Sequence[Blocklist]) -> Verdict:
    """Checks that no (source, id) pair of a blocklist is in the partition.

    Returns:
        The verdict, with the first pair that is on a blocklist.

    Raises:
        DataError: an index is not what its ledger says.
        StoreError: the lake does not answer.
    """
    pairs = sorted({pair for blocklist in blocklists for pair in blocklist.reasons})
    facts = compared_counts_in_words(shards) | {"blocked ids": len(pairs)}
    blocked, read = sorted_pair_hashes(pairs), index_reader(store, place)
    for shard, hashes in load_indexes(read, shards if pairs else ()):
        hits = possibly_known_hashes(blocked, hashes)
        for sighting in find_sightings(store, place, shard, np.unique(hits[:, 0])) if len(hits) else ():
            naming = [blocklist for blocklist in blocklists if sighting.pair in blocklist]
            if not naming:
                continue
            facts |= {"first shard": shard.name, "first row": sighting.row, "blocklist": naming[0].name}
            facts |= {"source": sighting.pair[0], "id": sighting.pair[1]}
            text = (
                f"{place.shard(shard.name)} row {sighting.row}: id {sighting.pair[1]!r}"
                f" (source {sighting.pair[0]!r}) is on the blocklist {naming[0].name}"
                f" ({naming[0].reasons[sighting.pair]}); run the slice again"
            )
            return Verdict("blocklist_respected", passed=False, description=text, metadata=facts)
    text = f"none of {len(pairs):,} blocked ids among {facts['rows']:,} rows"
    return Verdict("blocklist_respected", passed=True, description=text, metadata=facts)
