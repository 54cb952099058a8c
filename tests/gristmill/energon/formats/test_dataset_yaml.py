import pytest

from gristmill.energon.formats.dataset_yaml import crude_dataset, typed_dataset
from gristmill.errors import RecipeError


def test_subflavors_stay_strings() -> None:
    assert crude_dataset({"version": "1e5", "lang": "en"}).decode() == (
        '__module__: "megatron.energon"\n__class__: "CrudeWebdataset"\nsubflavors:\n  version: "1e5"\n  lang: "en"\n'
    )


def test_a_class_of_ones_own_has_its_module() -> None:
    assert typed_dataset("Pair", {"left": "a.json[x][0]"}, module="ourmill.samples").decode() == (
        'sample_type:\n  __module__: "ourmill.samples"\n  __class__: "Pair"\nfield_map:\n  left: "a.json[x][0]"\n'
    )


@pytest.mark.parametrize(("name", "module"), [("a b", "m"), ("", "m"), ("A", "os; x"), ("A", ""), ("A", "a.")])
def test_what_is_no_class_is_refused(name: str, module: str) -> None:
    with pytest.raises(RecipeError, match="names of a Python class"):
        typed_dataset(name, {}, module=module)
