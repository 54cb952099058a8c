"""Duplicates that are confirmed on their texts: hashes that collide by forgery, and equal texts, which stay marked."""

from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from dedupelake import known, labels, put, resolved
from hashlake import hash_files
from testkit import Mill

from gristmill.errors import DataError
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.lake.address import place
from gristmill.lake.asset_kinds import FINGERPRINTS, MARKS
from gristmill.lake.ledger.files import as_json, compose_ledger, pack_table, read_ledger
from gristmill.recipes.duplicates.units import DocumentUnits, LineUnits, ParagraphUnits, SentenceUnits, Unit
from gristmill.stages.dedupe.marks.confirmation import Confirmation
from gristmill.stages.dedupe.marks.first_occurrences import FirstOccurrences
from gristmill.stages.dedupe.marks.step import MarksStep
from gristmill.stages.dedupe.resolution import read_dedupe_order
from gristmill.stages.fingerprints.binary_part import BinaryPart, BinaryPartRecord, read_part_file
from gristmill.stages.fingerprints.units_of_texts import hash_units_of_rows
from gristmill.text.units.hashes import sha256_digests

if TYPE_CHECKING:
    from gristmill.lake.ledger.model import Shard

NAME = "confirmed-1"
RECIPE = known().dedupes[NAME]
PRINTS = FINGERPRINTS.at(dedupe=NAME, source="pages")


@pytest.fixture
def pages(mill: Mill) -> Mill:
    put(mill, "a", "x", "Red fox. Tan hen.", "", "Red fox.")
    put(mill, "b", "x", "Tan hen.", "Red fox. Red fox.")
    return mill


def forge(mill: Mill, snapshot: str) -> None:
    """Gives all units of a snapshot one hash."""
    where = place(PRINTS, snapshot)
    ledger, rows = read_ledger(mill.store, where)
    forged: list[Shard] = []
    for row in rows:
        spec = OneAssetSpec(place=where, token="run", recipe=row.recipe)
        part = BinaryPart(mill.store, spec, row.name, row.inputs, row.ids)
        part.rows, part.counts, part.facts = (
            row.rows,
            dict(row.counts),
            BinaryPartRecord.decode_from_row(row, where.table).facts,
        )
        ones = np.ones(part.facts["hashes"], np.uint64)
        files = {name: read_part_file(mill.store, row, where.table, name) for name in ("ids.gz", "spans")}
        for name, data in (files | hash_files(ones, ones, RECIPE.buckets)).items():
            part.file(name).write(data)
        forged.append(part.close().row)
    mill.store.put(where.table, pack_table(forged))
    mill.store.put(where.ledger, as_json(compose_ledger(where, RECIPE.fingerprint_recipe, ledger.inputs, forged)))


def refuted(mill: Mill, snapshot: str) -> dict[str, int]:
    where = place(MARKS.at(dedupe=NAME, source="pages"), snapshot)
    return {name: row.counts["not confirmed"] for name, row in mill.table(where).items()}


def test_equal_texts_stay_marked(pages: Mill) -> None:
    resolved(pages, NAME)
    assert labels(pages, NAME, "a")["x2"] == {"duplicate": [[0, 8, 1]]}
    assert labels(pages, NAME, "b") == {"x0": {"duplicate": [[0, 8, 1]]}, "x1": {"duplicate": [[0, 8, 1], [9, 17, 1]]}}
    assert refuted(pages, "a") == refuted(pages, "b") == {"x": 0}
    assert resolved(pages, NAME) == []


def test_units_with_one_hash_and_other_texts_are_no_duplicates_and_are_counted(pages: Mill) -> None:
    resolved(pages, f"dedupe/{NAME}/fingerprints")
    forge(pages, "a")
    forge(pages, "b")
    resolved(pages, NAME)  # every unit has the hash of the first `Red fox.`
    assert labels(pages, NAME, "a") == {
        "x0": {"duplicate": []},
        "x1": {"duplicate": []},
        "x2": {"duplicate": [[0, 8, 1]]},
    }
    assert labels(pages, NAME, "b") == {"x0": {"duplicate": []}, "x1": {"duplicate": [[0, 8, 1], [9, 17, 1]]}}
    assert (refuted(pages, "a"), refuted(pages, "b")) == ({"x": 1}, {"x": 1})


@pytest.mark.parametrize(
    "unit", [DocumentUnits(normalised="words-1"), ParagraphUnits(), LineUnits(), SentenceUnits(count=2)]
)
def test_both_hashes_are_equal_for_the_same_units(unit: Unit) -> None:
    texts = ["A b. C d.E f.\n a b", "", "a B! c D; e f a b", "A b.  C d.\n\nA b. C d. ", " a b\nx"]
    rows = [SimpleNamespace(text=text) for text in texts]
    pairs: list[tuple[object, object]] = []
    for one, other in zip(
        hash_units_of_rows(unit, rows, Counter()),
        hash_units_of_rows(unit, rows, Counter(), sha256_digests),
        strict=True,
    ):
        assert one.units.spans.tolist() == other.units.spans.tolist()
        pairs += zip(one.units.hashes.low.tolist(), other.units.hashes.low.tolist(), strict=True)
    assert len(pairs) > len(set(pairs)) == len(dict(pairs)) == len({other for _, other in pairs})


@pytest.mark.slow
def test_a_changed_first_occurrence_is_compared_again(pages: Mill) -> None:
    resolved(pages, NAME)
    put(pages, "a", "x", "Tan hen.", "", "Red fox.")
    resolved(pages, NAME)
    assert labels(pages, NAME, "b")["x1"] == {"duplicate": [[0, 8, 1], [9, 17, 1]]}
    order, _ = read_dedupe_order(pages.store, NAME)
    confirm = MarksStep(RECIPE, order, "pages", "b", ()).plan(pages.store).spec("").confirm
    found = FirstOccurrences.read(pages.store, RECIPE, order, 1, (0, 1))
    columns = zip(*(column.tolist() for column in found), strict=True)
    assert sorted(columns) == [(0, 0, 0), (1, 0, 1), (2, 0, 1)]
    assert len(Confirmation(pages.store, RECIPE, order, confirm.documents).false_duplicates(1, found)) == 0
    resolved(pages, "sources/pages/v0/documents")
    put(pages, "a", "x", "Red hen.")
    resolved(pages, "sources/pages/v0/documents")
    with pytest.raises(DataError, match=r"documents \(a\): changed after it was compared; make its fingerprints again"):
        Confirmation(pages.store, RECIPE, order, confirm.documents).false_duplicates(1, found)
