"""A part of a dedupe asset: binary files in a folder that is never changed once it is written.

The name of the folder has the digest of everything that the part is made from. The ledger's table has one row for each
part, and its field `extra` lists the files with sha256, size and content digest.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import xxhash

from gristmill.errors import DataError
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.execution.part_output import PartOutput
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.model import Input, Ledger, Shard
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.ledger.stored_part import StoredPart
from gristmill.lake.store.hashing import HashedUpload
from gristmill.lake.store.protocol import Store


def part_name(recipe: str, name: str, inputs: Sequence[Input]) -> str:
    """The name of a part's folder.

    Args:
        recipe: digest of the recipe.
        name: name of the part in the ledger's table.
        inputs: sources of the part's content.
    """
    number = xxhash.xxh3_64_intdigest(name.encode()) % 100_000
    return f"part-{number:05d}-{digest_of([recipe, name, msgspec.to_builtins(tuple(inputs))])[:16]}"


def check_recipes(head: Ledger, parts: Sequence[Shard], table: str) -> None:
    """Checks that the parts of a partition are of its recipe: names of parts have the digest of another one too.

    Args:
        head: ledger of the partition.
        parts: rows of its table.
        table: its path.

    Raises:
        DataError: one is of another recipe.
    """
    other = next((row.name for row in parts if row.recipe != head.recipe.digest), None)
    if other is not None:
        raise DataError(f"{table}: part {other} is of another recipe than the partition; make this partition again")


class BinaryPartRecord(StoredPart, frozen=True):
    """What the field `extra` of a part's row holds.

    Attributes:
        folder: the part's folder in the lake, with its closing slash.
        contents: XXH3-128 (hex) of each file, by its name in the folder.
        facts: values about the part from the stage that made it, as JSON.
    """

    folder: str
    contents: dict[str, str]
    facts: dict[str, Any] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuses a record whose files have no object, or no content digest.

        Raises:
            ValueError: so; a decoder makes an error of its own of it.
        """
        if {self.folder + name for name in self.contents} != self.objects.keys():
            raise ValueError("`objects` and `contents` name other files")

    def count(self, fact: str) -> int | None:
        """A number among the facts; None if there is no such number."""
        number = self.facts.get(fact)
        return number if isinstance(number, int) and number >= 0 else None


def read_part_file(store: Store, row: Shard, table: str, name: str) -> bytes:
    """All bytes of a file of a part.

    Args:
        store: the lake.
        row: the part's row of the table.
        table: path of the table, for messages.
        name: name of the file.

    Raises:
        DataError: the part has no such file, or the file has another sha256 than recorded.
    """
    path, sha256 = file_of_part(row, table, name)
    data = store.read(path)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise DataError(f"{path}: another sha256 than its ledger names; make its partition again")
    return data


def file_of_part(row: Shard, table: str, name: str) -> tuple[str, str]:
    """The path and the sha256 of a file of a part.

    Raises:
        DataError: the part has no such file.
    """
    record = BinaryPartRecord.decode_from_row(row, table)
    path = record.folder + name
    if path not in record.objects:
        raise DataError(f"{table}: part {row.name} has no file {name!r}; make this partition again")
    return path, record.objects[path][0]


class BinaryFile:
    """A file of a part that is being written.

    Args:
        upload: upload that receives the bytes.
    """

    def __init__(self, upload: HashedUpload) -> None:
        self.upload, self.content = upload, xxhash.xxh3_128()

    def write(self, data: bytes | memoryview) -> None:
        """Appends bytes."""
        self.content.update(data)
        self.upload.write(bytes(data))


class BinaryPart(PartOutput):
    """Writes the files of one part, and gives its receipt.

    Args:
        store: the lake.
        spec: the settings of the partition.
        name: name of the part in the ledger's table.
        inputs: sources of the part's content.
        ids: digest of the (source, id) pairs of its rows, if it has rows of documents.
    """

    def __init__(self, store: Store, spec: OneAssetSpec, name: str, inputs: tuple[Input, ...], ids: str = "") -> None:
        super().__init__(store, spec, name, inputs)
        self.folder = f"{spec.place.folder}{part_name(spec.recipe, name, inputs)}/"
        self.rows, self.ids = 0, ids
        self.facts: dict[str, Any] = {}
        self._files: dict[str, BinaryFile] = {}

    def file(self, name: str) -> BinaryFile:
        """Opens a file of the part.

        Returns:
            The open file.
        """
        file = self._files[name] = BinaryFile(self.uploads.open(self.folder + name))
        return file

    def close(self) -> Receipt:
        """Publishes all files. Set `rows`, `ids`, `counts`, `dropped` and `facts` before.

        Returns:
            The receipt of the part.
        """
        for _, file in sorted(self._files.items()):
            file.upload.close()
        contents = {name: file.content.hexdigest() for name, file in self._files.items()}
        record = BinaryPartRecord(self.uploads.objects, self.folder, contents, self.facts)
        content = part_content_digest(contents, self.facts)
        return self.part_receipt(record, rows=self.rows, length=record.bytes, content=content, ids=self.ids)


def seal_row(row: Shard, record: BinaryPartRecord) -> Shard:
    """The row of a part with all that follows from its record: sizes, digests, and the field `extra`.

    Args:
        row: further values of the row. Fields of rows of documents are emptied: no part has them.
        record: the part's files, and its facts.
    """
    return msgspec.structs.replace(
        row,
        bytes=record.bytes,
        length=record.bytes,
        sha256=record.sha256,
        content=part_content_digest(record.contents, record.facts),
        members=(),
        index="",
        quarantine=None,
        extra=record.as_extra(),
    )


def part_content_digest(contents: Mapping[str, str], facts: Mapping[str, Any]) -> str:
    """The content digest of a part: of its files and facts."""
    return digest_of([sorted(contents.items()), facts])
