import random

import pytest

from gristmill.errors import RecipeError
from gristmill.formats.oscar.names import natural_key, part_name


def test_names_are_those_of_both_releases() -> None:
    assert (part_name("af"), part_name("en", 12)) == ("af.jsonl.gz", "en_part_12.jsonl.gz")
    assert part_name("x-eml", 1, ".zst") == "x-eml_part_1.jsonl.zst"
    assert part_name("ar-Arab", packing="") == "ar-Arab.jsonl"


@pytest.mark.parametrize(("lang", "part", "packing"), [("en_US", 1, ".gz"), ("en", 0, ".gz"), ("en", 1, ".xz")])
def test_no_name_is_written_that_is_not_of_oscar(lang: str, part: int, packing: str) -> None:
    with pytest.raises(RecipeError, match="no name of an OSCAR part"):
        part_name(lang, part, packing)


def test_parts_are_in_the_order_of_their_numbers() -> None:
    names = [f"en_part_{number}.jsonl.gz" for number in range(1, 102)]
    mixed = random.Random(0).sample(names, len(names))
    assert sorted(mixed, key=natural_key) == names
