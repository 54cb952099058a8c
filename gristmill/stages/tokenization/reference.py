"""The reference's answers for a tokenizer, kept beside it in the lake.

The answers are written when a tokenizer comes into the lake. Without them, every worker would load the reference and
let it encode all probes, which takes half of a worker's start. The fast engine still encodes all probes at every start
and is compared with these answers.
"""

from typing import NamedTuple

import msgspec
import numpy as np
import zstandard
from tokenizers import Tokenizer

from gristmill.errors import RecipeError
from gristmill.stages.tokenization.engines import EngineIds, Lengths, ReferenceEngine
from gristmill.stages.tokenization.probes import PROBES, probes
from gristmill.stages.tokenization.safe_splits import breaks_of
from gristmill.stages.tokenization.tokenizer_json import parse_tokenizer_json
from gristmill.stages.tokenization.vocabulary import Vocabulary, vocabulary_of

REFERENCE_FILE = "facts.msgpack.zst"
"""Name of the file with the answers."""
_MOST = 1 << 30  # largest unpacked size in bytes


class TokenizerReference(NamedTuple):
    """A tokenizer, as the reference describes it.

    Attributes:
        size: entries of the vocabulary, with added tokens.
        added: ids of the added tokens, by content.
        special: the added tokens that are special.
        texts: the probes.
        ids: their ids, one probe after another, uint32.
        lengths: number of ids of each probe, int64.
        breaks: the characters before which texts may be split: see safe_splits.breaks_of.
        vocabulary: tables over the ids.
    """

    size: int
    added: dict[str, int]
    special: tuple[str, ...]
    texts: list[str]
    ids: EngineIds
    lengths: Lengths
    breaks: str
    vocabulary: Vocabulary


class _Written(msgspec.Struct):
    """The form in the file. Arrays are the bytes of their little-endian elements."""

    probes: int
    size: int
    added: dict[str, int]
    special: tuple[str, ...]
    texts: list[str]
    ids: bytes
    lengths: bytes
    breaks: str
    byte_level: bool
    unknown: int | None
    tables: dict[str, bytes]


def load_reference(tokenizer_json: bytes) -> Tokenizer:
    """The tokenizer, loaded by `tokenizers`.

    Args:
        tokenizer_json: the bytes of `tokenizer.json`.

    Raises:
        RecipeError: the bytes are not a tokenizer.json, or it truncates, pads or drops merges at random.
    """
    try:
        declared = parse_tokenizer_json(tokenizer_json)
        reference = Tokenizer.from_buffer(tokenizer_json)
    except Exception as error:  # `tokenizers` raises nothing narrower
        raise RecipeError(f"tokenizer.json cannot be loaded: {error}") from error
    for name, setting in (("truncation", declared.truncation), ("padding", declared.padding)):
        if setting is not None:
            raise RecipeError(f"tokenizer.json declares {name}, which would change documents; set it to null")
    if declared.model.dropout:
        raise RecipeError("tokenizer.json declares dropout, so the same text would get other ids; set it to null")
    return reference


def ask_reference(tokenizer_json: bytes, reference: Tokenizer | None = None) -> TokenizerReference:
    """The reference's answers for a tokenizer. They take 0.3 to 0.6 CPU seconds.

    Args:
        tokenizer_json: the bytes of `tokenizer.json`.
        reference: the same tokenizer, if it is loaded already.

    Raises:
        RecipeError: see load_reference.
    """
    reference = reference or load_reference(tokenizer_json)
    decoder = reference.get_added_tokens_decoder()
    texts = probes(reference)
    ids, lengths = ReferenceEngine(reference).encode(texts)
    return TokenizerReference(
        reference.get_vocab_size(with_added_tokens=True),
        {token.content: number for number, token in sorted(decoder.items())},
        tuple(token.content for _, token in sorted(decoder.items()) if token.special and token.content),
        texts,
        ids,
        lengths,
        breaks_of(reference),
        vocabulary_of(tokenizer_json, reference),
    )


def dump_reference(facts: TokenizerReference) -> bytes:
    """The bytes of the file: MessagePack, compressed with zstd. Equal answers give equal bytes."""
    tables = facts.vocabulary
    written = _Written(
        PROBES,
        facts.size,
        facts.added,
        facts.special,
        facts.texts,
        facts.ids.astype("<u4").tobytes(),
        facts.lengths.astype("<u4").tobytes(),
        facts.breaks,
        tables.byte_level,
        tables.unknown,
        {
            "bytes": tables.bytes.astype("<u4").tobytes(),
            "lead": tables.lead.astype("<u4").tobytes(),
            "trail": tables.trail.astype("<u4").tobytes(),
            "fragments": np.packbits(tables.fragments).tobytes(),
        },
    )
    return zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(written))


def load_answers(data: bytes) -> TokenizerReference | None:
    """The answers in a file. None if it was written with another version of the probes.

    Args:
        data: the bytes of the file.
    """
    plain = zstandard.ZstdDecompressor().decompress(data, max_output_size=_MOST)
    if msgspec.msgpack.decode(plain, type=_Tried).probes != PROBES:
        return None
    written = msgspec.msgpack.decode(plain, type=_Written)
    counts = {name: np.frombuffer(written.tables[name], "<u4").astype(np.int64) for name in ("bytes", "lead", "trail")}
    size = len(counts["bytes"])
    fragments = np.unpackbits(np.frombuffer(written.tables["fragments"], np.uint8), count=size).astype(np.bool_)
    return TokenizerReference(
        written.size,
        written.added,
        written.special,
        written.texts,
        np.frombuffer(written.ids, "<u4"),
        np.frombuffer(written.lengths, "<u4").astype(np.int64),
        written.breaks,
        Vocabulary(size, written.byte_level, written.unknown, fragments=fragments, **counts),
    )


class _Tried(msgspec.Struct):
    """The version of the probes alone: it is read before the rest."""

    probes: int
