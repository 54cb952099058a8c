"""The grinder of `dolma tag`: it reads a file of documents once, and writes its files of attributes."""

from collections.abc import Iterator, Sequence

import msgspec

from gristmill.dolma.tagging.catalogue import label_makers
from gristmill.dolma.tagging.config import label_key_from_name
from gristmill.dolma.tagging.paths import TaggedFile
from gristmill.dolma.tagging.records import FileRecord, RecordedUpload, open_output_folder
from gristmill.dolma.tagging.spans import Look
from gristmill.errors import DataError, GristmillError, failed_at, undone_at_failure
from gristmill.execution.work import Item, Job, Outcome
from gristmill.lake.rows.batches import decode_rows
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.foreign_file import ForeignFile
from gristmill.lake.store.open import open_store
from gristmill.recipes.batch import Batch


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


class DolmaGrinder:
    """Tags files with Dolma's taggers."""

    def __init__(self, job: Job) -> None:
        self._options = job.lake.options

    def __call__(self, item: Item) -> Outcome:
        body = msgspec.json.decode(item.body, type=TagItem)
        file = body.file
        source = open_store(file.root, self._options, foreign=True)
        read = ForeignFile(source.stream(file.path, file.version), file.url)
        outputs = [(spec, self._open_upload(file, spec)) for spec in body.outputs]
        with undone_at_failure(*(upload.abort for _, upload in outputs)):
            self._tag_documents(read, outputs)
            for _, upload in outputs:
                upload.publish(read.sha256)
        return Outcome((), facts={"documents": read.rows})

    def _open_upload(self, file: TaggedFile, spec: OutputSpec) -> RecordedUpload:
        record = FileRecord(file.url, file.version, spec.recipe)
        return RecordedUpload(open_output_folder(spec.root, self._options), file.name, record, foreign=spec.foreign)

    def _tag_documents(self, read: ForeignFile, outputs: Sequence[tuple[OutputSpec, RecordedUpload]]) -> None:
        names = list(dict.fromkeys(name for spec, _ in outputs for name, _ in spec.taggers))
        taggers = label_makers(names)
        decoder = msgspec.json.Decoder(DolmaRow)
        first = 0
        for block in read.blocks():
            rows = decode_rows(decoder, block, read.path, first)
            batch = Batch([Document(id=row.id, text=row.text, source=row.source) for row in rows])
            labels = {name: _label_documents(look, name, batch, read.path, first) for name, look in taggers.items()}
            for spec, upload in outputs:
                for line in _attribute_lines(batch, spec, labels):
                    upload.write(line)
            first += len(rows)


Rows = list[dict[str, object]]


def _label_documents(look: Look, name: str, batch: Batch, path: str, first: int) -> Rows:
    """The labels of each document."""
    try:
        labels = look(batch)
    except GristmillError:
        raise
    except Exception as error:
        last = first + len(batch) - 1
        raise DataError(f"{path}: tagger {name} on rows {first} to {last}: {failed_at(error, look)}") from error
    keys = {label: label_key_from_name(label) for label in labels}
    rows: Rows = [{} for _ in range(len(batch))]
    for label, values in labels.items():
        for row, value in zip(rows, values, strict=True):
            if value is not None:
                row[keys[label]] = value
    return rows


def _attribute_lines(batch: Batch, spec: OutputSpec, labels: dict[str, Rows]) -> Iterator[bytes]:
    """The rows of one file of attributes, in Dolma's form."""
    prefixes = [(name, f"{experiment}__{label_key_from_name(name)}__") for name, experiment in spec.taggers]
    for number, document in enumerate(batch):
        attributes = {
            prefix + label: spans for name, prefix in prefixes for label, spans in labels[name][number].items()
        }
        yield msgspec.json.encode({"id": document.id, "attributes": attributes, "source": document.source})


grinder = DolmaGrinder
