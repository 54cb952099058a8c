"""The mixer's configuration."""

import json
from typing import Any

import pytest

from gristmill.dolma.formats.mixer_config import FilterSpec, MixerConfig, mixer_config
from gristmill.errors import RecipeError

STREAM: dict[str, Any] = {"name": "s", "documents": ["d/documents/*.gz"], "output": {"path": "out"}}


def read(stream: dict[str, Any], **more: Any) -> MixerConfig:
    return mixer_config(json.dumps({"streams": [{**STREAM, **stream}], **more}).encode(), "c.json", {})


def test_defaults_are_those_of_the_toolkit() -> None:
    config = read({"filter": None, "span_replacement": None, "output": {"path": "out", "discard_fields": None}})
    (stream,) = config.streams
    assert (stream.output.max_size_in_bytes, stream.output.min_text_length, config.processes) == (2 << 30, 0, 1)
    assert stream.filter == FilterSpec()
    assert config.shuffle


def test_options_come_before_the_file() -> None:
    data = json.dumps({"streams": [STREAM], "processes": 7, "work_dir": {"input": "a"}}).encode()
    options = {"processes": 2, "dryrun": None, "work_dir.output": "b"}
    config = mixer_config(data, "c.json", options)
    assert (config.processes, config.work_dir.input, config.work_dir.output) == (2, "a", "b")


def test_the_digest_names_what_changes_rows() -> None:
    plain = read({}).streams[0].digest
    assert read({"output": {"path": "elsewhere", "max_size_in_bytes": 5}}).streams[0].digest == plain
    assert read({"output": {"path": "out", "min_text_length": 5}}).streams[0].digest != plain
    assert read({"filter": {"exclude": ["$.a"]}}).streams[0].digest != plain
    assert read({"attributes": ["a"]}).streams[0].digest != plain


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        ({"nam": "x"}, "unknown field `nam`"),
        ({"documents": []}, "give documents"),
        ({"name": "a/b"}, "without /"),
        ({"filter": {"include": "$.a"}}, "Expected `array`"),
        ({"filter": {"include": ["$.a"], "syntax": "sql"}}, "Invalid enum value 'sql'"),
        ({"span_replacement": [{"span": "$.a"}]}, "give min_score, max_score or both"),
        ({"span_replacement": [{"span": "$.a", "min_score": 0.9, "max_score": 0.1}]}, "at least 0.9 and below 0.1"),
        ({"output": {"path": "o", "discard_fields": ["text"]}}, "documents have one"),
        ({"output": {"path": "o", "max_size_in_bytes": 0}}, "must be 1 or more"),
        ({"compression": {"output": "lz4"}}, "'lz4' is not supported"),
        ({"attributes": ["../x"]}, "no name of a folder"),
    ],
)
def test_what_is_refused(stream: dict[str, Any], reason: str) -> None:
    with pytest.raises(RecipeError, match=reason):
        read(stream)


def test_streams_need_their_own_names() -> None:
    with pytest.raises(RecipeError, match="several streams have one name, such as 's'"):
        mixer_config(json.dumps({"streams": [STREAM, STREAM]}).encode(), "c.json", {})
    with pytest.raises(RecipeError, match="at least one stream"):
        mixer_config(b"{}", "c.json", {})
