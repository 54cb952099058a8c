from pathlib import Path

import pytest
from adoptions import adopt, document, write_rows
from testkit import Mill

from gristmill.errors import DataError
from gristmill.lake.address import attributes_asset, documents_asset, place
from gristmill.lake.rows.attribute import parse_rows
from gristmill.recipes.adopted.dataset import Adopted


def test_every_form_of_attribute_rows_is_adopted(tmp_path: Path) -> None:
    rows = {
        "1": '{"id":"1","source":"web","attributes":{"q__run__score":[[0,4,0.5]]}}',
        "2": '{"id":2,"attributes":{"q__run__score":0.5,"ok":true}}',
        "3": '{"id":"3","attributes":{"q":{"email":[[0,1,1.0]],"phone":0.25}}}',
        "4": '{"source":"web","id":"4","toxicity":0.7,"lang":{"en":0.9}}',
        "5": '{"id":"5","source":null,"attributes":{}}',
        "6": '{"id":"6","attributes":{"far":[[0,9999,1]]}}',
    }
    write_rows(tmp_path / "d" / "documents" / "x.jsonl.gz", [document(name) for name in rows])
    write_rows(tmp_path / "d" / "attributes" / "q" / "x.jsonl.gz", list(rows.values()))
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    adopt(mill, Adopted(name="dolma", root=str(tmp_path / "d"), sets=("q",)))
    shard = mill.table(place(attributes_asset("dolma", "v0", "q"), "all"))["x"]
    assert shard.counts == {"attribute rows without a source": 4, "spans outside of the text": 1}
    assert shard.ids == mill.table(place(documents_asset("dolma", "v0"), "all"))["x"].ids
    assert shard.extra == {"at": "attributes/q/x.jsonl.gz"}
    read = parse_rows([line.encode() for line in rows.values()], "q", "x", 0, [9] * 6)
    assert [sorted(row.labels) for row in read] == [
        ["run__score"],
        ["ok", "run__score"],
        ["q__email", "q__phone"],
        ["lang__en", "toxicity"],
        [],
        ["far"],
    ]


@pytest.mark.parametrize("id_", ["", "a\x00b"])
def test_an_id_that_is_not_valid_names_file_and_row(tmp_path: Path, id_: str) -> None:
    write_rows(tmp_path / "d" / "documents" / "x.jsonl.gz", [document("1"), document(id_)])
    (tmp_path / "lake").mkdir()
    with pytest.raises(DataError, match=r"x\.jsonl\.gz.*row 1.*the id .* is not valid"):
        adopt(Mill(tmp_path / "lake"), Adopted(name="dolma", root=str(tmp_path / "d")))
