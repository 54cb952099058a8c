import json
from pathlib import Path
from typing import Any

import pytest
from rowkit import BOS, ours, trained
from talklake import TEMPLATE, mix_of, row, spelled, started, talk
from testkit import SHELVES, SNAPSHOT
from tokenizers import AddedToken, normalizers

from gristmill.errors import RecipeError
from gristmill.formats.levanter.cache import CacheReader, range_reader_of_store
from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.ledger.shard_sample import ShardSample
from gristmill.recipes.row_format import Chat, Format, Text
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer
from gristmill.verification.audit import audit_reencoding


@pytest.mark.slow
def test_a_special_token_that_a_normalizer_makes_is_refused() -> None:
    tokenizer = trained(normalizer=normalizers.NFKC())
    tokenizer.add_special_tokens([AddedToken("<|pad|>", special=True, normalized=True)])
    data, wide = tokenizer.to_str().encode(), "a\uff1c|pad|\uff1eb"
    rows: list[dict[str, Any]] = [{"text": wide, **talk("Hi", wide)}, {"text": "a|pad|b", **talk("Hi", "a|pad|b")}]
    for declared in (Text(), Chat(chat_template=TEMPLATE)):
        template = TEMPLATE if isinstance(declared, Chat) else None
        for specials, troubled in (("refuse", [0]), ("tokens", [])):
            made = ours(declared, data, BOS, rows, template, specials)
            assert [trouble.row for trouble in made.troubles] == troubled
            assert {trouble.reason for trouble in made.troubles} <= {"special token in the text"}


@pytest.mark.slow
def test_special_strings_in_a_text_are_tokens_or_words_or_trouble(tmp_path: Path) -> None:
    special = row(0, talk("Hi", "a<|pad|>b"), "a<|endoftext|>b")
    mill = started(tmp_path / "lake", special, row(1, talk("Hi", "c"), "c"), row(2, talk("Hi", "d"), "d"))
    sha256 = json.loads(mill.store.read("tokenizers/bytes-1/ledger.json"))["fingerprint"]

    def rows(declared: Format, specials: Any) -> tuple[list[str], dict[str, int]]:
        name = f"{specials}-1"
        tokenizer = Tokenizer(name=name, file="lake:tokenizers/bytes-1", sha256=sha256, specials=specials)
        make_tokenizer(mill.store, tokenizer, mill.said.append)
        mix = mix_of(declared, parts=1)
        mill.make(stream_step(mix, "pages", SNAPSHOT, SHELVES))
        ledger = mill.make(TokenCacheStep(mix, "pages", tokenizer, SNAPSHOT, SHELVES))
        here = place(cache_asset("talk", name, "pages"), SNAPSHOT)
        assert audit_reencoding(mill.store, here.ledger, ShardSample(1), mill.said.append, set()) == []
        [part] = read_ledger(mill.store, here)[1]
        reader = CacheReader(range_reader_of_store(mill.store), part.extra["folders"]["train"].rstrip("/"))
        found = [reader.row("input_ids", number).tolist() for number in range(reader.rows)]
        return [f"{len(each)} {spelled(mill, each)}" for each in found], ledger.dropped

    end = "\u0120<|endoftext|>"
    drop = Text(on_trouble="drop")
    assert rows(Text(), "tokens") == ([f"5 a<|endoftext|>b{end}", f"3 c{end}", f"3 d{end}"], {})
    assert rows(Text(), "text") == ([f"17 a<|endoftext|>b{end}", f"3 c{end}", f"3 d{end}"], {})
    assert rows(drop, "refuse") == ([f"3 c{end}", f"3 d{end}"], {"special token in the text": 1})
    chat = Chat(chat_template=TEMPLATE, on_trouble="drop")
    assert rows(chat, "tokens")[0] == ["11 u:Hi;a:a<|pad|>b;", "9 u:Hi;a:c;", "9 u:Hi;a:d;"]
    assert rows(chat, "refuse") == (["9 u:Hi;a:c;", "9 u:Hi;a:d;"], {"special token in the text": 1})
    with pytest.raises(RecipeError, match="encodes special strings as text, but a chat template writes them"):
        rows(chat, "text")
