"""The numbers of the documents of each key, beside a slow reference."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hashlake import Hash, HashLake, recipe_of

from gristmill.lake.address import place
from gristmill.lake.asset_kinds import MARKS
from gristmill.recipes.duplicates.units import KeyUnits
from gristmill.stages.dedupe.marks.key_numbers import KEY_MARK
from gristmill.stages.fingerprints.binary_part import read_part_file
from gristmill.text.units.drawn_numbers import random_row_numbers

HIGH = 1 << 63
SHARDS: dict[str, list[Hash]] = {
    "a": [(7, 7)] * 40 + [(number % 6 * HIGH // 3, 1) for number in range(20)],
    "empty": [],
    "b": [(HIGH, number % 9) for number in range(30)] + [(7, 7)] * 11,
    "c": [(number * (HIGH // 50), 5) for number in range(30)],
}


def slow(snapshot: str, shards: dict[str, list[Hash]]) -> dict[str, list[tuple[int, int, int]]]:
    places: dict[Hash, list[tuple[int, str, int]]] = defaultdict(list)
    for name, hashes in shards.items():
        drawn = random_row_numbers(snapshot, name, np.arange(len(hashes))).tolist()
        for ordinal, each in enumerate(hashes):
            places[each].append((drawn[ordinal], name, ordinal))
    found: dict[str, list[tuple[int, int, int]]] = {name: [] for name in shards}
    for same in places.values():
        for number, (_, name, ordinal) in enumerate(sorted(same), start=1):
            if len(same) > 1:
                found[name].append((ordinal, number, len(same)))
    return {name: sorted(marks) for name, marks in found.items()}


@pytest.mark.parametrize("unit", [1 << 20, 200, 90])
def test_numbers_are_those_of_the_slow_reference_whatever_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: int
) -> None:
    """With 90 bytes for a MiB, a worker looks at 5 positions at once, and a key has 51 documents."""
    monkeypatch.setattr("gristmill.stages.dedupe.marks.step.MIB", unit)
    lake = HashLake(tmp_path, replace(recipe_of(buckets=2, scope="snapshot"), unit=KeyUnits(key="metadata.host")))
    lake.give("web", "x", SHARDS)
    lake.resolve(("web", "x", False))
    where = place(MARKS.at(dedupe="paragraphs-1", source="web"), "x")
    found = {
        name: np.frombuffer(read_part_file(lake.mill.store, row, where.table, "marks"), KEY_MARK).tolist()
        for name, row in lake.mill.table(where).items()
    }
    assert found == slow("x", SHARDS)
