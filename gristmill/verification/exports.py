"""The audit of exports: of slices, and of the release of an index. See verification/audit.py."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress

import msgspec
import xxhash

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.execution.finding import Finding, difference_in_words, guard_proof, prove_object
from gristmill.execution.work import Say
from gristmill.lake.address import Place, place
from gristmill.lake.asset_kinds import MIX
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.as_written import first_unknown_field, why_not_as_written
from gristmill.lake.ledger.index_ledger import IndexLedger
from gristmill.lake.ledger.model import Ledger, Shard
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.lake.rows.shard_file import UnkeptUpload
from gristmill.lake.rows.unpacking import unpack_gzip
from gristmill.lake.store.json_object import is_same_json
from gristmill.lake.store.protocol import NoFolder, Store
from gristmill.recipes.export import ExportFormat, format_of_parameters, format_parameters
from gristmill.recipes.export_formats.codec import Codec, FileFacts, Release
from gristmill.recipes.export_formats.formats import code_of_format, codec_of_format
from gristmill.stages.export.grinder import write_documents
from gristmill.stages.export.part import ExportedPart, PartFile, PartWriter, part_folder
from gristmill.stages.export.part_table import part_record_findings, part_set_findings
from gristmill.stages.export.release import (
    build_release,
    built_file_digests,
    large_release_files,
    read_release,
    release_path,
    small_release_files,
)
from gristmill.stages.mixing.held_out import held_out_row_flags
from gristmill.stages.mixing.index import Slice, index_path
from gristmill.verification.derived_files.expected_files import unexpected_files
from gristmill.verification.documents import shards_by_name
from gristmill.verification.ledger import LedgerProof, first_input_of_kind, stray_part_objects, upstream_head

_KEEP = "mend that, then verify again; remove nothing of the part"


def export_findings(store: Store, partition: Place, say: Say) -> Iterator[Finding]:
    """Findings on one slice of an export, in the order of reading.

    The bytes of every object are compared with the ledger. Then each part is made again from the mix's shard, without
    writing it: its files must have the same lines.
    """
    proof = LedgerProof(store, partition)
    yield from proof.findings
    if proof.head is None:
        return
    yield from proof.upstream_findings()
    yield from part_record_findings(store, partition, proof.shards)
    for part in proof.shards:
        yield from _part_file_findings(store, partition, part)
    upstream = first_input_of_kind(proof.head, MIX)
    current = upstream_head(store, upstream) if upstream else None
    if upstream and current and current.fingerprint == upstream.fingerprint:
        documents = place(upstream.asset, upstream.snapshot)
        shards = shards_by_name(store, documents)
        yield from part_set_findings(partition, list(shards.values()), proof.shards)
        yield from _rewritten_part_findings(store, partition, documents, proof, shards, say)
    else:
        say(f"{partition.asset} ({partition.snapshot}): the mix has changed, so its rows are not compared")
    yield from stray_part_objects(store, partition, proof.shards, say)


def _part_file_findings(store: Store, partition: Place, part: Shard) -> Iterator[Finding]:
    """Findings on the objects of a part: other bytes than its row names, and other lines than its record names."""
    files: dict[str, PartFile] = {}
    with suppress(DataError):  # part_record_findings() reports it
        record = ExportedPart.decode_from_row(part, partition.table)
        files = {record.folder + name: file for name, file in record.files.items()}
        folder = f"{partition.folder}{part_folder(part.recipe, part.inputs)}/" if part.inputs else "none"
        if record.folder != folder:
            yield Finding(
                partition.table,
                None,
                f"part {part.name}: {difference_in_words('its folder is', folder, record.folder)}",
            )
        if (field := first_unknown_field(part.extra, msgspec.to_builtins(record))) is not None:
            yield Finding(partition.table, None, f"part {part.name}: its field extra has {field!r}, which no part has")
    for path, (sha256, size) in sorted((part.objects or {}).items()):
        wrong = list(prove_object(store, path, sha256, size))
        yield from wrong
        if path in files and not wrong:
            yield from guard_proof(store, path, _unpacked_file_findings(store, path, files[path].facts))


def _unpacked_file_findings(store: Store, path: str, facts: FileFacts) -> Iterator[Finding]:
    """Findings unless a file has the unpacked bytes that its record names, in the pieces that it names."""
    content, length, begins = xxhash.xxh3_128(), 0, list[int]()
    pieces, packed = store.stream(path), path.endswith(".gz")
    for plain in unpack_gzip(pieces, path, begins) if packed else pieces:
        content.update(plain)
        length += len(plain)
    if (content.hexdigest(), length) != (facts.content, facts.length):
        yield Finding(path, None, "its lines have other bytes than its record names")
    elif packed and facts.members and begins != [cut.start for cut in facts.members]:
        yield Finding(path, None, f"the places where it may be cut are not {_CUTS}")


_CUTS = "those of its pieces: a release would be cut elsewhere"


class _Digest:
    """A file of which only the sha256 is kept."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def write(self, data: bytes, /) -> None:
        self._digest.update(data)

    def close(self) -> None: ...

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def _rewritten_part_findings(
    store: Store, partition: Place, documents: Place, proof: LedgerProof, shards: dict[str, Shard], say: Say
) -> Iterator[Finding]:
    """Findings on parts whose files do not have the lines that their format makes of the documents."""
    parameters = proof.head.recipe.parameters if proof.head else {}
    try:
        declared = format_of_parameters(parameters["format"])
        codec, code = codec_of_format(declared), code_of_format(declared)
        held = float(parameters["validation"])
    except (RecipeError, KeyError, TypeError, ValueError) as error:
        yield Finding(partition.ledger, None, f"its recipe has no format that can be written ({error})")
        return
    if code.has_changed(read_run_note(store, partition).codes):
        say(f"{partition.asset} ({partition.snapshot}): not proven: the code of its format, {code.module}, has changed")
        return
    for part in proof.shards:
        if part.name in shards:
            again = _remade_part_findings(store, partition, documents, (part, shards[part.name]), (codec, held))
            yield from guard_proof(store, partition.ledger, again)


def _remade_part_findings(
    store: Store, partition: Place, documents: Place, rows: tuple[Shard, Shard], how: tuple[Codec, float]
) -> Iterator[Finding]:
    """Findings on one part: `rows` are its row and that of the mix's shard, `how` the codec and the share held out."""
    part, shard = rows
    try:
        record = ExportedPart.decode_from_row(part, partition.table)
    except DataError as error:
        yield Finding(partition.table, None, f"part {part.name} cannot be made again: {error}")
        return
    try:
        folder = record.folder.rstrip("/").rpartition("/")[2]
        writer = PartWriter(how[0], folder, UnkeptUpload, store, how[1], held_out_row_flags(shard))
        write_documents(open_shard(store, documents, shard), writer)
        files = writer.close()
    except (DataError, NoFolder) as error:  # of what it was made from, such as media: the part itself may be sound
        yield Finding(record.folder, None, f"it cannot be made again to compare it: {error}", _KEEP)
        return
    if writer.dropped != part.dropped:
        what = difference_in_words("the refused rows are", writer.dropped, part.dropped)
        yield Finding(partition.table, None, f"part {part.name}: {what}")
    if writer.counts != part.counts:
        yield Finding(
            partition.table,
            None,
            f"part {part.name}: {difference_in_words('its counts are', writer.counts, part.counts)}",
        )
    yield from _differing_line_findings(record, files)


def _differing_line_findings(record: ExportedPart, files: dict[str, PartFile]) -> Iterator[Finding]:
    for name in sorted(record.files.keys() | files.keys()):
        recorded, made = record.files.get(name), files.get(name)
        if recorded is None or made is None:
            what = "its documents make no such file" if made is None else "its documents make this file too"
            yield Finding(record.folder + name, None, what)
        elif (recorded.documents, recorded.facts.rows) != (made.documents, made.facts.rows):
            yield Finding(record.folder + name, None, "it does not have the documents that its format puts there")
        elif (recorded.facts.content, recorded.facts.length) != (made.facts.content, made.facts.length):
            yield Finding(record.folder + name, None, "its lines are not those that its format makes of the documents")
        elif _cut_places(name, recorded) != _cut_places(name, made):
            yield Finding(record.folder + name, None, f"the places where it may be cut are not {_CUTS}")


def _cut_places(name: str, file: PartFile) -> list[tuple[int, ...]]:
    """Where a file may be cut. Where a piece of gzip begins depends on the machine that packs it, so its bytes tell."""
    return [(0 if name.endswith(".gz") else cut.start, cut.row, cut.length) for cut in file.facts.members]


def release_contradictions(store: Store, ledger: IndexLedger, heads: list[Ledger]) -> Iterator[tuple[str, str]]:
    """The files of a release that do not follow from the slices: (path, what is wrong).

    Args:
        store: the lake.
        ledger: ledger of the index; its files have the digests that it names.
        heads: the heads of its slices, in their order.
    """
    path = release_path(ledger.asset)
    slices = [Slice(head.asset.rpartition("/")[2], head.snapshot, head.fingerprint, head.totals) for head in heads]
    try:
        release = read_release(store, ledger.asset)
        declared = format_of_parameters(release.format) if release else None
        if release is None or declared is None:
            yield path, "there is no such object, but an index of an export has one"
            return
        options = format_parameters(declared)
        if any(format_parameters(format_of_parameters(head.recipe.parameters["format"])) != options for head in heads):
            yield path, "its format is not that of its slices"
        again = build_release(
            store, ledger.asset, declared, slices, release.weights, release.excluded, release.repetitions
        )
        if release.code != again.code:
            yield path, "other code of its format wrote it; write the index again"
            return
        if release != again:
            yield path, "it does not follow from the parts of the slices"
            return
        if what := why_not_as_written(store.read(path), release):
            yield path, what
        if not release.sizes.keys() <= ledger.files.keys():
            yield path, "the ledger of the index does not name all its files"
            return
        small = small_release_files(release, declared, ledger.files)
        yield from unexpected_files(ledger, {index_path(ledger.asset), *release.sizes, *small})
        for file, data in small.items():
            if file in ledger.files and not _is_same_export_file(store.read(file), data, in_numbers=file == path):
                yield file, "it does not follow from the files of the release"
        yield from _wrong_large_files(store, release, declared, ledger)
    except (DataError, RecipeError) as error:
        yield path, str(error)


def _is_same_export_file(found: bytes, made: bytes, *, in_numbers: bool) -> bool:
    """Whether a file is the one that is made now. `in_numbers`: its weights are as the recipe gave them."""
    return is_same_json(found, made) if in_numbers else found == made


def _wrong_large_files(
    store: Store, release: Release, declared: ExportFormat, ledger: IndexLedger
) -> Iterator[tuple[str, str]]:
    """The large files of a release that are not what the parts give.

    Copied files are compared byte for byte, and those that a codec builds by what they say: another version of SQLite
    writes the same rows in other bytes.
    """
    for path, write in large_release_files(store, release, declared):
        digest = _Digest()
        try:
            write(digest)
        except StoreError as error:
            yield path, f"a part that it was made from is damaged: {error}"
            return
        if digest.hexdigest() == ledger.files[path]:
            continue
        name = path.removeprefix(release.folder)
        if name not in release.built:
            yield path, "its bytes are not those of the parts"
            continue
        try:
            said, should = built_file_digests(store, release, declared, name)
        except DataError as error:
            yield path, str(error)
            continue
        if said != should:
            yield path, "it does not say what the parts say"
