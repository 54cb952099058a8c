"""The grinder of conversion: it converts the raw objects of a shard into documents and a quarantine file."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import UNSET

from gristmill.errors import DataError, GristmillError, RecipeError, StoreError, is_failure, words_of
from gristmill.execution.document_writer import DocumentWriter
from gristmill.execution.work import Item, Job, Outcome
from gristmill.execution.write_shards import keep_shard, write_shards
from gristmill.lake.address import Place, raw_asset
from gristmill.lake.identity import Pair
from gristmill.lake.ledger.model import Input
from gristmill.lake.ledger.receipts import RawVersion, Receipt
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan, RawSpansWriter
from gristmill.lake.rows.row_blocks import HEAD, ROW_LIMIT
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import ObjectVersion, Store
from gristmill.recipes.raw_object import TOO_LONG, Converted, Copied, RawObject, Refused, TooLong
from gristmill.recipes.shelf import find
from gristmill.recipes.source import Source
from gristmill.stages.conversion.quarantine import QuarantineWriter

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
        self.quarantine = QuarantineWriter(store, spec.place, name)
        self.bytes = 0
        self._inputs: list[Input] = []
        self._raw: dict[str, RawVersion] = {}
        self._encoder = msgspec.json.Encoder()
        self._lines: list[bytes] = []
        self._pairs: list[Pair] = []
        self.raw_spans = RawSpansWriter()

    def add(self, row: Converted, raw_span: RawSpan | None) -> None:
        if isinstance(row, Copied):
            self._keep(row.line, (row.source, row.id), raw_span)
        elif isinstance(row, Refused):
            self.quarantine.add(row)
        elif isinstance(row, Document):
            self._add_document(row, raw_span)
        else:
            raise RecipeError(
                f"shard {self.name}: the converter yielded a {type(row).__name__}, {row!r:.200}; let it yield a"
                " Document, a Copied row or a Refused row"
            )

    def refuse(self, rows: Iterable[Refused]) -> None:
        for row in rows:
            self.quarantine.add(row)

    def _add_document(self, row: Document, raw_span: RawSpan | None) -> None:
        trouble = _problem(row)
        if trouble:
            self.quarantine.add(Refused(trouble, f"id {row.id!r}", repr(row.text).encode()))
            return
        try:
            line = self._encoder.encode(row)
        except RecursionError:
            self.quarantine.add(Refused("nested too deeply", f"id {row.id!r}", row.id.encode()))
            return
        except (TypeError, ValueError, OverflowError) as error:
            if not isinstance(error, UnicodeEncodeError):
                raise DataError(
                    f"shard {self.name}: id {row.id!r}: metadata is not valid JSON ({error}); mend the converter"
                ) from error
            self.quarantine.add(
                Refused("lone surrogate", f"id {row.id!r}", row.text.encode("utf-8", "backslashreplace"))
            )
            return
        self._keep(line, (row.source, row.id), raw_span)

    def _keep(self, line: bytes, pair: Pair, raw_span: RawSpan | None) -> None:
        if len(line) > ROW_LIMIT:
            where = f"id {pair[1]!r:.200}: {len(line)} bytes, but a row of the lake has at most {ROW_LIMIT}"
            self.quarantine.add(Refused(TOO_LONG, where, line[:HEAD], len(line)))
            return
        self._lines.append(line)
        self._pairs.append(pair)
        self.bytes += len(line)
        self.raw_spans.add(raw_span)
        if len(self._lines) >= _BATCH or len(line) > HEAD:
            self.flush()

    def flush(self) -> None:
        if self._lines:
            self._lines.append(b"")
            self.documents.write(b"\n".join(self._lines), self._pairs)
            self._lines, self._pairs = [], []

    def end(self, asset: str, entry: RawEntry, sha256: str) -> None:
        """A raw object was read to its end."""
        self._inputs.append(Input(asset, entry.name, sha256))
        self._raw[entry.name] = RawVersion.of(entry.version, sha256)

    def close(self) -> Receipt:
        self.flush()
        stamps: dict[str, ObjectVersion] = {}
        quarantine = self.quarantine.close(stamps)
        dropped = {f"quarantine: {reason}": n for reason, n in self.quarantine.reasons.items()}
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
        self.quarantine.abort()


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
        The converted, copied and refused rows. Rows that a reader refused by itself are in `raw.refused`.

    Raises:
        DataError: the converter failed; the message names the object.
        MemoryError: the memory was not enough, which is not the converter's fault.
    """
    try:
        yield from source.convert(raw)
    except TooLong as error:
        yield Refused(TOO_LONG, f"{raw.name}: {error}", b"", raw.size)
    except (GristmillError, MemoryError, GeneratorExit):  # GeneratorExit: nobody reads on
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise DataError(
            f"{raw_asset(source.name)}/{snapshot}/{raw.name}: the converter failed"
            f" ({words_of(error)}); mend it, or let it yield a Refused row"
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
            raw = RawObject(self._raw_store, entry.path, entry.name, entry.version.size, self._source.limits)
            output.raw_spans.begin()
            for row in converted(self._source, raw, self._spec.place.snapshot):
                if raw.refused:
                    output.refuse(raw.take_refused())
                output.add(row, raw.take_raw_span())
            output.refuse(raw.take_refused())
            sha256 = raw.sha256()
            now = self._raw_store.head(entry.path)
            if now is None or now.version != entry.version:
                raise StoreError(f"{entry.path}: replaced while it was read; try again")
            output.end(asset, entry, sha256)
        output.flush()
        if any(entry.version.size for entry in body.objects):  # an empty file is counted, but it loses nothing
            output.quarantine.check(self._source.quarantine_limit, output.documents.rows, output.bytes)


def grinder(job: Job) -> ConversionGrinder:
    """Opens the grinder of a job: see gristmill.execution.runner."""
    return ConversionGrinder(job)
