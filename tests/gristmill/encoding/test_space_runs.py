"""Runs of spaces as tokens of their own: the fast engine gives the reference's ids without knowing them."""

import json
from typing import Any

import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from gristmill.encoding.engines import FastEngine, FastEngineWithRuns, ReferenceEngine, fast_engines
from gristmill.encoding.space_runs import marked, tokenizer_without_run_tokens

EOS = "<|endoftext|>"
LONGEST = 6


def trained(longest: int = LONGEST, text: str = "", **parts: Any) -> Tokenizer:
    """As GPT-NeoX's: GPT-2's pattern behind NFC, and a token for each run of 2 to `longest` spaces."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["if x:\n    return [y]\n\n\t\tdon't \n  \u4f60\u597d" + text] * 50, trainer)
    tokenizer.add_tokens([AddedToken(" " * length, normalized=True) for length in range(longest, 1, -1)])
    return tokenizer


SMALL = trained()
FAST, SLOW = next(fast_engines(SMALL.to_str())), ReferenceEngine(SMALL)
PIECES = [
    " ",
    "  ",
    "     ",
    " " * 6,
    " " * 7,
    " " * 13,
    "\n",
    "\n\n",
    "\t",
    "\x0b",
    "\x0c",
    "\r",
    "a",
    "if",
    "1",
    "'s",
]
PIECES += [".", "(", "e\u0301", "\u0301", "\u00a0", "\u3000", "\u2028", "\u4f60", EOS, "\U0001f600", "\x00"]


@settings(max_examples=draws(150))
@given(texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=16).map("".join), min_size=1, max_size=4))
def test_ids_are_those_of_the_reference(texts: list[str]) -> None:
    ids, lengths = FAST.encode(texts)
    expected, expected_lengths = SLOW.encode(texts)
    assert isinstance(FAST, FastEngineWithRuns)
    assert (ids.tolist(), lengths.tolist()) == (expected.tolist(), expected_lengths.tolist())


def test_a_run_is_one_mark_and_a_long_one_is_cut_from_the_left() -> None:
    texts = ["a  b c", "", f"{' ' * 3}\x0b", f"x{' ' * 7}y{' ' * 14}z"]
    assert marked(texts, 6)[0] == ["a\x0bb c", "", "\x0b\x0b", "x\x0b y\x0b\x0b\x0bz"]
    assert marked(texts, 6)[1].tolist() == [2, 3, 0, 6, 6, 6, 2]
    assert marked(["a b"], 6)[0] == ["a b"]
    assert marked(["a\x0bb"], 6)[1].tolist() == [0]


def test_the_engine_of_such_a_tokenizer_does_not_know_the_runs() -> None:
    found = tokenizer_without_run_tokens(SMALL.to_str())
    assert found is not None
    contents = [each["content"] for each in json.loads(found[0])["added_tokens"]]
    assert contents == [EOS]
    assert found[1].tolist() == [0, 0, *(SMALL.token_to_id(" " * length) for length in range(2, 7))]


def added(*tokens: AddedToken) -> str:
    tokenizer = trained()
    tokenizer.add_tokens(list(tokens))
    text: str = tokenizer.to_str()
    return text


UNCERTAIN = {
    "no runs": trained(1).to_str(),
    "a gap": json.dumps(
        json.loads(SMALL.to_str())
        | {"added_tokens": [a for a in json.loads(SMALL.to_str())["added_tokens"] if a["content"] != "   "]}
    ),
    "another pattern": trained(pre_tokenizer=pre_tokenizers.Whitespace()).to_str(),
    "a space in front": trained(pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True)).to_str(),
    "another normalizer": trained(normalizer=normalizers.NFKC()).to_str(),
    "a token that takes spaces": added(AddedToken("<x>", rstrip=True)),
    "a token that ends in a space": added(AddedToken("x ")),
    "a token with a run": added(AddedToken("x  y")),
    "no mark in the vocabulary": SMALL.to_str().replace("\u010b", "\u0200"),
    "a merge of the mark": trained(text="\n\x0b\n\x0b").to_str(),
}


@pytest.mark.parametrize("kind", UNCERTAIN)
def test_where_the_ids_are_not_certain_the_engine_knows_the_runs(kind: str) -> None:
    assert tokenizer_without_run_tokens(UNCERTAIN[kind]) is None


@pytest.mark.parametrize("kind", ["a merge of the mark", "a token with a run", "a token that ends in a space"])
def test_and_gives_the_references_ids_too(kind: str) -> None:
    engine = next(fast_engines(UNCERTAIN[kind]))
    assert type(engine) is FastEngine
    texts = ["a  \n\x0b  x  y \n\n  x    y", "x   b"]
    expected, lengths = ReferenceEngine(Tokenizer.from_str(UNCERTAIN[kind])).encode(texts)
    ids, found = engine.encode(texts)
    assert (ids.tolist(), found.tolist()) == (expected.tolist(), lengths.tolist())
