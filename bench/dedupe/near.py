"""Near duplicates, from texts to clusters: our steps beside datatrove's four stages, over the same documents.

Both take 5-grams, 14 bands of 8. The words differ (datatrove divides English with spaCy or NLTK, and takes numbers as
equal), so clusters of real texts differ a little. Compared are the planted pairs: how many of each level both find,
beside the theory, 1 - (1 - s^8)^14; and how many documents are similar indeed to the first of their cluster. Start-ups
are measured on a tiny corpus and taken off.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from bench.dedupe.near_corpus import EACH, LEVELS, PlantedCorpus, write_planted
from bench.harness.cost import Cost, answer, timed
from bench.harness.environments import datatrove
from bench.harness.place import SNAPSHOT
from bench.harness.row import Row
from bench.inputs.shelf import PACKAGE, raw_folder, variables
from gristmill.text.units.shingles import hash_shingles

BAR = 40.0
SIMILAR = 0.5
"""A document that is less similar to the first of its cluster is found by mistake."""
SCRIPT = Path(__file__).with_name("datatrove_minhash.py")
_SOURCE = """
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import Source

BENCH = Source(name="bench", convert=DolmaLines("bench"))
"""

Place = tuple[int, int]
Clusters = Mapping[Place, object]


def run(work: Path) -> list[Row]:
    """The row; `work` is an empty folder."""
    size = int(float(os.environ.get("GRISTMILL_BENCH_NEAR_MB", "10")) * 1_000_000)
    tiny = _measured(work / "tiny", 0, 1)
    corpus, ours, peer, steps, clusters, theirs = _measured(work / "whole", size, EACH)
    text = (corpus.size - tiny[0].size) / 1e6
    plain, other = _less(ours, tiny[1]), _less(peer, tiny[2])
    found = {name: _found(corpus, each) for name, each in (("ours", clusters), ("datatrove", theirs))}
    precision = {name: _precision(corpus, each) for name, each in (("ours", clusters), ("datatrove", theirs))}
    theory = [1 - (1 - corpus.similarities[n * EACH] ** 8) ** 14 for n in range(len(LEVELS))]
    both = sum(_same(corpus, clusters) & _same(corpus, theirs))
    worse = [
        a < b - 3 * (2 * t * (1 - t) / EACH) ** 0.5
        for a, b, t in zip(found["ours"], found["datatrove"], theory, strict=True)
    ]
    return [
        Row(
            name="near duplicates: MinHash, datatrove",
            ours=plain,
            peer=other,
            peer_name="datatrove MinhashDedup, four stages",
            agree=not any(worse) and precision["ours"] >= min(0.99, precision["datatrove"]),
            bar=f">= {BAR:g}x CPU",
            met=other.cpu_s / plain.cpu_s >= BAR,
            note=f"{text:.1f} MB of text; {text / plain.cpu_s:.1f} MB a CPU-second, datatrove {text / other.cpu_s:.2f};"
            f" of {len(LEVELS) * EACH} planted pairs {both} found by both; start-up {tiny[1].cpu_s:.1f} CPU s,"
            f" datatrove {tiny[2].cpu_s:.1f}; with start-ups {peer.cpu_s / ours.cpu_s:.1f}x",
            detail={
                "levels": LEVELS, "recall": found, "theory": theory, "precision": precision, "steps": steps,
                "whole": ours.plain(), "whole datatrove": peer.plain(),
            },
        )
    ]  # fmt: skip


def _measured(work: Path, size: int, each: int) -> tuple[PlantedCorpus, Cost, Cost, object, Clusters, Clusters]:
    """The corpus, our cost and datatrove's, what our steps say, and both clusters."""
    lake = work / "lake"
    corpus = write_planted(raw_folder(lake), size, each)
    env = variables(work, lake)
    for folder in (PACKAGE, f"{PACKAGE}/sources"):
        (work / folder).mkdir(parents=True, exist_ok=True)
        (work / folder / "__init__.py").touch()
    (work / PACKAGE / "sources" / "bench.py").write_text(_SOURCE)
    timed([sys.executable, "-m", "bench.stages.steps", "convert"], work / "convert.log", env)
    documents = lake / "sources" / "bench" / "v0" / "documents" / SNAPSHOT
    ours = timed([sys.executable, "-m", "bench.dedupe.near_steps", lake, SNAPSHOT], work / "ours.log", env)
    peer = timed([datatrove(), SCRIPT, documents, work / "datatrove"], work / "datatrove.log")
    theirs = {(file, row): cluster for file, row, cluster in answer(work / "datatrove.log")}
    return corpus, ours, peer, answer(work / "ours.log"), _clusters(lake), theirs


def _clusters(lake: Path) -> Clusters:
    """Our cluster of each document that is in one."""
    (file,) = (lake / "dedupe").glob("near-1/clusters/*/*/clusters.parquet")
    rows = pq.read_table(file).to_pylist()
    places = (tuple(map(int, row["id"].split("-"))) for row in rows)
    return {(shard, number): row["cluster"] for (shard, number), row in zip(places, rows, strict=True)}


def _same(corpus: PlantedCorpus, clusters: Clusters) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Whether both documents of each pair are in one cluster."""
    return np.array([one in clusters and clusters[one] == clusters.get(other) for one, other in corpus.pairs])


def _found(corpus: PlantedCorpus, clusters: Clusters) -> list[float]:
    """The share of pairs of each level that are found."""
    return [float(share) for share in _same(corpus, clusters).reshape(len(LEVELS), EACH).mean(axis=1)]


def _precision(corpus: PlantedCorpus, clusters: Clusters) -> float:
    """The share of documents that are similar indeed to another one of their cluster: the nearest of the first five."""
    groups: dict[object, list[Place]] = {}
    for place in sorted(clusters):
        groups.setdefault(clusters[place], []).append(place)
    right = total = 0
    for places in groups.values():
        sets = [_ngrams(corpus.stock[shard][row]) for shard, row in places]
        for number in range(1, len(sets)):
            others = sets[max(number - 5, 0) : number] + sets[:5]
            right += any(_jaccard(sets[number], each) >= SIMILAR for each in others if each is not sets[number])
            total += 1
    return right / max(total, 1)


def _ngrams(text: str) -> set[int]:
    return {each for column in hash_shingles([text], 5, "words-1") for each in column.hashes.tolist()}


def _jaccard(one: set[int], other: set[int]) -> float:
    return len(one & other) / max(len(one | other), 1)


def _less(cost: Cost, start: Cost) -> Cost:
    return Cost(cost.cpu_s - start.cpu_s, cost.wall_s - start.wall_s)
