"""Runs of spaces that are tokens of their own, kept out of the fast engine's slow path.

GPT-NeoX and its kin have an added token for each run of 2 to 24 spaces. Looking for these costs fastokens three
quarters of its time on code. So each run is put into the text as one vertical tab, the engine does not know the
added tokens, and the ids of the vertical tabs become those of the runs.

Why the ids are the same: the reference cuts a text at the added tokens, and each piece is cut into words apart. A
vertical tab is white space, so GPT-2's pattern ends words before and behind it just where a piece ends; where it does
join it with other white space to a word, no merge of the vocabulary holds a vertical tab, so the merges on both of
its sides are those of the pieces. Tokenizers for which this is not certain are left alone (`without_runs`), and the
engine behind it is compared with the reference like any other.
"""

import re
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gristmill.stages.tokenization.tokenizer_json import parse_tokenizer_json

MARK = "\x0b"
SPELLED = re.compile("\u010b|\\\\u010[bB]")
"""How a byte-level vocabulary writes the mark: itself, or escaped."""
ENTRY = re.compile(f'"(?:{SPELLED.pattern})"\\s*:')
_SPACE, _MARK, _BETWEEN = 0x20, 0x0B, b"\xff"  # the last is no part of any UTF-8

Lengths = npt.NDArray[np.int64]
Table = npt.NDArray[np.uint32]


def without_runs(tokenizer_json: str) -> tuple[str, Table] | None:
    """The tokenizer without its added tokens for runs of spaces.

    Returns:
        Its `tokenizer.json`, and the id of each length of a run (0, 1: none); None where there are no such tokens,
        or the ids would not certainly be the same.
    """
    declared = parse_tokenizer_json(tokenizer_json)
    runs = {
        len(token.content): token for token in declared.added_tokens if token.content and not token.content.strip(" ")
    }
    others = [token for token in declared.added_tokens if token.content.strip(" ")]
    certain = (
        sorted(runs) == list(range(2, len(runs) + 2))
        and runs
        and len({token.normalized for token in runs.values()}) == 1
        and not any(token.single_word or token.lstrip or token.rstrip for token in declared.added_tokens)
        and not any(_touches(token.content) for token in others)
        and (declared.normalizer is None or declared.normalizer.get("type") == "NFC")
        and _cuts_as_gpt2(declared.pre_tokenizer)
        and declared.model.type == "BPE"
        and len(SPELLED.findall(tokenizer_json)) == len(ENTRY.findall(tokenizer_json)) == 1
    )
    if not certain:
        return None
    table = np.zeros(len(runs) + 2, np.uint32)
    for length, token in runs.items():
        table[length] = token.id
    whole = msgspec.json.decode(tokenizer_json, type=dict[str, msgspec.Raw])
    kept = msgspec.json.decode(whole["added_tokens"], type=list[dict[str, Any]])
    whole["added_tokens"] = msgspec.Raw(msgspec.json.encode([token for token in kept if token["content"].strip(" ")]))
    return msgspec.json.encode(whole).decode(), table


def marked(texts: list[str], longest: int) -> tuple[list[str], Lengths]:
    """Texts with a mark for each run of spaces.

    Args:
        texts: any texts without lone surrogates.
        longest: the longest run that is one token; longer runs are cut from the left, as the reference does.

    Returns:
        The texts, and what each of their marks stands for, in order: the length of a run, or 0 for a mark that was in
        the text itself.
    """
    data = np.frombuffer(_BETWEEN.join([text.encode() for text in texts]), np.uint8)
    spaces = data == _SPACE
    seconds = np.flatnonzero(spaces[1:] & spaces[:-1]) + 1  # all spaces of a run but its first
    own = np.flatnonzero(data == _MARK)
    if not len(seconds):
        return texts, np.zeros(len(own), np.int64)
    breaks = np.flatnonzero(np.diff(seconds) > 1)
    starts = seconds[np.concatenate(([0], breaks + 1))] - 1
    lengths = seconds[np.concatenate((breaks, [len(seconds) - 1]))] + 1 - starts
    if int(lengths.max()) > longest:
        starts, lengths = _cut(starts, lengths, longest)
    kept = np.ones(len(data), np.bool_)
    kept[seconds] = False
    kept[starts] = True  # of long runs, also where they are cut
    data = data.copy()
    alone = lengths == 1
    data[starts[~alone]] = _MARK
    starts, lengths = starts[~alone], lengths[~alone]
    if len(own):
        order = np.argsort(np.concatenate((starts, own)))
        lengths = np.concatenate((lengths, np.zeros(len(own), np.int64)))[order]
    return [text.decode() for text in data[kept].tobytes().split(_BETWEEN)], lengths


def _cut(starts: Lengths, lengths: Lengths, longest: int) -> tuple[Lengths, Lengths]:
    """Runs of at most `longest` spaces; a rest of one space is a run of one."""
    pieces = -(-lengths // longest)
    ends = np.cumsum(pieces)
    place = np.arange(int(ends[-1])) - np.repeat(ends - pieces, pieces)  # of each piece in its run
    begins = np.repeat(starts, pieces) + place * longest
    return begins, np.minimum(np.repeat(starts + lengths, pieces) - begins, longest)


def _cuts_as_gpt2(declared: dict[str, Any] | None) -> bool:
    """Whether words are cut by GPT-2's pattern, without a space put in front."""
    options = declared or {}
    return (
        options.get("type") == "ByteLevel"
        and options.get("add_prefix_space") is False
        and options.get("use_regex", True) is True
    )


def _touches(content: str) -> bool:
    """Whether another added token could take spaces of a run or a mark."""
    return content != content.strip() or "  " in content or MARK in content
