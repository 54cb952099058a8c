"""The grinder of fingerprints: reads a shard of documents once, and writes the hashes of its units."""

from typing import Any

import msgspec

from gristmill.errors import DataError
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Item, Job, Outcome
from gristmill.lake.address import Place
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.rows.batches import TextRow, decode_rows
from gristmill.recipes.duplicates.units import DocumentUnits, Unit, unit_of_parameters
from gristmill.stages.fingerprints.key_rows import MEND, keyed_row_type
from gristmill.stages.fingerprints.part_writer import FingerprintWriter
from gristmill.stages.fingerprints.units_of_texts import hash_units_of_rows

_BLOCK = 1 << 19
"""Bytes of rows that are processed together, so that they stay in the processor's cache."""


class FingerprintSpec(OneAssetSpec, frozen=True):
    """What all shards share.

    Attributes:
        documents: the partition that is read.
        unit: the parameters of the unit.
        buckets: number of ranges into which the hashes are divided.
    """

    documents: Place
    unit: dict[str, Any]
    buckets: int


class FingerprintItem(msgspec.Struct, frozen=True):
    """One shard of documents, and what its part is made from."""

    documents: Shard
    inputs: tuple[Input, ...]


class FingerprintGrinder(ShardGrinder[FingerprintSpec, FingerprintItem]):
    """Grinds the shards of one snapshot."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._unit: Unit = unit_of_parameters(self._spec.unit)
        key = self._unit.key if isinstance(self._unit, DocumentUnits) else "text"
        self._decoder: msgspec.json.Decoder[TextRow] = msgspec.json.Decoder(keyed_row_type(key))
        self._mend = MEND if "." in key else ""

    def grind(self, item: Item, body: FingerprintItem) -> Outcome:
        spec = self._spec
        part = FingerprintWriter(self._store, spec, item.name, body.inputs, self._unit, spec.buckets)
        return self.grind_shard(part, lambda: self._fingerprint_shard_rows(body.documents, part))

    def _fingerprint_shard_rows(self, shard: Shard, writer: FingerprintWriter) -> None:
        file = open_shard(self._store, self._spec.documents, shard)
        first = 0
        for block in file.blocks(_BLOCK):
            held = [decode_rows(self._decoder, block, file.path, first, self._mend)]
            del block
            first += len(held[0])
            self._add_held_rows(held, writer, file.path)
        if first != shard.rows:
            raise DataError(
                f"{file.path}: {shard.rows} documents in its ledger, but {first} were read; make them again"
            )

    def _add_held_rows(self, held: list[list[TextRow]], writer: FingerprintWriter, path: str) -> None:
        """Adds the rows of a block, and lets them go."""
        rows = held.pop()
        try:
            writer.documents([row.pair for row in rows])
            writer.units(hash_units_of_rows(self._unit, rows, writer.counts), len(rows))
        except DataError as error:
            raise DataError(f"{path}: {error}") from error


grinder = FingerprintGrinder
