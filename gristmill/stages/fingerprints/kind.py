"""What other rooms ask about fingerprints: see gristmill/stages/kind.py."""

from collections.abc import Iterator

import xxhash

from gristmill.errors import DataError
from gristmill.lake.rows.shard_file import split_rows, unpacked_whole
from gristmill.stages.fingerprints.binary_part import BinaryPartRecord
from gristmill.stages.fingerprints.part_proof import BinaryPartKind, Numbers, ReadPart
from gristmill.stages.fingerprints.reader import HASH_BYTES, FingerprintPart
from gristmill.stages.kind import HeldDocument, KnownPart, WantedDocuments


class FingerprintsKind(BinaryPartKind):
    """Fingerprints: the hashes of the units of a snapshot."""

    def numbers(self, part: ReadPart) -> Numbers:
        reader = FingerprintPart(part.store, part.row, part.place.table)
        ids = unpacked_whole(part.read("ids.gz"), f"{part.record.folder}ids.gz")
        spans, rows = reader.spans(), len(split_rows(ids))
        hashes = {spans.hashes, int(reader.bucket_offsets[-1]), part.number("hashes", HASH_BYTES)}
        if spans.documents != rows or len(hashes) > 1:
            raise DataError(f"{part.place.table}: part {part.row.name}: its files are not of the same documents")
        if "signatures" in part.record.contents:
            reader.read_signatures()
        facts = {"documents": rows, "spans": len(spans.starts), "hashes": spans.hashes}
        counts = {name: facts[name] for name in ("spans", "hashes")}
        return Numbers(rows, counts, facts, others=True, ids=xxhash.xxh3_128_hexdigest(ids))

    def held_documents(self, part: KnownPart, wanted: WantedDocuments) -> Iterator[HeldDocument]:
        folder = BinaryPartRecord.decode_from_row(part.row, part.place.table).folder
        for pair, number in wanted.read_by(part.row):
            yield HeldDocument(pair, f"{folder}: document {number} of the part")
