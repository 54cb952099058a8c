"""TokenizerJson: a `tokenizer.json` of Hugging Face, decoded as far as Gristmill asks for."""

from typing import Any

import msgspec

from gristmill.errors import DataError


class AddedTokenJson(msgspec.Struct, frozen=True):
    """A token beside the model's vocabulary; see `tokenizers.AddedToken`."""

    id: int
    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = True


class ModelJson(msgspec.Struct, frozen=True):
    """The model: its kind, the token for what it does not know, and the share of merges that it leaves out at random.

    The vocabulary and the merges are passed over.
    """

    type: str | None = None
    unk_token: str | float | None = None
    dropout: float | None = None


class TokenizerJson(msgspec.Struct, frozen=True):
    """The file. What is null or not there is None.

    Attributes:
        model: see ModelJson.
        added_tokens: in the file's order.
        normalizer: as the file declares it; so are `pre_tokenizer` and `post_processor`.
        truncation: how documents would be cut.
        padding: how documents would be filled up.
    """

    model: ModelJson
    added_tokens: tuple[AddedTokenJson, ...] = ()
    normalizer: dict[str, Any] | None = None
    pre_tokenizer: dict[str, Any] | None = None
    post_processor: dict[str, Any] | None = None
    truncation: dict[str, Any] | None = None
    padding: dict[str, Any] | None = None


def parse_tokenizer_json(data: bytes | str) -> TokenizerJson:
    """The typed view of a file.

    Args:
        data: the whole file.

    Raises:
        DataError: the data are not a `tokenizer.json`.
    """
    try:
        return msgspec.json.decode(data, type=TokenizerJson)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"not a tokenizer.json ({error})") from error
