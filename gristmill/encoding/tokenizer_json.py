"""A typed view of Hugging Face's `tokenizer.json`, with only the settings that Gristmill reads."""

from typing import Any

import msgspec

from gristmill.errors import DataError
from gristmill.lake.store.json_object import NOT_DECODED


class AddedTokenJson(msgspec.Struct, frozen=True):
    """A token that was added to the model's vocabulary.

    Attributes:
        id: its id.
        content: its text.
        single_word: whether it is found only as a whole word.
        lstrip: whether it takes the white space before it.
        rstrip: whether it takes the white space after it.
        normalized: whether it is searched in the normalized text.
    """

    id: int
    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True


class ModelJson(msgspec.Struct, frozen=True):
    """The settings of the model. Its vocabulary and merges are not decoded.

    Attributes:
        type: kind of model, such as `BPE`.
        unk_token: the token for unknown words; some models give a number.
        dropout: share of merges that the model leaves out at random.
    """

    type: str | None = None
    unk_token: str | float | None = None
    dropout: float | None = None


class TokenizerJson(msgspec.Struct, frozen=True):
    """The file. A setting that is null or missing is None.

    Attributes:
        model: model of the tokenizer.
        added_tokens: added tokens in the order of the file.
        normalizer: normalizer as the file declares it.
        pre_tokenizer: pre-tokenizer as the file declares it.
        post_processor: post-processor as the file declares it.
        truncation: settings for cutting; if set, long documents would be cut.
        padding: settings for filling up; if set, short documents would be filled up.
    """

    model: ModelJson
    added_tokens: tuple[AddedTokenJson, ...] = ()
    normalizer: dict[str, Any] | None = None
    pre_tokenizer: dict[str, Any] | None = None
    post_processor: dict[str, Any] | None = None
    truncation: dict[str, Any] | None = None
    padding: dict[str, Any] | None = None


def parse_tokenizer_json(data: bytes | str) -> TokenizerJson:
    """The typed view of a `tokenizer.json`.

    Args:
        data: the whole file.

    Raises:
        DataError: the data are not a `tokenizer.json`.

    >>> parse_tokenizer_json('{"model": {"type": "BPE", "dropout": 0.1}}').model
    ModelJson(type='BPE', unk_token=None, dropout=0.1)
    """
    try:
        return msgspec.json.decode(data, type=TokenizerJson)
    except NOT_DECODED as error:
        raise DataError(f"not a tokenizer.json ({error})") from error
