"""The records of erasures: which raw objects were cut, and which were removed because nothing was left of them."""

import hashlib
from collections.abc import Iterator

import msgspec

from gristmill.lake.rows.blocklists.blocklist import is_erasure
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.protocol import Store

WITHDRAWN = "withdrawn/"
"""The folder of the records; records of withdrawn releases lie in a folder below it."""


class ErasedObject(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of an object.

    Attributes:
        before: its sha256 before.
        after: its sha256 after; empty if nothing was left of it, so that it was removed; None until it was replaced.
        records: number of records that are cut.
        coming: the `after` of a replacement that has begun; None before it, and when `after` says it.
        stays: reason why its bytes before may still be on the disk. A person removes this field when they are gone.
    """

    before: str
    after: str | None
    records: int
    coming: str | None = None
    stays: str = ""


class MediaFile(msgspec.Struct, frozen=True, array_like=True):
    """A media file that a document names. A person removes it, or takes it out of the record if it must stay.

    Attributes:
        source: source of the document.
        id: id of the document.
        root: the folder of the media, as an export declares it.
        name: name of the file in the folder, as the document has it.
    """

    source: str
    id: str
    root: str
    name: str


class ErasureRecord(msgspec.Struct, frozen=True):
    """The record of an erasure.

    Attributes:
        schema: 1.
        documents: (source, id, reason) of each document.
        objects: the raw objects, by path.
        left: sentences on what could not be erased, in words.
        done: whether all objects were replaced.
        texts: the (source, id) of the documents with each text that the lake had of them, by the text's digest.
        media: the media files that the documents name and that were there.
    """

    schema: int
    documents: tuple[tuple[str, str, str], ...]
    objects: dict[str, ErasedObject]
    left: tuple[str, ...]
    done: bool
    texts: dict[str, tuple[tuple[str, str], ...]] = {}
    media: tuple[MediaFile, ...] = ()


def text_digest(text: str) -> str:
    """The digest by which a record knows a text: its sha256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_erasure(store: Store, path: str) -> ErasureRecord | None:
    """The record of an erasure; None if no file has this path.

    Args:
        store: the lake.
        path: the path of the record.

    Raises:
        DataError: the record is wrong.
    """
    tagged = store.read_tagged(path)
    if tagged is None:
        return None
    return parse_erasure(tagged[0], path)


def parse_erasure(data: bytes, path: str) -> ErasureRecord:
    """The record of an erasure, decoded from its stored bytes.

    Args:
        data: the bytes of the record.
        path: the path of the record, for the message.

    Raises:
        DataError: the bytes are no such record.
    """
    return decode_object(data, ErasureRecord, path, "the record of an erasure", "restore it from a copy")


def read_erasures(store: Store) -> Iterator[tuple[str, ErasureRecord]]:
    """The records of a lake, each with its path.

    Args:
        store: the lake.

    Raises:
        DataError: a record is wrong.
    """
    for path in sorted(each.path for each in store.list(WITHDRAWN) if is_erasure(each.path)):
        record = read_erasure(store, path)
        if record is not None:
            yield path, record


def removed_objects(store: Store) -> set[str]:
    """The paths of the raw objects that erasures have removed.

    Args:
        store: the lake.

    Raises:
        DataError: a record is wrong.
    """
    return {name for _, record in read_erasures(store) for name, each in record.objects.items() if each.after == ""}


def cut_objects(store: Store) -> dict[str, list[str]]:
    """The sha256 of what each erasure has left of a raw object, by path of the object.

    Args:
        store: the lake.

    Raises:
        DataError: a record is wrong.
    """
    found: dict[str, list[str]] = {}
    for _, record in read_erasures(store):
        for path, each in record.objects.items():
            if each.after:
                found.setdefault(path, []).append(each.after)
    return found
