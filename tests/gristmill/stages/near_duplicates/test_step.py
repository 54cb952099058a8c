import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nearlake import Near
from nearrecipes import BEST, LONGEST, LOOSE

from gristmill.errors import DataError
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_ledger
from gristmill.stages.fingerprints.binary_part import read_part_file
from gristmill.stages.near_duplicates.inputs import minhash_unit

ONE = "the mill grinds the grain of the whole valley day and night all the year round"
NEAR_ONE = ONE.replace("valley", "village")
OTHER = "a b c d e f g h i j k l"
LONGER_OTHER = OTHER + " l m"


def lake(tmp_path: Path) -> Near:
    """Two rounds; the second has a copy of a cluster's document, and of a document in no cluster."""
    near = Near(tmp_path)
    near.add(("wiki", "2023", {"a": [ONE, "", OTHER], "b": [ONE]}), ("news", "1", {"x": ["alone here", ONE]}))
    near.resolve(1)
    near.add(("wiki", "2024", {"a": [OTHER, "nothing like it"], "b": [ONE, OTHER]}))
    near.resolve(2)
    return near


def test_equal_documents_are_a_cluster_and_the_first_is_kept(tmp_path: Path) -> None:
    near = lake(tmp_path)
    first, news = near.mark(0), near.mark(1)
    number = first["a"][0]["cluster"]
    shared = {"cluster": number, "size": 3, "similarity": 1.0}
    assert first == {"a": [{"row": 0, "duplicate": 0, **shared}], "b": [{"row": 0, "duplicate": 1, **shared}]}
    assert news == {"x": [{"row": 1, "duplicate": 1, **shared}]}
    assert number < 2**52


def test_a_later_round_joins_clusters_and_changes_none(tmp_path: Path) -> None:
    near = lake(tmp_path)
    before = near.mark(0)
    marks = near.mark(2)
    assert [(row["row"], row["size"], row["duplicate"]) for row in marks["b"]] == [(0, 4, 1), (1, 3, 1)]
    assert marks["b"][0]["cluster"] == before["a"][0]["cluster"]
    assert [row["cluster"] for row in marks["a"]] == [marks["b"][1]["cluster"]]  # OTHER was alone, so it has no label
    assert near.mark(0) == before


def test_people_see_all_members_and_what_is_kept(tmp_path: Path) -> None:
    near = lake(tmp_path)
    row, place = near.clusters(2)
    table = pq.read_table(pa.BufferReader(read_part_file(near.store, row, place.table, "clusters.parquet"))).to_pylist()
    assert [(each["source"], each["snapshot"], each["shard"], each["row"], each["kept"]) for each in table] == [
        ("wiki", "2023", "a", 0, True),
        ("wiki", "2024", "b", 0, False),
        ("wiki", "2023", "a", 2, True),
        ("wiki", "2024", "a", 0, False),
        ("wiki", "2024", "b", 1, False),
    ]
    assert [each["id"] for each in table][:2] == ["2023-a-0", "2024-b-0"]


def test_an_unchanged_round_is_not_made_again(tmp_path: Path) -> None:
    near = lake(tmp_path)
    before = {entry.path: entry.etag for entry in near.store.list("")}
    near.resolve(1)
    near.resolve(2)
    assert {entry.path: entry.etag for entry in near.store.list("") if not entry.path.endswith("run.json")} == {
        path: etag for path, etag in before.items() if not path.endswith("run.json")
    }


def test_the_longest_is_kept_if_the_recipe_says_so(tmp_path: Path) -> None:
    near = Near(tmp_path, LONGEST)
    near.add(("wiki", "1", {"a": [OTHER, LONGER_OTHER + " ", LONGER_OTHER + " "]}))
    near.resolve()
    assert [row["duplicate"] for row in near.mark(0)["a"]] == [1, 0, 1]


def test_the_best_is_kept_if_the_recipe_says_so(tmp_path: Path) -> None:
    near = Near(tmp_path, BEST)
    near.add(("wiki", "1", {"a": [OTHER, OTHER, OTHER, OTHER]}))
    near.scores(0, {"a": [None, 0.25, 0.75, 0.75]})
    near.resolve()
    assert [row["duplicate"] for row in near.mark(0)["a"]] == [1, 1, 0, 1]


def test_scores_of_other_documents_are_refused_before_anything_is_compared(tmp_path: Path) -> None:
    near = Near(tmp_path, BEST)
    near.add_by_steps(("wiki", "1", {"a": [OTHER, OTHER]}))
    [documents] = read_ledger(near.store, place("sources/wiki/v0/documents", "1"))[1]
    near.scores(0, {"a": [0.25, 0.75]}, content="0" * 32)  # of the same ids, before the texts changed
    again = (
        "shard a was made from other documents than its fingerprints; make sources/wiki/v0/attributes/quality-1 of 1"
    )
    with pytest.raises(DataError, match=again):
        near.resolve()
    near.scores(0, {"a": [0.25, 0.75]}, content=documents.content)
    near.resolve()
    assert [row["duplicate"] for row in near.mark(0)["a"]] == [1, 0]


@pytest.mark.slow
def test_the_steps_before_it_make_what_it_reads(tmp_path: Path) -> None:
    """Three rounds, by hand and by the steps of fingerprints, runs and verdicts: the same marks."""
    by_hand, by_steps = Near(tmp_path / "hand", LOOSE), Near(tmp_path / "steps", LOOSE)
    rng = np.random.default_rng(2)
    for number in range(1, 4):
        texts = [" ".join(rng.choice(list("abcdefghijkl"), rng.integers(0, 8)).tolist()) for _ in range(60)]
        snapshots = (
            ("wiki", str(number), {"a": texts[:20], "b": texts[20:30]}),
            ("news", str(number), {"c": texts[30:]}),
        )
        by_hand.add(*snapshots)
        by_steps.add_by_steps(*snapshots)
        for near in (by_hand, by_steps):
            near.resolve()
    for rank in range(6):
        marks = by_hand.mark(rank)
        assert marks == by_steps.mark(rank)
        assert sum(map(len, marks.values())) > 5


def test_the_rule_of_verification_is_that_of_the_recipe(tmp_path: Path) -> None:
    """Forty texts of four letters of eight: rule 2 compares more of them, and finds two pairs more."""
    drawn = random.Random(5)
    texts = [" ".join(sorted(drawn.sample("abcdefgh", 4))) for _ in range(40)]
    found = []
    for rule in (1, 2):
        unit = replace(minhash_unit(LOOSE), verification=rule)
        near = Near(tmp_path / str(rule), replace(LOOSE, unit=unit))
        near.add(("wiki", "2024", {"a": texts}))
        near.resolve()
        found.append(near.clusters(1)[0].counts)
    assert [each["candidates"] for each in found] == [100, 100]
    assert [(each["compared"], each["similar"]) for each in found] == [(265, 55), (321, 57)]
