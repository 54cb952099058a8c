"""An adopted version beside the version before it: an audit compares the ids, and the metadata of each document."""

from collections.abc import Iterator, Mapping, Sequence

from gristmill.errors import DataError
from gristmill.execution.finding import Finding
from gristmill.lake.address import Place
from gristmill.lake.ledger.adopted import open_shard
from gristmill.lake.ledger.model import Shard
from gristmill.lake.rows.document import Document
from gristmill.lake.store.protocol import Store
from gristmill.stages.adoption.grinder import key_of_pair, metadata_digest


class VersionBefore:
    """The version that an adopted version was compared with. Both are files of others; neither was made from the other.

    Args:
        store: the lake.
        partition: the version before.
        shards: its table.
    """

    def __init__(self, store: Store, partition: Place, shards: Sequence[Shard]) -> None:
        self._store, self._place = store, partition
        self._shards = {shard.name: shard for shard in shards}

    def rows(self, name: str) -> "RowsBefore | None":
        """The rows of a shard; None if they cannot be read: the audit of that version reports the damage."""
        if name not in self._shards:
            return RowsBefore(f"{self._place.asset} ({self._place.snapshot})", {})
        shard = self._shards[name]
        digests: dict[bytes, bytes] = {}
        try:
            file = open_shard(self._store, self._place, shard, sized=False)
            if file.store.head(file.path) is None:
                return None
            for _, documents in file.rows(Document, verified=False):
                digests.update((key_of_pair((d.source, d.id)), metadata_digest(d)) for d in documents)
        except DataError:
            return None
        return RowsBefore(file.path, digests)


class RowsBefore:
    """The rows of one shard of the version before.

    Args:
        path: path of their file, for messages.
        digests: the digest of each row's metadata, by the key of its (source, id).
    """

    def __init__(self, path: str, digests: Mapping[bytes, bytes]) -> None:
        self._path, self._digests = path, digests

    def row_findings(self, path: str, first: int, documents: Sequence[Document]) -> Iterator[tuple[str, Finding]]:
        """Findings on rows of an adopted shard, with the kind of each.

        Args:
            path: path of the shard's file.
            first: number of the first of these rows.
            documents: the rows.

        Returns:
            Each finding after its kind: `before` for a row that is missing there, `metadata` for other metadata.
        """
        for number, document in enumerate(documents, start=first):
            was = self._digests.get(key_of_pair((document.source, document.id)))
            named = f"id {document.id!r} (source {document.source!r})"
            if was is None:
                yield "before", Finding(path, number, f"{named} is not in {self._path}", _MEND)
            elif was != metadata_digest(document):
                yield "metadata", Finding(path, number, f"{named} has other metadata in {self._path}", _MEND)


_MEND = "ask the owner of these files, or give the recipe same_metadata=False"
