"""Editions of a `replace` source among near duplicates: an older one never decides about a newer one."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from draws import draws
from nearlake import Near, Texts
from nearrecipes import LOOSE

from gristmill.recipes.duplicates.dedupe import Scope
from gristmill.recipes.duplicates.units import MinHashUnits
from gristmill.stages.fingerprints.binary_part import read_part_file
from gristmill.stages.near_duplicates.cluster_files import MEMBER, decode_cluster_records
from gristmill.text.units.minhash import minhash_signatures

UNIT = MinHashUnits(ngram=1, bands=4, rows=1, least=0.6)
THREE = replace(LOOSE, sources=("news/v0", "wiki/v0", "web/v0"))
Snapshot = tuple[str, str, Texts]
Document = tuple[str, str, int]
"""Source, snapshot and row. Each snapshot has one shard, and each text has words."""

NEWS, OLDEST, OLDER, NEWEST, WEB = "news 1", "wiki 1", "wiki 2", "wiki 3", "web 1"


def near(folder: Path, *rounds: list[Snapshot], unit: MinHashUnits = UNIT) -> Near:
    """A lake whose rounds are resolved one after another; `wiki` has editions."""
    lake = Near(folder, replace(THREE, unit=unit), editions=("wiki",))
    for snapshots in rounds:
        lake.add_by_steps(*snapshots)
        lake.resolve()
    return lake


def snapshot(name: str, texts: list[str]) -> Snapshot:
    source, _, key = name.partition(" ")
    return source, key, {"a": texts}


def drawn(seed: int, count: int = 12) -> dict[str, Snapshot]:
    """Five snapshots of texts of few words: many are near others."""
    rng = np.random.default_rng(seed)

    def text() -> str:
        return " ".join(rng.choice(list("abcdefghijkl"), rng.integers(1, 8)).tolist())

    return {name: snapshot(name, [text() for _ in range(count)]) for name in (NEWS, OLDEST, OLDER, NEWEST, WEB)}


@pytest.mark.parametrize(
    ("scope", "marked"),
    [("group", {(OLDER, 0), (NEWEST, 0), (NEWEST, 1)}), ("source", {(NEWEST, 1)}), ("snapshot", {(NEWEST, 1)})],
)
def test_each_scope_makes_a_round_of_editions(tmp_path: Path, scope: Scope, marked: set[tuple[str, int]]) -> None:
    lake = Near(tmp_path, replace(THREE, unit=UNIT, scope=scope), editions=("wiki",))
    text = ["a b c d e f"]
    lake.add_by_steps(snapshot(NEWS, text), snapshot(OLDER, text), snapshot(NEWEST, text * 2))
    lake.resolve()
    assert {(f"{source} {key}", row) for (source, key, row), _ in kept_for(lake)} == marked


def labels(lake: Near) -> dict[Document, dict[str, Any]]:
    """The label of each document that has one."""
    entries = enumerate(lake.order.entries)
    marks = {(each.source, each.snapshot): lake.mark(rank)["a"] for rank, each in entries}
    return {(*key, row["row"]): row for key, rows in marks.items() for row in rows}


def kept_for(lake: Near) -> Iterator[tuple[Document, Document]]:
    """Each document that is marked, and the one that is kept for it."""

    def document(node: int) -> Document:
        entry = lake.order.entries[node >> 48]
        return entry.source, entry.snapshot, node & (1 << 28) - 1

    for number in range(1, lake.order.round_count + 1):
        row, place = lake.clusters(number)
        for rank in lake.order.ranks_of_round(number):
            for each in decode_cluster_records(read_part_file(lake.store, row, place.table, str(rank)), MEMBER, "here"):
                if each["duplicate"]:
                    yield document(int(each["node"])), document(int(each["kept"]))


def reached(lake: Near, start: Document, without: set[tuple[str, str]]) -> set[Document]:
    """The documents that chains of similar pairs lead to, if some snapshots were not there."""
    documents: list[Document] = []
    texts: list[str] = []
    for entry, found in zip(lake.order.entries, lake.texts, strict=True):
        if (entry.source, entry.snapshot) not in without:
            documents += [(entry.source, entry.snapshot, row) for row in range(len(found["a"]))]
            texts += found["a"]
    values = minhash_signatures(texts, 1, 4, lake.unit.seed)[1]
    alike = (values[:, None] == values[None]).mean(axis=2) >= lake.unit.least
    seen = np.array([each == start for each in documents])
    for _ in documents:
        seen = alike[seen].any(axis=0)
    return {each for each, is_seen in zip(documents, seen.tolist(), strict=True) if is_seen}


UNITS = [
    UNIT,
    replace(UNIT, keeper="longest"),
    replace(UNIT, verification=2),
    replace(UNIT, exact=True),
]
"""The rules by which pairs are compared, and a document is kept."""


@pytest.mark.parametrize("unit", UNITS[:3])
@pytest.mark.parametrize("seed", range(draws(2)))
def test_what_is_marked_is_near_what_is_kept_without_the_other_editions(
    tmp_path: Path, seed: int, unit: MinHashUnits
) -> None:
    """The promise, by force: a document is marked only if chains that need no older edition lead to what is kept."""
    some = drawn(seed)
    lake = near(tmp_path, list(some.values()), unit=unit)
    marked = list(kept_for(lake))
    assert len(marked) > 5
    for each, kept in marked:
        older = {("wiki", "1"), ("wiki", "2")} - {each[:2]}
        assert kept in reached(lake, each, older)
        assert each[0] != "wiki" or kept[0] != "wiki" or each[1] == kept[1]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("seed", range(draws(1)))
def test_older_editions_are_labelled_as_if_each_came_in_a_later_round(
    tmp_path: Path, seed: int, unit: MinHashUnits
) -> None:
    """So they change no label of other snapshots."""
    some = drawn(seed)
    at_once = near(tmp_path / "one", list(some.values()), unit=unit)
    rest = [some[name] for name in (NEWS, NEWEST, WEB)]
    later = near(tmp_path / "other", rest, [some[OLDEST]], [some[OLDER]], unit=unit)
    assert labels(at_once) == labels(later)


@pytest.mark.parametrize("seed", range(draws(2)))
def test_no_edition_of_a_later_round_is_marked_by_an_older_one(tmp_path: Path, seed: int) -> None:
    """`web` of the second round is near documents of both rounds. Before this rule, seed 1 marked nine documents."""
    some = drawn(seed, 20)
    lake = near(tmp_path, [some[OLDER], some[NEWS]], [some[NEWEST], some[WEB], some[OLDEST]])
    marked = list(kept_for(lake))
    assert len(marked) > 5
    assert [pair for pair in marked if {each[0] for each in pair} == {"wiki"} and pair[0][1] != pair[1][1]] == []


CHAIN = ["a b c d e", "b c d e f", "c d e f g", "d e f g h"]
"""Each has four of six words in common with the next (0.67), and three of seven with the one after that (0.43)."""

CHAINED = replace(UNIT, bands=16, exact=True)


def marked(lake: Near) -> dict[str, str]:
    """The snapshot of each marked document, and that of the one that is kept for it. Each snapshot has one."""
    return {" ".join(each[:2]): " ".join(kept[:2]) for each, kept in kept_for(lake)}


def test_an_older_edition_connects_no_newer_one(tmp_path: Path) -> None:
    """Only the older edition is near both others."""
    some = [snapshot(name, [text]) for name, text in zip((NEWS, OLDEST, OLDER), CHAIN, strict=False)]
    assert marked(near(tmp_path, some, unit=CHAINED)) == {"wiki 1": "news 1"}


def test_an_older_edition_is_not_kept_for_others(tmp_path: Path) -> None:
    """The older edition has the longest of three near documents."""
    texts = (CHAIN[0], CHAIN[0] + " e e e", CHAIN[0] + " e")
    some = [snapshot(name, [text]) for name, text in zip((NEWS, OLDEST, OLDER), texts, strict=True)]
    lake = near(tmp_path, some, unit=replace(CHAINED, keeper="longest"))
    assert marked(lake) == {"news 1": "wiki 2"}  # the older edition is compared with no cluster that keeps the newer


def test_a_newer_edition_joins_no_cluster_that_keeps_an_older_one(tmp_path: Path) -> None:
    """A chain of two rounds from the older edition to the newer one. Nothing would be left of all four."""
    first = [snapshot(OLDEST, CHAIN[:1]), snapshot(NEWS, CHAIN[1:2])]
    second = [snapshot(OLDER, CHAIN[3:]), snapshot(WEB, CHAIN[2:3])]
    assert marked(near(tmp_path, first, second, unit=CHAINED)) == {"news 1": "wiki 1", "web 1": "wiki 2"}


def test_a_cluster_that_an_older_edition_connected_takes_the_newest(tmp_path: Path) -> None:
    """The newest edition is near `news 2` alone, which only the older edition connects with `news 1`."""
    names = (NEWS, OLDEST, "news 2", OLDER)
    some = {name: snapshot(name, [text]) for name, text in zip(names, CHAIN, strict=True)}
    unit = replace(CHAINED, bands=64)
    first, second = [some[name] for name in (NEWS, "news 2", OLDEST)], [some[OLDER]]
    old = {"news 2": "news 1", "wiki 1": "news 1"}
    assert marked(near(tmp_path / "two", first, second, unit=unit)) == {**old, "wiki 2": "news 1"}
    anew = near(tmp_path / "one", [*first, *second], unit=unit)
    assert marked(anew) == {"wiki 1": "news 1", "wiki 2": "news 2"}


def test_rounds_without_several_editions_stay_finished(tmp_path: Path) -> None:
    """What the clusters are made from tells of editions only where two of a source could meet through another."""
    some = {name: snapshot(name, CHAIN) for name in (NEWS, OLDEST, OLDER, WEB)}
    rounds = ([some[NEWS], some[OLDEST]], [some[WEB]], [some[OLDER]])
    lake = near(tmp_path / "group", *rounds)
    alone = near(tmp_path / "alone", [some[OLDEST], some[OLDER]])
    assert [of_editions(lake, number) for number in (1, 2, 3)] == [0, 0, 1]
    assert of_editions(alone, 1) == 0


def of_editions(lake: Near, number: int) -> int:
    return sum(each.shard == "editions" for each in lake.clusters(number)[0].inputs)
