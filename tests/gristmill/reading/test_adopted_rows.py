from pathlib import Path

import pytest
from adoptions import adopt, document, write_rows
from testkit import Mill

import gristmill
from gristmill.errors import StoreError
from gristmill.recipes.adopted.dataset import Adopted


def test_adopted_documents_are_read_with_their_labels(tmp_path: Path) -> None:
    root = tmp_path / "theirs"
    path = write_rows(root / "documents" / "a.json.gz", [document("1"), document("2", "two")])
    write_rows(root / "attributes" / "q" / "a.json.gz", ['{"id":1,"q":0.5}', '{"id":"2","q":0.25}'])
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    adopt(mill, Adopted(name="theirs", root=str(root), sets=("q",)))
    lake = gristmill.open_lake(str(tmp_path / "lake"), shelves=("gristmill",))
    rows = list(lake.documents("theirs/v0", sets=["q"], columns=["id", "q__q"]))
    assert [(row["id"], row["q__q"][0]["score"]) for row in rows] == [("1", 0.5), ("2", 0.25)]
    assert [each.rows for each in lake.assets("sources/theirs")] == [2, 2]
    path.write_bytes(b"")
    with pytest.raises(StoreError, match="changed since it was adopted: it has 0 bytes"):
        list(lake.documents("theirs/v0"))
