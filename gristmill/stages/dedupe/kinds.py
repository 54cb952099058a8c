"""What other rooms ask about what a resolution makes: see gristmill/stages/kind.py."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from gristmill.errors import DataError
from gristmill.execution.step import Step
from gristmill.execution.work import Say
from gristmill.lake.asset_kinds import CLUSTERS, kind_of, names_in_asset_address
from gristmill.lake.ledger.index_ledger import IndexLedger
from gristmill.lake.store.protocol import Store
from gristmill.recipes.catalogue import Catalogue
from gristmill.stages.dedupe.columns import COUNTS, FOUND, HASHES, POSITIONS, REPEATS, row_bytes
from gristmill.stages.dedupe.marks.grinder import NOT_CONFIRMED
from gristmill.stages.dedupe.marks.key_numbers import KEY_MARK
from gristmill.stages.dedupe.resolution import read_dedupe_order, resolution_path, steps_of_resolution
from gristmill.stages.dedupe.resolution_proof import resolution_contradictions
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord
from gristmill.stages.fingerprints.part_proof import BinaryPartKind, Numbers, ReadPart
from gristmill.stages.kind import HeldDocument, KindBehaviour, KnownPart, WantedDocuments
from gristmill.stages.near_duplicates.cluster_files import CLUSTER, MEMBER, Records, decode_cluster_records
from gristmill.stages.near_duplicates.labelled import largest_clusters, sizes_by_power
from gristmill.stages.near_duplicates.mark_records import NEAR_MARK

if TYPE_CHECKING:
    import numpy as np


class _Resolved(BinaryPartKind):
    """A kind that a resolution makes."""

    def steps(
        self, store: Store, catalogue: Catalogue, shelves: tuple[str, ...], names: Mapping[str, str]
    ) -> Iterator[Step]:
        dedupe = catalogue.dedupes.get(names["dedupe"])
        if dedupe:
            yield from steps_of_resolution(dedupe, read_dedupe_order(store, dedupe.name)[0], shelves)


class HashRunsKind(_Resolved):
    """Hash runs: the sorted hashes of a snapshot."""

    def numbers(self, part: ReadPart) -> Numbers:
        distinct, repeats = part.number("hashes", row_bytes(HASHES)), part.number("repeats", row_bytes(REPEATS))
        firsts, counts = part.number("positions", row_bytes(POSITIONS)), part.number("counts", row_bytes(COUNTS))
        if firsts != distinct or counts > distinct:
            raise DataError(f"{part.place.table}: part {part.row.name}: its files are not of the same hashes")
        return Numbers(distinct + repeats, {"distinct": distinct, "repeats": repeats})


class VerdictsKind(_Resolved):
    """Verdicts: what each snapshot of a round has from others."""

    def numbers(self, part: ReadPart) -> Numbers:
        facts = {name: part.record.facts.get(name) for name in ("matrix", "histogram", "largest")}
        return Numbers(sum(part.number(name, row_bytes(FOUND)) for name in part.record.contents), {}, facts)


class ClustersKind(_Resolved):
    """Clusters of near duplicates of a round."""

    def numbers(self, part: ReadPart) -> Numbers:
        members = [_part_records(part, name, MEMBER) for name in part.record.contents if name.isdigit()]
        clusters = _part_records(part, "clusters", CLUSTER)
        facts = {
            "sizes": sizes_by_power(clusters["size"].tolist()),
            "largest": msgspec.to_builtins(largest_clusters(clusters)),
        }
        duplicates = sum(int(each["duplicate"].sum()) for each in members)
        counts = {"clusters": len(clusters), "duplicates": duplicates}
        return Numbers(sum(map(len, members)), counts, facts, others=True)

    def held_documents(self, part: KnownPart, wanted: WantedDocuments) -> Iterator[HeldDocument]:
        for path in BinaryPartRecord.decode_from_row(part.row, part.place.table).objects:
            if path.endswith(".parquet"):
                for number, recipe, name in _cluster_file_rows(part.store.read(path)):
                    for pair in wanted.by_id.get(name, ()):
                        yield HeldDocument(pair, f"{path}: row {number}", recipe)


class MarksKind(_Resolved):
    """Marks: the duplicates in the shards of a snapshot."""

    def numbers(self, part: ReadPart) -> Numbers:
        if any(kind_of(each.asset) is CLUSTERS for each in part.row.inputs):
            marks = _part_records(part, "marks", NEAR_MARK)
            return Numbers(int(marks["duplicate"].sum()), {"in clusters": len(marks)})
        if any(each.shard == "positions" for each in part.row.inputs):  # the documents of each key are numbered
            return Numbers(int((_part_records(part, "marks", KEY_MARK)["number"] > 1).sum()))
        counts = {name: number for name, number in part.row.counts.items() if name == NOT_CONFIRMED}
        return Numbers(part.number("marks", 4), counts)


class ResolutionKind(KindBehaviour):
    """Resolution: the result of a dedupe recipe, which closes its marks."""

    def files(self, ledger: IndexLedger) -> Collection[str]:
        return {resolution_path(names_in_asset_address(ledger.asset)["dedupe"])}

    def contradictions(self, store: Store, ledger: IndexLedger, say: Say) -> Iterator[tuple[str, str]]:
        return resolution_contradictions(store, ledger, say)


def _part_records(part: ReadPart, name: str, kind: "np.dtype[np.void]") -> Records:
    return decode_cluster_records(part.read(name), kind, part.record.folder + name)


def _cluster_file_rows(data: bytes) -> Iterator[tuple[int, str, str]]:
    """The number, the recipe and the id of each row of `clusters.parquet`."""
    import pyarrow as pa  # noqa: PLC0415 - takes 0.4 s to import
    import pyarrow.parquet as pq  # noqa: PLC0415 - the same

    table = pq.read_table(pa.BufferReader(data), columns=["source", "id"])
    rows = zip(table["source"].to_pylist(), table["id"].to_pylist(), strict=True)
    yield from ((number, recipe, name) for number, (recipe, name) in enumerate(rows))
