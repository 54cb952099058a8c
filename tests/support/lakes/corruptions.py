"""Every corruption of every object of a lake, by class: what `verify` must find, and what it need not find and why."""

import copy
import gzip
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from lies import audit
from testkit import SHELVES, SNAPSHOT, Mill, make_documents
from wholelake import TOKENIZER, even

from gristmill.execution.finding import Finding
from gristmill.lake.asset_kinds import ledger_of_object
from gristmill.recipes.export import Export, Oscar
from gristmill.recipes.row_format import Text
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.export.index import index_export
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.index import write_mix_index
from gristmill.stages.mixing.step import revision_step, stream_step
from gristmill.stages.packing.plans import plan_cache
from gristmill.stages.token_cache.step import TokenCacheStep

EXCEPTIONS = {
    r"sources/[^/]+/raw/.+: .+": "raw objects are the input; `verify --raw` reads them",
    r".+\.run\.json: .+": "the note of a run is part of no proof: without it, the next run takes longer",
    r".+/ledgers/.+\.json: 0/recipe/draft turned": "no digest covers it: ledgers of 0.1 must keep their fingerprints",
    r"tokenizers/.+/ledger\.json: 0/digest left out": "ledgers of 0.1 have none, and are read as they are",
}
"""Corruptions, written as `path: what`, that need not be found; each with the reason."""


class Corruption(NamedTuple):
    """One object with other bytes.

    Attributes:
        path: the object.
        what: the kind of corruption.
        data: its bytes now; None: it is gone.
    """

    path: str
    what: str
    data: bytes | None

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


KNOWN = {"pages": [SNAPSHOT, "2025"]}


def close_everything(mill: Mill) -> None:
    """Adds to the lake of make_whole a second slice, and all that is made from slices.

    These are an export, all indexes, a consolidated copy and two packing plans. Document 104 is the only one of the
    second slice.
    """
    mill.raw("a.jsonl.gz", make_documents(5, start=100), snapshot="2025")
    for step in (
        mill.conversion(snapshot="2025"),
        replace(mill.tagging("words-1", "characters-1"), snapshot="2025"),
        revision_step(mill.source(), "v1", "2025", SHELVES),
        stream_step(even(), "pages", "2025", SHELVES),
        TokenCacheStep(even(), "pages", TOKENIZER, "2025", SHELVES),
    ):
        mill.make(step)
    write_mix_index(mill.store, even(), {"pages": mill.source()}, KNOWN)
    index_cache(mill.store, even(), TOKENIZER, {"pages": mill.source()}, KNOWN, consolidated=True)
    packed = replace(even(), streams=(replace(even().streams[0], format=Text(pack=3)),))
    export = Export(name="oscar", mixes=("even",), format=Oscar())
    for snapshot in KNOWN["pages"]:
        mill.make(ExportStep(even(), "pages", export, snapshot, SHELVES))
    index_export(mill.store, even(), export, {"pages": mill.source()}, KNOWN)
    for length in (8, 16):
        plan_cache(mill.store, packed, TOKENIZER, length, mill.said.append)


def corruptions(mill: Mill, seed: int) -> list[Corruption]:
    """All corruptions of the objects of a lake, those of EXCEPTIONS left out."""
    draw = random.Random(seed)  # of the byte that is flipped
    paths = sorted(entry.path for entry in mill.store.list(""))
    objects = {path: mill.store.read(path) for path in paths}
    found: list[Corruption] = []
    for path, data in objects.items():
        at = draw.randrange(len(data))
        flipped = bytes([*data[:at], data[at] ^ 1, *data[at + 1 :]])
        found += [
            Corruption(path, "deleted", None),
            Corruption(path, "emptied", b""),
            Corruption(path, "its last byte cut", data[:-1]),
            Corruption(path, f"byte {at} flipped", flipped),
        ]
        found += [Corruption(path, f"swapped with {other}", objects[other]) for other in _sibling(path, objects)]
        found += _edits(path, data)
    return [each for each in found if not any(re.fullmatch(pattern, str(each)) for pattern in EXCEPTIONS)]


def _sibling(path: str, objects: dict[str, bytes]) -> list[str]:
    """The next object of the same name's ending in the same folder or in the folders beside it, with other bytes."""
    here = PurePosixPath(path)
    alike = [
        other
        for other, data in objects.items()
        if other != path
        and PurePosixPath(other).suffix == here.suffix
        and data != objects[path]
        and (PurePosixPath(other).parent == here.parent or PurePosixPath(other).name == here.name)
    ]
    return alike[:1]


def _edits(path: str, data: bytes) -> Iterator[Corruption]:
    """The JSON of an object with one value changed, left out or turned round."""
    packed = path.endswith(".shards.jsonl.gz")
    if not packed and not path.endswith((".json", ".yaml")):
        return
    lines = [json.loads(line) for line in (gzip.decompress(data).splitlines() if packed else [data])]
    for where in _places(lines):
        for what, value in _others(_at(lines, where)):
            other = copy.deepcopy(lines)
            if value is GONE:
                del _at(other, where[:-1])[where[-1]]
            else:
                _at(other, where[:-1])[where[-1]] = value
            text = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" * packed for line in other)
            name = "/".join(map(str, where))
            yield Corruption(path, f"{name} {what}", gzip.compress(text, mtime=0) if packed else text)


GONE = object()
Where = tuple[Any, ...]


def _places(value: Any, where: Where = ()) -> Iterator[Where]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield (*where, key)
        yield from _places(each, (*where, key))


def _at(value: Any, where: Where) -> Any:
    for key in where:
        value = value[key]
    return value


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    """What may stand in the place of a value."""
    yield "left out", GONE
    if isinstance(value, bool):
        yield "turned", not value
    elif isinstance(value, int | float):
        yield "one more", value + 1
    elif isinstance(value, str):
        yield "longer", value + "0"
    elif value is None:
        yield "given", 0
    elif isinstance(value, list) and value[::-1] != value:
        yield "reversed", value[::-1]


def missed(mill: Mill, planted: Corruption) -> str:
    """Plants a corruption, audits the lake, and takes it out again.

    Returns:
        What is wrong with the audit's answer; empty if it found the corruption and said how to mend it.
    """
    before = mill.store.read(planted.path)
    if planted.data is None:
        mill.store.delete([planted.path])
    else:
        mill.store.put(planted.path, planted.data)
    try:
        return _judge(planted, audit(mill)[0])
    except Exception as error:  # noqa: BLE001 - whatever it is, an audit must not break off
        return f"{planted}: {type(error).__name__}: {error}"
    finally:
        mill.store.put(planted.path, before)


def _ledger(path: str) -> str:
    """The ledger of an object: a lie in a ledger is told of an object that the ledger names."""
    return ledger_of_object(path) or path


def _judge(planted: Corruption, found: list[Finding]) -> str:
    if not found:
        return f"{planted}: not found"
    if not any(planted.path in str(f) or _ledger(planted.path) == _ledger(f.path) for f in found):
        return f"{planted}: not named, but {found[0]}"
    if not all(finding.mend for finding in found):
        return f"{planted}: no mend"
    return ""
