"""Records of what `dolma tag`, `dedupe` and `mix` have made: a receipt for each file while they work, then a manifest.

They lie in `.dolma-tag/` below the folder of the outputs, with the lock and the unfinished files. An output is only
replaced or removed if a record says that this command made it. So no file of anybody else is lost.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from gristmill.dolma.tagging.packing import PackedUpload
from gristmill.errors import Conflict, DataError
from gristmill.lake.identity import digest_of
from gristmill.lake.store.json_object import decode_object
from gristmill.lake.store.open import open_store
from gristmill.lake.store.protocol import Entry, NoFolder, ObjectVersion, Store

FOLDER = ".dolma-tag"
MANIFEST = f"{FOLDER}/manifest.json"
RECEIPTS = f"{FOLDER}/receipts/"


def open_output_folder(root: str, options: Mapping[str, str]) -> Store:
    """The store of a folder of outputs. All that is not an output is in its `.dolma-tag`.

    Args:
        root: a folder or address.
        options: options of the bucket's client.
    """
    return open_store(root, options, own=FOLDER)


def head_or_none(store: Store, path: str) -> Entry | None:
    """The entry of a file; None if the file or the folder of the store is not there.

    Args:
        store: store of the file.
        path: path of the file below its root.
    """
    try:
        return store.head(path)
    except NoFolder:
        return None


class FileRecord(msgspec.Struct, frozen=True):
    """How one file of attributes was made.

    Attributes:
        input: path or address of the documents.
        version: version of the documents.
        input_sha256: sha256 of the documents (hex); empty while the file is being made.
        recipe: digest of the taggers that made it.
        rows: number of rows.
        sha256: sha256 of the attributes' file (hex); empty while it is being made.
        output: version of the attributes' file. While it is being made, that of our file that it replaces, or None.
        coming: sha256 (hex) of the file that is about to appear; else empty.
        read: the number of documents that `dolma mix` read to make the file; 0 for the other commands.
        unseen: the attributes that expressions of `dolma mix` name and none of these documents has.
    """

    input: str
    version: ObjectVersion
    recipe: str
    input_sha256: str = ""
    rows: int = 0
    sha256: str = ""
    output: ObjectVersion | None = None
    coming: str = ""
    read: int = 0
    unseen: tuple[str, ...] = ()


_LATER: Mapping[str, object] = {"coming": "", "read": 0, "unseen": ()}
"""The fields of a record that manifests of version 0.2 lack, and what they are there: their digests go without them."""


class TagManifest(msgspec.Struct, frozen=True):
    """All files of attributes below one folder.

    Attributes:
        made_by: always `gristmill dolma tag`.
        experiment: the first part of the labels' names.
        taggers: tagger that made the labels of each of Dolma's names, and its digest.
        files: the records, by name.
        digest: digest of all other fields, so that an edit is found.
    """

    made_by: str
    experiment: str
    taggers: dict[str, str]
    files: dict[str, FileRecord]
    digest: str = ""

    def with_digest(self) -> "TagManifest":
        """The manifest with its digest."""
        return msgspec.structs.replace(self, digest=self._manifest_digest())

    def _manifest_digest(self) -> str:
        plain = msgspec.to_builtins(msgspec.structs.replace(self, digest=""))
        for record in plain["files"].values():
            for name, before in _LATER.items():
                if record[name] == before:
                    del record[name]
        return digest_of(plain)

    @property
    def is_unedited(self) -> bool:
        """Whether nobody has edited it."""
        return self.digest == self._manifest_digest()


def read_manifest(store: Store) -> TagManifest | None:
    """The manifest below a store's root, or None.

    Raises:
        DataError: it is not one, or was edited.
    """
    tagged = store.read_tagged(MANIFEST)
    return _decode_manifest(store, tagged[0]) if tagged else None


def _decode_manifest(store: Store, data: bytes) -> TagManifest:
    where = f"{store.url}/{MANIFEST}"
    mend = "move the folder of these attributes away, or run with --force"
    manifest = decode_object(data, TagManifest, where, "the manifest of a tagging", mend)
    if not manifest.is_unedited:
        raise DataError(f"{where}: it was edited, so it proves nothing; {mend}")
    return manifest


def replace_manifest(store: Store, change: Callable[[TagManifest | None], TagManifest]) -> None:
    """Writes the manifest, unless it is the same. Two runs that end at once lose no record.

    Args:
        store: store of the attributes.
        change: function that makes the new manifest from the stored one. An edited or damaged manifest counts as
            absent.
    """
    while True:
        tagged = store.read_tagged(MANIFEST)
        try:
            old = _decode_manifest(store, tagged[0]) if tagged else None
        except DataError:  # --force
            old = None
        manifest = change(old).with_digest()
        data = msgspec.json.format(msgspec.json.encode(manifest, order="sorted")) + b"\n"
        if tagged and tagged[0] == data:
            return
        try:
            store.put_if(MANIFEST, data, tagged[1] if tagged else None)
        except Conflict:
            continue
        return


def remove_receipts(store: Store, names: Iterable[str]) -> None:
    """Removes the receipts of files.

    Args:
        store: store of the attributes.
        names: names of the files.
    """
    store.delete([f"{RECEIPTS}{name}.json" for name in names])


def write_receipt(store: Store, name: str, record: FileRecord) -> None:
    """Writes the receipt of a file.

    Args:
        store: store of the attributes.
        name: name of the file.
        record: record of the file.
    """
    store.put(f"{RECEIPTS}{name}.json", msgspec.json.encode(record, order="sorted"))


def write_begun_receipt(store: Store, name: str, record: FileRecord, *, foreign: bool = False) -> FileRecord:
    """Leaves the receipt of a file that is begun, with the version of what lies in its place, which this run replaces.

    Args:
        store: store of the attributes.
        name: name of the file.
        record: record with the sources of the file.
        foreign: whether somebody else made what lies there: until it is replaced, no receipt says that it is ours.

    Returns:
        The record, with the version of what is replaced.
    """
    there = None if foreign else store.head(name)
    begun = msgspec.structs.replace(record, output=there.version if there else None)
    write_receipt(store, name, begun)
    return begun


class RecordedUpload(PackedUpload):
    """Writes an output, and leaves its receipts. What a killed run leaves is so known as its own.

    Args:
        store: store of the outputs.
        name: name of the file below its root.
        record: record with the sources of the file.
        packing: ending that names another packing, as for PackedUpload.
        foreign: whether the file in its place is not ours, as for write_begun_receipt().
        fast: whether the packing is fast, as for PackedUpload.
    """

    def __init__(
        self, store: Store, name: str, record: FileRecord, packing: str = "", *, foreign: bool, fast: bool = False
    ) -> None:
        self._store, self._name = store, name
        self._record = write_begun_receipt(store, name, record, foreign=foreign)
        super().__init__(store, name, packing, fast=fast)

    def publish(self, input_sha256: str, *, read: int = 0, unseen: tuple[str, ...] = ()) -> None:
        """Publishes the file. A receipt names its digest before it appears.

        Args:
            input_sha256: sha256 of the documents (hex), as in FileRecord.
            read: number of documents that were read, as in FileRecord.
            unseen: names of attributes that no document has, as in FileRecord.
        """
        record = msgspec.structs.replace(self._record, read=read, unseen=unseen)
        sha256 = self.end()
        write_receipt(self._store, self._name, msgspec.structs.replace(record, coming=sha256))
        ended = {"input_sha256": input_sha256, "rows": self.rows, "sha256": sha256, "output": self.close()}
        write_receipt(self._store, self._name, msgspec.structs.replace(record, **ended))


def read_receipts(store: Store) -> Mapping[str, FileRecord]:
    """The receipts below a store's root, by the names of their files.

    Raises:
        DataError: a receipt is not one.
    """
    return dict(_read_receipts(store))


def _read_receipts(store: Store) -> Iterator[tuple[str, FileRecord]]:
    for entry in store.list(RECEIPTS):
        name = entry.path.removeprefix(RECEIPTS).removesuffix(".json")
        mend = "remove it; its file is then made again with --force"
        where = f"{store.url}/{entry.path}"
        yield name, decode_object(store.read(entry.path), FileRecord, where, "a receipt of a tagging", mend)
