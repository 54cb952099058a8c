import pytest

from gristmill.lake.address import attributes_asset, cache_asset, documents_asset, place
from gristmill.lake.ledger.ownership import is_in_partition_folders

DOCUMENTS = place(documents_asset("pages", "v0"), "2024")
CACHE = place(cache_asset("blend", "tiny-1", "pages"), "2024")

OWN = [
    (DOCUMENTS, DOCUMENTS.shard("a/b")),
    (DOCUMENTS, DOCUMENTS.index("a")),
    (DOCUMENTS, DOCUMENTS.quarantine_path("a")),
    (CACHE, "token_caches/blend/tiny-1/pages/validation/2024/part-00000-0123456789abcdef/.stats.json"),
]

FOREIGN = [
    (DOCUMENTS, "sources/pages/raw/2024/a.jsonl.gz"),
    (DOCUMENTS, place(documents_asset("pages", "v1"), "2024").shard("a")),
    (DOCUMENTS, place(documents_asset("pages", "v0"), "2025").shard("a")),
    (DOCUMENTS, place(documents_asset("pages", "v0"), "2024.1").shard("a")),
    (DOCUMENTS, place(attributes_asset("pages", "v0", "words-1"), "2024").shard("a")),
    (DOCUMENTS, DOCUMENTS.ledger),
    (DOCUMENTS, DOCUMENTS.table),
    (DOCUMENTS, DOCUMENTS.claim_path),
    (DOCUMENTS, f"{DOCUMENTS.folder}../../../raw/2024/a.jsonl.gz"),
    (DOCUMENTS, f"{DOCUMENTS.folder}./a.jsonl.gz"),
    (DOCUMENTS, f"{DOCUMENTS.folder}/a.jsonl.gz"),
    (DOCUMENTS, f"/{DOCUMENTS.shard('a')}"),
    (DOCUMENTS, DOCUMENTS.folder),
    (DOCUMENTS, "releases/first.json"),
    (DOCUMENTS, "lake.json"),
    (DOCUMENTS, "/etc/passwd"),
    (DOCUMENTS, ""),
    (CACHE, "token_caches/blend/tiny-1/pages/train/2025/part-00000-0123456789abcdef/.stats.json"),
    (CACHE, "token_caches/blend/tiny-1/pages/train/shard_ledger.json"),
]


@pytest.mark.parametrize(("where", "path"), OWN, ids=[path for _, path in OWN])
def test_shards_parts_indexes_and_refused_rows_are_of_the_partition(where: object, path: str) -> None:
    assert is_in_partition_folders(where, path)  # type: ignore[arg-type]  # a Place


@pytest.mark.parametrize(("where", "path"), FOREIGN, ids=[path or "nothing" for _, path in FOREIGN])
def test_nothing_else_is(where: object, path: str) -> None:
    assert not is_in_partition_folders(where, path)  # type: ignore[arg-type]  # a Place
