"""The grinder of `dolma mix`: it reads some files of documents with their attributes, and writes one file."""

from collections.abc import Iterator

import msgspec

from gristmill.execution.work import Item, Job, Outcome
from gristmill.formats.dolma.mixer_config import PACKINGS, StreamSpec
from gristmill.lake.rows.row_blocks import blocks
from gristmill.lake.rows.shard_file import suffix, unpacked
from gristmill.lake.store.open import open_store
from gristmill.stages.dolma_mixing.line_feed import ForeignRows
from gristmill.stages.dolma_mixing.mixed_files import InputFile, MixedFile, PlacedFile
from gristmill.stages.dolma_mixing.stream_mixer import StreamMixer
from gristmill.stages.dolma_tagging.packing import PackedUpload
from gristmill.stages.dolma_tagging.records import FileRecord, begin, open_outputs, publish

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
        store = open_outputs(body.file.root, self._options)
        record = FileRecord(one.url, one.version, body.recipe)
        begun = begin(store, body.file.name, record, foreign=body.foreign)
        mixer = StreamMixer(body.stream)
        upload = PackedUpload(store, body.file.name, fast=True)
        read = 0
        try:
            for each in body.file.inputs:
                read += self._mix(mixer, each, body.stream, upload)
            seen = msgspec.structs.replace(begun, read=read, unseen=tuple(sorted(mixer.unseen)))
            publish(store, body.file.name, seen, upload, one.version.etag)
        except BaseException:
            upload.abort()
            raise
        facts = {"documents": read, "kept": upload.rows, f"read {body.recipe}": read}
        return Outcome((), facts=facts | {f"unseen {body.recipe} {name}": read for name in mixer.unseen})

    def _mix(self, mixer: StreamMixer, each: InputFile, stream: StreamSpec, upload: PackedUpload) -> int:
        path, documents = self._open(each.documents, stream)
        feeds = [ForeignRows(*self._open(file, stream)) for file in each.attributes]
        name = each.documents.path.rpartition("/")[2]
        first = 0
        for block in documents:
            mixed = mixer.mixed(block, feeds, path, name, first)
            upload.write_rows(mixed.rows, mixed.kept)
            first += mixed.read
        for feed in feeds:
            feed.finish(path, first)
        return first

    def _open(self, file: PlacedFile, stream: StreamSpec) -> tuple[str, Iterator[bytes]]:
        """The path of a file, for messages, and its rows."""
        named = stream.compression.input
        ending = suffix(file.path) if named is None else PACKINGS[named]
        path = file.url if suffix(file.path) == ending else f"{file.url} as {ending or 'plain'}"
        packed = open_store(file.root, self._options, foreign=True).stream(file.path, file.version)
        return path, blocks(unpacked(packed, path), path, _BLOCK)


grinder = MixGrinder
