import gzip
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from gristmill.errors import DataError, RecipeError
from gristmill.recipes.tokenizer import TokenizerOptions
from gristmill.stages.tokenization.encoder import Encoder
from gristmill.stages.tokenization.long_texts import cut

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


@pytest.fixture(scope="module")
def small() -> Tokenizer:
    return trained(normalizer=normalizers.NFC())


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


TRICKY = [
    "",
    " ",
    "ends with spaces   ",
    f"already ends {EOS}",
    f"{EOS}{EOS} in {BOS} the middle{EOS}",
    "\x00\r\r\n\t",
    "e\u0301 \u212b \U0001f468\u200d\U0001f469",
    "a" * 24_999,
    "I'll don't\n\n\n   x",
]


@pytest.mark.parametrize("engine", ["auto", "tokenizers"])
@pytest.mark.parametrize("bos", [None, BOS])
@pytest.mark.parametrize("eos", [None, EOS])
def test_ids_are_those_of_text_space_eos_with_bos_in_front(
    small: Tokenizer, engine: str, eos: str | None, bos: str | None
) -> None:
    encoder = Encoder(
        raw(small), TokenizerOptions(eos=eos, bos=bos), engine="auto" if engine == "auto" else "tokenizers"
    )
    assert rows(encoder, TRICKY) == [by_the_book(small, text, eos=eos, bos=bos) for text in TRICKY]


def test_a_byte_level_bpe_is_encoded_by_the_fast_engine(small: Tokenizer) -> None:
    encoder = Encoder(raw(small), TokenizerOptions(eos=EOS))
    assert encoder.engine == "fastokens"
    assert encoder.engine_reason.startswith("the same ids as tokenizers")
    assert encoder.vocab_size == small.get_vocab_size()


def test_a_tokenizer_that_the_fast_engine_does_not_know_is_encoded_by_the_reference() -> None:
    words = Tokenizer(models.WordLevel({"[UNK]": 0, "mill": 1, "stone": 2, "[EOS]": 3}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.add_special_tokens(["[EOS]"])
    encoder = Encoder(raw(words), TokenizerOptions(eos="[EOS]"))
    assert encoder.engine == "tokenizers"
    assert "unsupported" in encoder.engine_reason
    assert rows(encoder, ["mill stone grit"]) == [[1, 2, 0, 3]]


def test_a_tokenizer_on_which_the_fast_engine_differs_is_encoded_by_the_reference(small: Tokenizer) -> None:
    declared = json.loads(raw(small))
    declared["pre_tokenizer"] = None
    encoder = Encoder(json.dumps(declared).encode(), TokenizerOptions(eos=EOS))
    assert encoder.engine == "tokenizers"
    assert encoder.engine_reason.startswith("fastokens gives other ids than tokenizers")


@pytest.mark.parametrize(
    "normalizer",
    [
        None,
        normalizers.NFC(),
        normalizers.NFKC(),
        normalizers.Lowercase(),
        normalizers.Sequence([normalizers.NFD()]),
    ],
    ids=["none", "nfc", "nfkc", "lowercase", "nfd"],
)
@pytest.mark.parametrize("prefix_space", [False, True])
def test_whatever_the_engine_the_ids_are_the_references(
    normalizer: normalizers.Normalizer | None, *, prefix_space: bool
) -> None:
    tokenizer = trained(normalizer=normalizer, prefix_space=prefix_space)
    tokenizer.add_tokens([AddedToken(" stripped ", lstrip=True, rstrip=True), AddedToken("Word", single_word=True)])
    encoder = Encoder(raw(tokenizer), TokenizerOptions(eos=EOS, bos=BOS))
    texts = [*TRICKY, "a  stripped  b stripped", "Word Words sWord (Word)"]
    assert rows(encoder, texts) == [by_the_book(tokenizer, text, eos=EOS, bos=BOS) for text in texts]


def test_no_texts_give_no_ids(small: Tokenizer) -> None:
    flat, lengths = Encoder(raw(small), TokenizerOptions(eos=EOS)).encode([])
    assert (len(flat), len(lengths)) == (0, 0)


def test_an_empty_text_without_bos_and_eos_has_no_ids(small: Tokenizer) -> None:
    assert rows(Encoder(raw(small), TokenizerOptions(eos=None)), ["", "the", ""])[::2] == [[], []]


def test_the_clean_style_puts_ids_at_the_ends_without_a_space_and_never_twice(small: Tokenizer) -> None:
    encoder = Encoder(raw(small), TokenizerOptions(eos=EOS, bos=BOS, eos_style="clean"))
    eos, bos = one_id(small, EOS), one_id(small, BOS)
    the = small.encode("the").ids
    texts = ["the", f"the{EOS}", f"{BOS}the", f"{BOS}the{EOS}", "", EOS]
    assert rows(encoder, texts) == [[bos, *the, eos]] * 4 + [[bos, eos]] * 2


def test_the_clean_style_with_one_token_for_both_ends(small: Tokenizer) -> None:
    encoder = Encoder(raw(small), TokenizerOptions(eos=EOS, bos=EOS, eos_style="clean"))
    eos = one_id(small, EOS)
    the = small.encode("the").ids
    assert rows(encoder, ["the", "", f"{EOS}the"]) == [[eos, *the, eos], [eos, eos], [eos, *the, eos]]


def pieces_of_runs(text: str) -> Iterator[str]:
    """Cut as Levanter does, told apart by hand: text = word run of 60,000, 30,000 spaces, 100 letters."""
    yield from (text[:25_000], text[25_000:50_000], text[50_000:60_000])
    yield from (text[60_000:85_000], text[85_000:90_000])
    yield text[90_000:]


def test_runs_of_25000_characters_are_cut_and_encoded_apart(small: Tokenizer) -> None:
    text = "the" * 20_000 + " " * 30_000 + "the" * 33 + "t"
    expected = [part for piece in pieces_of_runs(text) for part in small.encode(piece).ids]
    assert rows(Encoder(raw(small), TokenizerOptions(eos=None)), [text]) == [expected]


@pytest.mark.parametrize(("run", "around"), [("\t", "a a"), ("y", " a ")])
@pytest.mark.parametrize("before", [0, 1, 12_499, 12_500, 12_501, 24_999, 37_499])
def test_a_run_of_exactly_25000_is_found_wherever_it_stands(run: str, around: str, before: int) -> None:
    prefix = (around[1:] * before)[before:]
    text = prefix + run * 25_000 + around * 9
    assert list(cut(text, marin=False)) == [piece for piece in (prefix, run * 25_000, around * 9) if piece]
    shorter = prefix + run * 24_999 + around * 9
    assert list(cut(shorter, marin=False)) == [shorter]


def test_runs_below_25000_characters_are_whole(small: Tokenizer) -> None:
    text = "ab" * 12_499 + "a " + "ab" * 12_499
    assert rows(Encoder(raw(small), TokenizerOptions(eos=None)), [text]) == [small.encode(text).ids]


def test_marin_cuts_before_the_first_white_space_after_each_10000_characters(small: Tokenizer) -> None:
    # \x1c is white space for Python but not for Marin; the cut falls at the two spaces behind it.
    text = "x" * 10_000 + "\x1cy" + "  " + "z" * 10_000 + "w \u2003" + "v" * 5
    expected: list[int] = []
    for piece in (text[:10_002], text[10_002:20_005], text[20_005:]):
        expected += small.encode(piece).ids
    assert [len(text[:10_002]), text[10_002], text[20_005]] == [10_002, " ", " "]
    assert rows(Encoder(raw(small), TokenizerOptions(eos=None, long_strings="marin")), [text]) == [expected]


def test_marin_leaves_texts_of_up_to_10000_characters_with_their_eos_whole(small: Tokenizer) -> None:
    encoder = Encoder(raw(small), TokenizerOptions(eos=EOS, long_strings="marin"))
    text = "a b  c " * 1_426 + "abcd"
    assert len(f"{text} {EOS}") == 10_000
    assert rows(encoder, [text]) == [by_the_book(small, text, eos=EOS, bos=None)]


def test_many_texts_in_one_call_keep_their_order_and_lengths(small: Tokenizer) -> None:
    encoder = Encoder(raw(small), TokenizerOptions(eos=EOS, bos=BOS))
    texts = [CORPUS[n % 4] * (n % 50) for n in range(1_000)]
    together = rows(encoder, texts)
    assert together[::97] == [rows(encoder, [text])[0] for text in texts[::97]]


@pytest.fixture(scope="module")
def ready(small: Tokenizer) -> Encoder:
    return Encoder(raw(small), TokenizerOptions(eos=EOS))


@given(texts=st.lists(st.text(max_size=200), max_size=8))
@settings(max_examples=100, deadline=None)
def test_any_text_gives_the_references_ids(small: Tokenizer, ready: Encoder, texts: list[str]) -> None:
    assert rows(ready, texts) == [by_the_book(small, text, eos=EOS, bos=None) for text in texts]


@pytest.mark.parametrize("text", ["lone \ud800 surrogate", None, 7])
def test_what_is_no_text_is_an_error_that_says_which(small: Tokenizer, text: str) -> None:
    with pytest.raises(DataError, match="text 1 of the batch"):
        Encoder(raw(small), TokenizerOptions(eos=EOS)).encode(["fine", text])


@pytest.mark.parametrize("tokens", [{"eos": "</s>", "bos": None}, {"eos": None, "bos": "</s>"}])
def test_an_end_token_unknown_to_the_tokenizer_is_an_error(small: Tokenizer, tokens: dict[str, str | None]) -> None:
    with pytest.raises(RecipeError, match="'</s>' is not in the tokenizer's vocabulary"):
        Encoder(raw(small), TokenizerOptions(eos=tokens["eos"], bos=tokens["bos"]))


def test_a_tokenizer_that_would_change_documents_is_refused(small: Tokenizer) -> None:
    declared = json.loads(raw(small))
    declared["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    with pytest.raises(RecipeError, match="truncation"):
        Encoder(json.dumps(declared).encode(), TokenizerOptions(eos=None))
    declared["truncation"], declared["model"]["dropout"] = None, 0.1
    with pytest.raises(RecipeError, match="dropout"):
        Encoder(json.dumps(declared).encode(), TokenizerOptions(eos=None))


def test_what_is_no_tokenizer_is_an_error() -> None:
    with pytest.raises(RecipeError, match=r"tokenizer\.json cannot be loaded"):
        Encoder(b"{}", TokenizerOptions(eos=None))


def test_an_encoder_uses_one_core_unless_told_otherwise(small: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FASTOKENS_BPE_THREADS", raising=False)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    Encoder(raw(small), TokenizerOptions(eos=None))
    assert os.environ["FASTOKENS_BPE_THREADS"] == "1"
    assert os.environ["TOKENIZERS_PARALLELISM"] == "true"


@pytest.fixture(scope="module")
def neox() -> bytes:
    folder = os.environ.get("GRISTMILL_SAMPLE_DATA")
    if not folder:
        pytest.skip("GRISTMILL_SAMPLE_DATA does not name the sample data")
    path = Path(folder) / "tokenizers" / "gpt-neox-olmo-dolma-v1_5" / "tokenizer.json.gz"
    return gzip.decompress(path.read_bytes())


def test_gpt_neox_is_encoded_by_the_fast_engine_with_the_references_ids(neox: bytes) -> None:
    fast = Encoder(neox, TokenizerOptions(eos=EOS, bos=EOS))
    slow = Encoder(neox, TokenizerOptions(eos=EOS, bos=EOS), engine="tokenizers")
    assert (fast.engine, slow.engine, fast.vocab_size) == ("fastokens", "tokenizers", 50_280)
    points = random.Random(20260101)
    texts = ["".join(chr(points.choice(POINTS)) for _ in range(points.randrange(400))) for _ in range(1_000)]
    texts += [*TRICKY, *CORPUS]
    assert rows(fast, texts) == rows(slow, texts)


POINTS = [
    *range(32, 127),
    *([32, 10, 13, 9, 39] * 20),
    *range(0x80, 0x3000),
    *range(0x1F300, 0x1F700),
    0x4E00,
    0x200D,
]
