"""A part of an export: the files that one shard of the mix became, in a folder that is never changed.

The ledger's table has one row for each part, with the name of the mix's shard. `ExportedPart` is what the row's field
`extra` holds. Only this module encodes and decodes it.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from gristmill.errors import DataError
from gristmill.lake.identity import PairDigest, digest_of
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.model import Input
from gristmill.lake.ledger.stored_part import StoredPart
from gristmill.lake.rows.batches import IdPair, decode_rows
from gristmill.lake.rows.bitmap import pack_bits, unpack_bits
from gristmill.lake.rows.draw import VALIDATION_SEED, draw_fraction
from gristmill.lake.store.json_object import Integer
from gristmill.lake.store.protocol import Store
from gristmill.recipes.export_formats.codec import TRAIN, VALIDATION, Codec, ExportedFile, FileFacts, RowBlock, Sink
from gristmill.recipes.export_formats.not_taken import NotTaken

CONTENTS = "part.json"
"""The file of every part that lists its other files. So a part has a file even if no document came into it."""

_NAMED = 3
"""Documents that a message names; the others are counted."""
_PAIRS = msgspec.json.Decoder(IdPair)


def part_folder(recipe: str, inputs: Sequence[Input]) -> str:
    """The name of a part's folder. Its number is a hash of the shard's name; its digest is that of all inputs.

    Args:
        recipe: digest of the recipe.
        inputs: sources of the part's content, the mix's shard first.
    """
    number = xxhash.xxh3_64_intdigest(inputs[0].shard.encode()) % 100_000
    return f"part-{number:05d}-{digest_of([recipe, msgspec.to_builtins(tuple(inputs))])[:16]}"


class PartFile(msgspec.Struct, frozen=True):
    """A file of a part.

    Attributes:
        facts: facts that its codec knows of it.
        documents: one flag for each row of the mix's shard: whether the file has it. Encoded by `pack_bits`.
    """

    facts: FileFacts
    documents: str


class ExportedPart(StoredPart, frozen=True):
    """The record of a part: the field `extra` of its row in the table.

    Attributes:
        folder: the part's folder in the lake, with a closing slash.
        files: the files with documents, by their paths below the folder.
        documents: number of documents in the mix's shard.
    """

    mend = "make this slice of the export again"

    folder: str
    files: dict[str, PartFile]
    documents: Integer

    def sources(self, stream: str) -> list[ExportedFile]:
        """The files with documents, as a release takes them.

        Args:
            stream: name of the stream.

        Raises:
            DataError: a file is not among the objects.
        """
        found = []
        for name, file in sorted(self.files.items()):
            path = self.folder + name
            if path not in self.objects:
                raise DataError(f"{path}: its part's record has no such object; make this slice of the export again")
            sha256, size = self.objects[path]
            found.append(ExportedFile(stream, path, name, sha256, size, file.facts))
        return found

    def line(self, row: int) -> tuple[str, int] | None:
        """The file with a row of the mix's shard, and the row's number there, from 0; None if the format refused it."""
        for name, file in self.files.items():
            flags = unpack_bits(file.documents, self.documents)
            if flags[row]:
                return name, int(flags[:row].sum())
        return None


def part_contents(files: Mapping[str, PartFile]) -> bytes:
    """The bytes of a part's list of files."""
    listed = {name: {"content": file.facts.content, "rows": file.facts.rows} for name, file in files.items()}
    return as_json({"files": listed})


class PartWriter:
    """Writes the documents of one shard of the mix into the files of a part.

    Args:
        codec: codec of the format.
        folder: the name of the part's folder.
        create: function that opens a file, by its path below the part's folder.
        lake: store of what documents refer to.
        validation: the share of documents that the mix holds out.
        held: flags of the shard's rows that the mix holds out, one for each row; None: the draw by (source, id)
            decides.
    """

    def __init__(
        self,
        codec: Codec,
        folder: str,
        create: Callable[[str], Sink],
        lake: Store,
        validation: float,
        held: NDArray[np.bool_] | None = None,
    ) -> None:
        self._held, self._folder, self._create, self._validation = held, folder, create, validation
        self._names = {CONTENTS}
        self._files = codec.open(folder, self._create_own, lake)
        self._rows: dict[str, array[int]] = {}
        self.ids = PairDigest()
        self.dropped: dict[str, int] = {}
        self._path = ""
        self._blocking: dict[NotTaken, list[str]] = {}

    @property
    def counts(self) -> dict[str, int]:
        """The counters of the codec."""
        return self._files.counts

    def _create_own(self, name: str) -> Sink:
        """A file of the codec."""
        if name in self._names:
            what = "the list of the part's files" if name == CONTENTS else "a file that the format has opened already"
            raise DataError(f"{self._folder}/{name}: the format opens {what}; mend its codec")
        self._names.add(name)
        return self._create(name)

    def write(self, path: str, lines: bytes) -> None:
        """Writes the next rows of the shard, and counts why the format refuses a document.

        Args:
            path: path of the shard, for messages.
            lines: the rows, each with its line feed.

        Raises:
            DataError: a document contradicts itself; names shard and row.
        """
        self._path = path
        pairs = decode_rows(_PAIRS, lines, path, self.ids.rows)
        splits = [self._split_of_row(each, number) for number, each in enumerate(pairs, self.ids.rows)]
        rows = RowBlock(path, self.ids.rows, lines, pairs, splits)
        for number, placed in enumerate(self._files.write(rows), self.ids.rows):
            if isinstance(placed, NotTaken):
                self._refuse_row(placed, pairs[number - self.ids.rows], number)
            else:
                self._rows.setdefault(placed, array("Q")).append(number)
        self.ids.update(each.pair for each in pairs)

    def _refuse_row(self, why: NotTaken, row: IdPair, number: int) -> None:
        self.dropped[why.reason] = self.dropped.get(why.reason, 0) + 1
        if why.mend:
            source, id_ = row.pair
            named = self._blocking.setdefault(why._replace(about=""), [])
            if len(named) < _NAMED:
                named.append(f"row {number}, document {id_!r:.100} of {source!r:.100}: {why.about}")

    def _split_of_row(self, row: IdPair, number: int) -> str:
        if not self._validation:
            return ""
        if self._held is not None:
            # A shard with more rows than its table says is refused after its last row, by write_documents().
            return VALIDATION if number < len(self._held) and self._held[number] else TRAIN
        return VALIDATION if draw_fraction(row.pair, VALIDATION_SEED) < self._validation else TRAIN

    def close(self) -> dict[str, PartFile]:
        """Publishes the files, and the list of them last.

        Returns:
            The files by their paths in the part's folder.

        Raises:
            DataError: documents were refused for a reason that blocks the part; names shard, rows and documents.
        """
        if self._blocking:
            raise DataError(f"{self._path}: {'; '.join(self._blocked_samples())}")
        facts = self._files.close()
        files = {name: PartFile(facts[name], self._encoded_split_flags(name)) for name in sorted(facts)}
        contents = self._create(CONTENTS)
        contents.write(part_contents(files))
        contents.close()
        return files

    def _blocked_samples(self) -> Iterator[str]:
        for why, named in self._blocking.items():
            number = self.dropped[why.reason]
            others = f"; and {number - len(named)} more" if number > len(named) else ""
            yield f"{number} documents name {why.reason} ({'; '.join(named)}{others}): {why.mend}, then run again"

    def _encoded_split_flags(self, name: str) -> str:
        flags = np.zeros(self.ids.rows, np.bool_)
        rows = self._rows.get(name)  # a file may have no documents, such as an index
        if rows:
            flags[np.frombuffer(rows, dtype=np.uint64).astype(np.int64)] = True
        return pack_bits(flags)


def unpacked_content_digest(files: Mapping[str, PartFile]) -> str:
    """The content digest of a part: of the unpacked bytes of its files, and of the rows that each has."""
    return digest_of([[name, file.facts.content, file.documents] for name, file in sorted(files.items())])
