"""Tracing in a lake of 10 million documents: from an id to all its places, and from a token back to its raw record.

The lake is made without the mill, in a minute or two and 1.6 GB: plain raw lines, v0 with its id indexes and raw
raw_spans, one attribute set, v1 without every tenth document, a mix of all of v1, and a token cache of eight tokens a
document with every hundredth held out. Each question is asked by a process of its own, and its answer compared with
what was put there. How many requests it costs is counted in this process: in a bucket each takes some 20 ms, and
indexes are read 64 at once.
"""

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bench.harness.cost import Cost, timed
from bench.harness.row import Row
from gristmill.execution.document_writer import DocumentWriter
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.formats.levanter.cache import CacheWriter
from gristmill.formats.levanter.cache_ledger import LEDGER_NAME, CacheLedger, dump_ledger, merged_ledger
from gristmill.lake.address import Place, attributes_asset, cache_asset, documents_asset, mix_asset, place, raw_asset
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table
from gristmill.lake.ledger.model import Input, Recipe, Shard, Upstream
from gristmill.lake.rows.bitmap import pack_bits
from gristmill.lake.rows.raw_spans import RawSpan, RawSpansWriter
from gristmill.lake.rows.shard_file import ShardWriter
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Store
from gristmill.tracing.raw import Shelves
from gristmill.tracing.trace import trace_document, trace_token_document

SHARDS, ROWS = 100, 100_000
PARTS, TOKENS = 8, 8
SECONDS = 1.0
DROPPED = 10
"""v1 is without the numbers that this divides; the one behind it is held out for validation, each tenth of them."""

RAW = raw_asset("pages")
V0, V1 = (place(documents_asset("pages", version), "2024") for version in ("v0", "v1"))
SET = place(attributes_asset("pages", "v0", "length-1"), "2024")
STREAM = place(mix_asset("even", "pages"), "2024")
CACHE = place(cache_asset("even", "words-1", "pages"), "2024")
SELECTION = {
    "columns": [["number", "metadata.number", "BIGINT"]],
    "include": [],
    "exclude": [["tenth", f"number % {DROPPED} = 0"]],
    "blocklists": [],
    "rate": 1.0,
    "seed": 0,
}


def run(work: Path, shards: int = SHARDS, rows: int = ROWS) -> list[Row]:
    """A row a question; `work` is an empty folder."""
    lake = work / "lake"
    lake.mkdir()
    Maker(FolderStore(str(lake)), shards, rows).make()
    number = shards * rows // 2 + 1  # in the middle; neither dropped nor held out
    asked = {
        "trace a document": (["pages", f"doc-{number}"], lambda found: _right(found, number, rows)),
        "trace one that a rule dropped": (["pages", f"doc-{number - 1}"], lambda found: _dropped(found, number - 1)),
        "trace a token": (
            [f"{CACHE.asset}:{_offset(lake, number) + 5}"],
            lambda found: found["number"] == 5 and _right(found["document"], number, rows),
        ),
    }
    return [
        _row(f"{name}, {shards * rows:,} documents", work, lake, words, right) for name, (words, right) in asked.items()
    ]


def _row(name: str, work: Path, lake: Path, words: list[str], right: Callable[[Any], bool]) -> Row:
    """The question three times; the middle one counts."""
    costs: list[Cost] = []
    agree = True
    for turn in range(3):
        log = work / f"trace-{turn}.log"
        costs.append(timed([sys.executable, "-m", "gristmill", "trace", lake, *words, "--json"], log))
        agree &= right(json.loads(Path(f"{log}.out").read_bytes()))
    middle = sorted(costs, key=lambda cost: cost.wall_s)[1]
    requests = _requests(lake, words)
    return Row(
        name=name,
        ours=middle,
        agree=agree,
        bar=f"< {SECONDS:.0f} s wall",
        met=middle.wall_s < SECONDS,
        note=f"{requests['all']} requests, {requests['of id indexes']} of them of id indexes",
        detail={"turns": [cost.plain() for cost in costs], "requests": requests},
    )


def _right(found: Any, number: int, rows: int) -> bool:
    """Whether all places of a document are where they were put."""
    shard, row = divmod(number, rows)
    raw = (Path(found["raw"]["path"]).name, found["raw"]["counted_in"])
    begin, end = found["raw"]["range"]
    return (
        raw == (f"{shard:03d}.jsonl", "object")
        and end - begin == len(_line(number))
        and found["id"] == f"doc-{number}"
        and [each["row"] for each in found["documents"]] == [row, row - row // DROPPED - 1]
        and [each["attributes"] for each in found["attributes"]] == [{"length-1__number": [[0, 1, float(number)]]}]
        and [each["row"] for each in found["mixes"]] == [row - row // DROPPED - 1]
        and [each["tokens"][1] - each["tokens"][0] for each in found["token_caches"]] == [TOKENS]
    )


def _dropped(found: Any, number: int) -> bool:
    why = f"dropped by rule tenth: number % {DROPPED} = 0; number is {number}"
    return [each.get("why") for each in (*found["documents"], *found["mixes"])] == [
        None,
        why,
        f"not in {V1.asset} either",
    ]


def _line(number: int) -> bytes:
    return b'{"id":"doc-%d","text":"a few words","source":"pages","metadata":{"number":%d}}' % (number, number)


def _offset(lake: Path, number: int) -> int:
    """The first token of a document, as a first question gives it."""
    (found,) = trace_document(FolderStore(str(lake)), "pages", f"doc-{number}", Shelves(("gristmill",), {}))
    tokens = found.token_caches[0].tokens
    return tokens[0] if tokens else 0


class Counting:
    """A store that counts what would be a request to a bucket."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.counts: dict[str, int] = {}
        self.of_indexes = 0

    def __getattr__(self, verb: str) -> Any:
        there = getattr(self._store, verb)
        if not callable(there):
            return there

        def counted(path: str, *more: Any) -> Any:
            self.counts[verb] = self.counts.get(verb, 0) + 1
            self.of_indexes += path.endswith(".xxh128")
            return there(path, *more)

        return counted


def _requests(lake: Path, words: list[str]) -> dict[str, int]:
    store, shelves = Counting(FolderStore(str(lake))), Shelves(("gristmill",), {})
    if len(words) == 2:
        list(trace_document(store, words[0], words[1], shelves))
    else:
        asset, _, offset = words[0].partition(":")
        trace_token_document(store, asset, "train", int(offset), shelves)
    return {**store.counts, "all": sum(store.counts.values()), "of id indexes": store.of_indexes}


class Maker:
    """Writes the lake, shard by shard. `lists`: names of the blocklists that the mix names."""

    def __init__(self, store: FolderStore, shards: int, rows: int, lists: Sequence[str] = ()) -> None:
        self._store, self._rows, self._lists = store, rows, list(lists)
        self._names = [f"{number:03d}" for number in range(shards)]
        self._tables: dict[str, list[Shard]] = {here.asset: [] for here in (V0, SET, V1, STREAM)}

    def make(self) -> None:
        """All of it."""
        for shard, name in enumerate(self._names):
            self._shard(name, shard * self._rows)
        v0 = self._seal(V0, {"shards": ["one-to-one"], "select": None}, [Upstream(RAW, "2024", "")])
        beside = self._seal(SET, {}, [v0])
        v1 = self._seal(V1, SELECTION, [v0, beside])
        self._seal(STREAM, {**SELECTION, "exclude": [], "columns": [], "blocklists": self._lists}, [v1])
        self._spell()

    def _shard(self, name: str, first: int) -> None:
        numbers = range(first, first + self._rows)
        lines = [_line(number) for number in numbers]
        self._store.put(f"{RAW}/2024/{name}.jsonl", b"\n".join([*lines, b""]))
        raw_spans, begin = RawSpansWriter(), 0
        raw_spans.begin_object()
        for line in lines:
            raw_spans.add(RawSpan(begin, begin + len(line)))
            begin += len(line) + 1
        v0 = self._documents(V0, name, numbers, lines, Input(RAW, f"{name}.jsonl", ""), raw_spans.packed_spans())
        writer = ShardWriter(self._store, SET.shard(name))
        row = b'{"id":"doc-%d","source":"pages","attributes":{"length-1__number":[[0,1,%d.0]]}}\n'
        writer.write(b"".join([row % (number, number) for number in numbers]))
        written = writer.close()
        beside = Shard(
            **{key: getattr(written, key) for key in ("rows", "bytes", "length", "sha256", "content")},
            name=name,
            ids=v0.ids,
            recipe="",
            inputs=(Input(V0.asset, name, v0.content),),
            members=tuple(written.members),
        )
        self._tables[SET.asset].append(beside)
        kept = [number for number in numbers if number % DROPPED]
        some = [lines[number - first] for number in kept]
        v1 = self._documents(V1, name, kept, some, Input(V0.asset, name, v0.content))
        self._tables[STREAM.asset].append(msgspec.structs.replace(v1, inputs=(Input(V1.asset, name, v1.content),)))
        for copy, path in ((STREAM.shard(name), V1.shard(name)), (STREAM.index(name), V1.index(name))):
            target = Path(self._store.url) / copy
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(Path(self._store.url) / path, target)

    def _documents(
        self, here: Place, name: str, numbers: Any, lines: list[bytes], made_from: Input, raw_spans: bytes = b""
    ) -> Shard:
        beside = [Input(SET.asset, name, self._tables[SET.asset][-1].content)] if here is V1 else []
        spec = OneAssetSpec(place=here, token="", recipe="")
        writer = DocumentWriter(self._store, spec, name, (made_from, *beside))
        writer.write(b"\n".join([*lines, b""]), [("pages", f"doc-{number}") for number in numbers])
        writer.packed_spans = raw_spans
        shard = writer.close().row
        self._tables[here.asset].append(shard)
        return shard

    def _seal(self, here: Place, parameters: dict[str, Any], inputs: list[Upstream]) -> Upstream:
        return self._put(here, parameters, inputs, self._tables[here.asset])

    def _put(self, here: Place, parameters: dict[str, Any], inputs: list[Upstream], shards: list[Shard]) -> Upstream:
        ledger = compose_ledger(here, Recipe(here.asset, 1, parameters), tuple(inputs), shards)
        self._store.put(here.table, pack_table(shards))
        self._store.put(here.ledger, as_json(ledger))
        return ledger.upstream

    def _spell(self) -> None:
        """The cache: the shards in parts, in turn."""
        rows, merged = [], {split: dict[str, CacheLedger]() for split in ("train", "validation")}
        for number in range(PARTS):
            mine = self._tables[STREAM.asset][number::PARTS]
            name = f"part-{number:05d}-0123456789abcdef"
            folders = {split: f"{CACHE.part_folder(split)}{name}/" for split in merged}
            held = {shard.name: _held(shard.rows) for shard in mine}
            starts = dict.fromkeys(merged, 0)
            shards: dict[str, Any] = {}
            for shard in mine:
                counts = {"validation": int(held[shard.name].sum())}
                counts["train"] = shard.rows - counts["validation"]
                shards[shard.name] = {
                    "content": shard.content,
                    "ranges": {s: [starts[s], counts[s], starts[s] * TOKENS, counts[s] * TOKENS] for s in merged},
                    "held": pack_bits(held[shard.name]),
                }
                starts = {split: starts[split] + counts[split] for split in merged}
            for split, ledgers in merged.items():
                ledgers[f"2024/{name}"] = self._part(folders[split], starts[split])
            rows.append(_cache_row(name, sum(starts.values()), {"folders": folders, "shards": shards, "objects": {}}))
        for split, ledgers in merged.items():
            self._store.put(f"{CACHE.asset}/{split}/{LEDGER_NAME}", dump_ledger(merged_ledger(ledgers)))
        parameters = {"validation": 0.01, "validation_seed": 1}
        self._put(CACHE, parameters, [Upstream(STREAM.asset, "2024", "")], rows)

    def _part(self, folder: str, rows: int) -> CacheLedger:
        writer = CacheWriter(lambda name: self._store.upload(folder + name), {"input_ids": "int32"})
        for some in _slices(rows):
            lengths = np.full(some, TOKENS, np.int64)
            writer.append_batch({"input_ids": (np.arange(some * TOKENS, dtype=np.int32) % 50_000, lengths)})
        return writer.close()


def _held(rows: int) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    held = np.zeros(rows, np.bool_)
    held[50::100] = True
    return held


def _slices(rows: int) -> Iterator[int]:
    for start in range(0, rows, 100_000):
        yield min(100_000, rows - start)


def _cache_row(name: str, rows: int, extra: dict[str, Any]) -> Shard:
    return Shard(
        name=name,
        rows=rows,
        bytes=0,
        length=0,
        sha256="",
        content=digest_of(extra["shards"]),
        ids="",
        recipe="",
        inputs=(),
        extra=extra,
    )
