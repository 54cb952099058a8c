"""The clusters of several rounds, compared with a plain reference that goes document by document."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from draws import draws
from nearlake import Near, Texts
from nearrecipes import LOOSE

from gristmill.stages.fingerprints.binary_part import read_part_file
from gristmill.stages.near_duplicates.cluster_files import MEMBER, decode_cluster_records
from gristmill.stages.near_duplicates.pairs.verified import ROUNDS
from gristmill.text.units.minhash import minhash_signatures

Document = tuple[int, int, int]
"""Rank, number of the shard, and number among the documents of the shard that have words."""


def node_of(document: Document) -> int:
    return document[0] << 48 | document[1] << 28 | document[2]


class Reference:
    """The clusters as the documentation describes them."""

    def __init__(self, near: Near) -> None:
        self.near, unit = near, near.unit
        self.signature: dict[Document, list[int]] = {}
        self.hashes: dict[Any, dict[Document, int]] = defaultdict(dict)  # the documents of each hash, and its band
        for rank, texts in enumerate(near.texts):
            for shard, name in enumerate(sorted(texts)):
                _, values = minhash_signatures(texts[name], unit.ngram, unit.bands * unit.rows, unit.seed)
                self.signature |= {(rank, shard, at): each.tolist() for at, each in enumerate(values)}
            for hash_, positions in near.hashes[rank].items():
                for position in positions:
                    ordinal = position & 0xFFFFFFFF
                    self.hashes[hash_][rank, position >> 32, ordinal // unit.bands] = ordinal % unit.bands
        self.first: dict[Document, Document] = {}
        self.kept: dict[Document, Document] = {}
        self.size: dict[Document, int] = {}
        self.members: dict[Document, tuple[int, int, int, bool, float]] = {}

    def similarity(self, one: Document, other: Document) -> float:
        pairs = zip(self.signature[one], self.signature[other], strict=True)
        return float(np.mean([a == b for a, b in pairs]))

    def edges(self, new: set[int]) -> Iterator[tuple[Document, Document]]:
        """The similar pairs of one round: the second document is of this round."""

        def near(one: Document, other: Document) -> bool:
            return self.similarity(one, other) >= self.near.unit.least

        for documents in self.hashes.values():
            known = sorted(each for each in documents if each[0] <= max(new))
            if not known:
                continue
            head = known[0]
            group = [each for each in known[1:] if each[0] in new]
            yield from ((head, each) for each in group if near(head, each))
            apart: list[Document] = []
            for before, each in zip([head, *group], group, strict=False):
                if not near(head, each):
                    if before != head and near(before, each):
                        yield before, each
                    else:
                        apart.append(each)
            for _ in range(ROUNDS):
                yield from ((apart[0], each) for each in apart[1:] if near(apart[0], each))
                apart = [each for each in apart[1:] if not near(apart[0], each)]

    def resolve(self, number: int, best: Callable[[list[Document]], Document] = min) -> None:
        new = set(self.near.order.ranks_of_round(number))
        joined: dict[Document, set[Document]] = {}
        touched: dict[Document, set[Document]] = defaultdict(set)
        for one, other in self.edges(new):
            for each in (one, other):
                if each[0] in new:
                    joined.setdefault(each, {each})
            if one[0] in new:
                both = joined[one] | joined[other]
                for each in both:
                    joined[each] = both
            else:
                touched[other].add(self.first.get(one, one))
        components = {frozenset(each) for each in joined.values()}
        grown: set[Document] = set()
        for component in components:
            old = {first for each in component for first in touched[each]}
            first = min(old) if old else min(component)
            if first not in self.kept:
                self.kept[first] = first if old else best(sorted(component))
                self.size[first] = 1 if old else 0
            self.size[first] += len(component)
            self.first |= dict.fromkeys(component, first)
            grown |= component
        for each in grown:
            first, kept = self.first[each], self.kept[self.first[each]]
            similarity = 1.0 if kept == each else self.similarity(kept, each)
            self.members[each] = (node_of(first), node_of(kept), self.size[first], kept != each, similarity)


def found(near: Near, number: int) -> dict[int, tuple[int, int, int, bool, float]]:
    """The members that a round wrote, by their document."""
    row, place = near.clusters(number)
    members = {}
    for rank in near.order.ranks_of_round(number):
        records = decode_cluster_records(read_part_file(near.store, row, place.table, str(rank)), MEMBER, "here")
        for each in records.tolist():
            node, _, first, kept, _, size, similarity, duplicate = each
            members[node] = (first, kept, size, bool(duplicate), similarity)
    return members


def drawn(seed: int) -> list[list[Texts]]:
    """Three rounds of two snapshots of two shards, of texts of few words: many are near others."""
    rng = np.random.default_rng(seed)

    def text() -> str:
        return " ".join(rng.choice(list("abcdefghijkl"), rng.integers(0, 8)).tolist())

    def snapshot() -> Texts:
        return {name: [text() for _ in range(rng.integers(0, 30))] for name in ("one", "two")}

    return [[snapshot() for _ in range(2)] for _ in range(3)]


@pytest.mark.parametrize("seed", range(draws(3)))
def test_clusters_are_those_of_the_reference_in_every_round(tmp_path: Path, seed: int) -> None:
    near = Near(tmp_path, LOOSE)
    for number, snapshots in enumerate(drawn(seed), start=1):
        near.add(*((source, str(number), each) for source, each in zip(("wiki", "news"), snapshots, strict=True)))
        near.resolve()
    reference = Reference(near)
    for number in range(1, 4):
        before = dict(reference.members)
        reference.resolve(number)
        new = {document: each for document, each in reference.members.items() if document not in before}
        assert reference.members | before == reference.members  # frozen
        assert len(new) > 10
        written = found(near, number)
        assert {each: values[:4] for each, values in written.items()} == {
            node_of(each): values[:4] for each, values in new.items()
        }
        assert [values[4] for values in written.values()] == pytest.approx(
            [values[4] for _, values in sorted(new.items())]
        )


def test_the_draws_have_all_cases(tmp_path: Path) -> None:
    """Documents that are not similar to the first of their group, and components that touch two clusters."""
    near = Near(tmp_path, LOOSE)
    for number, snapshots in enumerate(drawn(0), start=1):
        near.add(*((source, str(number), each) for source, each in zip(("wiki", "news"), snapshots, strict=True)))
        counts = near.resolve().totals
    assert counts["apart"] > 100
    assert counts["touched"] > 0
