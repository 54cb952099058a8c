"""The grinder of token caches: a group of shards becomes one Levanter part; unchanged shards are copied as ids.

A part's folder carries the digest of everything it is made from, so it is never changed: another content is another
folder, and the ledger says which one counts.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from gristmill.errors import DataError, StoreError
from gristmill.lake.address import Place
from gristmill.lake.claim import check_claim
from gristmill.lake.identity import digest_of, fraction
from gristmill.lake.ledger import Input, Shard
from gristmill.lake.levanter_cache import CacheReader, CacheWriter, copy_range, ranges_of
from gristmill.lake.receipts import Receipt, Stamp, leave_receipt
from gristmill.lake.rows import decode_rows
from gristmill.lake.shards import read_blocks
from gristmill.lake.store import Store, Upload
from gristmill.stages.encoding import Encoder
from gristmill.stages.grinding import Ground, Item, Job, Outcome
from gristmill.stages.tokenizing import VALIDATION_SEED, read_tokenizer

IDS = "input_ids"
Range = tuple[int, int, int, int]
"""First row, rows, first token, tokens: where a shard lies in a part."""


class Spec(msgspec.Struct, frozen=True):
    """What all parts share."""

    documents: Place
    place: Place
    token: str
    recipe: str
    tokenizer: str
    fingerprint: str
    eos: str | None
    bos: str | None
    eos_style: str
    long_strings: str
    validation: float
    splits: tuple[str, ...]


class OldPart(msgspec.Struct, frozen=True):
    """What the ledger says of the part as it was: where, which shards lie where in it, and each object's sha256."""

    folders: dict[str, str]
    shards: dict[str, "OldShard"]
    objects: dict[str, tuple[str, int]]


class OldShard(msgspec.Struct, frozen=True):
    """A shard in a finished part: the content it was tokenized from, and its range in each split."""

    content: str
    ranges: dict[str, Range]


class Body(msgspec.Struct, frozen=True):
    """One part: its folder's name, its shards in order, and the part it replaces."""

    folder: str
    shards: tuple[Shard, ...]
    inputs: tuple[Input, ...]
    old: OldPart | None


class _Text(msgspec.Struct):
    id: str
    source: str
    text: str


class _Sink:
    """One object of a part: hashed while it is written."""

    def __init__(self, upload: Upload, path: str, objects: dict[str, tuple[str, int, Stamp]]) -> None:
        self._upload, self._path, self._objects = upload, path, objects
        self._digest = hashlib.sha256()

    def write(self, data: bytes, /) -> None:
        self._digest.update(data)
        self._upload.write(data)

    def close(self) -> None:
        entry = self._upload.close()
        self._objects[self._path] = (self._digest.hexdigest(), entry.size, (entry.size, entry.etag))

    def abort(self) -> None:
        self._upload.abort()


class _Split(CacheWriter):
    """One split of a part: a Levanter cache, and the digest of its rows."""

    def __init__(self, store: Store, folder: str, objects: dict[str, tuple[str, int, Stamp]]) -> None:
        super().__init__(lambda name: _Sink(store.upload(folder + name), folder + name, objects), {IDS: "int32"})
        self.digests = (xxhash.xxh3_128(), xxhash.xxh3_128())
        self.tokens = 0

    def append_batch(self, batch: Mapping[str, tuple[NDArray[Any], NDArray[np.int64]]]) -> None:
        flat, lengths = batch[IDS]
        self.digests[0].update(np.ascontiguousarray(flat).data)
        self.digests[1].update(np.ascontiguousarray(lengths).data)
        self.tokens += len(flat)
        super().append_batch(batch)


class _Part:
    """A part while it is written: a cache a split, and where each shard lies in them."""

    def __init__(self, store: Store, place: Place, folder: str, splits: Sequence[str]) -> None:
        self.objects: dict[str, tuple[str, int, Stamp]] = {}
        self.folders = {split: f"{place.part_folder(split)}{folder}/" for split in splits}
        self.writers = {split: _Split(store, path, self.objects) for split, path in self.folders.items()}
        self.shards: dict[str, OldShard] = {}
        self.shard_rows: dict[str, dict[str, int]] = {split: {} for split in splits}
        self._starts: dict[str, tuple[int, int]] = {}

    def begin(self) -> None:
        self._starts = {split: (writer.rows, writer.tokens) for split, writer in self.writers.items()}

    def end(self, shard: Shard) -> None:
        ranges: dict[str, Range] = {}
        for split, writer in self.writers.items():
            rows, tokens = self._starts[split]
            ranges[split] = (rows, writer.rows - rows, tokens, writer.tokens - tokens)
            self.shard_rows[split][shard.name] = writer.rows - rows
        found = sum(r[1] for r in ranges.values())
        if found != shard.rows:
            raise DataError(f"shard {shard.name}: {shard.rows} documents in its ledger, {found} rows tokenized")
        self.shards[shard.name] = OldShard(shard.content, ranges)

    def abort(self) -> None:
        for writer in self.writers.values():
            writer.abort()


class Tokenizing:
    """Grinds the parts of one stream's snapshot."""

    def __init__(self, job: Job) -> None:
        self._spec = spec = msgspec.json.decode(job.spec, type=Spec)
        self._store = job.lake.store()
        ledger, data = read_tokenizer(self._store, spec.tokenizer)
        if ledger.fingerprint != spec.fingerprint:
            raise StoreError(f"tokenizer {spec.tokenizer}: changed since this run was planned")
        self._encoder = Encoder(
            data,
            eos=spec.eos,
            bos=spec.bos,
            eos_style="clean" if spec.eos_style == "clean" else "levanter",
            long_strings="marin" if spec.long_strings == "marin" else "levanter",
        )
        self._decoder = msgspec.json.Decoder(_Text)

    def __call__(self, item: Item) -> Outcome:
        body = msgspec.json.decode(item.body, type=Body)
        old = body.old if body.old and self._proven(body.old) else None
        place = self._spec.place
        part = _Part(self._store, place, body.folder, self._spec.splits)
        facts = {"shards tokenized": 0, "shards copied": 0}
        try:
            for shard in body.shards:
                part.begin()
                copied = self._copy(shard, old, part)
                if not copied:
                    self._tokenize(shard, part)
                facts["shards copied" if copied else "shards tokenized"] += 1
                part.end(shard)
            check_claim(self._store, place, self._spec.token)
            receipt = self._close(item.name, body, part)
        except BaseException:
            part.abort()
            raise
        leave_receipt(self._store, place, receipt)
        facts[f"engine {self._encoder.engine}"] = 1
        return Outcome((Ground(place.asset, receipt),), facts)

    def _proven(self, old: OldPart) -> bool:
        """Whether every object of the part as it was is what its ledger says: blosc does not see every flipped bit,
        and a copy would certify it.
        """
        for path, (sha256, _) in old.objects.items():
            digest = hashlib.sha256()
            try:
                for piece in self._store.stream(path):
                    digest.update(piece)
            except StoreError:
                return False
            if digest.hexdigest() != sha256:
                return False
        return True

    def _copy(self, shard: Shard, old: OldPart | None, part: _Part) -> bool:
        """Copies a shard's ids from the part as it was, if they were made from the same content."""
        before = old.shards.get(shard.name) if old else None
        if old is None or before is None or before.content != shard.content:
            return False
        for split, (first, rows, _, _) in before.ranges.items():
            if rows:
                reader = CacheReader(ranges_of(self._store), old.folders[split].rstrip("/"))
                copy_range(reader, first, first + rows, part.writers[split])
        return True

    def _tokenize(self, shard: Shard, part: _Part) -> None:
        path = self._spec.documents.shard(shard.name)
        first = 0
        for block in read_blocks(self._store, path, shard.sha256):
            rows = decode_rows(self._decoder, block, path, first)
            first += len(rows)
            try:
                flat, lengths = self._encoder.encode([row.text for row in rows])
            except DataError as error:
                raise DataError(f"{path}: rows {first - len(rows)} to {first}: {error}") from error
            self._append(rows, flat, lengths, part)

    def _append(self, rows: Sequence[_Text], flat: NDArray[np.int32], lengths: NDArray[np.int64], part: _Part) -> None:
        share = self._spec.validation
        if not share:
            part.writers["train"].append_batch({IDS: (flat, lengths)})
            return
        held = np.fromiter(
            (fraction((row.source, row.id), VALIDATION_SEED) < share for row in rows), dtype=bool, count=len(rows)
        )
        of_row = np.repeat(held, lengths)
        part.writers["validation"].append_batch({IDS: (flat[of_row], lengths[held])})
        part.writers["train"].append_batch({IDS: (flat[~of_row], lengths[~held])})

    def _close(self, name: str, body: Body, part: _Part) -> Receipt:
        metadata = {
            "tokenizer": f"tokenizers/{self._spec.tokenizer}",
            "vocab_size": self._encoder.vocab_size,
            "return_attention_mask": False,
            "padding": False,
            "max_length": None,
            "append_bos": self._spec.bos is not None,
            "append_eos": self._spec.eos is not None,
        }
        counts: dict[str, int] = {"tokens": 0}
        digests: list[str] = []
        for split, writer in part.writers.items():
            writer.close(part.shard_rows[split], metadata)
            counts["tokens"] += writer.tokens
            counts[f"{split} tokens"] = writer.tokens
            counts[f"{split} rows"] = writer.rows
            digests += [split, *(digest.hexdigest() for digest in writer.digests)]
        objects = {path: [sha256, size] for path, (sha256, size, _) in sorted(part.objects.items())}
        row = Shard(
            name=name,
            rows=sum(shard.rows for shard in body.shards),
            bytes=sum(size for _, size, _ in part.objects.values()),
            length=4 * counts["tokens"],
            sha256=digest_of([[path, value[0]] for path, value in objects.items()]),
            content=digest_of(digests),
            ids=digest_of([shard.ids for shard in body.shards]),
            recipe=self._spec.recipe,
            inputs=body.inputs,
            counts=counts,
            extra={
                "folders": part.folders,
                "objects": objects,
                "shards": msgspec.to_builtins(part.shards),
            },
        )
        return Receipt(row, {path: stamp for path, (_, _, stamp) in part.objects.items()})


def grinder(job: Job) -> Tokenizing:
    """See gristmill.stages.grinding."""
    return Tokenizing(job)
