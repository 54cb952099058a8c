"""The grinder of conversion: it converts the raw objects of a shard into documents and a quarantine file."""

from collections.abc import Iterator

import msgspec
import orjson
from msgspec import UNSET

from gristmill.errors import DataError, GristmillError, StoreError, is_failure
from gristmill.execution.document_writer import DocumentWriter
from gristmill.execution.work import Item, Job, Outcome
from gristmill.execution.write_shards import keep_shard, write_shards
from gristmill.lake.address import Place, raw_asset
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.model import Input, Quarantine
from gristmill.lake.ledger.receipts import RawVersion, Receipt
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan, RawSpansWriter
from gristmill.lake.rows.shard_file import ShardWriter
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import ObjectVersion, Store
from gristmill.recipes.raw_object import Converted, Copied, RawObject, Refused
from gristmill.recipes.shelf import find
from gristmill.recipes.source import Source

ALWAYS_ALLOWED = 10
"""A shard with at most this number of refused rows never fails, whatever their share."""

_SHOWN = 1 << 20
"""Longest copy of a refused row in the quarantine, in bytes. The raw object has the whole row."""

_BATCH = 512


class ConversionSpec(msgspec.Struct, frozen=True):
    """What all shards share.

    Attributes:
        source: name of the source.
        place: the partition that is made.
        token: token of the run that has claimed it.
        recipe: digest of the recipe.
    """

    source: str
    place: Place
    token: str
    recipe: str


class RawEntry(msgspec.Struct, frozen=True):
    """One raw object of a shard, as it was when the step was planned."""

    name: str
    path: str
    version: ObjectVersion


class ConversionItem(msgspec.Struct, frozen=True):
    """One shard: its raw objects, and the finished shard that is kept if their bytes have not changed."""

    objects: tuple[RawEntry, ...]
    before: Receipt | None = None


class _Output:
    """The writer of a shard's documents and quarantine."""

    def __init__(self, store: Store, spec: ConversionSpec, name: str) -> None:
        self.place, self.token, self._recipe = spec.place, spec.token, spec.recipe
        self._store, self.name = store, name
        self.documents = DocumentWriter(store, spec.place, name)
        self._inputs: list[Input] = []
        self._raw: dict[str, RawVersion] = {}
        self._quarantine: ShardWriter | None = None
        self.reasons: dict[str, int] = {}
        self.first: list[str] = []
        self._encoder = msgspec.json.Encoder()
        self._lines: list[bytes] = []
        self._pairs: list[Pair] = []
        self.raw_spans = RawSpansWriter()

    def add(self, row: Converted, raw_span: RawSpan | None) -> None:
        if isinstance(row, Copied):
            self._keep(row.line, (row.source, row.id), raw_span)
        elif isinstance(row, Refused):
            self.refuse(row)
        else:
            self._add_document(row, raw_span)

    def _add_document(self, row: Document, raw_span: RawSpan | None) -> None:
        trouble = _problem(row)
        if trouble:
            self.refuse(Refused(trouble, f"id {row.id!r}", repr(row.text).encode()))
            return
        try:
            line = self._encoder.encode(row)
        except RecursionError:
            self.refuse(Refused("nested too deeply", f"id {row.id!r}", row.id.encode()))
            return
        except (TypeError, ValueError, OverflowError) as error:
            if not isinstance(error, UnicodeEncodeError):
                raise DataError(
                    f"shard {self.name}: id {row.id!r}: metadata is not valid JSON ({error}); mend the converter"
                ) from error
            self.refuse(Refused("lone surrogate", f"id {row.id!r}", row.text.encode("utf-8", "backslashreplace")))
            return
        self._keep(line, (row.source, row.id), raw_span)

    def _keep(self, line: bytes, pair: Pair, raw_span: RawSpan | None) -> None:
        self._lines.append(line)
        self._pairs.append(pair)
        self.raw_spans.add(raw_span)
        if len(self._lines) >= _BATCH or len(line) > _SHOWN:
            self.flush()

    def flush(self) -> None:
        if self._lines:
            self._lines.append(b"")
            self.documents.write(b"\n".join(self._lines), self._pairs)
            self._lines, self._pairs = [], []

    def refuse(self, row: Refused) -> None:
        if self._quarantine is None:
            self._quarantine = ShardWriter(self._store, self.place.quarantine(self.name))
        self.reasons[row.reason] = self.reasons.get(row.reason, 0) + 1
        if len(self.first) < 3:
            self.first.append(f"{row.where}: {row.reason}")
        text = row.raw[:_SHOWN].decode("utf-8", "backslashreplace")
        line = orjson.dumps({"reason": row.reason, "raw": text, "where": row.where})
        self._quarantine.write(line + b"\n")

    def end(self, asset: str, entry: RawEntry, sha256: str) -> None:
        """A raw object was read to its end."""
        self._inputs.append(Input(asset, entry.name, sha256))
        self._raw[entry.name] = RawVersion.of(entry.version, sha256)

    def close(self) -> Receipt:
        self.flush()
        stamps: dict[str, ObjectVersion] = {}
        quarantine = None
        if self._quarantine is not None:
            path = self.place.quarantine(self.name)
            refused = self._quarantine.close()
            stamps[path] = refused.version
            quarantine = Quarantine(refused.rows, refused.bytes, refused.sha256)
        dropped = {f"quarantine: {reason}": n for reason, n in self.reasons.items()}
        row, written = self.documents.close(
            self._recipe,
            tuple(self._inputs),
            dropped=dropped,
            counts={},
            quarantine=quarantine,
            raw_spans=self.raw_spans.pack(),
        )
        return Receipt(row, {**stamps, **written}, self._raw)

    def abort(self) -> None:
        self.documents.abort()
        if self._quarantine is not None:
            self._quarantine.abort()


def _problem(row: Document) -> str | None:
    """The reason to refuse a document, or None. A converter may give wrong types, so they are checked."""
    values: tuple[object, ...] = (row.id, row.source, row.text)
    if not all(isinstance(value, str) for value in values):
        return "id, source or text is no string"
    times: tuple[object, ...] = (row.added, row.created)
    if not all(value is None or value is UNSET or isinstance(value, str) for value in times):
        return "added or created is no string"
    metadata: object = row.metadata
    if not (metadata is None or metadata is UNSET or isinstance(metadata, dict)):
        return "metadata is no object"
    if not row.id:
        return "no id"
    if "\x00" in row.id or "\x00" in row.text:
        return "NUL in text or id"
    return None


def converted(source: Source, raw: RawObject, snapshot: str) -> Iterator[Converted]:
    """Runs a source's converter on a raw object.

    Args:
        source: the source.
        raw: the raw object.
        snapshot: key of the snapshot, for messages.

    Yields:
        The converted, copied and refused rows.

    Raises:
        DataError: the converter failed; the message names the object.
    """
    try:
        yield from source.convert(raw)
    except GristmillError:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise DataError(
            f"{raw_asset(source.name)}/{snapshot}/{raw.name}: the converter failed"
            f" ({type(error).__name__}: {error}); mend it, or let it yield a Refused row"
        ) from error


class ConversionGrinder:
    """Grinds shards of one source."""

    def __init__(self, job: Job) -> None:
        self._spec = msgspec.json.decode(job.spec, type=ConversionSpec)
        self._store = job.lake.store()
        self._source = find("sources", Source, job.shelves, self._spec.source)
        self._raw_store = open_store(self._source.raw, job.lake.options) if self._source.raw else self._store

    def __call__(self, item: Item) -> Outcome:
        body = msgspec.json.decode(item.body, type=ConversionItem)
        same = self._same(body)
        if same is not None:
            kept = keep_shard(self._store, self._spec.place, self._spec.token, same)
            return Outcome((kept,), {"shards kept after a look": 1})
        output = _Output(self._store, self._spec, item.name)
        return Outcome(write_shards(self._store, [output], lambda: self._convert(body, output)))

    def _same(self, body: ConversionItem) -> Receipt | None:
        """The finished shard, if its raw objects have new stamps but the same bytes, as in a copied lake; else None."""
        if body.before is None:
            return None
        digests = {i.shard: i.content for i in body.before.row.inputs}
        stamps: dict[str, RawVersion] = {}
        for entry in body.objects:
            raw = RawObject(self._raw_store, entry.path, entry.name, entry.version.size)
            sha256 = raw.sha256()
            if digests.get(entry.name) != sha256:
                return None
            stamps[entry.name] = RawVersion.of(entry.version, sha256)
        return Receipt(body.before.row, body.before.stamps, stamps)

    def _convert(self, body: ConversionItem, output: _Output) -> None:
        asset = raw_asset(self._source.name)
        for entry in body.objects:
            raw = RawObject(self._raw_store, entry.path, entry.name, entry.version.size)
            output.raw_spans.begin()
            for row in converted(self._source, raw, self._spec.place.snapshot):
                output.add(row, raw.take_raw_span())
            sha256 = raw.sha256()
            now = self._raw_store.head(entry.path)
            if now is None or now.version != entry.version:
                raise StoreError(f"{entry.path}: replaced while it was read; try again")
            output.end(asset, entry, sha256)
        output.flush()
        self._check_limit(output)

    def _check_limit(self, output: _Output) -> None:
        refused = sum(output.reasons.values())
        total = refused + output.documents.rows
        limit = self._source.quarantine_limit
        if refused > ALWAYS_ALLOWED and refused > limit * total:
            counted = ", ".join(f"{reason}: {n}" for reason, n in sorted(output.reasons.items()))
            place = self._spec.place
            raise DataError(
                f"{place.asset} ({place.snapshot}): shard {output.name}: {refused} of {total} rows refused, more than"
                f" the source's quarantine_limit of {limit:.2%} ({counted}); the first: {'; '.join(output.first)}. Mend"
                " the raw data or the converter, or raise the limit"
            )


def grinder(job: Job) -> ConversionGrinder:
    """Opens the grinder of a job: see gristmill.execution.runner."""
    return ConversionGrinder(job)
