"""The grinder of adoption: it reads a file of others once, and leaves its row of the table and its id index."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import partial

import msgspec
import xxhash

from gristmill.errors import DataError, MalformedRow, Misaligned
from gristmill.execution.claim import check_claim
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Ground, Item, Job, Outcome
from gristmill.lake.address import Place
from gristmill.lake.fence import fence_writes
from gristmill.lake.identity import IdDigest, Pair, canonical_bytes
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.model import Input, Shard
from gristmill.lake.ledger.receipts import RawVersion, Receipt, leave_receipt
from gristmill.lake.rows.attribute import parse_rows
from gristmill.lake.rows.batches import TextRow, check_same_ids, decode_rows
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.foreign_file import ForeignFile
from gristmill.lake.rows.shard_file import split_rows
from gristmill.lake.store.adopted import AdoptedFiles, Root
from gristmill.lake.store.protocol import ObjectVersion

METADATA_CHANGED = "metadata changed"
"""The count of documents whose metadata are others than in the version before."""
SOURCELESS = "attribute rows without a source"
OUTSIDE = "spans outside of the text"

_MEND = "this adopted file must be mended where it was made, or its source converted instead of adopted"


class AdoptionSpec(OneAssetSpec, frozen=True):
    """What all shards share.

    Attributes:
        root: root of the files.
        raw: the asset of the files, for the ledger.
        documents: the documents of an attribute set; or those of the version before; None: nothing is compared.
        name: name of the attribute set; empty: documents are adopted.
    """

    root: Root
    raw: str
    documents: Place | None
    name: str = ""


class AdoptionItem(msgspec.Struct, frozen=True):
    """One file: its path below the root, its version, and the shard of documents that it is compared with."""

    at: str
    version: ObjectVersion
    beside: Shard | None


class AdoptionGrinder(ShardGrinder[AdoptionSpec, AdoptionItem]):
    """Reads the files of one partition."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._files = AdoptedFiles(self._spec.root)
        self._documents = msgspec.json.Decoder(Document)

    def grind(self, item: Item, body: AdoptionItem) -> Outcome:
        spec = self._spec
        path = f"{spec.root.url}/{body.at}"
        before = self._store.head(spec.place.index(item.name))
        file = ForeignFile(self._files.stream(path, body.version), path)
        ids, counts = IdDigest(), dict[str, int]()
        if spec.name:
            self._adopt_attribute_rows(file, body, ids, counts)
        else:
            self._adopt_document_rows(file, body, ids, counts)
        index = b"" if spec.name else ids.index()
        row = self._adopt_raw_object(item.name, body, file, ids, index, counts)
        check_claim(self._store, spec.place, spec.token)
        stamps: dict[str, ObjectVersion] = {}
        with fence_writes(partial(check_claim, self._store, spec.place, spec.token)):
            if index or not spec.name:
                # A newer run may write the index after the claim is checked: then this one is refused.
                entry = self._store.put_if(spec.place.index(item.name), index, before.etag if before else None)
                stamps[entry.path] = entry.version
            receipt = Receipt(row, stamps, {body.at: RawVersion.from_version(body.version, file.sha256)})
            receipt = leave_receipt(self._store, spec.place, spec.token, receipt)
        return Outcome((Ground(spec.place.asset, receipt),))

    def _adopt_raw_object(
        self, name: str, body: AdoptionItem, file: ForeignFile, ids: IdDigest, index: bytes, counts: Mapping[str, int]
    ) -> Shard:
        spec = self._spec
        inputs = [Input(spec.raw, body.at, file.sha256)]
        if spec.documents and body.beside:
            inputs.insert(0, Input(spec.documents.asset, name, body.beside.content))
        return Shard(
            name=name,
            rows=file.rows,
            bytes=file.bytes,
            length=file.length,
            sha256=file.sha256,
            content=file.content,
            ids=ids.hexdigest(),
            recipe=spec.recipe,
            inputs=tuple(inputs),
            members=tuple(file.members),
            index="" if spec.name else hashlib.sha256(index).hexdigest(),
            counts={key: count for key, count in sorted(counts.items()) if count},
            extra={"at": body.at},
        )

    def _adopt_document_rows(
        self, file: ForeignFile, body: AdoptionItem, ids: IdDigest, counts: dict[str, int]
    ) -> None:
        """Reads documents, and compares their metadata with those of the version before."""
        before = dict(self._earlier_metadata_hashes(body.beside)) if body.beside else {}
        first = 0
        for block in file.blocks():
            documents = decode_rows(self._documents, block, file.path, first, _MEND)
            for number, document in enumerate(documents, start=first):
                if not document.id or "\x00" in document.id:
                    raise MalformedRow(file.path, number, f"the id {document.id!r} is not valid", _MEND)
                if before:
                    was = before.get(key_of_pair((document.source, document.id)))
                    if was is not None and was != metadata_digest(document):
                        counts[METADATA_CHANGED] = counts.get(METADATA_CHANGED, 0) + 1
            ids.update([(document.source, document.id) for document in documents])
            first += len(documents)

    def _earlier_metadata_hashes(self, shard: Shard) -> Iterator[tuple[bytes, bytes]]:
        """The hash of each document's metadata in the version before, by the hash of its (source, id)."""
        if self._spec.documents is None:
            return
        for _, documents in open_shard(self._store, self._spec.documents, shard).rows(Document):
            for document in documents:
                yield key_of_pair((document.source, document.id)), metadata_digest(document)

    def _adopt_attribute_rows(
        self, file: ForeignFile, body: AdoptionItem, ids: IdDigest, counts: dict[str, int]
    ) -> None:
        """Reads attribute rows beside their documents, row by row.

        Raises:
            Misaligned: a row is not of the document in the same place, or one of the two files is shorter.
        """
        spec = self._spec
        if spec.documents is None or body.beside is None:
            raise DataError(f"{file.path}: there are no documents beside it; adopt the documents first")
        texts_file = open_shard(self._store, spec.documents, body.beside)
        waiting: list[TextRow] = []
        first, beside, texts = 0, texts_file.path, texts_file.rows(TextRow)
        for block in file.blocks():
            lines = split_rows(block)
            while len(waiting) < len(lines) and (more := next(texts, None)) is not None:
                waiting += more[1]
            documents, waiting = waiting[: len(lines)], waiting[len(lines) :]
            if len(documents) < len(lines):
                raise Misaligned(
                    f"{file.path}: has a row {first + len(documents)}, but {beside} ends before it; {_MEND}"
                )
            lengths = [len(document.text) for document in documents]
            rows = parse_rows(lines, spec.name, file.path, first, lengths)
            pairs = [document.pair for document in documents]
            theirs = [(row.source, row.id) for row in rows]
            counts[SOURCELESS] = counts.get(SOURCELESS, 0) + check_same_ids(pairs, theirs, beside, file.path, first)
            for row, length in zip(rows, lengths, strict=True):
                spans = (span for label in row.labels.values() for span in label)
                outside = sum(not 0 <= start <= end <= length for start, end, _ in spans)
                counts[OUTSIDE] = counts.get(OUTSIDE, 0) + outside
            ids.update(pairs)
            first += len(lines)
        if waiting or next(texts, None) is not None:
            raise Misaligned(f"{file.path}: ends after {first} rows, but {beside} has more; {_MEND}")


def key_of_pair(pair: Pair) -> bytes:
    """The hash by which versions side by side are compared."""
    return xxhash.xxh3_128_digest(canonical_bytes(pair))


_canonical = msgspec.json.Encoder(order="sorted")


def metadata_digest(document: Document) -> bytes:
    """The hash of a document's metadata; absent, null and empty metadata are equal."""
    return xxhash.xxh3_128_digest(_canonical.encode(document.metadata or None))


grinder = AdoptionGrinder
