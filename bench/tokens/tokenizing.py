"""Token caches of one gzip shard of documents: ours, `dolma tokens`, datatrove's DocumentTokenizer, real Levanter.

Ours is the platform's step over a lake, from gzip documents to a finished Levanter cache that is read back and proven.
All read the same shard with the same tokenizer, in one process each; every id of every document is compared.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.harness.cost import Cost, answer, timed
from bench.harness.place import SNAPSHOT, SOURCE
from bench.harness.row import Row
from bench.inputs.bpe import SAMPLE, pair
from bench.inputs.corpus import texts, write_texts
from bench.inputs.real_corpus import real_texts
from bench.inputs.shelf import raw_folder, variables, write_shelf
from bench.tokens.peers import (
    datatrove_tokens,
    dolma_tokens,
    field_of,
    levanter_cache,
    levanter_folder,
    levanter_imports,
    same_as_datatrove,
    same_as_dolma,
    tokenizers_alone,
)
from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.store.folder import FolderStore
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.tokenization.training import make_tokenizer

MEGABYTES = 50
SIZE = "GRISTMILL_BENCH_TEXT_MB"
SEED = 20_211_208
TIMES = 3
"""How often ours is made; the cheapest counts."""


class Peer(NamedTuple):
    """Another program: its bar, and what runs and compares it."""

    name: str
    cpu: float
    wall: float
    run: Callable[["Bench"], tuple[Cost, bool, str]]


class Bench(NamedTuple):
    """What is measured: a shard in a lake, a tokenizer in that lake, and its file."""

    lake: Path
    shard: Path
    tokenizer: str
    file: Path
    out: Path


def run(work: Path) -> list[Row]:
    """A row a corpus, tokenizer and peer; `work` is an empty folder."""
    tokenizers = pair(work / "tokenizers")
    size = round(float(os.environ.get(SIZE, str(MEGABYTES))) * 1e6)
    corpora: dict[str, Iterable[str]] = {"corpus": texts(SEED, size)}
    sample = os.environ.get(SAMPLE)
    if sample:
        corpora["real text"] = real_texts(Path(sample))
    imports = levanter_imports(work)
    rows: list[Row] = []
    for name, stock in corpora.items():
        folder = work / name.replace(" ", "-")
        lake = text_lake(folder, next(iter(tokenizers.values())), [stock])
        [shard] = (lake / "mixes" / "whole" / "documents" / SOURCE / SNAPSHOT).iterdir()
        for kind, file in tokenizers.items():
            rows += _rows(f"{name}, {kind}", Bench(lake, shard, bring(lake, kind, file), file, folder / kind), imports)
    return rows


def text_lake(folder: Path, tokenizer: Path, shards: Iterable[Iterable[str]]) -> Path:
    """A lake with the texts as documents of the mix `whole`, one gzip shard each."""
    folder.mkdir()
    write_shelf(folder, tokenizer)
    lake = folder / "lake"
    write_texts(raw_folder(lake), shards)
    timed(
        [sys.executable, "-m", "bench.stages.steps", "convert", "mix:whole"],
        folder / "mix.log",
        variables(folder, lake),
    )
    return lake


def bring(lake: Path, kind: str, file: Path) -> str:
    """Puts a tokenizer into the lake, as is done once for all its caches; its name."""
    name = f"bench-{kind}-1"
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    make_tokenizer(FolderStore(str(lake)), Tokenizer(name=name, file=str(file), sha256=sha256), lambda _: None)
    return name


def spell(lake: Path, tokenizer: str, log: Path, *options: str | Path) -> tuple[Cost, dict[str, Any]]:
    """Makes and proves a token cache in a process of its own: what it cost, and what it said."""
    cost = timed([sys.executable, "-m", "bench.tokens.spelling", lake, tokenizer, *options], log)
    said: dict[str, Any] = answer(log)
    return cost, said


def forget(lake: Path, tokenizer: str) -> None:
    """Removes the token caches of a tokenizer, so that they are made anew."""
    store = FolderStore(str(lake))
    store.delete([entry.path for entry in store.list(f"token_caches/whole/{tokenizer}/")])


def cheapest(lake: Path, tokenizer: str, log: Path, *options: str | Path) -> tuple[Cost, dict[str, Any]]:
    """The cheapest of a few runs, each from nothing."""
    found: list[tuple[Cost, dict[str, Any]]] = []
    for _ in range(TIMES):
        forget(lake, tokenizer)
        found.append(spell(lake, tokenizer, log, *options))
    return min(found, key=lambda each: each[0].cpu_s)


def train_folder(lake: Path, tokenizer: str) -> str:
    """Where in the lake the one part lies that was made."""
    here = place(cache_asset("whole", tokenizer, SOURCE), SNAPSHOT)
    _, (part,) = read_ledger(FolderStore(str(lake)), here)
    folder: str = part.extra["folders"]["train"]
    return folder.rstrip("/")


def same_cache(lake: Path, tokenizer: str, root: Path, cache: str, fields: Iterable[str]) -> bool:
    """Whether a cache of Levanter's has our rows, element by element."""
    ours = train_folder(lake, tokenizer)
    for field in fields:
        (ids, lengths), (their_ids, their_lengths) = field_of(lake, ours, field), field_of(root, cache, field)
        if not np.array_equal(ids, their_ids) or not np.array_equal(lengths, their_lengths):
            return False
    return True


def _rows(name: str, bench: Bench, imports: Cost) -> list[Row]:
    bench.out.mkdir()
    ours, said = cheapest(bench.lake, bench.tokenizer, bench.out / "ours.log")
    made = said["made"]
    size = f"{made['text bytes'] / 1e6:.0f} MB, {made['tokens']:,} tokens"
    rows: list[Row] = []
    for peer in PEERS:
        cost, same, note = peer.run(bench)
        cpu, wall = cost.cpu_s / ours.cpu_s, cost.wall_s / ours.wall_s
        detail: Mapping[str, Any] = {"ours": said, "imports": imports.plain() if "Levanter" in peer.name else None}
        rows.append(
            Row(
                name=f"tokenizing {name}",
                ours=ours,
                peer=cost,
                peer_name=peer.name,
                agree=same,
                bar=f">= {peer.cpu:.0f}x CPU" + (f" and {peer.wall:.0f}x wall" if peer.wall else ""),
                met=cpu >= peer.cpu and wall >= peer.wall,
                note=f"{peer.name}; {size}; {note}",
                detail=dict(detail),
            )
        )
    return rows


def _alone(bench: Bench) -> tuple[Cost, bool, str]:
    cost = tokenizers_alone(bench.shard, bench.file, bench.out / "alone")
    ids, lengths = field_of(bench.lake, train_folder(bench.lake, bench.tokenizer))
    same = np.array_equal(ids, np.load(bench.out / "alone" / "ids.npy"))
    return cost, same and np.array_equal(lengths, np.load(bench.out / "alone" / "lengths.npy")), "no cache is written"


def _dolma(bench: Bench) -> tuple[Cost, bool, str]:
    cost = dolma_tokens(bench.shard, bench.file, bench.out / "dolma")
    return cost, *_counted(same_as_dolma(bench.shard, bench.file, bench.out / "dolma"))


def _datatrove(bench: Bench) -> tuple[Cost, bool, str]:
    cost = datatrove_tokens(bench.shard, bench.file, bench.out / "datatrove")
    return cost, *_counted(same_as_datatrove(bench.shard, bench.file, bench.out / "datatrove"))


def _counted(found: tuple[int, int]) -> tuple[bool, str]:
    same, total = found
    return same == total > 0, f"{same} of {total} documents identical"


def _levanter(bench: Bench) -> tuple[Cost, bool, str]:
    folder = levanter_folder(bench.file, bench.out / "levanter-tokenizer")
    cost = levanter_cache([bench.shard], folder, bench.out / "levanter", {"type": "text"})
    same = same_cache(bench.lake, bench.tokenizer, bench.out, "levanter", ["input_ids"])
    return cost, same, "its cache of the same shard"


PEERS = (
    Peer("dolma tokens", 20.0, 0.0, _dolma),
    Peer("datatrove", 15.0, 0.0, _datatrove),
    Peer("Levanter", 15.0, 15.0, _levanter),
    Peer("tokenizers alone", 0.0, 0.0, _alone),
)
"""A bar of 0 is none."""
