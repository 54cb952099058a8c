"""Tokens of characters: from ids alone what the reference tokenizer says with its offsets."""

from typing import Any

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from gristmill.encoding.offsets import TokenOffsets
from gristmill.encoding.vocabulary import read_vocabulary

EOS = "<|endoftext|>"
CORPUS = ["the cat  sat on the mat", " caf\u00e9 \u4f60\u597d\u4f60\u597d", "  \n\n  x = 1\n\tdef f(): pass"] * 20


def trained(**parts: Any) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=[EOS, "<|a b|>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


KINDS = {
    "plain": trained(),
    "trimming": trained(post_processor=processors.ByteLevel(trim_offsets=True)),
    "bare": trained(post_processor=processors.ByteLevel(trim_offsets=True, add_prefix_space=False)),
    "composing": trained(normalizer=normalizers.NFC()),
    "lower": trained(normalizer=normalizers.Lowercase(), post_processor=processors.ByteLevel(trim_offsets=True)),
}
READY = {
    name: TokenOffsets(each.to_str().encode(), each, read_vocabulary(each.to_str().encode(), each))
    for name, each in KINDS.items()
}
TEXTS = st.lists(
    st.sampled_from(
        [
            "the",
            " ",
            "  ",
            "caf\u00e9",
            "e\u0301",
            "\u4f60\u597d",
            "\U0001f468\u200d\U0001f469",
            EOS,
            "<|a b|>",
            "\n",
            "X",
            "\u3000",
        ]
    ),
    max_size=12,
).map("".join)


def reference(tokenizer: Tokenizer, text: str, begin: int, end: int) -> list[bool]:
    encoding = tokenizer.encode(text, add_special_tokens=False)
    flags = [False] * len(encoding.ids)
    first, last = encoding.char_to_token(begin), encoding.char_to_token(end - 1)
    if first is not None:
        for number in range(first, len(flags) if last is None else last + 1):
            flags[number] = True
    return flags


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=draws(75))
@given(data=st.data())
def test_masks_are_those_of_the_reference(kind: str, data: st.DataObject) -> None:
    tokenizer, offsets = KINDS[kind], READY[kind]
    text = data.draw(TEXTS.filter(bool))
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin + 1, len(text)))
    ids = np.array(tokenizer.encode(text, add_special_tokens=False).ids, np.int32)
    assert offsets.mask_tokens_in_spans(text, ids, [(begin, end)]).tolist() == reference(tokenizer, text, begin, end)


def test_byte_level_tokenizers_need_no_reference() -> None:
    assert {name: each.fast for name, each in READY.items()} == dict.fromkeys(KINDS, True)
    words = Tokenizer(models.WordLevel({"a": 0, "\u00e9\u4e00": 1, "[UNK]": 2}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    data = words.to_str().encode()
    vocabulary = read_vocabulary(data, words)
    assert (vocabulary.byte_level, vocabulary.unknown) == (False, 2)
    offsets = TokenOffsets(data, words, vocabulary)
    assert not offsets.fast
    assert offsets.mask_tokens_in_spans("a b a", np.array([0, 2, 0], np.int32), [(2, 3)]).tolist() == [
        False,
        True,
        False,
    ]
