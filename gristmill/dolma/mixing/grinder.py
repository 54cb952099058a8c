"""The grinder of `dolma mix`: it reads some files of documents with their attributes, and writes one file."""

from collections.abc import Iterator

import msgspec

from gristmill.dolma.formats.mixer_config import PACKINGS, StreamSpec
from gristmill.dolma.mixing.line_feed import ForeignRows
from gristmill.dolma.mixing.mixed_files import InputFile, MixedFile
from gristmill.dolma.mixing.stream_mixer import StreamMixer
from gristmill.dolma.tagging.packing import PackedUpload
from gristmill.dolma.tagging.paths import PlacedFile
from gristmill.dolma.tagging.records import FileRecord, RecordedUpload, open_output_folder
from gristmill.errors import undone_at_failure
from gristmill.execution.work import Item, Job, Outcome
from gristmill.lake.rows.row_blocks import read_row_blocks
from gristmill.lake.rows.shard_file import lower_suffix, unpack_pieces
from gristmill.lake.store.open import open_store

_BLOCK = 1 << 18
"""Bytes of rows that are worked on at once: they remain in the processor's cache, and malloc gives the same pages."""


class MixItem(msgspec.Struct, frozen=True):
    """One file that is written; `foreign`: over a file of somebody else."""

    file: MixedFile
    stream: StreamSpec
    recipe: str
    foreign: bool = False


class MixGrinder:
    """Mixes files."""

    def __init__(self, job: Job) -> None:
        self._options = job.lake.options

    def __call__(self, item: Item) -> Outcome:
        body = msgspec.json.decode(item.body, type=MixItem)
        one = body.file.as_one
        store = open_output_folder(body.file.root, self._options)
        record = FileRecord(one.url, one.version, body.recipe)
        mixer = StreamMixer(body.stream)
        upload = RecordedUpload(store, body.file.name, record, foreign=body.foreign, fast=True)
        read = 0
        with undone_at_failure(upload.abort):
            for each in body.file.inputs:
                read += self._mix_input_file(mixer, each, body.stream, upload)
            upload.publish(one.version.etag, read=read, unseen=tuple(sorted(mixer.unseen)))
        facts = {"documents": read, "kept": upload.rows, f"read {body.recipe}": read}
        return Outcome((), facts=facts | {f"unseen {body.recipe} {name}": read for name in mixer.unseen})

    def _mix_input_file(self, mixer: StreamMixer, each: InputFile, stream: StreamSpec, upload: PackedUpload) -> int:
        path, documents = self._open_input_file(each.documents, stream)
        feeds = [ForeignRows(*self._open_input_file(file, stream)) for file in each.attributes]
        name = each.documents.path.rpartition("/")[2]
        first = 0
        for block in documents:
            mixed = mixer.mix_block(block, feeds, path, name, first)
            upload.write_rows(mixed.rows, mixed.kept)
            first += mixed.read
        for feed in feeds:
            feed.finish(path, first)
        return first

    def _open_input_file(self, file: PlacedFile, stream: StreamSpec) -> tuple[str, Iterator[bytes]]:
        """The path of a file, for messages, and its rows."""
        named = stream.compression.input
        ending = lower_suffix(file.path) if named is None else PACKINGS[named]
        path = file.url if lower_suffix(file.path) == ending else f"{file.url} as {ending or 'plain'}"
        packed = open_store(file.root, self._options, foreign=True).stream(file.path, file.version)
        return path, read_row_blocks(unpack_pieces(packed, path), path, _BLOCK)


grinder = MixGrinder
