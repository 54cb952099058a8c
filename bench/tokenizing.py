"""Tokenizing one gzip shard of documents, one process each: ours, `dolma tokens`, and `tokenizers` alone.

Ours is the platform's step over a lake, plan to ledger, to a finished Levanter cache. Ids are compared with those of
`tokenizers` on every document, and with Dolma's (which strips texts and appends an EOS id) on every document when
encoded by its rules.
"""

import csv
import gzip
import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from bench.bpe import write_tokenizer
from bench.corpus import SNAPSHOT, SOURCE
from bench.cost import Cost, timed
from bench.environments import dolma
from bench.row import Row
from bench.shelf import EOS, new_lake, write_shelf
from gristmill.lake.address import cache_asset, place
from gristmill.lake.folder import FolderStore
from gristmill.lake.ledger import read_ledger
from gristmill.lake.levanter_cache import CacheReader, ranges_of
from gristmill.stages.encoding import Encoder

MEGABYTES = 50
REQUIRED = 15.0

Ids = npt.NDArray[np.int32]


def run(work: Path) -> list[Row]:
    """The row; `work` is an empty folder."""
    tokenizer = write_tokenizer(work / "tokenizer.json")
    write_shelf(work, tokenizer)
    lake, env, size = new_lake(work, 1, MEGABYTES * 1_000_000)
    here = [sys.executable, "-m", "bench.steps"]
    timed([*here, "convert", "mix:whole"], work / "convert.log", env)
    ours = timed([*here, "spell:whole"], work / "ours.log", env)
    (shard,) = (lake / "mixes" / "whole" / "documents" / SOURCE / SNAPSHOT).iterdir()
    alone = timed([sys.executable, "-m", "bench.tokenizing", shard, tokenizer, work], work / "reference.log")
    peer = _dolma(shard, tokenizer, work)
    ids, lengths = cache_ids(lake)
    reference = np.load(work / "reference-ids.npy"), np.load(work / "reference-lengths.npy")
    identical = np.array_equal(ids, reference[0]) and np.array_equal(lengths, reference[1])
    same, total = same_as_dolma(shard, tokenizer, work / "dolma")
    note = (
        f"{size / 1e6:.0f} MB, {len(ids):,} tokens; {alone.cpu_s / ours.cpu_s:.1f}x less CPU than `tokenizers` alone;"
        f" {'identical' if identical else 'NOT identical'} to it; {same} of {total} documents identical to dolma's"
    )
    return [
        Row(
            name="tokenizing",
            ours=ours,
            peer=peer,
            peer_name="dolma tokens",
            agree=identical and same == total,
            bar=f">= {REQUIRED:.0f}x CPU",
            met=peer.cpu_s / ours.cpu_s >= REQUIRED,
            note=note,
            detail={"tokenizers": alone.plain(), "documents": len(lengths), "tokens": len(ids)},
        )
    ]


def _dolma(shard: Path, tokenizer: Path, work: Path) -> Cost:
    """`dolma tokens` over the shard."""
    eos = Tokenizer.from_file(str(tokenizer)).token_to_id(EOS)
    command: list[str | Path] = [dolma().with_name("dolma"), "tokens", "--documents", shard]
    command += ["--destination", work / "dolma", "--dtype", "uint16", "--processes", "1"]
    command += ["--tokenizer.name_or_path", tokenizer, "--tokenizer.eos_token_id", str(eos)]
    return timed([*command, "--fields.id_field_name", "id"], work / "dolma.log")


def cache_ids(lake: Path) -> tuple[Ids, npt.NDArray[np.int64]]:
    """All ids of the one part that the step has made, and how many each document has."""
    store = FolderStore(str(lake))
    _, (part,) = read_ledger(store, place(cache_asset("whole", "bench-1", SOURCE), SNAPSHOT))
    cache = CacheReader(ranges_of(store), part.extra["folders"]["train"].rstrip("/"))
    ids = cache.elements("input_ids", 0, cache.count("input_ids"))
    return ids, np.diff(cache.bounds("input_ids", 0, cache.rows))


def same_as_dolma(shard: Path, tokenizer: Path, results: Path) -> tuple[int, int]:
    """Documents whose ids are dolma's when we encode by its rules (strip, EOS id unless there), of all."""
    tokens = {path.name.removesuffix(".npy"): np.memmap(path, np.uint16, "r") for path in results.glob("*.npy")}
    theirs: dict[str, npt.NDArray[np.uint16]] = {}
    for index in results.glob("*.csv.gz"):
        flat = tokens[index.name.removesuffix(".csv.gz")]
        with gzip.open(index, "rt", encoding="utf-8") as rows:
            theirs |= {row[2]: flat[int(row[0]) : int(row[1])] for row in csv.reader(rows)}
    encoder = Encoder(tokenizer.read_bytes(), eos=EOS, bos=None, eos_style="clean")
    same = total = 0
    for id_, text in read(shard):
        if text.strip():
            total += 1
            ours, _ = encoder.encode([text.strip()])
            same += id_ in theirs and np.array_equal(ours, theirs[id_])
    return same, total


def read(shard: Path) -> Iterator[tuple[str, str]]:
    """Ids and texts, as a plain program reads them."""
    with gzip.open(shard, "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            yield row["id"], row["text"]


def reference(shard: Path, tokenizer_file: Path, work: Path) -> None:
    """From the shard to flat ids with the `tokenizers` package, 64 texts at a time."""
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    rows: list[Ids] = []
    texts = (f"{text} {EOS}" for _, text in read(shard))
    while batch := list(islice(texts, 64)):
        encodings = tokenizer.encode_batch_fast(batch, add_special_tokens=False)
        rows.extend(np.array(encoding.ids, np.int32) for encoding in encodings)
    np.save(work / "reference-ids.npy", np.concatenate(rows))
    np.save(work / "reference-lengths.npy", np.fromiter(map(len, rows), np.int64, len(rows)))


if __name__ == "__main__":
    reference(*map(Path, sys.argv[1:]))
