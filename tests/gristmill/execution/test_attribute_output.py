import hashlib
from pathlib import Path

from gristmill.execution.attribute_output import AttributeOutput
from gristmill.execution.one_asset import OneAssetSpec
from gristmill.lake.address import attributes_asset, place
from gristmill.lake.identity import IdDigest
from gristmill.lake.ledger.model import Input
from gristmill.lake.store.folder import FolderStore

HERE = place(attributes_asset("wiki", "v0", "letters-1"), "2024")
READ = (Input("sources/wiki/v0/documents", "a", "1"),)
SPEC = OneAssetSpec(place=HERE, token="token-7", recipe="recipe", code="code")


def test_a_shard_is_published_with_the_ids_of_all_its_rows_and_stamped(lake: FolderStore) -> None:
    ids = IdDigest()
    output = AttributeOutput(lake, SPEC, "a", READ, ids.hexdigest)
    for number in (1, 2):
        output.write(b'{"id":"%d"}\n' % number)
        ids.update([("wiki", str(number))])
    output.counts = {"z": 1, "b": 2}
    assert (output.place, output.token, output.path) == (HERE, "token-7", HERE.shard("a"))
    assert list(lake.list("")) == []
    receipt = output.close()
    row = receipt.row
    assert (row.name, row.rows, row.recipe, row.inputs, receipt.code) == ("a", 2, "recipe", READ, "code")
    assert row.ids == ids.hexdigest()
    assert list(row.counts.items()) == [("b", 2), ("z", 1)]
    assert row.sha256 == hashlib.sha256(lake.read(output.path)).hexdigest()
    assert receipt.stamps == {entry.path: entry.version for entry in lake.list("")}
    assert set(receipt.stamps) == {output.path}


def test_a_shard_that_is_aborted_leaves_nothing(lake: FolderStore) -> None:
    output = AttributeOutput(lake, SPEC, "a", READ, IdDigest().hexdigest)
    output.write(b"{}\n")
    output.abort()
    assert list(lake.list("")) == []
    assert not [path for path in Path(lake.url).rglob("*") if path.is_file()]
