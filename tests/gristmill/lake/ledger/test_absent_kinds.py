"""Folders of kinds whose packages are not installed."""

from pathlib import Path

from gristmill.lake.ledger.absent_kinds import absent_kinds
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.model import Ledger, Recipe, TableDigest
from gristmill.lake.ledger.receipts import RunNote
from gristmill.lake.store.folder import FolderStore

LEDGERS = "lengths/short-1/ledgers/tales"


def head(asset: str) -> bytes:
    return as_json(Ledger(1, asset, "1", "", Recipe("short-1", 1, {}), (), {}, {}, TableDigest(0, "")))


def test_a_folder_is_of_an_absent_kind_if_a_ledger_there_is_of_an_asset_in_it(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    store.put("sources/tales/v0/ledgers/documents/1.json", head("sources/tales/v0/documents"))
    store.put("notes/of/ledgers/a.json", b"{}")
    store.put("copies/short-1/ledgers/tales/1.json", head("lengths/short-1/tales"))
    store.put(f"{LEDGERS}/1.receipts/a.json", b"{}")
    assert list(absent_kinds(store)) == []
    store.put(f"{LEDGERS}/1.json", head("lengths/short-1/tales"))
    assert list(absent_kinds(store)) == [("lengths/", "made by a package, which is not installed")]
    store.put(f"{LEDGERS}/1.run.json", as_json(RunNote(about={"package": "millextras 1.2"})))
    assert list(absent_kinds(store)) == [("lengths/", "made by the package millextras 1.2, which is not installed")]
    store.put(f"{LEDGERS}/1.run.json", b"{")
    assert list(absent_kinds(store)) == [("lengths/", "made by a package, which is not installed")]
