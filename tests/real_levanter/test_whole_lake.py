"""A lake from raw to tokens, loaded by the real Levanter: what a trainer sees is what the ledgers say."""

from pathlib import Path

from peer import Ask
from tokenizers import Tokenizer
from wholelake import make_whole

from gristmill.stages.tokenization.files import tokenizer_path
from gristmill.tracing.tokens import first_tokens

TOP = "token_caches/even/tiny-1/pages/train"
"""The mix keeps every fourth English document that five does not divide: 4, 8, 12, 16 and 24, 28, 32, 36."""


def test_the_merged_cache_of_a_journey_loads_with_the_expected_first_sequences(tmp_path: Path, ask: Ask) -> None:
    mill = make_whole(tmp_path / "lake")
    [seen] = ask(
        {
            "do": "read",
            "cache": str(mill.root / TOP),
            "fields": {"input_ids": "int32"},
            "length": 4,
            "metadata": {
                "tokenizer": "tokenizers/tiny-1",
                "vocab_size": 262,  # 256 bytes, two special tokens, and the merges that make " word"
                "return_attention_mask": False,
                "padding": False,
                "max_length": None,
                "append_bos": False,
                "append_eos": True,
            },
        }
    )
    traced = list(first_tokens(mill.store, "even", "tiny-1", "pages", 10_000))
    assert sorted(each.id for each in traced) == [f"doc-{n:05d}" for n in (4, 8, 12, 16, 24, 28, 32, 36)]
    assert [row["input_ids"] for row in seen["rows"]] == [list(each.ids) for each in traced]
    stream = [token for each in traced for token in each.ids]
    assert seen["sequences"] == [stream[i : i + 4] for i in range(0, len(stream) - 3, 4)]
    spelled = Tokenizer.from_str(mill.store.read(tokenizer_path("tiny-1")).decode())
    number = int(traced[0].id[-2:])
    text = " ".join(["word"] * (number % 5 + 1))
    assert spelled.decode(list(traced[0].ids), skip_special_tokens=False) == f"{text} <|endoftext|>"
    assert seen["warnings"] == []
