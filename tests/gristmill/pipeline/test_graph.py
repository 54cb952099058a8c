import pytest

from gristmill.lake.store.folder import FolderStore
from gristmill.pipeline.graph import RecipeGraph
from gristmill.pipeline.targets import read_targets
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.stages.tokenization.files import ledger_path

KNOWN = {"letters": ["2024", "2025"], "diary": ["monday"]}
V0, COUNT_V0, V1 = (
    "sources/letters/v0/documents",
    "sources/letters/v0/attributes/count-1",
    "sources/letters/v1/documents",
)
MIXED, CACHE, TOKENIZER = "mixes/blend/documents/letters", "token_caches/blend/tiny-1/letters", "tokenizers/tiny-1"


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return read_catalogue(("dagshelf",))


def needed(catalogue: Catalogue, store: FolderStore, *words: str, snapshots: tuple[str, ...] = ()) -> dict[str, str]:
    """The assets that are needed for some targets, with their snapshots; without those below `raw`."""
    graph = RecipeGraph(catalogue, ("dagshelf",))
    found = graph.needed(read_targets(catalogue, words, snapshots), KNOWN, store)
    return {asset: " ".join(sorted(keys)) for asset, keys in found.items() if not asset.endswith("/raw")}


def test_a_version_needs_what_its_rules_name_and_no_other_set(catalogue: Catalogue, lake: FolderStore) -> None:
    both = "2024 2025"
    assert needed(catalogue, lake, V1) == {V1: both, V0: both, COUNT_V0: both}
    assert needed(catalogue, lake, V1, snapshots=("2025",)) == {V1: "2025", V0: "2025", COUNT_V0: "2025"}


def test_tokens_need_the_training_data_of_a_tokenizer_that_the_lake_lacks(
    catalogue: Catalogue, lake: FolderStore
) -> None:
    both = dict.fromkeys((MIXED, V1, V0, COUNT_V0), "2024 2025")
    assert needed(catalogue, lake, CACHE, snapshots=("2025",)) == {CACHE: "2025", TOKENIZER: "", **both}
    lake.put(ledger_path("tiny-1"), b"{}")
    one = dict.fromkeys((MIXED, V1, V0, COUNT_V0), "2025")
    assert needed(catalogue, lake, CACHE, snapshots=("2025",)) == {CACHE: "2025", TOKENIZER: "", **one}


def test_an_index_needs_all_that_it_closes(catalogue: Catalogue, lake: FolderStore) -> None:
    found = needed(catalogue, lake, "mixes/blend/index")
    assert found.pop("mixes/blend/documents/diary") == found.pop("sources/diary/v0/documents") == "monday"
    assert found.pop("mixes/blend/index") == ""
    assert found == dict.fromkeys((MIXED, V1, V0, COUNT_V0), "2024 2025")


def test_only_the_sources_of_the_targets_are_listed(catalogue: Catalogue, lake: FolderStore) -> None:
    graph = RecipeGraph(catalogue, ("dagshelf",))
    for words, sources in (("letters", ["letters"]), ("mixes/blend/index", ["diary", "letters"]), ("tiny-1", [])):
        targets = read_targets(catalogue, [words])
        assert graph.sources_of_assets(graph.target_assets(targets)) == sources
    targets = read_targets(catalogue, ["tiny-1"])
    assert graph.sources_of_assets(graph.with_all_inputs(graph.target_assets(targets), lake, targets)) == ["letters"]
