"""Rows of texts: one text, one row of ids."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from gristmill.recipes.row_format import Text
from gristmill.stages.token_cache.rows import SPECIAL, CacheRows, Trouble, field_of, words_of
from gristmill.stages.tokenization.encoder import Encoder
from gristmill.text.utf8 import sizes_of


class _Text(msgspec.Struct, gc=False):
    id: str
    source: str
    text: str


class _Keyed(msgspec.Struct):
    id: str
    source: str
    text: str
    metadata: dict[str, Any] | None = None


class TextRows:
    """Encodes texts; `name` is the tokenizer's in Levanter's metadata, `refused` finds what no text may hold."""

    def __init__(
        self,
        declared: Text,
        encoder: Encoder,
        name: str,
        *,
        bos: bool,
        eos: bool,
        refused: re.Pattern[str] | None = None,
    ) -> None:
        self._key, self._encoder, self._refused = declared.text_key, encoder, refused
        self.row_type = _Text if self._key == "text" else _Keyed
        self.engine = encoder.engine
        self.metadata = {
            "tokenizer": name,
            "vocab_size": encoder.vocab_size,
            "return_attention_mask": False,
            "padding": False,
            "max_length": None,
            "append_bos": bos,
            "append_eos": eos,
        }

    def __call__(self, documents: Sequence[Any]) -> CacheRows:
        """See RowMaker."""
        if self._key == "text":
            return self._rows([each.text for each in documents], [])
        troubles: list[Trouble] = []
        texts: list[str] = []
        for number, document in enumerate(documents):
            found = field_of(document, self._key)
            if not isinstance(found, str):
                troubles.append(Trouble(number, "no text", f"metadata.{self._key} is {words_of(found)}, not a string"))
                found = ""
            texts.append(found)
        return self._rows(texts, troubles)

    def _rows(self, texts: Sequence[str], troubles: list[Trouble]) -> CacheRows:
        if self._refused is not None:
            for number, text in enumerate(texts):
                found = self._refused.search(text)
                if found:
                    troubles.append(Trouble(number, SPECIAL, f"{found[0]!r} at character {found.start()}"))
        return CacheRows({"input_ids": self._encoder.encode(texts)}, troubles, sizes_of(texts))
