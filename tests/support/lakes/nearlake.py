"""A lake with the fingerprints, hash runs and verdicts of near duplicates, written by hand from texts."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from nearrecipes import NEAR

from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.runner import Inline
from gristmill.execution.step import Step, make
from gristmill.lake.address import Place, attributes_asset, documents_asset, place
from gristmill.lake.asset_kinds import CLUSTERS, FINGERPRINTS, HASH_RUNS, MARKS, VERDICTS
from gristmill.lake.identity import IdDigest
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table, read_ledger
from gristmill.lake.ledger.model import Input, Ledger, Recipe, Shard
from gristmill.lake.rows.attribute import encode_row
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.shard_file import ShardWriter, gzip_bytes
from gristmill.lake.store.open import Lake
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import MinHashUnits
from gristmill.stages.dedupe.runs.step import RunsStep
from gristmill.stages.dedupe.verdicts.step import VerdictsStep
from gristmill.stages.fingerprints.binary_part import BinaryPart, read_part_file
from gristmill.stages.fingerprints.order import Order, round_partition_key
from gristmill.stages.fingerprints.spans import SpanTable
from gristmill.stages.fingerprints.step import FingerprintStep
from gristmill.stages.near_duplicates.inputs import WHOLE
from gristmill.stages.near_duplicates.mark_records import NEAR_MARK
from gristmill.stages.near_duplicates.marks.step import NearMarksStep
from gristmill.stages.near_duplicates.step import ClustersStep
from gristmill.text.units.minhash import band_hashes, minhash_signatures

SHELVES = ("gristmill",)
RECIPE = Recipe("by hand", 1, {})

Hash = tuple[int, int]
Texts = Mapping[str, Sequence[str]]
"""The texts of each shard, by its name."""


@dataclass
class Near:
    """A lake of near duplicates.

    Attributes:
        root: its folder.
        dedupe: the recipe.
        order: the snapshots that were added.
        editions: the `replace` sources, which `add_by_steps` knows alone.
        texts: of each rank.
        hashes: of each rank, the positions of each hash.
    """

    root: Path
    dedupe: Dedupe = NEAR
    order: Order = field(default_factory=Order)
    editions: Collection[str] = ()
    texts: list[Texts] = field(default_factory=list)
    hashes: list[dict[Hash, list[int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lake = Lake(str(self.root), {})
        self.store = self.lake.store()

    @property
    def unit(self) -> MinHashUnits:
        assert isinstance(self.dedupe.unit, MinHashUnits)
        return self.dedupe.unit

    def add(self, *snapshots: tuple[str, str, Texts]) -> None:
        """Adds a round: source, snapshot and texts of each new snapshot."""
        self.order = self.order.with_round([(source, snapshot, False) for source, snapshot, _ in snapshots])
        for rank, (source, snapshot, texts) in zip(
            self.order.ranks_of_round(self.order.round_count), snapshots, strict=True
        ):
            self.texts.append(texts)
            self.hashes.append(defaultdict(list))
            self._documents(source, snapshot, texts)
            self._fingerprints(rank, source, snapshot, texts)
            self._runs(rank, source, snapshot)
        self._verdicts(self.order.round_count)

    def add_by_steps(self, *snapshots: tuple[str, str, Texts]) -> None:
        """Adds a round as `add` does, but makes everything by the steps themselves."""
        self.order = self.order.with_round(
            [(source, snapshot, source in self.editions) for source, snapshot, _ in snapshots]
        )
        for source, snapshot, texts in snapshots:
            self.texts.append(texts)
            self._documents(source, snapshot, texts)
            self.make(FingerprintStep(self.dedupe, source, snapshot, SHELVES))
            self.make(RunsStep(self.dedupe, source, snapshot, SHELVES))
        self.make(VerdictsStep(self.dedupe, self.order, self.order.round_count, SHELVES))

    def resolve(self, number: int = 0) -> Ledger:
        """Makes the clusters of a round, by default the last."""
        step = ClustersStep(self.dedupe, self.order, number or self.order.round_count, SHELVES)
        return self.make(step)[step.asset]

    def mark(self, rank: int) -> dict[str, list[dict[str, Any]]]:
        """Makes the marks of a snapshot. Returns those of each shard."""
        entry = self.order.entries[rank]
        self.make(NearMarksStep(self.dedupe, self.order, entry.source, entry.snapshot, SHELVES))
        marks = place(MARKS.at(dedupe=self.dedupe.name, source=entry.source), entry.snapshot)
        found: dict[str, list[dict[str, Any]]] = {}
        for row in read_ledger(self.store, marks)[1]:
            records = np.frombuffer(read_part_file(self.store, row, marks.table, "marks"), NEAR_MARK)
            names = NEAR_MARK.names or ()
            found[row.name] = [dict(zip(names, record, strict=True)) for record in records.tolist()]
        return found

    def make(self, step: Step) -> dict[str, Ledger]:
        return make(step, self.lake, Inline(), f"run-{np.random.default_rng().integers(1 << 60)}", lambda _: None)

    def clusters(self, number: int) -> tuple[Shard, Place]:
        """The part of a round."""
        of_round = place(CLUSTERS.at(dedupe=self.dedupe.name), round_partition_key(number))
        return next(row for row in read_ledger(self.store, of_round)[1] if row.name == WHOLE), of_round

    def scores(self, rank: int, scores: Mapping[str, Sequence[float | None]], content: str = "") -> None:
        """Writes the attribute set `quality-1` of a snapshot: None is a document without the label.

        Args:
            rank: of the snapshot.
            scores: of each document, by shard.
            content: digest of the documents that each shard was made from; empty: none is named.
        """
        entry = self.order.entries[rank]
        here = place(attributes_asset(entry.source, "v0", "quality-1"), entry.snapshot)
        rows = []
        for name, values in scores.items():
            texts, writer = self.texts[rank][name], ShardWriter(self.store, here.shard(name))
            inputs = (Input(documents_asset(entry.source, "v0"), name, content),) if content else ()
            pairs = ids_of(entry.source, entry.snapshot, name, texts)
            for (source, id_), score, text in zip(pairs, values, texts, strict=True):
                labels = {} if score is None else {"quality-1__good": [[0, len(text), score]]}
                writer.write(encode_row(id_, source, labels) + b"\n")
            rows.append(
                Shard.from_written(name, writer.close(), ids=digest(pairs), recipe=RECIPE.digest, inputs=inputs)
            )
        self.publish(here, rows)

    def publish(self, here: Place, rows: list[Shard]) -> None:
        """Writes a ledger."""
        self.store.put(here.table, pack_table(rows))
        self.store.put(here.ledger, as_json(compose_ledger(here, RECIPE, (), rows)))

    def _documents(self, source: str, snapshot: str, texts: Texts) -> None:
        here = place(documents_asset(source, "v0"), snapshot)
        rows = []
        for name in sorted(texts):
            pairs, writer = ids_of(source, snapshot, name, texts[name]), ShardWriter(self.store, here.shard(name))
            for (_, id_), text in zip(pairs, texts[name], strict=True):
                writer.write(msgspec.json.encode(Document(id=id_, text=text, source=source)) + b"\n")
            rows.append(Shard.from_written(name, writer.close(), ids=digest(pairs), recipe=RECIPE.digest, inputs=()))
        self.publish(here, rows)

    def _fingerprints(self, rank: int, source: str, snapshot: str, texts: Texts) -> None:
        here, unit = place(FINGERPRINTS.at(dedupe=self.dedupe.name, source=source), snapshot), self.unit
        rows = []
        for number, name in enumerate(sorted(texts)):
            pairs = ids_of(source, snapshot, name, texts[name])
            places, values = minhash_signatures(texts[name], unit.ngram, unit.bands * unit.rows, unit.seed)
            counts = np.zeros(len(texts[name]), np.uint32)
            counts[places] = 1
            ends = np.array([len(texts[name][each]) for each in places.tolist()], np.uint32)
            sizes = np.full(len(places), unit.bands, np.uint32)
            spans = SpanTable(counts, np.zeros(len(places), np.uint32), ends, sizes, int(sizes.sum()))
            every = np.zeros((len(pairs), values.shape[1]), "<u4")
            every[places] = values
            for ordinal, (high, low) in enumerate(band_hashes(values, unit.bands).reshape(-1, 2).tolist()):
                self.hashes[rank][high, low].append(number << 32 | ordinal)
            lines = b"".join(msgspec.json.encode(list(pair)) + b"\n" for pair in pairs)
            files = {"ids.gz": gzip_bytes(lines), "spans": spans.encode(), "signatures": every.tobytes()}
            rows.append(self._part(here, name, files, len(pairs), digest(pairs), len(places)))
        self.publish(here, rows)

    def _part(
        self, here: Place, name: str, files: Mapping[str, bytes], rows: int = 0, ids: str = "", spans: int = 0
    ) -> Shard:
        spec = OneAssetSpec(place=here, token="", recipe=RECIPE.digest)
        part = BinaryPart(self.store, spec, name, (), ids)
        part.rows, part.facts = rows, {"spans": spans}
        for file, data in files.items():
            part.file(file).write(data)
        return part.close().row

    def _buckets(self, hashes: Mapping[Hash, list[int]]) -> list[list[tuple[Hash, list[int]]]]:
        buckets: list[list[tuple[Hash, list[int]]]] = [[] for _ in range(self.dedupe.buckets)]
        for hash_ in sorted(hashes):
            buckets[hash_[0] * self.dedupe.buckets >> 64].append((hash_, sorted(hashes[hash_])))
        return buckets

    def _runs(self, rank: int, source: str, snapshot: str) -> None:
        here = place(HASH_RUNS.at(dedupe=self.dedupe.name, source=source), snapshot)
        rows = []
        for number, found in enumerate(self._buckets(self.hashes[rank])):
            hashes = np.array([hash_ for hash_, _ in found], "<u8").reshape(-1, 2)
            repeats = [(index, other) for index, (_, positions) in enumerate(found) for other in positions[1:]]
            files = {
                "hashes": hashes.T.tobytes(),
                "positions": np.array([positions[0] for _, positions in found], "<u8").tobytes(),
                "repeats": np.array([index for index, _ in repeats], "<u4").tobytes()
                + np.array([other for _, other in repeats], "<u8").tobytes(),
            }
            rows.append(self._part(here, f"{number:05d}", files))
        self.publish(here, rows)

    def _verdicts(self, number: int) -> None:
        here = place(VERDICTS.at(dedupe=self.dedupe.name), round_partition_key(number))
        files: list[dict[str, bytes]] = [{} for _ in range(self.dedupe.buckets)]
        for rank in self.order.ranks_of_round(number):
            for bucket, found in enumerate(self._buckets(self.hashes[rank])):
                hits = []
                for hash_, positions in found:
                    before = [each for each in range(rank) if hash_ in self.hashes[each]]
                    places = [self._place(each, bucket, hash_) for each in before[:1]]
                    hits += [(positions[0], each, place) for each, place in zip(before, places, strict=False)]
                columns = [
                    np.array([hit[column] for hit in hits], kind) for column, kind in enumerate(("<u8", "<u4", "<u4"))
                ]
                files[bucket][str(rank)] = b"".join(column.tobytes() for column in columns)
        self.publish(here, [self._part(here, f"{bucket:05d}", each) for bucket, each in enumerate(files)])

    def _place(self, rank: int, bucket: int, hash_: Hash) -> int:
        """The place of a hash in a run."""
        return [each for each, _ in self._buckets(self.hashes[rank])[bucket]].index(hash_)


def ids_of(source: str, snapshot: str, shard: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """The (source, id) of the documents of a shard."""
    return [(source, f"{snapshot}-{shard}-{number}") for number in range(len(texts))]


def digest(pairs: Sequence[tuple[str, str]]) -> str:
    """The digest of ids."""
    found = IdDigest()
    found.update(pairs)
    return found.hexdigest()
