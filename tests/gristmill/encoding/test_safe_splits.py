"""Huge texts in windows: the same ids, never parted inside a word or a special token."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from gristmill.encoding import encoder as encoding
from gristmill.encoding.encoder import Encoder
from gristmill.encoding.safe_splits import WINDOW, safe_windows, word_break_characters
from gristmill.recipes.tokenizer import TokenizerOptions

EOS = "<|end of text|>"
CORPUS = [
    "the quick brown fox\njumps over it's 1234 ...\n\n  d\u00e9j\u00e0 vu \u041f\u0440\u0438\u0432\u0435\u0442"
] * 50


def trained(cutter: pre_tokenizers.PreTokenizer | None) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    if cutter is not None:
        tokenizer.pre_tokenizer = cutter
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=[EOS], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


SMALL = trained(pre_tokenizers.ByteLevel(add_prefix_space=False))


def in_windows(text: str, size: int, suffix: str = "") -> list[str]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gristmill.encoding.safe_splits.WINDOW", size)
        return list(safe_windows(text, suffix, "\n ", lambda _, __: True))


def test_a_text_is_parted_before_a_line_feed_or_space_between_letters() -> None:
    assert in_windows("ab cd\nef, gh ij", 4) == ["ab cd", "\nef, gh", " ij"]
    assert in_windows("ab", 4, "!") == ["ab!"]
    assert in_windows("1 2 3 4 5 6 7 8", 4, "!") == ["1 2 3 4 5 6 7 8!"]
    assert list(safe_windows("ab " * WINDOW, "", "", lambda _, __: True)) == ["ab " * WINDOW]


def test_a_tokenizer_says_where_it_ends_words() -> None:
    assert word_break_characters(SMALL) == "\n "
    assert word_break_characters(trained(None)) == ""
    lines = pre_tokenizers.Split("\n", "merged_with_next")
    assert (
        word_break_characters(trained(pre_tokenizers.Sequence([lines, pre_tokenizers.ByteLevel(use_regex=False)])))
        == "\n"
    )
    long = trained(pre_tokenizers.ByteLevel())
    long.add_tokens([AddedToken("<" + "x" * 300 + ">")])
    assert word_break_characters(long) == ""


WORDS = [
    "the",
    "fox",
    "quick",
    "\n",
    " ",
    "  ",
    "\n\n",
    "'s",
    "12",
    ".",
    "d\u00e9j\u00e0",
    "e\u0301",
    EOS,
    "end of",
    "<|end",
]


ENCODERS = {
    "auto": Encoder(SMALL.to_str().encode(), TokenizerOptions(eos=EOS)),
    "tokenizers": Encoder(SMALL.to_str().encode(), TokenizerOptions(eos=EOS), engine="tokenizers"),
}


@settings(max_examples=100)
@given(words=st.lists(st.sampled_from(WORDS), max_size=300), engine=st.sampled_from(["auto", "tokenizers"]))
def test_ids_of_windows_are_those_of_the_whole(words: list[str], engine: str) -> None:
    text = "".join(words)
    encoder = ENCODERS[engine]
    whole, _ = encoder.encode([text])
    with pytest.MonkeyPatch.context() as patched:
        for module in ("safe_splits", "encoder"):
            patched.setattr(f"gristmill.encoding.{module}.WINDOW", 64)
        patched.setattr("gristmill.encoding.safe_splits.AROUND", 24)
        patched.setattr(encoding, "BATCH_CHARACTERS", 1)
        parted, lengths = encoder.encode(["the fox", text, ""])
        bare, bare_lengths = encoder.encode_bare([text])
    assert parted[lengths[0] : len(parted) - lengths[2]].tolist() == whole.tolist()
    assert lengths[1] == len(whole)
    assert bare_lengths.tolist() == [len(bare)]
    assert bare.tolist() == SMALL.encode(text, add_special_tokens=False).ids


def test_a_text_is_not_parted_where_the_ids_would_be_others() -> None:
    whole = f"x {EOS} y " * 40
    asked: list[tuple[str, str]] = []

    def agrees(left: str, right: str) -> bool:
        asked.append((left, right))
        ids = [SMALL.encode(each, add_special_tokens=False).ids for each in (left + right, left, right)]
        return ids[0] == ids[1] + ids[2]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gristmill.encoding.safe_splits.WINDOW", 64)
        parts = list(safe_windows(whole, "", "\n ", agrees))
    assert "".join(parts) == whole
    assert len(parts) > 5
    assert any(left.endswith("<|end") and right.startswith(" of text|>") for left, right in asked)
    assert not any(part.endswith(("<|end", "<|end of")) for part in parts)
