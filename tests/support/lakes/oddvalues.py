"""Records of a small finished lake in which one JSON value is of another type, or gone; and what commands say of it."""

import contextlib
import copy
import gzip
import hashlib
import io
import json
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from testkit import Mill, link

from gristmill.__main__ import main
from gristmill.errors import GristmillError
from gristmill.lake.address import place_of_ledger
from gristmill.lake.asset_kinds import ledger_of_object
from gristmill.lake.ledger.files import as_json, compose_ledger, parse_head, parse_table
from gristmill.lake.ledger.index_ledger import compose_index, content_digest, parse_index_ledger
from gristmill.lake.rows.shard_file import gzip_bytes

SHELVES = ("--shelves", "dagshelf,exportshelf")
TARGETS = ("blend/tiny-1", "blend/lines")
CACHE = "token_caches/blend/tiny-1/letters"
TABLE = ".shards.jsonl.gz"
KEPT = ("blocklists/", "releases/", "tokenizers/", "withdrawn/", "sources/letters/raw/", "sources/diary/raw/")
"""What no run may change, whatever a record says."""
GONE, HUGE, NAN = object(), "\0 1e400", "\0 NaN"
"""No value; and two that Python's encoder does not write."""

NOT_PROVEN = (
    r".+\.run\.json: .+",  # part of no proof: without it, the next run takes longer
    r".+/ledgers/.+\.json: recipe/draft .+",  # no digest covers it
    r"lake\.json: (id|schema) .+",  # an id is drawn
    r"tokenizers/.+/ledger\.json: digest .+",  # ledgers of 0.1 have none
    r"withdrawn/.+",  # a record that people read; takedowns tell
    r"blocklists/.+: reason .+",  # any text
)
"""Values that mean nothing for a proof, as `path: value what`."""


class Odd(NamedTuple):
    """One record with another value.

    Attributes:
        path: the path of the record.
        value: where it stands, with `*` for the number of an entry.
        what: the value at this place of the record.
        data: the record's bytes.
        seal: whether the digests that the lake has of it are made to fit.
    """

    path: str
    value: str
    what: str
    data: bytes
    seal: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.value} {self.what}{', sealed' if self.seal else ''}"


def make_odd_lake(root: Path) -> Mill:
    """Two sources, a mix with a blocklist, tokens, an export, and a release with its withdrawn sister."""
    root.mkdir()
    mill = Mill(root)
    rows: list[Any] = [{"id": f"a{n}", "text": f"one two {'word ' * n}", "source": "letters"} for n in range(3)]
    mill.raw("a.jsonl.gz", [*rows, b"no document"], source="letters")
    mill.raw(
        "b.jsonl.gz",
        [{"id": f"b{n}", "text": text, "source": "letters"} for n, text in enumerate(("one two three", "one"))],
        source="letters",
    )
    mill.raw("d.jsonl.gz", [{"id": "d0", "text": "dear diary", "source": "diary"}], source="diary")
    mill.store.put("blocklists/takedowns.jsonl", b'{"source":"letters","id":"a2","reason":"asked"}\n')
    for words in (
        ("make", str(root), *TARGETS, "--engine", "inline"),
        ("release", str(root), "blend", "tiny-1", "first", "--export", "lines"),
        ("release", str(root), "blend", "tiny-1", "second"),
        ("erase", str(root), "--release", "second"),
    ):
        assert main([*words, *SHELVES]) == 0
    (root.parent / "ids.jsonl").write_text('{"source":"letters","id":"a2"}\n')
    return mill


def odd_records(mill: Mill) -> list[Odd]:
    """Each value of each record in each odd form. Of records and values that are alike, one is taken."""
    found: list[Odd] = []
    seen: set[tuple[str, str]] = set()
    for path in sorted(entry.path for entry in mill.store.list("")):
        if "/raw/" in path or not path.endswith((".json", TABLE, ".jsonl")) or "/index/release-" in path:
            continue
        if path.endswith(("tokenizer.json", "train.jsonl", "croissant.json")):
            continue  # formats of others, which no code of ours takes apart
        lines = _lines(path, mill.store.read(path))
        for where in _places(lines):
            value = "/".join(map(_plain, where[1:]))
            alike = (re.sub(r"[0-9a-f]{16}|part-\d+|letters|diary|v[01]|second", "", path), value)
            if alike not in seen and "about/" not in value:
                seen.add(alike)
                found += [Odd(path, value, *each) for each in _odd(path, lines, where)]
    return found


def _lines(path: str, data: bytes) -> list[Any]:
    if path.endswith(TABLE):
        data = gzip.decompress(data)
    return [json.loads(line) for line in (data.splitlines() if path.endswith((TABLE, ".jsonl")) else [data])]


def _plain(key: object) -> str:
    """A key of a path; keys that are names of this lake are alike."""
    text = str(key)
    return "*" if isinstance(key, int) or re.search(r"[/.:]|part-|^[abd]$|letters|diary|[0-9a-f]{16}", text) else text


def _places(value: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield (*where, key)
        yield from _places(each, (*where, key))


def _odd(path: str, lines: list[Any], where: tuple[Any, ...]) -> Iterator[tuple[str, bytes]]:
    good = lines
    for key in where:
        good = good[key]
    odd = {"gone": GONE, "null": None, "true": True, "-1": -1, "1e400": HUGE, "NaN": NAN, "long": "x" * 100_000}
    odd |= {"2^62": 1 << 62, "a list": [good], "[]": [], "a dict": {"a": good}, "{}": {}, "a way up": "../../../x"}
    odd |= {"as text": str(good), "a number": 7, "a half": 0.5}
    for what, value in odd.items():
        if value is not GONE and type(value) is type(good) and value == good:
            continue
        other = copy.deepcopy(lines)
        holder = other
        for key in where[:-1]:
            holder = holder[key]
        if value is GONE:
            del holder[where[-1]]
        else:
            holder[where[-1]] = value
        yield what, _packed(path, other)


def _packed(path: str, lines: list[Any]) -> bytes:
    packed = b"\n".join(json.dumps(line, separators=(",", ":"), sort_keys=True).encode() for line in lines)
    for number in (HUGE, NAN):
        packed = packed.replace(json.dumps(number).encode(), number[2:].encode())
    packed += b"\n" if path.endswith((TABLE, ".jsonl")) else b""
    return gzip.compress(packed, mtime=0) if path.endswith(TABLE) else packed


def sealed(mill: Mill, odd: Odd) -> bool:
    """Makes the digests fit that the lake has of an odd record. Returns whether there is one."""
    store, path = mill.store, odd.path
    if path.endswith(TABLE):
        lines, ledger = gzip.decompress(odd.data), path.removesuffix(TABLE) + ".json"
        head = json.loads(store.read(ledger))
        head["table"] = {"sha256": hashlib.sha256(lines).hexdigest(), "shards": lines.count(b"\n")}
        store.put(ledger, json.dumps(head, separators=(",", ":"), sort_keys=True).encode())
        _compose(mill, ledger, lines)
        return True
    where = place_of_ledger(path)
    if where is not None:
        return _compose(mill, path, gzip.decompress(store.read(where.table)))
    found = False
    for entry in [each.path for each in store.list("") if each.path.endswith("index/ledger.json")]:
        with contextlib.suppress(GristmillError):
            ledger_of = parse_index_ledger(store.read(entry), entry)
            if entry == path or path in ledger_of.files:
                digest = {} if entry == path else {path: content_digest(odd.data, path, store.url)}
                made = compose_index(ledger_of.asset, ledger_of.inputs, {**ledger_of.files, **digest})
                store.put(entry, as_json(made))
                found = True
    return found


def _compose(mill: Mill, ledger: str, lines: bytes) -> bool:
    """Writes table and head as they follow from these rows, if they can be read."""
    where = place_of_ledger(ledger)
    assert where is not None
    try:
        head, rows = parse_head(mill.store.read(ledger), ledger), parse_table([lines], where.table)
        made = compose_ledger(where, head.recipe, head.inputs, rows)
    except (GristmillError, TypeError):
        return False
    mill.store.put(where.table, gzip_bytes(b"".join(as_json(row) + b"\n" for row in rows)))
    mill.store.put(ledger, as_json(made))
    return True


def commands(root: Path) -> dict[str, list[str]]:
    """The commands that read records, by name; `make` comes last, because it writes."""
    lake, ids = str(root), str(root.parent.parent / "ids.jsonl")
    found = {
        "plan": ["plan", lake, *TARGETS],
        "estimate": ["make", lake, *TARGETS, "--estimate"],
        "trace": ["trace", lake, "letters", "a1"],
        "token": ["trace", lake, f"{CACHE}:3"],
        "report": ["report", lake, "letters/v0", "count-1", "--output", str(root.parent / "report.html")],
        "takedown": ["takedown", lake, "--ids", ids, "--dry-run"],
        "proof": ["takedown", lake, "--ids", ids, "--prove"],
        "verify": ["verify", lake, "--all"],
        "make": ["make", lake, *TARGETS, "--engine", "inline"],
    }
    return {name: [*words, *SHELVES] for name, words in found.items()} | {"gc": ["gc", lake, "--dry-run"]}


def judged(good: Mill, folder: Path, odd: Odd) -> list[str]:
    """What is wrong with what the commands do about an odd record, in a copy of a lake; empty if all is well."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    mill = Mill(link(good.root, folder / "lake"))
    mill.store.put(odd.path, odd.data)
    if odd.seal and (not sealed(mill, odd) or mill.store.read(odd.path) == good.store.read(odd.path)):
        return []  # nothing is left of it
    kept = _kept(mill)
    names = (odd.path.removesuffix(TABLE).removesuffix(".json"), ledger_of_object(odd.path) or odd.path)
    wrong: list[str] = []
    for name, words in commands(mill.root).items():
        code, told = _run(words)
        if code not in {0, 1, 2} or "damage, or a bug" in told or "Traceback" in told:
            wrong.append(f"{name}: exit code {code}: {told[-600:]}")
        if (
            name == "verify"
            and code == 0
            and not any(re.fullmatch(each, str(odd._replace(seal=False))) for each in NOT_PROVEN)
        ):
            wrong.append("verify: proven")
        if name == "verify" and code and not any(each in told for each in names):
            wrong.append(f"verify: not named: {told[-600:]}")
        if name == "gc" and code == 0 and not re.search(r"^0 parts would be removed", told, re.MULTILINE):
            wrong.append(f"gc: {told[-600:]}")
    if _kept(mill) != kept:
        wrong.append("what no run may change has changed")
    return [f"{odd}: {each}" for each in wrong]


def _run(words: list[str]) -> tuple[object, str]:
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            code: object = main(words)
        except BaseException as error:  # noqa: BLE001 - whatever it is, a person would see its trace
            code = repr(error)
    return code, told.getvalue()


def _kept(mill: Mill) -> dict[str, bytes]:
    return {each.path: mill.store.read(each.path) for each in mill.store.list("") if each.path.startswith(KEPT)}


def drawn(odd: list[Odd], seed: int, count: int) -> list[Odd]:
    """Some of the odd records, each as it is or sealed."""
    draw = random.Random(seed)
    return [each._replace(seal=draw.random() < 0.5) for each in draw.sample(odd, min(count, len(odd)))]
