"""What Energon would refuse in a metadataset is refused."""

import pytest

from gristmill.energon.formats.metadataset import Blend, DatasetReference, compose_metadataset
from gristmill.energon.formats.metadataset_file import read_metadataset
from gristmill.errors import DataError


def test_a_metadataset_that_we_compose_is_read() -> None:
    blend = Blend(((3, DatasetReference(path="a", aux={"m": "b"})), (1, DatasetReference(path="c", split_part="val"))))
    node = read_metadataset(compose_metadataset({"train": blend}), "m.yaml")["train"]
    assert [(each.path, each.weight, each.split_part, each.aux) for each in node.group_members] == [
        ("a", 3, None, {"m": "b"}),
        ("c", 1, "val", None),
    ]


def test_the_datasets_of_a_join_are_read_from_a_list_or_a_mapping() -> None:
    for join in ("[{path: a}, {path: b}]", "{x: {path: a}, y: {path: b}}"):
        text = f"{{__class__: MetadatasetV2, splits: {{train: {{join: {join}, joiner: {{}}}}}}}}"
        assert [each.path for each in read_metadataset(text.encode(), "m.yaml")["train"].group_members] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{__class__: Metadataset, splits: {}}", "its __class__ is 'Metadataset'; write it as MetadatasetV2"),
        ("{__class__: MetadatasetV2}", "it has no splits"),
        ("{__class__: MetadatasetV2, splits: {train: {path: a}}, x: {}}", "it has the fields x"),
        ("{__class__: MetadatasetV2, splits: {train: {path: a, blend: [{path: b}]}}}", "it has path and blend"),
        ("{__class__: MetadatasetV2, splits: {train: {blend: [{blend: [{path: b}]}]}}}", "a blend is in a group"),
        ("{__class__: MetadatasetV2, splits: {train: {blend: [{path: a, weight: .inf}]}}}", "the share inf"),
        ("{__class__: MetadatasetV2, splits: [a]}", "not a valid metadataset"),
        ("[a]", "it is not a mapping"),
    ],
)
def test_what_is_no_metadataset_is_refused(text: str, words: str) -> None:
    with pytest.raises(DataError) as error:
        read_metadataset(text.encode(), "m.yaml")
    assert words in str(error.value)
