"""Planted pairs of known similarity among other documents: how many are found, and how many found ones are right."""

from pathlib import Path

import numpy as np
import pytest
from nearlake import Near
from nearrecipes import USUAL
from planted import deviation, planted_pair, recall

from gristmill.text.units.minhash import minhash_signatures

LEVELS = (0.6, 0.7, 0.8, 0.9)


def test_planted_pairs_are_found_as_often_as_the_theory_says(tmp_path: Path) -> None:
    """50 pairs of each level. The tolerance is two points, and four standard deviations of so few pairs."""
    rng = np.random.default_rng(11)
    pairs = [planted_pair(rng, level, 60) for level in LEVELS for _ in range(50)]
    alone = [planted_pair(rng, 0.5, 60)[0] for _ in range(200)]
    near = Near(tmp_path, USUAL)
    near.add(("wiki", "1", {"one": [one for one, _, _ in pairs] + alone, "other": [other for _, other, _ in pairs]}))
    near.resolve()
    marks = near.mark(0)
    found = {row["row"]: row["cluster"] for row in marks["other"] if row["duplicate"]}
    of_one = {row["row"]: row["cluster"] for row in marks["one"]}
    assert [row["row"] for row in marks["one"] if row["duplicate"] or row["row"] >= len(pairs)] == []
    right = sum(of_one.get(row) == cluster for row, cluster in found.items())
    assert right / len(found) >= 0.99
    for number, _ in enumerate(LEVELS):
        expected = recall(pairs[50 * number][2])
        share = sum(row // 50 == number for row in found) / 50
        assert abs(share - expected) < 0.02 + 4 * deviation(expected, 50)


@pytest.mark.slow
def test_planted_pairs_among_many_documents_are_found_by_all_steps(tmp_path: Path) -> None:
    """200 pairs of each level among 100,000 documents, from texts to marks."""
    rng = np.random.default_rng(12)
    pairs = [planted_pair(rng, level) for level in LEVELS for _ in range(200)]
    words = np.array([f"word{number}" for number in range(5000)])
    others = [" ".join(words[row]) for row in rng.zipf(1.3, (100_000, 50)) % 5000]
    near = Near(tmp_path, USUAL)
    first = [one for one, _, _ in pairs] + others[:50_000]
    second = [other for _, other, _ in pairs] + others[50_000:]
    near.add_by_steps(("wiki", "1", {"a": first, "b": second}))
    near.resolve()
    marks = near.mark(0)
    of_one = {row["row"]: row["cluster"] for row in marks["a"]}
    found = {row["row"]: row["cluster"] for row in marks["b"] if row["duplicate"]}
    right = sum(of_one.get(row) == cluster for row, cluster in found.items() if row < len(pairs))
    wrong = sum(row["duplicate"] for row in marks["a"]) + len(found) - right
    assert right / (right + wrong) >= 0.99
    for number, _ in enumerate(LEVELS):
        expected = recall(pairs[200 * number][2])
        share = sum(row // 200 == number for row in found) / 200
        assert abs(share - expected) < 0.02 + 3 * deviation(expected, 200)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("level", LEVELS)
def test_two_signatures_share_a_band_as_often_as_the_theory_says(level: float) -> None:
    """20,000 pairs of each level: two points are five standard deviations at least."""
    rng, found, count = np.random.default_rng(int(level * 10)), 0, 20_000
    for _ in range(0, count, 1000):
        pairs = [planted_pair(rng, level) for _ in range(1000)]
        _, values = minhash_signatures([text for one, other, _ in pairs for text in (one, other)], 5, 112, 1)
        found += int((values[::2] == values[1::2]).reshape(-1, 14, 8).all(axis=2).any(axis=1).sum())
    expected = recall(pairs[0][2])
    assert deviation(expected, count) < 0.004
    assert abs(found / count - expected) < 0.02
