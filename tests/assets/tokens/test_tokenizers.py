from dataclasses import replace

import pytest
from dagster_kit import (
    BLEND_LETTERS,
    TINY,
    TINY_LETTERS,
    Works,
    letters,
)

from assets.support.keys import key_of
from gristmill.lake.address import cache_index


def test_a_tokenizer_says_what_it_was_trained_on(milled: Works) -> None:
    done = milled.run("tiny_1_train", None)
    said = done.metadata(TINY)
    assert said["rows read"] == 5
    assert said["trained on"] == f"{BLEND_LETTERS} 2024"
    assert said["this run"] == "kept the one that was in the lake"
    assert milled.version(TINY, None) == said["sha256"]


@pytest.mark.slow
def test_a_tokenizer_of_other_snapshots_than_its_recipe_says_is_made_on_request_and_never_changes(
    works: Works,
) -> None:
    works.raw(letters(1, 2, 3), snapshot="2025")
    works.arrive("letters")
    works.run("letters_journey", "2025")
    works.run("__ASSET_JOB", "2025", only=[BLEND_LETTERS])
    node = "tokenizers__tiny_1"
    config = {"ops": {node: {"config": {"snapshots": {"letters": ["2025"]}}}}}
    assert works.run("tiny_1_train", None, config=config).success
    refused = works.run("tiny_1_train", None)  # by the recipe: of 2024
    assert "a tokenizer never changes: declare one of the next number" in refused.failures[node]


def test_a_tokenizer_belongs_to_the_owners_of_the_mixes_that_use_it(works: Works) -> None:
    mixes = {"blend": replace(works.catalogue.mixes["blend"], owners=("team:corpus", "a@example.org"))}
    works.load(replace(works.catalogue, mixes=mixes))
    assert works.definitions.resolve_asset_graph().get(key_of(TINY)).owners == ["team:corpus", "a@example.org"]


def test_an_empty_page_of_a_tokenizer_or_of_a_cache_says_which_job_makes_the_tokenizer(works: Works) -> None:
    graph = works.definitions.resolve_asset_graph()
    for address in (TINY, TINY_LETTERS, cache_index("blend", "tiny-1")):
        assert "he job `tiny_1_train` " in (graph.get(key_of(address)).description or ""), address
