import json

import pytest

from gristmill.dolma.tagging.config import TagConfig, label_key_from_name, read_config, tag_config
from gristmill.errors import RecipeError

YAML = b"""
documents:
  - s3://bucket/c4/documents/*.gz
taggers: [gopher_v1, gopher_v1, char_length_v1]
processes: 188
work_dir: {input: /tmp/in, output: null}
profile: {enable: false}
destination: null
"""


def test_a_configuration_is_read_with_the_defaults_of_the_toolkit() -> None:
    config = tag_config(read_config(YAML, "c.yaml"))
    assert config == TagConfig(("s3://bucket/c4/documents/*.gz",), ("gopher_v1", "char_length_v1"), processes=188)
    assert tag_config(read_config(json.dumps({"documents": ["a"], "taggers": ["b"]}).encode(), "c.json")) == TagConfig(
        ("a",), ("b",)
    )


def test_debug_takes_one_process() -> None:
    assert tag_config({"documents": ["a"], "taggers": ["b"], "processes": 8, "debug": True}).processes == 1


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"documets: [a]", "c.yaml: unknown key 'documets'; did you mean 'documents'?"),
        (b"documents: a/*.gz", r"c.yaml: documents: give a list, such as \[a/\*.gz\]"),
        (b"documents: [1]", "c.yaml: documents: .* is not a list of strings"),
        (b"processes: many", "c.yaml: processes: 'many' is not an integer"),
        (b"processes: true", "c.yaml: processes: True is not an integer"),
        (b"dryrun: 1", "c.yaml: dryrun: 1 is not true or false"),
        (b"documents: ['${oc.env:MILL}/x']", "c.yaml: documents.0: the environment variable MILL is not set"),
        (b"work_dir: {here: x}", r"unknown key 'work_dir.here'"),
    ],
)
def test_what_the_toolkit_does_not_know_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        read_config(data, "c.yaml")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"taggers": ["b"]}, "documents: give at least one"),
        ({"documents": ["a"]}, "taggers: give at least one"),
        ({"documents": ["a"], "taggers": ["b"], "processes": 0}, "processes: 0 is less than 1"),
        ({"documents": ["a"], "taggers": ["b"], "destination": ["c", "d"]}, "2 paths for 1 entries of documents"),
        ({"documents": ["a\0"], "taggers": ["b"]}, "documents: 'a.x00' has a NUL"),
        ({"documents": ["a"], "taggers": ["b"], "experiment": "../x"}, "'../x' is not a name"),
        ({"documents": ["a"], "taggers": ["b"], "tagger_modules": ["m"]}, "write a tagger for Gristmill"),
        ({"documents": ["a"], "taggers": ["b"], "profile.enable": True}, "profile: not supported"),
    ],
)
def test_what_cannot_be_done_is_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        tag_config(fields)


def test_names_are_parts_of_keys() -> None:
    assert label_key_from_name("my-exp.2") == "my_exp_2"
    with pytest.raises(RecipeError, match="begins with a letter"):
        label_key_from_name("1e2")
