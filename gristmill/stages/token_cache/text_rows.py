"""Rows of texts: each text becomes one row of token ids."""

from collections.abc import Sequence
from typing import Any

import msgspec

from gristmill.encoding.encoder import Encoder
from gristmill.recipes.row_format import Text
from gristmill.stages.token_cache.rows import (
    MISSING,
    NORMALIZED,
    SPECIAL,
    CacheRows,
    RowError,
    document_field,
    type_in_words,
)
from gristmill.text.utf8 import utf8_sizes


class _TextField(msgspec.Struct, gc=False):
    id: str
    source: str
    text: str


class _Keyed(msgspec.Struct):
    id: str
    source: str
    text: str
    metadata: dict[str, Any] | None = None


class TextRows:
    """Encodes texts.

    Args:
        declared: the format.
        encoder: encoder of the texts.
        name: the tokenizer's name in Levanter's metadata.
    """

    def __init__(self, declared: Text, encoder: Encoder, name: str) -> None:
        self._key, self._encoder = declared.text_key, encoder
        self.row_type = _TextField if self._key == "text" else _Keyed
        self.engine = encoder.engine
        self.metadata = {
            "tokenizer": name,
            "vocab_size": encoder.vocab_size,
            "return_attention_mask": False,
            "padding": False,
            "max_length": None,
            "append_bos": encoder.options.bos is not None,
            "append_eos": encoder.options.eos is not None,
        }

    def __call__(self, documents: Sequence[Any]) -> CacheRows:
        """See RowEncoder."""
        if self._key == "text":
            return self._tokenize_texts([document.text for document in documents], [])
        troubles: list[RowError] = []
        texts: list[str] = []
        for number, document in enumerate(documents):
            text = document_field(document, self._key)
            if not isinstance(text, str):
                what = f"metadata.{self._key} is {type_in_words(text)}, not a string"
                if text is MISSING:
                    what += ": a field that became the document's text is not there a second time (format=Text())"
                troubles.append(RowError(number, "no text", what))
                text = ""
            texts.append(text)
        return self._tokenize_texts(texts, troubles)

    def _tokenize_texts(self, texts: Sequence[str], troubles: list[RowError]) -> CacheRows:
        ids, lengths = self._encoder.encode(texts)
        refused = self._encoder.refused
        if refused is not None:
            options = self._encoder.options
            ours = sum(
                token is not None and refused.fullmatch(token) is not None for token in (options.bos, options.eos)
            )
            counts = self._encoder.specials_in(ids, lengths).tolist()
            for number, (text, count) in enumerate(zip(texts, counts, strict=True)):
                match = refused.search(text)
                if match:
                    troubles.append(RowError(number, SPECIAL, f"{match[0]!r} at character {match.start()}"))
                elif count > ours:
                    troubles.append(RowError(number, SPECIAL, NORMALIZED))
        return CacheRows({"input_ids": (ids, lengths)}, troubles, utf8_sizes(texts))
