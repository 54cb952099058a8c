"""What the reference says of a tokenizer, kept beside it in the lake.

A worker that starts would else load the reference and let it encode all probes, only to see that the fast engine gives
the same ids: half of its start. So the reference's answers are written when a tokenizer comes into the lake. The fast
engine is still tried on every probe at every start, against them.
"""

from typing import NamedTuple

import msgspec
import numpy as np
import zstandard
from tokenizers import Tokenizer

from gristmill.errors import RecipeError
from gristmill.stages.tokenization.engines import Found, Lengths, Reference
from gristmill.stages.tokenization.probes import PROBES, probes
from gristmill.stages.tokenization.safe_splits import breaks_of
from gristmill.stages.tokenization.tokenizer_json import parse_tokenizer_json
from gristmill.stages.tokenization.vocabulary import Vocabulary, vocabulary_of

FACTS = "facts.msgpack.zst"
"""The file's name."""
_MOST = 1 << 30  # bytes that it may unpack to


class TokenizerFacts(NamedTuple):
    """A tokenizer as the reference knows it.

    Attributes:
        size: entries of the vocabulary, added tokens included.
        added: the ids of the added tokens.
        special: which of them are special.
        texts: the probes.
        ids: theirs, one after another.
        lengths: ids of each probe.
        breaks: where texts may be parted: see windows.
        vocabulary: its tables.
    """

    size: int
    added: dict[str, int]
    special: tuple[str, ...]
    texts: list[str]
    ids: Found
    lengths: Lengths
    breaks: str
    vocabulary: Vocabulary


class _Written(msgspec.Struct):
    """As it is written; arrays as the bytes of little-endian elements."""

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
    """The tokenizer as `tokenizers` loads it.

    Raises:
        RecipeError: no tokenizer.json; one that truncates, pads or drops merges at random.
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
        raise RecipeError("tokenizer.json declares dropout: the same text would get other ids; set it to null")
    return reference


def facts_of(tokenizer_json: bytes, reference: Tokenizer | None = None) -> TokenizerFacts:
    """Asks the reference (0.3 to 0.6 CPU seconds); errors as load_reference has them."""
    reference = reference or load_reference(tokenizer_json)
    decoder = reference.get_added_tokens_decoder()
    texts = probes(reference)
    ids, lengths = Reference(reference).encode(texts)
    return TokenizerFacts(
        reference.get_vocab_size(with_added_tokens=True),
        {token.content: number for number, token in sorted(decoder.items())},
        tuple(token.content for _, token in sorted(decoder.items()) if token.special and token.content),
        texts,
        ids,
        lengths,
        breaks_of(reference),
        vocabulary_of(tokenizer_json, reference),
    )


def dump_facts(facts: TokenizerFacts) -> bytes:
    """The file's bytes: the same for the same facts."""
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


def load_facts(data: bytes) -> TokenizerFacts | None:
    """What was written; None if other probes were tried then."""
    plain = zstandard.ZstdDecompressor().decompress(data, max_output_size=_MOST)
    if msgspec.msgpack.decode(plain, type=_Tried).probes != PROBES:
        return None
    written = msgspec.msgpack.decode(plain, type=_Written)
    counts = {name: np.frombuffer(written.tables[name], "<u4").astype(np.int64) for name in ("bytes", "lead", "trail")}
    size = len(counts["bytes"])
    fragments = np.unpackbits(np.frombuffer(written.tables["fragments"], np.uint8), count=size).astype(np.bool_)
    return TokenizerFacts(
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
    probes: int
