"""The grinder of `dolma tag`: it reads a file of documents once, and writes its files of attributes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from gristmill.errors import DataError, GristmillError, failed_at
from gristmill.execution.work import Item, Job, Outcome
from gristmill.lake.rows.batches import decode_rows
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.foreign_file import ForeignFile
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Store
from gristmill.recipes.batch import Batch
from gristmill.stages.dolma_tagging.catalogue import looks
from gristmill.stages.dolma_tagging.config import variable_name
from gristmill.stages.dolma_tagging.packing import PackedUpload
from gristmill.stages.dolma_tagging.paths import TaggedFile
from gristmill.stages.dolma_tagging.records import FileRecord, begin, open_outputs, publish
from gristmill.stages.dolma_tagging.spans import Look


class OutputSpec(msgspec.Struct, frozen=True):
    """Files of attributes below one folder.

    Attributes:
        root: the folder or address.
        taggers: Dolma's names, each with the experiment that begins its keys.
        recipe: digest of the taggers.
        foreign: whether somebody else made what lies in the file's place.
    """

    root: str
    taggers: tuple[tuple[str, str], ...]
    recipe: str
    foreign: bool = False


class TagItem(msgspec.Struct, frozen=True):
    """One file of documents, and the outputs that lack it."""

    file: TaggedFile
    outputs: tuple[OutputSpec, ...]


class DolmaRow(msgspec.Struct):
    """The fields of a document that taggers see."""

    id: str
    text: str
    source: str = ""


@dataclass
class _AttributeFile:
    """One file of attributes that is being written."""

    spec: OutputSpec
    store: Store
    upload: PackedUpload
    begun: FileRecord


class DolmaGrinder:
    """Tags files with Dolma's taggers."""

    def __init__(self, job: Job) -> None:
        self._options = job.lake.options

    def __call__(self, item: Item) -> Outcome:
        body = msgspec.json.decode(item.body, type=TagItem)
        file = body.file
        source = open_store(file.root, self._options, foreign=True)
        read = ForeignFile(source.stream(file.path, file.version), file.url)
        outputs = [self._open(file, spec) for spec in body.outputs]
        try:
            self._tag(read, outputs)
            for output in outputs:
                self._close(file, read, output)
        except BaseException:
            for output in outputs:
                output.upload.abort()
            raise
        return Outcome((), facts={"documents": read.rows})

    def _open(self, file: TaggedFile, spec: OutputSpec) -> _AttributeFile:
        """Leaves a receipt before anything is written: what a killed run leaves is known as its own."""
        store = open_outputs(spec.root, self._options)
        begun = begin(store, file.name, FileRecord(file.url, file.version, spec.recipe), foreign=spec.foreign)
        return _AttributeFile(spec, store, PackedUpload(store, file.name), begun)

    def _close(self, file: TaggedFile, read: ForeignFile, output: _AttributeFile) -> None:
        publish(output.store, file.name, output.begun, output.upload, read.sha256)

    def _tag(self, read: ForeignFile, outputs: Sequence[_AttributeFile]) -> None:
        names = list(dict.fromkeys(name for output in outputs for name, _ in output.spec.taggers))
        taggers = looks(names)
        decoder = msgspec.json.Decoder(DolmaRow)
        first = 0
        for block in read.blocks():
            rows = decode_rows(decoder, block, read.path, first)
            batch = Batch([Document(id=row.id, text=row.text, source=row.source) for row in rows])
            labels = {name: _looked(look, name, batch, read.path, first) for name, look in taggers.items()}
            for output in outputs:
                for line in _lines(batch, output.spec, labels):
                    output.upload.write(line)
            first += len(rows)


Rows = list[dict[str, object]]


def _looked(look: Look, name: str, batch: Batch, path: str, first: int) -> Rows:
    """The labels of each document."""
    try:
        labels = look(batch)
    except GristmillError:
        raise
    except Exception as error:
        last = first + len(batch) - 1
        raise DataError(f"{path}: tagger {name} on rows {first} to {last}: {failed_at(error, look)}") from error
    keys = {label: variable_name(label) for label in labels}
    rows: Rows = [{} for _ in range(len(batch))]
    for label, values in labels.items():
        for row, value in zip(rows, values, strict=True):
            if value is not None:
                row[keys[label]] = value
    return rows


def _lines(batch: Batch, spec: OutputSpec, labels: dict[str, Rows]) -> Iterator[bytes]:
    """The rows of one file of attributes, in Dolma's form."""
    prefixes = [(name, f"{experiment}__{variable_name(name)}__") for name, experiment in spec.taggers]
    for number, document in enumerate(batch):
        attributes = {
            prefix + label: spans for name, prefix in prefixes for label, spans in labels[name][number].items()
        }
        yield msgspec.json.encode({"id": document.id, "attributes": attributes, "source": document.source})


grinder = DolmaGrinder
