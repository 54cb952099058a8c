import pytest

from gristmill.errors import RecipeError
from gristmill.pipeline.targets import Targets, addresses_of_assets, is_target, read_targets
from gristmill.recipes.catalogue import Catalogue, read_catalogue


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    """Two sources, of which `letters` has two versions, and one mix with one tokenizer."""
    return read_catalogue(("dagshelf",))


@pytest.mark.parametrize(
    ("word", "count"),
    [
        ("letters", 5),  # two versions, one set on v0 and two on v1
        ("sources/letters", 5),
        ("letters/v1", 3),
        ("sources/letters/v1/", 3),
        ("sources/letters/v1/documents", 1),
        ("count-1", 3),  # on both versions of the letters, and on the diary
        ("blend", 6),  # two streams and an index, twice
        ("mixes/blend", 6),
        ("mixes/blend/documents", 2),
        ("mixes/blend/index", 1),
        ("blend/tiny-1", 3),
        ("token_caches/blend/tiny-1/letters", 1),
        ("tiny-1", 1),
        ("tokenizers/tiny-1", 1),
    ],
)
def test_a_word_means_these_many_assets(catalogue: Catalogue, word: str, count: int) -> None:
    targets = read_targets(catalogue, [word])
    assert len([address for address in addresses_of_assets(catalogue) if targets.has_named(address)]) == count
    assert is_target(catalogue, word)


@pytest.mark.parametrize(
    ("word", "count"), [("oscar", 3), ("blend/oscar", 3), ("exports/blend/oscar/index", 1), ("blend", 15)]
)
def test_exports_are_targets_too(word: str, count: int) -> None:
    catalogue = read_catalogue(("dagshelf", "exportshelf"))
    targets = read_targets(catalogue, [word])
    assert len([address for address in addresses_of_assets(catalogue) if targets.has_named(address)]) == count
    with pytest.raises(RecipeError, match="exports: lines, oscar, tars"):
        read_targets(catalogue, ["oskar"])


def test_without_a_word_all_are_asked_for_and_none_is_named(catalogue: Catalogue) -> None:
    everything = read_targets(catalogue, [], ["2024"])
    assert everything == Targets(None, ("2024",))
    assert all(everything.asks_for(each) and not everything.has_named(each) for each in addresses_of_assets(catalogue))
    assert [everything.asks_for_snapshot(key) for key in ("2024", "2025")] == [True, False]


@pytest.mark.parametrize("word", ["letter", "sources/letters/v2", "mixes/letters", "sources", "", "letters/v1/docu"])
def test_a_word_that_means_nothing_is_refused_with_what_there_is(catalogue: Catalogue, word: str) -> None:
    assert not is_target(catalogue, word)
    with pytest.raises(RecipeError, match="is on no shelf; sources: diary, letters; mixes: blend; tokenizers: "):
        read_targets(catalogue, [word])


def test_a_name_that_is_almost_right_is_named(catalogue: Catalogue) -> None:
    with pytest.raises(RecipeError, match=r"attribute sets: count-1, moody-1; did you mean moody-1\?"):
        read_targets(catalogue, ["mody-1"])
