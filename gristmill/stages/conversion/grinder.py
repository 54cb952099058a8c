"""The grinder of conversion: it converts the raw objects of a shard into documents and a quarantine file."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec import UNSET

from gristmill.errors import DataError, RecipeError
from gristmill.execution.document_writer import DocumentWriter
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.shard_grinder import ShardGrinder
from gristmill.execution.work import Item, Job, Outcome
from gristmill.execution.write_shards import renew_kept_receipt, write_shards
from gristmill.lake.address import raw_asset
from gristmill.lake.identity import Pair, digest_of
from gristmill.lake.ledger.counts import add_counts
from gristmill.lake.ledger.model import Input
from gristmill.lake.ledger.receipts import RawVersion, Receipt
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_parts import PartEdges, RawPart
from gristmill.lake.rows.raw_spans import RawSpan, RawSpansWriter, SpannedRows
from gristmill.lake.rows.row_blocks import HEAD, ROW_LIMIT
from gristmill.lake.store.hashing import Hashes
from gristmill.lake.store.protocol import ObjectVersion, Store
from gristmill.lake.store.read_ahead import open_read_ahead
from gristmill.raw_data.checksums import NamedHash, hash_differences
from gristmill.raw_data.roots import open_raw
from gristmill.recipes.code.digest import check_worker, code_of
from gristmill.recipes.drift.drop_reasons import LEFT_OUT, QUARANTINE
from gristmill.recipes.raw_object import TOO_LONG, Converted, Copied, LeftOut, RawObject, Refused
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.stages.conversion.converter import convert_object
from gristmill.stages.conversion.links import may_leave_out
from gristmill.stages.conversion.parts import add_part_edges, reported_part_edges, uncut_part_note
from gristmill.stages.conversion.quarantine import QuarantineWriter

_BATCH = 512


class ConversionSpec(OneAssetSpec, frozen=True):
    """What all shards share.

    Attributes:
        source: name of the source.
        made_by: digest of the parameters of the source that change how a raw object is read.
        raw: root of the raw data as the planning process sees it; empty if they are in the lake.
    """

    source: str
    made_by: str
    raw: str = ""


class RawEntry(msgspec.Struct, frozen=True):
    """One raw object of a shard, or a part of one, as it was when the step was planned.

    Attributes:
        name: its name below the snapshot.
        path: its path in the store.
        version: version that was listed.
        part: the part that is converted; None: all of it.
        hashes: expected hashes from the checksum files; empty for a part, because the files list whole objects.
    """

    name: str
    path: str
    version: ObjectVersion
    part: RawPart | None = None
    hashes: tuple[NamedHash, ...] = ()


class ConversionItem(msgspec.Struct, frozen=True):
    """One shard.

    Attributes:
        objects: its raw objects.
        before: the finished shard that is kept if their bytes have not changed.
        cut: the sha256 of what erasures have left of the objects.
    """

    objects: tuple[RawEntry, ...]
    before: Receipt | None = None
    cut: tuple[str, ...] = ()


class _Output(DocumentWriter):
    """The writer of a shard's documents and quarantine."""

    def __init__(self, store: Store, spec: ConversionSpec, name: str) -> None:
        super().__init__(store, spec, name)
        self.refused = QuarantineWriter(store, spec.place, name)
        self.bytes = 0
        self.read: list[Input] = []
        self._raw: dict[str, RawVersion] = {}
        self._encoder = msgspec.json.Encoder()
        self._lines: list[bytes] = []
        self._pairs: list[Pair] = []
        self.raw_spans = RawSpansWriter()
        self.file = ""
        self.checked = False  # whether the converter has checked the fields of its documents already
        self.edges: PartEdges | None = None

    def add(self, row: Converted, raw_span: RawSpan | None) -> None:
        if isinstance(row, Copied):
            self._write_document_line(row.line, (row.source, row.id), raw_span)
        elif isinstance(row, Refused):
            self.refused.add(row, self.file, raw_span)
        elif isinstance(row, Document):
            self._add_document(row, raw_span)
        elif isinstance(row, LeftOut):
            self.refused.leave_out(row)
        else:
            raise RecipeError(
                f"shard {self.name}: the converter yielded a {type(row).__name__}, {row!r:.200}; let it yield a"
                " Document, a Copied row, a Refused row or a LeftOut"
            )

    def add_rows(self, many: SpannedRows) -> None:
        """Adds rows that a reader has made at once."""
        self.flush()
        self.write(many.rows, many.pairs)
        self.bytes += len(many.rows) - len(many.pairs)
        self.raw_spans.append_spans(many.starts, many.ends)

    def refuse_rows(self, rows: Iterable[Refused]) -> None:
        for row in rows:
            self.refused.add(row, self.file)

    def _add_document(self, row: Document, raw_span: RawSpan | None) -> None:
        trouble = None if self.checked else _document_refusal_reason(row)
        if trouble:
            self._quarantine_row(trouble, row, repr(row.text).encode(), raw_span)
            return
        try:
            line = self._encoder.encode(row)
        except RecursionError:
            self._quarantine_row("nested too deeply", row, row.id.encode(), raw_span)
            return
        except (TypeError, ValueError, OverflowError) as error:
            if not isinstance(error, UnicodeEncodeError):
                raise DataError(
                    f"shard {self.name}: id {row.id!r}: metadata is not valid JSON ({error}); mend the converter"
                ) from error
            self._quarantine_row("lone surrogate", row, row.text.encode("utf-8", "backslashreplace"), raw_span)
            return
        self._write_document_line(line, (row.source, row.id), raw_span)

    def _quarantine_row(self, reason: str, row: Document, raw: bytes, raw_span: RawSpan | None) -> None:
        name = row.id if isinstance(row.id, str) else ""
        self.refused.add(Refused(reason, f"id {row.id!r}", raw, id=name), self.file, raw_span)

    def _write_document_line(self, line: bytes, pair: Pair, raw_span: RawSpan | None) -> None:
        if len(line) > ROW_LIMIT:
            where = f"id {pair[1]!r:.200}: {len(line)} bytes, but a row of the lake has at most {ROW_LIMIT}"
            self.refused.add(Refused(TOO_LONG, where, line[:HEAD], len(line), id=pair[1]), self.file, raw_span)
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
            self.write(b"\n".join(self._lines), self._pairs)
            self._lines, self._pairs = [], []

    def end(self, asset: str, entry: RawEntry, raw: RawObject) -> None:
        """A raw object was read to its end."""
        sha256 = raw.sha256()
        self.edges = reported_part_edges(raw)
        self.read.append(Input(asset, entry.name, sha256))
        self._raw[entry.name] = RawVersion.from_version(entry.version, sha256, raw.told_link)

    def close(self) -> Receipt:
        self.flush()
        stamps: dict[str, ObjectVersion] = {}
        self.inputs, self.quarantine = tuple(self.read), self.refused.close(stamps)
        self.dropped = {f"{QUARANTINE}{reason}": n for reason, n in self.refused.reasons.items()}
        self.dropped |= {f"{LEFT_OUT}{reason}": n for reason, n in self.refused.left_out.items()}
        self.packed_spans = self.raw_spans.packed_spans()
        receipt = super().close()
        row = add_part_edges(receipt.row, self.edges)
        return msgspec.structs.replace(receipt, row=row, stamps={**stamps, **receipt.stamps}, raw=self._raw)

    def abort(self) -> None:
        super().abort()
        self.refused.abort()


def _document_refusal_reason(row: Document) -> str | None:
    """The reason to refuse a document, or None. A converter may give wrong types, so they are checked."""
    values: tuple[object, ...] = (row.id, row.source, row.text)
    for value in values:
        if not isinstance(value, str):
            return "id, source or text is no string"
    times: tuple[object, ...] = (row.added, row.created)
    for time in times:
        if not (time is UNSET or time is None or isinstance(time, str)):
            return "added or created is no string"
    metadata: object = row.metadata
    if not (metadata is None or metadata is UNSET or isinstance(metadata, dict)):
        return "metadata is no object"
    if not row.id:
        return "no id"
    if "\x00" in row.id:
        return "NUL in id"
    return None


class ConversionGrinder(ShardGrinder[ConversionSpec, ConversionItem]):
    """Grinds shards of one source."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._source = find_recipe("sources", Source, job.shelves, self._spec.source)
        self._raw_store = open_raw(self._source, self._store, job.lake.options, self._spec.raw)
        if digest_of(self._source.reading_parameters()) != self._spec.made_by:
            raise RecipeError(f"source {self._source.name!r}: this worker has another recipe than the run; update it")
        check_worker(code_of(self._source), self._spec.code)
        self._hashes = Hashes()  # of the raw object that is read

    def grind(self, item: Item, body: ConversionItem) -> Outcome:
        same = self._unchanged_shard(body)
        if same is not None:
            kept = renew_kept_receipt(self._store, self._spec.place, self._spec.token, same)
            return Outcome((kept,), {"shards kept after a look": 1})
        output = _Output(self._store, self._spec, item.name)
        receipts = write_shards(self._store, [output], lambda: self._convert_shard(body, output))
        if output.edges is None:
            return Outcome(receipts)
        note = uncut_part_note(output.edges, self._source.reader.cut_by(output.edges.object))
        notes = (f"{raw_asset(self._source.name)}/{self._spec.place.snapshot}/{note}",) if note else ()
        empty = {"parts in which no record begins": 1} if output.edges.first is None else {}
        return Outcome(receipts, empty, notes=notes)

    def _open_raw_objects(self, body: ConversionItem) -> Iterator[tuple[RawEntry, RawObject]]:
        """The raw objects of a shard. Each must be read before the next one is asked for."""
        with open_read_ahead(self._raw_store, [(entry.path, entry.version) for entry in body.objects]) as streams:
            for entry in body.objects:
                size, limits = entry.version.size, self._source.limits
                self._hashes = Hashes({each.algorithm for each in entry.hashes})
                version, digest = entry.version, self._hashes
                yield entry, RawObject(streams, entry.path, entry.name, size, limits, version, entry.part, digest)

    def _unchanged_shard(self, body: ConversionItem) -> Receipt | None:
        """The finished shard, if its raw objects have new stamps but the same bytes, as in a copied lake; else None."""
        if body.before is None:
            return None
        digests = {i.shard: i.content for i in body.before.row.inputs}
        stamps: dict[str, RawVersion] = {}
        for entry, raw in self._open_raw_objects(body):
            sha256 = raw.sha256()
            if digests.get(entry.name) != sha256:
                return None
            before = body.before.raw.get(entry.name)
            stamps[entry.name] = RawVersion.from_version(entry.version, sha256, before.link if before else UNSET)
        return Receipt(body.before.row, body.before.stamps, stamps, self._spec.code)

    def _convert_shard(self, body: ConversionItem, output: _Output) -> None:
        output.checked = self._source.reader.gives_json
        asset = raw_asset(self._source.name)
        for entry, raw in self._open_raw_objects(body):
            output.raw_spans.begin_object()
            output.file = entry.name
            for row in convert_object(self._source, raw, self._spec.place.snapshot, at_once=True):
                if raw.refused:
                    output.refuse_rows(raw.take_refused())
                if isinstance(row, SpannedRows):
                    output.add_rows(row)
                else:
                    output.add(row, raw.take_raw_span())
            output.refuse_rows(raw.take_refused())
            add_counts(output.counts, raw.counts)
            if raw.told_link is UNSET and may_leave_out(self._source.reader, entry.name):
                _ = raw.link  # so that it is recorded
            output.end(asset, entry, raw)
            self._check_hashes(entry)
        output.flush()
        if any(entry.version.size for entry in body.objects):  # an empty file is counted, but it loses nothing
            limit = 1.0 if _is_cut(body, output) else self._source.quarantine_limit
            output.refused.check(limit, output.rows, output.bytes)

    def _check_hashes(self, entry: RawEntry) -> None:
        """Checks a raw object that was read to its end, before its shard takes the place of an earlier one.

        Raises:
            DataError: it has another hash than they name.
        """
        if wrong := hash_differences(entry.name, entry.hashes, self._hashes.hashes_by_algorithm()):
            top = f"{raw_asset(self._source.name)}/{self._spec.place.snapshot}"
            raise DataError(f"{top}: wrong checksum: {'; '.join(wrong)}; acquire this object again")


def _is_cut(body: ConversionItem, output: _Output) -> bool:
    """Whether a raw object is as an erasure has left it. Then its refused rows were no cause to stop before."""
    return any(each.content in body.cut for each in output.read)


grinder = ConversionGrinder
