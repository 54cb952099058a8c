import random

import pytest

from gristmill.errors import RecipeError
from gristmill.formats.oscar.names import PartName, natural_key, parse_name, part_name


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("af.jsonl.gz", PartName("af", meta=False, part=None, packing=".gz")),
        ("en/en_part_12.jsonl.gz", PartName("en", meta=False, part=12, packing=".gz")),
        ("fr_meta/fr_meta_part_1.jsonl.zst", PartName("fr", meta=True, part=1, packing=".zst")),
        ("x-eml_meta.jsonl.zstd", PartName("x-eml", meta=True, part=None, packing=".zstd")),
        ("ar-Arab.jsonl", PartName("ar-Arab", meta=False, part=None, packing="")),
    ],
)
def test_names_of_both_releases_are_read(name: str, part: PartName) -> None:
    assert parse_name(name) == part


@pytest.mark.parametrize(
    "name", ["en_sha256.txt", "en.json.gz", "en_part_0.jsonl", "en_part_01.jsonl", "en_part_.jsonl", "en.jsonl.gz.tmp"]
)
def test_other_names_are_none(name: str) -> None:
    assert parse_name(name) is None


def test_a_name_that_is_written_is_read_again() -> None:
    for part, packing in ((None, ".gz"), (1, ""), (10, ".zst")):
        assert parse_name(part_name("gsw", part, packing)) == PartName("gsw", meta=False, part=part, packing=packing)


@pytest.mark.parametrize(("lang", "part", "packing"), [("en_US", 1, ".gz"), ("en", 0, ".gz"), ("en", 1, ".xz")])
def test_no_name_is_written_that_could_not_be_read(lang: str, part: int, packing: str) -> None:
    with pytest.raises(RecipeError, match="no name of an OSCAR part"):
        part_name(lang, part, packing)


def test_parts_are_in_the_order_of_their_numbers() -> None:
    names = [f"en_part_{number}.jsonl.gz" for number in range(1, 102)]
    mixed = random.Random(0).sample(names, len(names))
    assert sorted(mixed, key=natural_key) == names
