"""Exact duplicates against Dolma's Rust, on the same packed documents: documents, paragraphs, 13-gram paragraphs.

Both are whole processes with one thread. Ours makes fingerprints, hash runs, verdicts, marks and the attribute set. The
Bloom filter of Dolma is large enough to make no error. Compared are the marked documents, and the starts of the marked
paragraphs. Its n-grams are of other words (those of UAX #29), so they are not compared.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.dedupe.exact_steps import UNITS, recipe_of
from bench.harness.cost import Cost, answer, timed
from bench.harness.environments import dolma
from bench.harness.row import Row
from bench.inputs.shelf import PACKAGE
from bench.taggers.corpus import megabytes
from bench.taggers.lake import TaggedLake

BARS = {"documents": 2.0, "paragraphs": 1.5, "13-grams": 2.0}
BLOOM = {"read_only": False, "estimated_doc_count": 30_000_000, "desired_false_positive_rate": 1e-9}
_NGRAM = {"ngram_length": 13, "stride": 0, "overlap_threshold": 1.0}
DEDUPES: dict[str, dict[str, Any]] = {
    "documents": {"documents": {"attribute_name": "dup", "key": "$.text"}},
    "paragraphs": {"paragraphs": {"attribute_name": "dup"}, "skip_empty": True},
    "13-grams": {"paragraphs": {"attribute_name": "dup", "by_ngram": _NGRAM}, "skip_empty": True},
}


def run(work: Path) -> list[Row]:
    """A row for each unit; `work` is an empty folder."""
    lake = TaggedLake.made(work / "made", megabytes() * 1_000_000, ())
    shelf = lake.work / PACKAGE / "dedupes"
    shelf.mkdir()
    (shelf / "__init__.py").touch()
    for number, unit in enumerate(UNITS):
        text = f"from bench.dedupe.exact_steps import recipe_of\n\nUNIT = recipe_of({unit!r})\n"
        (shelf / f"unit_{number}.py").write_text(text)
    return [_row(unit, lake, work) for unit in UNITS]


def _row(unit: str, lake: TaggedLake, work: Path) -> Row:
    log = work / f"ours-{unit}.log"
    ours = timed([sys.executable, "-m", "bench.dedupe.exact_steps", lake.root, unit], log, lake.env)
    steps = answer(log)
    peer = _dolma(unit, lake.documents, work / f"dolma-{unit}")
    small = work / "small"
    small.mkdir(exist_ok=True)
    (small / "0.jsonl.gz").write_bytes(gzip.compress(b'{"id":"1","text":"mill","source":"bench"}\n', mtime=0))
    start = _dolma(unit, small, work / f"dolma-{unit}-start")
    compared, different = _compared(unit, lake, work / f"dolma-{unit}" / "attributes" / "peer")
    begun = steps["start"]["cpu_s"]
    ratio, alone = peer.cpu_s / ours.cpu_s, (peer.cpu_s - start.cpu_s) / (ours.cpu_s - begun)
    return Row(
        name=f"exact duplicates: {unit}",
        ours=ours,
        peer=peer,
        peer_name="dolma dedupe",
        agree=None if unit == "13-grams" else not different,
        bar=f">= {BARS[unit]:g}x CPU without the starts",
        met=alone >= BARS[unit],
        note=f"{lake.size / 1e6:.0f} MB of text, {compared:,} marks; whole processes {ratio:.2f}x, without the starts"
        f" ({begun:.1f} and {start.cpu_s:.1f} CPU s) {alone:.2f}x{'; ' + different if different else ''}",
        detail={"size": lake.size, "steps": steps, "peer_start": start.plain(), "without_start": alone},
    )


def _dolma(unit: str, shards: Path, folder: Path) -> Cost:
    """What `dolma dedupe` costs with one thread. Its attributes are below `folder`, which is made."""
    documents = folder / "documents"
    documents.mkdir(parents=True)
    for shard in sorted(shards.glob("*.gz")):
        (documents / shard.name).hardlink_to(shard)
    config = {
        "documents": [f"{documents}/*.gz"],
        "dedupe": {"name": "peer", **DEDUPES[unit]},
        "bloom_filter": {"file": f"{folder}/bloom", **BLOOM},
        "processes": 1,
    }
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1"}
    return timed([dolma().with_name("dolma"), "-c", path, "dedupe"], folder / "dolma.log", keys)


def _compared(unit: str, lake: TaggedLake, theirs: Path) -> tuple[int, str]:
    """How many marks were compared, and the first difference."""
    folder = lake.attributes(recipe_of(unit).name)
    count = 0
    for path in sorted(folder.iterdir()):
        pairs = zip(_rows(path), _rows(theirs / path.name), strict=True)
        for number, (mine, other) in enumerate(pairs):
            ours = [span[0] for spans in mine["attributes"].values() for span in spans]
            peer = [span[0] for spans in other["attributes"].values() for span in spans]
            if ours != peer:
                return count, f"{path.name} row {number}: {ours[:5]}, but Dolma has {peer[:5]}"
            count += len(ours)
    return count, ""


def _rows(path: Path) -> Iterator[Any]:
    with gzip.open(path) as file:
        yield from map(json.loads, file)
