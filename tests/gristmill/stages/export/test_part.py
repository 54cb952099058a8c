import msgspec
import pytest
from exported import HERE, records
from testkit import Mill

from gristmill.errors import DataError
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.model import Input, Recipe
from gristmill.stages.export.part import ExportedPart, part_folder

RECIPE = Recipe("blend/oscar/pages", 1, {})


def test_the_name_of_a_part_follows_from_recipe_and_inputs() -> None:
    inputs = (Input("mixes/blend/documents/pages", "a", "1f"),)
    name = part_folder(RECIPE.digest, inputs)
    assert name == part_folder(RECIPE.digest, inputs)
    others = [
        part_folder(RECIPE.digest, (Input("mixes/blend/documents/pages", "a", "20"),)),
        part_folder(RECIPE.digest, (Input("mixes/blend/documents/pages", "b", "1f"),)),
        part_folder(msgspec.structs.replace(RECIPE, version=2).digest, inputs),
    ]
    assert len({name, *others}) == 4
    assert others[0].partition("-")[2][:5] == name.partition("-")[2][:5]  # the number is that of the shard's name


def test_a_record_comes_back_from_the_table_and_a_row_without_one_is_told(exported: Mill) -> None:
    row = read_ledger(exported.store, HERE)[1][0]
    record = ExportedPart.decode_from_row(row, HERE.table)
    assert msgspec.convert(record.as_extra(), ExportedPart) == record
    assert record == records(exported)["a"]
    with pytest.raises(DataError, match="part a: its row does not say which files it has"):
        ExportedPart.decode_from_row(msgspec.structs.replace(row, extra={}), HERE.table)


def test_a_file_that_is_no_object_of_the_part_is_told(exported: Mill) -> None:
    record = msgspec.structs.replace(records(exported)["a"], objects={})
    with pytest.raises(DataError, match=r"en.jsonl.gz: its part's record has no such object"):
        record.sources("pages")
