import gzip
import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panics import TEXT, panicking
from tinybpe import BOS, CORPUS, EOS, by_the_book, one_id, raw, rows, trained
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from gristmill.encoding.encoder import Encoder
from gristmill.errors import DataError, RecipeError
from gristmill.recipes.tokenizer import TokenizerOptions

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


@pytest.mark.slow
def test_a_text_on_which_the_tokenizer_panics_is_named(small: Tokenizer) -> None:
    encoder = Encoder(panicking(raw(small)), TokenizerOptions(eos=EOS), engine="tokenizers")
    with pytest.raises(DataError, match=r"text 2 of the batch: the tokenizer's own code panicked: Onig.*mend its doc"):
        encoder.encode(["mill", "river", TEXT, "stone"])
    assert len(encoder.encode(["mill", "river"])[1]) == 2


@pytest.mark.slow
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


def test_many_texts_in_one_call_keep_their_order_and_lengths(small: Tokenizer) -> None:
    encoder = Encoder(raw(small), TokenizerOptions(eos=EOS, bos=BOS))
    texts = [CORPUS[n % 4] * (n % 50) for n in range(1_000)]
    together = rows(encoder, texts)
    assert together[::97] == [rows(encoder, [text])[0] for text in texts[::97]]


@pytest.fixture(scope="module")
def ready(small: Tokenizer) -> Encoder:
    return Encoder(raw(small), TokenizerOptions(eos=EOS))


@pytest.mark.slow
@given(texts=st.lists(st.text(max_size=200), max_size=8))
@settings(max_examples=100)
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


@pytest.mark.slow
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
