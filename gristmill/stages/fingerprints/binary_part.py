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
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.model import Input, Ledger, Shard
from gristmill.lake.ledger.receipts import Receipt
from gristmill.lake.store.json_object import Integer
from gristmill.lake.store.protocol import ObjectVersion, Store, Upload


def part_name(recipe: str, name: str, inputs: Sequence[Input]) -> str:
    """The name of a part's folder.

    Args:
        recipe: digest of the recipe.
        name: of the part in the ledger's table.
        inputs: what the part is made from.
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


class BinaryPartRecord(msgspec.Struct, frozen=True):
    """What the field `extra` of a part's row holds.

    Attributes:
        folder: the part's folder in the lake, with its closing slash.
        objects: (sha256, size in bytes) of each object, by its path in the lake.
        contents: XXH3-128 (hex) of each file, by its name in the folder.
        facts: what the stage that made the part says of it, as JSON.
    """

    folder: str
    objects: dict[str, tuple[str, Integer]]
    contents: dict[str, str]
    facts: dict[str, Any] = {}

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


def part_record(row: Shard, table: str) -> BinaryPartRecord:
    """The record of a part, decoded from its row.

    Args:
        row: the row.
        table: path of the table, for the message.

    Raises:
        DataError: the row has no record.
    """
    try:
        return msgspec.convert(row.extra, BinaryPartRecord)
    except msgspec.ValidationError as error:
        raise DataError(
            f"{table}: part {row.name}: its row does not say which files it has ({error}); make this partition again"
        ) from error


def read_part_file(store: Store, row: Shard, table: str, name: str) -> bytes:
    """All bytes of a file of a part.

    Args:
        store: the lake.
        row: the part's row of the table.
        table: path of the table, for messages.
        name: of the file.

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
    record = part_record(row, table)
    path = record.folder + name
    if path not in record.objects:
        raise DataError(f"{table}: part {row.name} has no file {name!r}; make this partition again")
    return path, record.objects[path][0]


class _PartFile:
    """A file of a part that is being written."""

    def __init__(self, upload: Upload) -> None:
        self._upload = upload
        self._sha256, self._content = hashlib.sha256(), xxhash.xxh3_128()

    def write(self, data: bytes | memoryview) -> None:
        """Appends bytes."""
        self._sha256.update(data)
        self._content.update(data)
        self._upload.write(bytes(data))

    def close(self) -> tuple[str, int, str, ObjectVersion]:
        """Publishes the file: its sha256, size, content digest and version."""
        entry = self._upload.close()
        return self._sha256.hexdigest(), entry.size, self._content.hexdigest(), entry.version

    def abort(self) -> None:
        """Removes what was written."""
        self._upload.abort()


class BinaryPart:
    """Writes the files of one part, and gives its receipt. It is a ShardOutput (gristmill.execution.write_shards).

    Args:
        store: the lake.
        spec: the settings of the partition.
        name: name of the part in the ledger's table.
        inputs: what the part is made from.
        ids: digest of the (source, id) pairs of its rows, if it has rows of documents.
    """

    def __init__(self, store: Store, spec: OneAssetSpec, name: str, inputs: tuple[Input, ...], ids: str = "") -> None:
        self.place, self.token, self.ids = spec.place, spec.token, ids
        self.folder = f"{spec.place.folder}{part_name(spec.recipe, name, inputs)}/"
        self.rows = 0
        self.counts: dict[str, int] = {}
        self.dropped: dict[str, int] = {}
        self.facts: dict[str, Any] = {}
        self._store, self._recipe, self._name, self._inputs = store, spec.recipe, name, inputs
        self._files: dict[str, _PartFile] = {}

    def file(self, name: str) -> _PartFile:
        """Opens a file of the part."""
        self._files[name] = _PartFile(self._store.upload(self.folder + name))
        return self._files[name]

    def close(self) -> Receipt:
        """Publishes all files. Set `rows`, `ids`, `counts`, `dropped` and `facts` before."""
        objects: dict[str, tuple[str, int]] = {}
        contents: dict[str, str] = {}
        stamps: dict[str, ObjectVersion] = {}
        for name, file in sorted(self._files.items()):
            path = self.folder + name
            sha256, size, contents[name], stamps[path] = file.close()
            objects[path] = (sha256, size)
        row = Shard(
            name=self._name,
            rows=self.rows,
            bytes=0,
            length=0,
            sha256="",
            content="",
            ids=self.ids,
            recipe=self._recipe,
            inputs=self._inputs,
            dropped=dict(sorted(self.dropped.items())),
            counts=dict(sorted(self.counts.items())),
        )
        row = sealed(row, BinaryPartRecord(self.folder, objects, contents, self.facts))
        return Receipt(row, stamps)

    def abort(self) -> None:
        """Removes everything that is not published."""
        for file in self._files.values():
            file.abort()


def sealed(row: Shard, record: BinaryPartRecord) -> Shard:
    """The row of a part with all that follows from its record: sizes, digests, and the field `extra`.

    Args:
        row: what else the row says. Fields of rows of documents are emptied: no part has them.
        record: the part's files, and its facts.
    """
    size = sum(size for _, size in record.objects.values())
    return msgspec.structs.replace(
        row,
        bytes=size,
        length=size,
        sha256=digest_of([[path, sha256] for path, (sha256, _) in record.objects.items()]),
        content=content_of(record.contents, record.facts),
        members=(),
        index="",
        quarantine=None,
        extra=msgspec.to_builtins(record),
    )


def content_of(contents: Mapping[str, str], facts: Mapping[str, Any]) -> str:
    """The content digest of a part: of its files and facts."""
    return digest_of([sorted(contents.items()), facts])
