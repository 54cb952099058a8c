"""Names of raw objects that cannot be shards side by side. tests/gristmill/raw_data/test_scan.py has the listings."""

import itertools
import random

import pytest

from gristmill.raw_data.shard_names import MOST, NameWatch, name_clash, names_equal_on_disk
from gristmill.recipes.source import OneToOne

WORDS = ("a", "a.json", "a.jsonl", "b", "a.json.gz", "a.xxh128")
NAMES = ["/".join(parts) for depth in (1, 2, 3) for parts in itertools.product(WORDS, repeat=depth)]


@pytest.mark.parametrize("seed", range(20))
def test_a_scan_in_order_finds_a_clash_wherever_a_look_at_all_names_finds_one(seed: int) -> None:
    chosen = sorted(random.Random(seed).sample(NAMES, 6), key=lambda name: name.split("/"))
    shards: dict[str, str] = {}
    same = False
    watch, found = NameWatch(), []
    for name in chosen:
        shard = OneToOne().shard(name)
        same = same or shard in shards
        shards[shard] = name
        other = watch.look("2024", shard, f"2024/{name}", f"2024/{shard}")
        found += [other] if other else []
    assert bool(found) == (same or name_clash(shards) is not None)


def test_little_is_remembered() -> None:
    watch = NameWatch()
    for number in range(2 * MOST):
        watch.look("2024", f"{number}.json/a", f"2024/{number}.json/a", f"2024/{number}.json/a")
    assert (len(watch.stems), len(watch.claims)) == (1, MOST)


@pytest.mark.parametrize(
    ("names", "same"),
    [
        (["a", "b", "a.b", "A/b"], {}),
        (["README", "readme", "ReadMe"], {"ReadMe": "README", "readme": "README"}),
        (["caf\u00e9", "cafe\u0301"], {"caf\u00e9": "cafe\u0301"}),
        (["stra\u00dfe", "STRASSE", "\u0130", "i\u0307"], {"stra\u00dfe": "STRASSE", "\u0130": "i\u0307"}),
        (["a/B", "A/b", "a/c"], {"a/B": "A/b"}),
    ],
)
def test_names_that_are_one_on_some_disks_are_found(names: list[str], same: dict[str, str]) -> None:
    assert names_equal_on_disk(names) == same
