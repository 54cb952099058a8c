import pytest

from gristmill.errors import RecipeError
from gristmill.recipes.export import Export


@pytest.mark.parametrize("mixes", [(), ("blend", "blend")])
def test_an_export_names_at_least_one_mix_and_each_once(mixes: tuple[str, ...]) -> None:
    with pytest.raises(RecipeError, match="name at least one mix, each once"):
        Export(name="tarballs", mixes=mixes, format="energon")


@pytest.mark.parametrize(("name", "declared"), [("Tar balls", "energon"), ("tarballs", "web dataset")])
def test_names_with_other_letters_are_refused(name: str, declared: str) -> None:
    with pytest.raises(RecipeError):
        Export(name=name, mixes=("blend",), format=declared)


def test_a_format_that_no_stage_writes_is_told_to_whoever_would_make_it() -> None:
    export = Export(name="tarballs", mixes=("blend",), format="energon")
    with pytest.raises(RecipeError, match="export 'tarballs': no format 'energon' yet; known: none"):
        export.check_format()
