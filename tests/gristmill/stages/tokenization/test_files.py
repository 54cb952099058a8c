import json
from pathlib import Path

import pytest
from talklake import TEMPLATE, mix_of, row, started, talk
from testkit import SHELVES, SNAPSHOT

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.recipes.row_format import Chat
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.files import read_tokenizer
from gristmill.stages.tokenization.training import make_tokenizer


def test_a_brought_tokenizers_folder_gives_its_template_and_a_changed_file_is_refused(tmp_path: Path) -> None:
    mill = started(tmp_path / "lake", row(0, talk("Hi", "Hello")))
    folder = tmp_path / "brought"
    folder.mkdir()
    data = mill.store.read("tokenizers/bytes-1/tokenizer.json")
    (folder / "tokenizer.json").write_bytes(data)
    (folder / "chat_template.jinja").write_text("J" + TEMPLATE)
    sha256 = json.loads(mill.store.read("tokenizers/bytes-1/ledger.json"))["fingerprint"]
    here = Tokenizer(name="here-1", file=str(folder), sha256=sha256)
    inside = Tokenizer(name="inside-1", file="lake:tokenizers/here-1", sha256=sha256)
    for tokenizer in (here, inside):
        make_tokenizer(mill.store, tokenizer, mill.said.append)
        mix = mix_of(Chat())
        mill.make(TokenCacheStep(mix, "pages", tokenizer, SNAPSHOT, SHELVES))
        ledger, _ = read_ledger(mill.store, place(cache_asset("talk", tokenizer.name, "pages"), SNAPSHOT))
        assert ledger.totals["text bytes"] == len("Ju:Hi;a:Hello;")
    mill.store.put("tokenizers/here-1/tokenizer_config.json", b"{}")
    with pytest.raises(DataError, match=r"tokenizer_config\.json: changed under its name"):
        mill.make(TokenCacheStep(mix_of(Chat()), "pages", here, SNAPSHOT, SHELVES))
    with pytest.raises(RecipeError, match=r"neither nowhere nor nowhere/tokenizer\.json"):
        make_tokenizer(mill.store, Tokenizer(name="no-1", file="lake:nowhere", sha256="0"), mill.said.append)


@pytest.mark.parametrize("torn", [b"", b'{"schema": 1', b"\xff", b"[]"])
def test_a_torn_ledger_is_an_error_that_names_it(tmp_path: Path, torn: bytes) -> None:
    store = started(tmp_path / "lake", row(0, talk("Hi", "Hello"))).store
    store.put("tokenizers/bytes-1/ledger.json", torn)
    with pytest.raises(DataError, match=r"^tokenizers/bytes-1/ledger\.json: not a tokenizer's ledger"):
        read_tokenizer(store, "bytes-1")
