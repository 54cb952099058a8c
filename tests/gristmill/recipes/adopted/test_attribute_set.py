import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.adopted.attribute_set import AdoptedSet


def test_adopted_sets_keep_their_names() -> None:
    for name in ("pii", "tox_v2", "a-1"):
        assert AdoptedSet(name=name, root="/data").name == name


@pytest.mark.parametrize("name", ["Pii", "a__b", "raw", "", "a/b"])
def test_a_name_that_no_column_can_have_is_refused(name: str) -> None:
    with pytest.raises(RecipeError, match="lower-case letters and digits in words joined by"):
        AdoptedSet(name=name, root="/data")
