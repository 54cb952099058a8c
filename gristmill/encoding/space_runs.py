"""Tokens for runs of spaces, handled outside of the fast engine because it is slow at them.

GPT-NeoX and similar tokenizers have an added token for each run of 2 to 24 spaces. Searching for these takes fastokens
three quarters of its time on code. So each run is replaced by one vertical tab, and the engine gets a tokenizer without
these added tokens. Then the ids of the vertical tabs are replaced by those of the runs.

Why the ids are the same: the reference cuts a text at the added tokens and splits each piece into words separately. A
vertical tab is white space, so GPT-2's pattern ends words before and after it, just where a piece ends. The pattern may
join it with other white space to one word. But no merge of the vocabulary holds a vertical tab, so the merges on both
sides are those of the pieces. Tokenizers for which this is not certain are not changed (`without_runs`). Like any
other engine, this one is compared with the reference.
"""

import re
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gristmill.encoding.tokenizer_json import parse_tokenizer_json

MARK = "\x0b"
MARK_IN_JSON = re.compile("\u010b|\\\\u010[bB]")
"""The mark in the JSON of a byte-level vocabulary: as a character, or escaped."""
MARK_ENTRY = re.compile(f'"(?:{MARK_IN_JSON.pattern})"\\s*:')
_SPACE, _MARK, _BETWEEN = 0x20, 0x0B, b"\xff"  # UTF-8 never uses the last byte

Lengths = npt.NDArray[np.int64]
Table = npt.NDArray[np.uint32]


def tokenizer_without_run_tokens(tokenizer_json: str) -> tuple[str, Table] | None:
    """The tokenizer without its added tokens for runs of spaces.

    Args:
        tokenizer_json: the text of `tokenizer.json`.

    Returns:
        The changed `tokenizer.json`, and a table of the ids of runs, by length in spaces (0 and 1 are unused). None if
        there are no such tokens, or if it is not certain that the ids would be the same.
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
        and not any(_may_touch_mark(token.content) for token in others)
        and (declared.normalizer is None or declared.normalizer.get("type") == "NFC")
        and _cuts_as_gpt2(declared.pre_tokenizer)
        and declared.model.type == "BPE"
        and len(MARK_IN_JSON.findall(tokenizer_json)) == len(MARK_ENTRY.findall(tokenizer_json)) == 1
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
    r"""Replaces each run of spaces by a mark, a vertical tab.

    Args:
        texts: any texts without lone surrogates.
        longest: length of the longest run that is one token. Longer runs are cut from the left, as the reference does.

    Returns:
        The texts, and for each of their marks in order the length of its run. A length of 0 is a mark that was in the
        text itself.

    >>> texts, lengths = marked(["a  b    c"], 3)
    >>> texts, lengths.tolist()
    (['a\x0bb\x0b c'], [2, 3])
    """
    data = np.frombuffer(_BETWEEN.join([text.encode() for text in texts]), np.uint8)
    spaces = data == _SPACE
    seconds = np.flatnonzero(spaces[1:] & spaces[:-1]) + 1  # all spaces of a run except its first
    own = np.flatnonzero(data == _MARK)
    if not len(seconds):
        return texts, np.zeros(len(own), np.int64)
    breaks = np.flatnonzero(np.diff(seconds) > 1)
    starts = seconds[np.concatenate(([0], breaks + 1))] - 1
    lengths = seconds[np.concatenate((breaks, [len(seconds) - 1]))] + 1 - starts
    if int(lengths.max()) > longest:
        starts, lengths = _cut_space_runs(starts, lengths, longest)
    kept = np.ones(len(data), np.bool_)
    kept[seconds] = False
    kept[starts] = True  # long runs also begin where they are cut
    data = data.copy()
    alone = lengths == 1
    data[starts[~alone]] = _MARK
    starts, lengths = starts[~alone], lengths[~alone]
    if len(own):
        order = np.argsort(np.concatenate((starts, own)))
        lengths = np.concatenate((lengths, np.zeros(len(own), np.int64)))[order]
    return [text.decode() for text in data[kept].tobytes().split(_BETWEEN)], lengths


def _cut_space_runs(starts: Lengths, lengths: Lengths, longest: int) -> tuple[Lengths, Lengths]:
    """Cuts runs into pieces of at most `longest` spaces. A rest of one space is a run of one."""
    pieces = -(-lengths // longest)
    ends = np.cumsum(pieces)
    place = np.arange(int(ends[-1])) - np.repeat(ends - pieces, pieces)  # of each piece in its run
    begins = np.repeat(starts, pieces) + place * longest
    return begins, np.minimum(np.repeat(starts + lengths, pieces) - begins, longest)


def _cuts_as_gpt2(declared: dict[str, Any] | None) -> bool:
    """Whether the pre-tokenizer uses GPT-2's pattern and adds no space at the beginning."""
    options = declared or {}
    return (
        options.get("type") == "ByteLevel"
        and options.get("add_prefix_space") is False
        and options.get("use_regex", True) is True
    )


def _may_touch_mark(content: str) -> bool:
    """Whether another added token could take a mark, or spaces of a run."""
    return content != content.strip() or "  " in content or MARK in content
