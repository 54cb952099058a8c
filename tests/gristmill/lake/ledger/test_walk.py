from pathlib import Path

from gristmill.lake.asset_kinds import ATTRIBUTES, DOCUMENTS, EXPORT
from gristmill.lake.ledger.walk import folders_matching_pattern, ledger_folders, list_assets
from gristmill.lake.store.folder import FolderStore


def test_a_lake_is_walked_by_the_patterns(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    for path in (
        "sources/wiki/raw/2024/a",
        "sources/wiki/v0/documents/2024/a.jsonl.gz",
        "sources/wiki/v10/documents/2024/a.jsonl.gz",
        "sources/wiki/v0/ledgers/documents/2024.json",
        "sources/news/v0/ledgers/attributes/t-1/2024.json",
        "exports/blend/tarballs/letters/2024/part-0-a/x",
        "exports/blend/tarballs/index/index.json",
        "exports/blend/tarballs/ledgers/letters/2024.json",
    ):
        store.put(path, b"")
    assert list(list_assets(store, DOCUMENTS, source="wiki")) == [f"sources/wiki/{v}/documents" for v in ("v0", "v10")]
    assert list(list_assets(store, EXPORT)) == ["exports/blend/tarballs/letters"]
    assert list(list_assets(store, EXPORT, mix="none", export="none", stream="x")) == ["exports/none/none/x"]
    assert list(folders_matching_pattern(store, ATTRIBUTES.ledger, source="news", version="v0", snapshot="2024")) == [
        "sources/news/v0/ledgers/attributes/t-1/2024.json"
    ]
    assert list(ledger_folders(store, EXPORT)) == ["exports/blend/tarballs/ledgers/"]
    assert list(ledger_folders(store)) == [
        "sources/news/v0/ledgers/",
        "sources/wiki/v0/ledgers/",
        "sources/wiki/v10/ledgers/",
        "exports/blend/tarballs/ledgers/",
    ]
