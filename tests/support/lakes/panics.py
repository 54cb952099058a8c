"""A real panic of a library in Rust, and a tokenizer that panics on a text."""

import json

from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

PATTERN = "(ъ+)+$"
TEXT = "ъ" * 60 + "b"
"""The pattern backtracks 2^60 times on it; the library gives up after some millions. No probe has this letter."""


def panic() -> None:
    """Raises pyo3_runtime.PanicException, which is no Exception."""
    Split(Regex(PATTERN), "isolated").pre_tokenize_str(TEXT)


def panicking(tokenizer_json: bytes) -> bytes:
    """The same tokenizer with this pattern in front of its own."""
    declared = json.loads(tokenizer_json)
    split = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
    declared["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, declared["pre_tokenizer"]]}
    return json.dumps(declared).encode()
