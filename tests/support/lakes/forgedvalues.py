"""Every value of every file of a lake in another plausible form."""

import gzip
import json
import re
import sqlite3
import tarfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from labelrows import write_rows
from resealed import TABLE, Seals, plain, style_of
from testkit import Mill
from wholelake import reseal_shard, rewrite

from gristmill.lake.address import place_of_ledger
from gristmill.lake.asset_kinds import DOCUMENTS, MIX, ledger_of_object
from gristmill.lake.rows.shard_file import gzip_bytes

Where = tuple[Any, ...]
Plant = Callable[[Mill], None]
INPUT = re.compile(r"sources/[^/]+/raw/|media/|\.lock|(withdrawn/)?blocklists/")
"""Raw data, and what stands for them."""
_ALIKE = re.compile(
    r"[0-9a-f]{16}|part-\d+|\b202[45]\b|r0000\d|-0000\d"
    r"|(?<=/)(a|b|0\d|all|papers|talks|exams|quiz|theirs|first|edited|reading|shares|train|validation)(?=[./-])"
)
"""What differs in the paths of objects that are alike."""
HEX = re.compile(r"[0-9a-f]{16,64}")


class Forged(NamedTuple):
    """One value with another one in its place.

    Attributes:
        path: the object.
        value: path of the value inside the object, with `*` in place of the number of a list entry.
        what: what was done to it.
        plant: does it.
    """

    path: str
    value: str
    what: str
    plant: Plant

    def __str__(self) -> str:
        return f"{self.path}: {self.value} {self.what}"


def forged_values(seals: Seals) -> Iterator[Forged]:
    """Each value of each object in each form. Of objects and of values that are alike, one is taken."""
    seen: set[tuple[str, str, str]] = set()
    for path, data in sorted(seals.good.items()):
        if INPUT.match(path) or path.endswith(".run.json"):
            continue
        for each in _of_object(path, data):
            alike = (_ALIKE.sub("", path), each.value, each.what)
            if alike not in seen:
                seen.add(alike)
                yield each


def _of_object(path: str, data: bytes) -> Iterator[Forged]:
    if path.endswith(TABLE):
        yield from _of_lines(path, data, lambda lines: gzip.compress(lines, mtime=0))
    elif path.endswith(".jsonl.gz"):
        yield from _of_rows(path, data) if _is_shard(path) else _of_lines(path, data, gzip_bytes)
    elif path.endswith(".jsonl"):
        yield from _of_lines(path, data, bytes)
    elif style_of(data) is not None and not path.endswith("tokenizer.json"):
        for value, what, make in _of_json(data):
            yield _put(path, value, what, make)
    elif path.endswith(".parquet"):
        yield from _of_parquet(path, data)
    elif path.endswith(".sqlite"):
        yield from _of_sqlite(path, data)
    elif path.endswith(".tar"):
        yield from _of_tar(path, data)
    else:
        yield from _of_bytes(path, data)


def _put(path: str, value: str, what: str, make: Callable[[], bytes] | bytes) -> Forged:
    def plant(mill: Mill) -> None:
        mill.store.put(path, make if isinstance(make, bytes) else make())

    return Forged(path, value, what, plant)


# JSON


def _of_json(data: bytes) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    """The bytes of each value of JSON in each form, written in the style of the others."""
    style, value = style_of(data), json.loads(data)
    if style is None:
        return
    for shown, what, make in _forms(value):
        yield shown, what, partial(_then, style, make)
    for where in _places(value):
        good = _at(value, where)
        if isinstance(good, dict) and good:
            yield "/".join(map(_plain, where)), "a key twice", partial(_doubled, value, where)


def _then(after: Callable[[Any], Any], make: Callable[[], Any]) -> Any:
    return after(make())


def _doubled(value: Any, where: Where) -> bytes:
    """The first key of an object of JSON twice."""
    good = _at(value, where)
    key = min(good)
    twice = _with(value, where, {**good, f"{key}\0": good[key]})
    return json.dumps(twice, separators=(",", ":"), sort_keys=True).replace("\\u0000", "").encode()


def _forms(value: Any) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Each value of JSON in another form: where, what, and what makes the whole of it."""
    words = _words(value)
    for where in _places(value):
        good = _at(value, where)
        shown = "/".join(map(_plain, where))
        for what, other in _others(good, words):
            yield shown, what, partial(_with, value, where, other)
        above = _at(value, where[:-1]) if where else None
        if isinstance(above, dict):
            yield (
                shown,
                "left out",
                partial(_with, value, where[:-1], {k: v for k, v in above.items() if k != where[-1]}),
            )
        if isinstance(above, list):
            number = where[-1]
            before, after = above[:number], above[number + 1 :]
            at_end = " at the end" if number and not after else ""
            yield shown, f"removed{at_end}", partial(_with, value, where[:-1], [*before, *after])
            yield shown, f"doubled{at_end}", partial(_with, value, where[:-1], [*before, good, good, *after])
            if number and above[number - 1] != good:
                yield shown, "swapped", partial(_with, value, where[:-1], [*before[:-1], good, before[-1], *after])


def _others(good: Any, words: dict[str, list[str]]) -> Iterator[tuple[str, Any]]:
    if isinstance(good, bool):
        yield "turned", not good
    elif isinstance(good, int | float):
        yield "one more", good + 1
        if good:
            yield "nothing", 0
    elif good is None:
        yield "given", 1
    elif isinstance(good, str):
        kind = _kind(good)
        yield (
            "another word",
            next((each for each in words[kind] if each != good), good + "0" if kind != "hex64" else "0" * 64),
        )
    elif isinstance(good, dict):
        yield "another key", {**good, "another": next(iter(good.values()), 1)}
    elif isinstance(good, list) and not good:
        yield "an entry", ["another"]


def _kind(word: str) -> str:
    return f"hex{len(word)}" if HEX.fullmatch(word) else "path" if "/" in word else "word"


def _words(value: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for where in _places(value):
        each = _at(value, where)
        if isinstance(each, str):
            found.setdefault(_kind(each), []).append(each)
    return found


def _plain(key: object) -> str:
    text = str(key)
    return "*" if isinstance(key, int) or re.search(r"[/.:]|part-|^\d+$|[0-9a-f]{16}", text) else text


def _places(value: Any, where: Where = ()) -> Iterator[Where]:
    yield where
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from _places(each, (*where, key))


def _at(value: Any, where: Where) -> Any:
    for key in where:
        value = value[key]
    return value


def _with(value: Any, where: Where, other: Any) -> Any:
    if not where:
        return other
    made = dict(value) if isinstance(value, dict) else list(value)
    made[where[0]] = _with(value[where[0]], where[1:], other)
    return made


# lines of JSON


def _of_lines(path: str, data: bytes, pack: Callable[[bytes], bytes]) -> Iterator[Forged]:
    for value, what, make in _lines(plain(path, data).splitlines()):
        yield _put(
            path, value, what, partial(_then, lambda lines: pack(b"".join(line + b"\n" for line in lines)), make)
        )


def _between(before: Sequence[bytes], make: Callable[[], bytes], after: Sequence[bytes]) -> list[bytes]:
    return [*before, make(), *after]


def _lines(lines: Sequence[bytes]) -> Iterator[tuple[str, str, Callable[[], list[bytes]]]]:
    for number, line in enumerate(lines):
        before, after = lines[:number], lines[number + 1 :]
        for value, what, make in _of_json(line):
            yield f"*/{value}", what, partial(_between, before, make, after)
    if lines:
        yield "*", "removed", lambda: list(lines[:-1])
        yield "*", "doubled", lambda: [*lines, lines[-1]]
    if len(lines) > 1:
        yield "*", "swapped", lambda: [lines[1], lines[0], *lines[2:]]


def _is_shard(path: str) -> bool:
    return re.match(r"sources/[^/]+/[^/]+/(documents|attributes)/|mixes/[^/]+/documents/", path) is not None


def _of_rows(path: str, data: bytes) -> Iterator[Forged]:
    """Rows of documents or labels: the shard is written as its writer does it, and its row follows."""
    ledger = ledger_of_object(path)
    where = place_of_ledger(ledger) if ledger else None
    assert where is not None
    name = path.removeprefix(where.folder).removesuffix(".jsonl.gz")
    is_text = where.kind in {DOCUMENTS, MIX}

    def write(mill: Mill, rows: list[bytes]) -> None:
        extra = mill.table(where)[name].extra
        try:
            (rewrite if is_text else write_rows)(mill, where, name, rows)
        except (KeyError, TypeError, ValueError):  # not even a row
            mill.store.put(path, gzip_bytes(b"".join(row + b"\n" for row in rows)))
        reseal_shard(mill, where, name, extra=extra)

    for value, what, make in _lines(gzip.decompress(data).splitlines()):
        yield Forged(path, value, what, partial(lambda mill, make: write(mill, make()), make=make))


# other formats


def _of_parquet(path: str, data: bytes) -> Iterator[Forged]:
    table = pq.read_table(BytesIO(data))
    for number, name in enumerate(table.column_names):
        values = table.column(name).to_pylist()
        others = next((list(_others(each, {"word": [], "path": []})) for each in values if each is not None), [])
        for what, other in [*others, ("null", None)]:
            changed = [other if each is not None else each for each in values]
            try:
                column = pa.array(changed, table.schema.field(number).type)
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                continue
            yield _put(path, name, what, _parquet(table.set_column(number, table.schema.field(number), column)))
    for key, value in (table.schema.metadata or {}).items():
        other = table.replace_schema_metadata({**(table.schema.metadata or {}), key: value + b"0"})
        yield _put(path, f"metadata {key.decode()}", "another word", _parquet(other))


def _parquet(table: pa.Table) -> bytes:
    out = BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def _of_sqlite(path: str, data: bytes) -> Iterator[Forged]:
    with NamedTemporaryFile(suffix=".sqlite") as file:

        def opened() -> sqlite3.Connection:
            Path(file.name).write_bytes(data)
            return sqlite3.connect(file.name)

        database = opened()
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = [
            (table, row[1], row[2]) for table in tables for row in database.execute(f"PRAGMA table_info({table})")
        ]
        database.close()
        for table, column, kind in columns:
            database = opened()
            change = f"{column} || 'x'" if kind == "TEXT" else f"{column} + 1"
            try:
                database.execute(
                    f"UPDATE {table} SET {column} = {change} WHERE rowid = (SELECT max(rowid) FROM {table})"
                )
                database.commit()
            except sqlite3.DatabaseError:
                continue
            finally:
                database.close()
            yield _put(path, f"{table}.{column}", "another value", Path(file.name).read_bytes())


def _of_tar(path: str, data: bytes) -> Iterator[Forged]:
    with tarfile.open(fileobj=BytesIO(data)) as tar:
        first = tar.getmembers()[0]
    at, name = first.offset_data, first.offset
    yield _put(path, "member", "another byte", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    yield _put(path, "header", "another owner", data[: name + 265] + b"x" + data[name + 266 :])


def _of_bytes(path: str, data: bytes) -> Iterator[Forged]:
    """A text or a binary file: one byte of it, at three places; a row more, a row less."""
    for name, at in (("begin", 0), ("middle", len(data) // 2), ("end", len(data) - 1)):
        if data:
            yield _put(path, f"{name} of bytes", "another byte", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    if path.endswith((".yaml", ".md", ".txt", ".uuid")):
        lines = data.splitlines(keepends=True)
        for number, line in enumerate(lines):
            shown = f"line {re.sub(rb'[^A-Za-z_ ]', b'', line)[:30].decode().strip()}"
            yield _put(path, shown, "removed", b"".join([*lines[:number], *lines[number + 1 :]]))
            if other := re.sub(rb"(\w)(\W*)$", lambda found: (b"7" if found[1] != b"7" else b"8") + found[2], line):
                yield _put(path, shown, "another end", b"".join([*lines[:number], other, *lines[number + 1 :]]))
    if path.endswith(".npy"):
        array = np.load(BytesIO(data))
        if not len(array):
            return
        for column in range(array.shape[1] if array.ndim > 1 else 1):
            other = array.copy()
            other.reshape(len(array), -1)[-1, column] += 1
            yield _put(path, f"column {column}", "one more", _npy(other))
        yield _put(path, "row", "removed", _npy(array[:-1]))
        yield _put(path, "row", "doubled", _npy(np.concatenate([array, array[-1:]])))


def _npy(array: Any) -> bytes:
    out = BytesIO()
    np.save(out, array)
    return out.getvalue()
