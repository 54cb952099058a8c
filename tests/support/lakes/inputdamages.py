"""What may be wrong with an input of a step: each damage alone, so that one guard must see it.

A damage of content is sealed: sizes and digests in ledgers fit it, as if the run that made the input had gone wrong.
What the input was made from stays as it was, and so does what the step itself has made.
"""

import gzip
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from steplake import Read, StepLake
from wholelake import reseal_shard

from gristmill.errors import GristmillError, NotPublished
from gristmill.execution.step import Step
from gristmill.lake.asset_kinds import CLUSTERS, HASH_RUNS, MARKS, VERDICTS
from gristmill.lake.ledger.receipts import read_receipts
from gristmill.lake.rows.foreign_file import ForeignFile
from gristmill.lake.rows.shard_file import gzip_bytes
from gristmill.stages.dedupe.columns import COUNTS, FOUND, HASHES, POSITIONS, REPEATS
from gristmill.stages.fingerprints.spans import SpanTable
from gristmill.stages.near_duplicates.cluster_files import BLOCK, CLUSTER, MEMBER
from gristmill.stages.near_duplicates.mark_records import NEAR_MARK

OTHER = "f" * 32
PACKED_AT = slice(4, 8)
"""Where a gzip file says when it was packed."""

RUN_FILES = {"hashes": HASHES, "positions": POSITIONS, "repeats": REPEATS, "counts": COUNTS}
NUMBER = ("<u4",)
"""The columns of all other binary files, as far as damages know."""

NOT_SEEN = "not seen"
CRASH = "in the recipe's own code"
"""What a run says of an error that is none of ours."""
ROW = r"\brow \d+|\b\d+ (rows|documents|ids)|\b[\d,]+ bytes"
"""A row, or how many there are."""

Edit = Callable[[Sequence[Any]], Sequence[Any]]
"""What is done to the rows of an object."""


class Damage(NamedTuple):
    """A damage of one object.

    Attributes:
        plant: changes the lake, and returns whether there was anything to change.
        meanwhile: whether it happens after the plan of the step, before its first shard.
        names_row: whether an error about rows must say which, or how many there are.
        in_ledger: whether it is a damage of what the ledger says: the same for all objects of a row.
    """

    plant: Callable[[StepLake, Read], bool]
    meanwhile: bool = False
    names_row: bool = False
    in_ledger: bool = False


def bytes_of(lake: StepLake, path: str) -> bytes:
    """The bytes of an object, or of an adopted file."""
    return (lake.mill.root / path).read_bytes()


def write(lake: StepLake, path: str, data: bytes) -> bool:
    """Puts other bytes in the place of an object or of an adopted file. Returns whether they are others."""
    if data == bytes_of(lake, path):
        return False
    lake.put({path: data})
    return True


def _other_bytes(lake: StepLake, read: Read) -> bool:
    """The same rows, packed at another time; JSON with another end; a line less; else another bit.

    Only a digest of the bytes can tell.
    """
    data = bytearray(bytes_of(lake, read.path))
    if read.path.endswith(".gz"):
        data[PACKED_AT] = b"once"
    elif read.path.endswith(".jsonl"):
        del data[data.rfind(b"\n", 0, -1) + 1 :]
    elif read.path.endswith(".json"):
        data += b"\n"
    elif data:
        data[len(data) // 2] ^= 1
    return write(lake, read.path, bytes(data))


def _edited(edit: Edit, of_documents: Callable[[Sequence[bytes]], Sequence[bytes]] | None = None) -> Any:
    """A damage of the content of an object that a ledger names.

    Args:
        edit: changes the rows of a binary file; and those of lines, without `of_documents`.
        of_documents: changes lines of JSON, which name documents.
    """

    def plant(lake: StepLake, read: Read) -> bool:
        if read.row is None or read.where is None:
            return False
        data = bytes_of(lake, read.path)
        if read.path.endswith(".gz"):
            lines = gzip.decompress(data).splitlines(keepends=True)
            new = gzip_bytes(b"".join((of_documents or edit)(lines))) if len(lines) > 1 else data
        elif read.path.endswith("/spans"):
            new = _spans(data, edit)
        else:
            new = _columns(data, types_of(read), edit)
        if not write(lake, read.path, new):
            return False
        if read.path.startswith("/"):
            file = ForeignFile(iter([new]), read.path)
            for _ in file.blocks():
                pass
            sizes: dict[str, Any] = {"bytes": file.bytes, "length": file.length, "members": tuple(file.members)}
            reseal_shard(lake.mill, read.where, read.row.name, sha256=file.sha256, content=file.content, **sizes)
        lake.seals.seal(read.where.table if read.path.startswith("/") else read.path)
        return True

    return plant


def types_of(read: Read) -> Sequence[Any]:
    """The types of the columns of a binary file; one type of records for a file of records."""
    file = read.path.rpartition("/")[2]
    match read.where.kind if read.where else None:
        case kind if kind is HASH_RUNS:
            return RUN_FILES[file]
        case kind if kind is VERDICTS:
            return FOUND
        case kind if kind is CLUSTERS:
            return (CLUSTER if file == "clusters" else BLOCK if file.endswith(".index") else MEMBER,)
        case kind if kind is MARKS and read.where and "near" in read.where.asset:
            return (NEAR_MARK,)
    return NUMBER


def _columns(data: bytes, types: Sequence[Any], edit: Edit) -> bytes:
    """A file of columns, one behind another, whose rows are edited; unchanged with less than two rows."""
    dtypes = [np.dtype(each) for each in types]
    count = len(data) // sum(each.itemsize for each in dtypes)
    if count < 2:
        return data
    found, offset = b"", 0
    for dtype in dtypes:
        column = np.frombuffer(data, dtype, count, offset)
        offset += column.nbytes
        found += np.array(edit(list(column)), dtype).tobytes()
    return found


def _spans(data: bytes, edit: Edit) -> bytes:
    """The spans of documents, of which each is a row."""
    table = SpanTable.decode(data, "spans")
    rows = []
    for first, last in itertools.pairwise(table.first_spans.tolist()):
        sizes = None if table.sizes is None else table.sizes[first:last]
        rows.append((table.starts[first:last], table.ends[first:last], sizes))
    rows = list(edit(rows))
    counts = np.array([len(starts) for starts, _, _ in rows], np.uint32)
    starts, ends = (np.concatenate([row[number] for row in rows]) for number in range(2))
    every = None if table.sizes is None else np.concatenate([sizes for _, _, sizes in rows])
    hashes = len(starts) if every is None else int(every.sum())
    return SpanTable(counts, starts, ends, every, hashes).encode()


def _of_another(row: bytes) -> bytes:
    """A row of a document that is nowhere else."""
    value = json.loads(row)
    if isinstance(value, list):
        value[1] += "x"
    else:
        value["id"] += "x"
    return msgspec.json.encode(value) + b"\n"


def _in_table(changes: Callable[[Read], dict[str, Any]]) -> Any:
    """A damage of what the table says of an object."""

    def plant(lake: StepLake, read: Read) -> bool:
        if read.row is None or read.where is None or not changes(read):
            return False
        reseal_shard(lake.mill, read.where, read.row.name, **changes(read))
        lake.seals.seal(read.where.table)
        return True

    return plant


_missing = _edited(lambda rows: rows[:-1])
_more = _edited(lambda rows: [*rows, rows[-1]], lambda rows: [*rows, _of_another(rows[-1])])
_swapped = _edited(lambda rows: [rows[-1], *rows[1:-1], rows[0]])
_other_id = _edited(lambda rows: rows, lambda rows: [_of_another(rows[0]), *rows[1:]])
_no_id = _in_table(lambda read: {"ids": OTHER} if read.row and read.row.ids else {})
_count = _in_table(lambda read: {"rows": read.row.rows + 1} if read.row else {})
_recipe = _in_table(lambda _: {"recipe": OTHER * 2})


def _anew(lake: StepLake, read: Read) -> bool:
    """The object and its ledger as another run makes them; without a ledger, other bytes."""
    return (_missing if read.row else _other_bytes)(lake, read)


DAMAGES: Mapping[str, Damage] = {
    "other bytes": Damage(_other_bytes),
    "a row missing": Damage(_missing, names_row=True),
    "a row more": Damage(_more, names_row=True),
    "two rows swapped": Damage(_swapped, names_row=True),
    "another id": Damage(_other_id, names_row=True),
    "other ids in the ledger": Damage(_no_id, in_ledger=True),
    "another count in the ledger": Damage(_count, names_row=True, in_ledger=True),
    "another recipe in the ledger": Damage(_recipe, in_ledger=True),
    "made anew meanwhile": Damage(_anew, meanwhile=True),
}


def planted(lake: StepLake, step: Step, read: Read, damage: Damage) -> Mapping[str, bytes]:
    """The objects of a damaged lake that are others than before, but for those of the step; empty: no damage is there.

    The lake itself is as before.
    """
    try:
        if not damage.plant(lake, read):
            return {}
        return lake.changed(step, read)
    finally:
        lake.restore()


def attempt(lake: StepLake, step: Step, files: Mapping[str, bytes], damage: Damage) -> GristmillError | None:
    """Makes a step of a damaged lake; the error that it ends with, None if it is made.

    Args:
        lake: the lake.
        step: the step.
        files: the objects that the damage changes.
        damage: tells when they are changed.
    """
    if not damage.meanwhile:
        lake.put(files)
    try:
        lake.make(step, "damaged", (lambda: lake.put(files)) if damage.meanwhile else (lambda: None))
    except GristmillError as error:
        return error
    return None


def verdict(lake: StepLake, step: Step, read: Read, damage: Damage) -> str | None:
    """How a step takes a damage of one of its inputs. The lake is as before afterwards.

    Returns:
        None: the object cannot have this damage. Empty: the step has seen it: the error names the object and the row,
        and nothing was published. NOT_SEEN, or else what is wrong with the error.
    """
    files = planted(lake, step, read, damage)
    if not files:
        return None
    places = lake.made(step)
    before = [lake.mill.store.read(path) for where in places for path in (where.ledger, where.table, where.run)]
    try:
        error = attempt(lake, step, files, damage)
        if error is None:
            return NOT_SEEN
        after = [lake.mill.store.read(path) for where in places for path in (where.ledger, where.table, where.run)]
        if before != after:
            return "something was published"
        return _told(lake, step, read, damage, error) or _left(lake, step, read, error)
    finally:
        lake.restore()


def _told(lake: StepLake, step: Step, read: Read, damage: Damage, error: GristmillError) -> str:
    """What an error does not say; empty if it says all."""
    said = str(error)
    if CRASH in said:
        return f"crash: {said}"
    # A check that compares two inputs cannot know which of them is wrong.
    compared = [where.ledger_stem for where in lake.inputs(step)]
    parts = [*step.makes, *step.reads, *compared, *([read.where.ledger_stem] if read.where else [])]
    if not (read.path.rpartition("/theirs/")[2] in said or any(part in said for part in parts)):
        return f"names no object: {said}"
    if damage.names_row and read.is_rows and not re.search(ROW, said):
        return f"names no row: {said}"
    return ""


def _left(lake: StepLake, step: Step, read: Read, error: GristmillError) -> str:
    """The receipt that a run has left of a shard that is made from a damaged object; empty if there is none.

    A blocking check comes after the receipts.
    """
    if isinstance(error, NotPublished) or read.row is None or read.where is None:
        return ""
    for where in lake.made(step):
        for receipt in read_receipts(lake.mill.store, where):
            if any((each.asset, each.shard) == (read.where.asset, read.row.name) for each in receipt.row.inputs):
                return f"{where.receipt_path(receipt.row.name)}: a receipt was left"
    return ""
