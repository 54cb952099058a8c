"""The reference's answers for a tokenizer, stored in the tokenizer's folder in the lake.

The reference is the `tokenizers` library. Its answers are right by definition: a worker uses the fast engine only if
both give the same ids for all probes. Probes are texts on which tokenizers may differ (probes.py).

The answers are stored when a tokenizer is trained or imported. Without them, every worker would load the reference and
encode all probes with it, which takes half of a worker's start time. The fast engine encodes all probes at every start,
and its ids are compared with these answers.
"""

from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np
import zstandard
from tokenizers import Tokenizer

from gristmill.encoding.engines import EngineIds, Lengths, ReferenceEngine
from gristmill.encoding.probes import PROBES, probe_texts
from gristmill.encoding.safe_splits import word_break_characters
from gristmill.encoding.tokenizer_json import parse_tokenizer_json
from gristmill.encoding.vocabulary import Vocabulary, read_vocabulary
from gristmill.errors import RecipeError, is_failure

REFERENCE_FILE = {2: "facts.msgpack.zst"}.get(PROBES, f"facts-{PROBES}.msgpack.zst")
"""Name of the file with the answers. Each version of the probes has its own, because a release names such a file."""
_MAX_BYTES = 1 << 30  # largest size of the file after decompression


class TokenizerReference(NamedTuple):
    """All answers of the reference for one tokenizer.

    Attributes:
        size: number of entries of the vocabulary, with added tokens.
        added: id of each added token, by its text.
        special: the texts of the added tokens that are special, such as an EOS token.
        texts: the probes. Some are made from the tokenizer's own vocabulary, so they are stored with the answers.
        ids: the token ids of all probes, one probe after another, uint32.
        lengths: number of ids of each probe, int64.
        breaks: the characters before which a text may be split without changing its ids: see safe_splits.breaks_of.
        vocabulary: properties of each id, such as its number of bytes.
    """

    size: int
    added: dict[str, int]
    special: tuple[str, ...]
    texts: list[str]
    ids: EngineIds
    lengths: Lengths
    breaks: str
    vocabulary: Vocabulary


class _ReferenceFile(msgspec.Struct):
    """The file's content: a TokenizerReference, with `probes`, the version of the probes (`PROBES`).

    Arrays are the bytes of their elements: little-endian uint32. `fragments` is an array of bits.
    """

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
    """The tokenizer, loaded by the `tokenizers` library.

    Args:
        tokenizer_json: the bytes of `tokenizer.json`.

    Raises:
        RecipeError: the bytes are not a tokenizer.json. Or it declares truncation, padding or dropout (merges are left
            out at random): a document would get other ids.
    """
    try:
        declared = parse_tokenizer_json(tokenizer_json)
        reference = Tokenizer.from_buffer(tokenizer_json)
    except MemoryError:
        raise
    except BaseException as error:  # `tokenizers` raises only Exception itself
        if not is_failure(error):
            raise
        raise RecipeError(f"tokenizer.json cannot be loaded: {error}") from error
    for name, setting in (("truncation", declared.truncation), ("padding", declared.padding)):
        if setting is not None:
            raise RecipeError(f"tokenizer.json declares {name}, which would change documents; set it to null")
    if declared.model.dropout:
        raise RecipeError("tokenizer.json declares dropout, so the same text would get other ids; set it to null")
    return reference


def ask_reference(tokenizer_json: bytes) -> TokenizerReference:
    """The reference's answers for a tokenizer. Computing them takes 0.3 to 0.6 CPU seconds, once in a process.

    Args:
        tokenizer_json: the bytes of `tokenizer.json`.

    Raises:
        RecipeError: see load_reference.
    """
    return _ask_reference(tokenizer_json)


@lru_cache(maxsize=4)  # a process trains, checks and uses the same few tokenizers
def _ask_reference(tokenizer_json: bytes) -> TokenizerReference:
    reference = load_reference(tokenizer_json)
    decoder = reference.get_added_tokens_decoder()
    texts = probe_texts(reference)
    ids, lengths = ReferenceEngine(reference).encode(texts)
    for shared in (ids, lengths):
        shared.flags.writeable = False
    return TokenizerReference(
        reference.get_vocab_size(with_added_tokens=True),
        {token.content: token_id for token_id, token in sorted(decoder.items())},
        tuple(token.content for _, token in sorted(decoder.items()) if token.special and token.content),
        texts,
        ids,
        lengths,
        word_break_characters(reference),
        read_vocabulary(tokenizer_json, reference),
    )


def dump_reference(facts: TokenizerReference) -> bytes:
    """The answers as the bytes of their file: MessagePack, compressed with zstd. Equal answers give equal bytes.

    Args:
        facts: the answers.
    """
    tables = facts.vocabulary
    stored = _ReferenceFile(
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
    return zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(stored))


def load_answers(data: bytes) -> TokenizerReference | None:
    """The answers in a file. None if it was stored with another version of the probes: then ask the reference again.

    Args:
        data: the bytes of the file.
    """
    unpacked = zstandard.ZstdDecompressor().decompress(data, max_output_size=_MAX_BYTES)
    if msgspec.msgpack.decode(unpacked, type=_ProbesVersion).probes != PROBES:
        return None
    stored = msgspec.msgpack.decode(unpacked, type=_ReferenceFile)
    counts = {name: np.frombuffer(stored.tables[name], "<u4").astype(np.int64) for name in ("bytes", "lead", "trail")}
    size = len(counts["bytes"])
    fragments = np.unpackbits(np.frombuffer(stored.tables["fragments"], np.uint8), count=size).astype(np.bool_)
    return TokenizerReference(
        stored.size,
        stored.added,
        stored.special,
        stored.texts,
        np.frombuffer(stored.ids, "<u4"),
        np.frombuffer(stored.lengths, "<u4").astype(np.int64),
        stored.breaks,
        Vocabulary(size, stored.byte_level, stored.unknown, fragments=fragments, **counts),
    )


class _ProbesVersion(msgspec.Struct):
    """The file's first field. It is read alone, because the rest may have another form in another version."""

    probes: int
