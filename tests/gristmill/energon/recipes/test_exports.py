from typing import Any

import pytest

from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.errors import RecipeError


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fields": {"a": "txet"}}, "fields: 'txet' is not the path of a value"),
        ({"fields": {"a": "text.length"}}, "'text.length' is not the path"),
        ({"media": ("metadata.",)}, "media: 'metadata.' is not the path"),
        ({"file_bytes": 0}, "file_bytes is 0; give at least 1"),
        ({"aux": {"images": "more.jsonl"}}, "Energon takes no JSON lines as an auxiliary source"),
        ({"aux": {"images": ""}}, "give a prepared WebDataset"),
        ({"aux": {"images": "../../images/index/metadataset.yaml"}}, "of another export give the folder of a release"),
        ({"aux": {"images": "../../images/index"}}, "of another export give the folder of a release"),
        ({"aux": {"images": "../../../photos/images/index/"}}, "Energon takes no metadataset as an auxiliary source"),
        *(
            ({"root": root}, "root is .*; give a folder of the lake, such as 'media/shapes', or the absolute path")
            for root in ("s3://other/media", "../media", "media/../../x", "/", "./media", "a//b")
        ),
    ],
)
def test_wrong_options_of_json_lines_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        EnergonJsonl(**options)


def test_folders_and_releases_are_taken() -> None:
    aux = {"a": "../../../../media/index", "b": "../../images/index/release-0123456789abcdef", "c": "filesystem://./x"}
    for root in ("", "media", "media/shapes/", "/data/shapes", "..media/a.b"):
        assert EnergonJsonl(root=root, aux=aux).aux == aux


TEXT = {"parts": {"txt": "text"}}
CAPTION = {"sample_type": "CaptioningSample"}
PHOTO = {"image": "photo", "caption": "txt"}
BY_ENDING: dict[str, Any] = {**TEXT, **CAPTION, "files": {"*": "metadata.image"}, "root": "media"}


def test_endings_of_files_may_be_places_of_a_field_map() -> None:
    places = {"image": "jpeg,png", "caption": "txt"}
    EnergonWebdataset(**BY_ENDING, field_map=places, media_metadata="extension")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"parts": {}}, "give at least one part, each once"),
        ({"parts": {"jpg": "text"}, "files": {"jpg": "id"}, "root": "media"}, "each once; twice: jpg"),
        ({"parts": {"a/b": "text"}}, "'a/b' cannot name a part"),
        ({"files": {"jpg": "metadata.image"}}, "need root=, the folder that has them"),
        ({"key": "id", "random_access": False}, "the index must prove that no two samples have one key"),
        ({"split_ratios": {"a": 1}, "split_patterns": {"a": "b"}}, "not both"),
        ({**TEXT, "sample_type": "TextSample"}, "give both, or neither for crude samples"),
        ({**TEXT, "sample_type": "TextSample", "field_map": {"text": "json"}}, "'json', which no sample has"),
        ({**TEXT, "sample_type": "TextSample", "field_map": {"texts": "txt"}}, "TextSample has no field 'texts'"),
        ({**TEXT, "sample_type": "TestSample", "field_map": {"text": "txt"}}, "no sample type 'TestSample'"),
        ({"shard_samples": 0}, "shard_samples is 0"),
        ({"parts": {"*": "text"}}, r"'\*' cannot name a part"),
        ({**BY_ENDING, "field_map": {"image": "jpeg,png", "caption": "text"}}, "'text', which no sample has"),
        (
            {"parts": {"words": "text"}, "sample_type": "TextSample", "field_map": {"text": "words"}},
            "'words': .* would stay bytes; name it such as 'words.txt' or 'words.json'",
        ),
        (
            {**TEXT, "files": {"photo": "metadata.image"}, "root": "media", **CAPTION, "field_map": PHOTO},
            "'photo': .* would stay bytes; name it such as 'photo.jpg'",
        ),
    ],
)
def test_wrong_options_of_webdatasets_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        EnergonWebdataset(**options)


def test_a_class_of_ones_own_is_not_looked_up() -> None:
    EnergonWebdataset(parts={"txt": "text"}, sample_type="corpus.samples:Pair", field_map={"left": "txt"})
