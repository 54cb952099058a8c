"""Small tokenizers that are trained in no time, and how their ids are told by the book."""

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from gristmill.encoding.encoder import Encoder

EOS = "<|endoftext|>"
BOS = "<|begin|>"
CORPUS = [
    "the quick brown fox jumps over the lazy dog",
    "don't stop: it's 12345 o'clock, they'll say",
    "def grind(raw: str) -> list[int]:\n    return [ord(c) for c in raw]\n",
    "Ein Märchen über Größe; déjà vu; Привет мир; 你好世界; こんにちは; שלום עולם; مرحبا",
] * 20


def trained(*, normalizer: normalizers.Normalizer | None = None, prefix_space: bool = False) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=[EOS, BOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def raw(tokenizer: Tokenizer) -> bytes:
    text: str = tokenizer.to_str()
    return text.encode()


def rows(encoder: Encoder, texts: list[str]) -> list[list[int]]:
    flat, lengths = encoder.encode(texts)
    assert flat.dtype == np.int32
    assert lengths.dtype == np.int64
    assert len(lengths) == len(texts)
    ends = np.cumsum(lengths)
    return [flat[end - length : end].tolist() for end, length in zip(ends, lengths, strict=True)]


def by_the_book(tokenizer: Tokenizer, text: str, *, eos: str | None, bos: str | None) -> list[int]:
    full = text if eos is None else f"{text} {eos}"
    ids: list[int] = tokenizer.encode(full, add_special_tokens=False).ids
    return ids if bos is None else [one_id(tokenizer, bos), *ids]


def one_id(tokenizer: Tokenizer, token: str) -> int:
    number = tokenizer.token_to_id(token)
    assert number is not None
    return number
