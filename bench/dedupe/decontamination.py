"""Decontamination: megabytes of text a CPU-second in which a new evaluation set rereads packed documents.

One process: it unpacks, parses and marks. The evaluation sets have 5,000 items of 60 words each, which are put together
of the documents' own words, and 50 passages that are in the documents. Each of these must be found. The start of Python
is not in it. GRISTMILL_BENCH_TAGGERS_MB takes another size than 100 MB.
"""

import random
from pathlib import Path

from bench.harness.cost import Cost, measured
from bench.harness.row import Row
from bench.taggers.corpus import megabytes
from bench.taggers.lake import TaggedLake
from gristmill.lake.rows.batches import TextRow, read_rows
from gristmill.lake.store.open import open_store
from gristmill.text.overlaps.finder import overlaps
from gristmill.text.overlaps.index import OverlapIndex

ITEMS, WORDS, PLANTED = 5_000, 60, 50
BAR = 100
_SEED = 13


def run(work: Path) -> list[Row]:
    """One row; `work` is an empty folder."""
    lake = TaggedLake.made(work / "lake", min(megabytes(), 100) * 1_000_000, ())
    paths = sorted(path.name for path in lake.documents.iterdir())
    texts = [text for path in paths for text in _texts(lake.documents, path)]
    chance = random.Random(_SEED)  # noqa: S311 - items, no secret
    some = " ".join(chance.sample(texts, min(len(texts), 2000))).split()
    words = [word for word in some if word.isascii() and word.isalpha()]
    items = [("made", number, " ".join(chance.choices(words, k=WORDS))) for number in range(1, ITEMS + 1)]
    long = [text.split() for text in texts if len(text.split()) > 2 * WORDS][:: max(len(texts) // (4 * PLANTED), 1)]
    planted = [" ".join(each[9 : 9 + WORDS]) for each in long[:PLANTED]]
    items += [("planted", ITEMS + number, text) for number, text in enumerate(planted, 1)]
    del texts, words, some
    with measured() as building:
        index = OverlapIndex.build(items, 13, 5)
    with measured() as costs:
        hits = {item for path in paths for item in _items(index, lake.documents, path)}
    rate = lake.size / costs[0].cpu_s / 1e6
    found = all(number in hits for name, number, _ in items if name == "planted")
    return [_row(costs[0], building[0], rate, lake.size, len(index.ngrams["made"].items), agree=found)]


def _row(cost: Cost, building: Cost, rate: float, size: int, ngrams: int, *, agree: bool) -> Row:
    return Row(
        name="decontamination: a new evaluation set",
        ours=cost,
        agree=agree,
        bar=f">= {BAR} MB of text a CPU-second",
        met=rate >= BAR,
        note=f"{rate:.0f} MB of text a CPU-second with unpacking and parsing, {size / 1e6:.0f} MB; {ngrams:,} n-grams"
        f" of {ITEMS:,} items, indexed in {building.cpu_s:.1f} CPU s; planted passages are all found: {agree}",
        detail={"size": size, "index": building.plain(), "rate": rate},
    )


def _texts(folder: Path, name: str) -> list[str]:
    return [row.text for _, rows in read_rows(open_store(str(folder)), name, None, TextRow) for row in rows]


def _items(index: OverlapIndex, folder: Path, name: str) -> set[int]:
    """The items that the documents of a shard have."""
    found: set[int] = set()
    for _, rows in read_rows(open_store(str(folder)), name, None, TextRow):
        for spans in overlaps(index, [row.text for row in rows]).values():
            for each in spans:
                found.update(each[:, 2].tolist())
    return found
