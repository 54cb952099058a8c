import pytest

from gristmill.encoding.tokenizer_json import AddedTokenJson, ModelJson, TokenizerJson, parse_tokenizer_json
from gristmill.errors import DataError


def test_what_is_not_asked_for_is_passed_over_and_what_is_not_there_is_none() -> None:
    data = b"""{"version":"1.0","truncation":null,"padding":{"length":2},"normalizer":{"type":"NFC"},
        "added_tokens":[{"id":3,"content":" ","special":true,"normalized":false}],
        "model":{"type":"BPE","dropout":0.5,"vocab":{"a":0},"merges":[["a","b"]]}}"""
    assert parse_tokenizer_json(data) == TokenizerJson(
        ModelJson("BPE", None, 0.5),
        (AddedTokenJson(3, " ", normalized=False),),
        normalizer={"type": "NFC"},
        padding={"length": 2},
    )


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b'{"model":{},"added_tokens":[{"id":1}]}'])
def test_another_file_is_named_as_none(data: bytes) -> None:
    with pytest.raises(DataError, match=r"not a tokenizer\.json"):
        parse_tokenizer_json(data)
