import json
from typing import Any

import pytest

from gristmill.dolma.formats.configuration import read_configuration, resolve_variables
from gristmill.dolma.formats.mixer_config import mixer_config
from gristmill.errors import DataError, RecipeError

HOME = {"HOME": "/home/me", "EMPTY": ""}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${oc.env:HOME}/x", "/home/me/x"),
        ("${oc.env:HOME}${oc.env:HOME}", "/home/me/home/me"),
        ("${oc.env: HOME , other}", "/home/me"),
        ("${oc.env:NONE,/tmp}/x", "/tmp/x"),
        ("${oc.env:EMPTY}/x", "/x"),
        ("${oc.env:NONE,}", ""),
        ("$HOME", "$HOME"),
    ],
)
def test_a_reference_is_the_value_of_its_variable(text: str, value: str) -> None:
    assert resolve_variables({"a": [text]}, HOME, "c.yaml") == {"a": [value]}
    assert resolve_variables({"a": [text]}, None, "c.yaml") == {"a": [text]}


@pytest.mark.parametrize("text", ["${oc.env:NONE}", "${oc.env:NONE,null}"])
def test_a_variable_that_is_not_set_is_named(text: str) -> None:
    with pytest.raises(RecipeError, match=r"c.yaml: a.1: the environment variable NONE is not set"):
        resolve_variables({"a": ["x", text]}, HOME, "c.yaml")


@pytest.mark.parametrize("text", ["${a.b}", "${oc.select:a}", "${oc.env:HOME", "${oc.env:${oc.env:HOME}}"])
def test_other_references_are_refused(text: str) -> None:
    with pytest.raises(RecipeError, match=r"c.yaml: a: of all references"):
        resolve_variables({"a": text}, HOME, "c.yaml")


def test_streams_of_a_published_file_share_what_an_anchor_names() -> None:
    text = """
    streams:
      - name: cc-news_ace_Latn
        documents: ["${oc.env:HOME}/ace/*.gz"]
        output: &output {path: "${oc.env:HOME}/out", max_size_in_bytes: 3_814_697_265}
        filter: &filter {include: [".attributes.x | length == 0"], syntax: jq}
        span_replacement: [{span: $.attributes.x, min_score: 0.5, replacement: "${}"}]
      - name: cc-news_acf_Latn
        documents: ["${oc.env:HOME}/acf/*.gz"]
        output: *output
        filter: *filter
    """
    first, second = mixer_config(text.encode(), "c.yaml", {}, HOME).streams
    assert (first.documents, second.documents) == (("/home/me/ace/*.gz",), ("/home/me/acf/*.gz",))
    assert first.output == second.output
    assert first.output.path == "/home/me/out"
    assert first.output.max_size_in_bytes == 3814697265
    assert first.span_replacement[0].replacement == "${}"


def test_a_file_that_is_not_resolved_keeps_its_references() -> None:
    stream: dict[str, Any] = {"name": "a", "documents": ["${oc.env:HOME}/x"], "output": {"path": "${oc.env:HOME}/y"}}
    stream["filter"] = {"include": ["$.attributes"]}
    [read] = mixer_config(json.dumps({"streams": [stream]}).encode(), "c.json", {}).streams
    assert read.documents == ("${oc.env:HOME}/x",)


def test_json_and_yaml_give_the_same() -> None:
    assert read_configuration(b'{"a": [1, 2.5, null, "x"]}', "c.json", None) == {"a": [1, 2.5, None, "x"]}
    assert read_configuration(b"a: [1, 2.5, null, x]", "c.yaml", None) == {"a": [1, 2.5, None, "x"]}
    assert read_configuration(b'{"a": 1, "a": 2}', "c.json", None) == read_configuration(b"a: 1\na: 2", "c.yaml", None)
    assert read_configuration(b'{"a": 1,} # YAML in braces', "c.yaml", None) == {"a": 1}


@pytest.mark.slow
@pytest.mark.parametrize("data", [b'{"a": ', b"[" * 100_000, b'{"a":' * 100_000])
def test_json_that_is_wrong_is_told_with_its_line(data: bytes) -> None:
    with pytest.raises(DataError, match=r"c.json"):
        read_configuration(data, "c.json", None)
