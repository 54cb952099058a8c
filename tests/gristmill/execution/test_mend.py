import pytest

from gristmill.execution.finding import Finding
from gristmill.execution.mend import (
    add_mend_to_finding,
    how_to_reindex,
    how_to_remake,
    how_to_replace,
    repeat_arguments_in_mend,
)
from gristmill.lake.store.folder import FolderStore

TYPED = {
    "sources/wiki/v1/documents": "sources/wiki",
    "sources/wiki/v0/documents/2024/a/b.jsonl.gz": "sources/wiki",
    "sources/wiki/v0/ledgers/attributes/words-1/2024.shards.jsonl.gz": "sources/wiki",
    "sources/wiki/v0/quarantine/2024/a.jsonl.gz": "sources/wiki",
    "mixes/blend/ledgers/pages/2024.ids/a.xxh128": "mixes/blend",
    "mixes/blend/index": "mixes/blend",
    "token_caches/blend/neox-1/pages/train/2024/part-0-a/input_ids/data/c/0": "mixes/blend",
    "token_caches/blend/neox-1/pages/train/shard_ledger.json": "mixes/blend",
    "exports/blend/oscar/pages/2024/part-00000-a/en.jsonl.gz": "mixes/blend",
    "exports/blend/oscar/index/release-a/en/en.jsonl.gz": "mixes/blend",
}
"""Objects and addresses, and what a person gives to `make`."""


@pytest.mark.parametrize("path", TYPED)
def test_an_object_is_made_again_by_a_command_that_one_can_paste(lake: FolderStore, path: str) -> None:
    assert how_to_remake(lake, path) == f"run `python -m gristmill make {lake.url} {TYPED[path]}`"
    assert how_to_replace(lake, path) == f"remove {path}, then {how_to_remake(lake, path)}"


def test_the_lake_s_address_is_quoted_for_the_shell(lake: FolderStore) -> None:
    spaced = FolderStore(f"{lake.url}/my lake")
    assert f"make '{spaced.url}' mixes/blend" in how_to_remake(spaced, "mixes/blend/index")


def test_a_mend_repeats_the_arguments_that_were_typed(lake: FolderStore) -> None:
    index = add_mend_to_finding(lake, Finding("mixes/blend/index/index.json", None, "lost"))
    typed = f"make --shelves 'one,two words' {lake.url} mixes/blend"
    assert repeat_arguments_in_mend(index, ("--shelves", "one,two words")).mend == f"run `python -m gristmill {typed}`"
    stray = Finding("a", None, "stray", "remove it")
    assert repeat_arguments_in_mend(stray, ("--shelves", "one")) == stray
    assert repeat_arguments_in_mend(index, ()) == index


def test_what_no_command_makes_says_what_else_to_do(lake: FolderStore) -> None:
    assert how_to_remake(lake, "tokenizers/neox-1/tokenizer.json").startswith("restore it from a copy, or bring it as")
    assert how_to_remake(lake, "releases/first.json") == "restore it"


def test_an_index_is_written_again_and_copies_and_plans_by_hand(lake: FolderStore) -> None:
    index = "token_caches/two-words/neox-1/index"
    assert how_to_reindex(lake, f"{index}/ledger.json") == f"run `python -m gristmill make {lake.url} mixes/two-words`"
    assert f"remove {index}/consolidated/; " in how_to_reindex(lake, f"{index}/consolidated/ledger.json")
    assert "the job two_words_index in Dagster" in how_to_reindex(lake, f"{index}/consolidated/ledger.json")
    assert how_to_reindex(lake, f"{index}/packing/4096.json") == (
        f"materialize {index}/packing in Dagster with `length: 4096`, or remove its files of this length"
    )


def test_a_finding_gets_the_mend_of_its_object_unless_it_has_its_own(lake: FolderStore) -> None:
    path = "mixes/blend/documents/pages/2024/a.jsonl.gz"
    assert add_mend_to_finding(lake, Finding(path, 3, "wrong")) == Finding(path, 3, "wrong", how_to_remake(lake, path))
    lake.put(path, b"")
    assert add_mend_to_finding(lake, Finding(path, 3, "wrong")) == Finding(path, 3, "wrong", how_to_replace(lake, path))
    assert add_mend_to_finding(lake, Finding(path, 3, "wrong", "wait")) == Finding(path, 3, "wrong", "wait")
