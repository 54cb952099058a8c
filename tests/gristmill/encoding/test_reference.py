"""What the reference says of a tokenizer, kept in the lake: the same answers, made anew where they are missing."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from testkit import Mill
from tokenizers import Tokenizer as Loaded
from wholelake import CACHE, TOKENIZER, make_cache, make_whole, table

from gristmill.encoding import encoder as encoding
from gristmill.encoding.encoder import Encoder
from gristmill.encoding.probes import probe_texts
from gristmill.encoding.reference import REFERENCE_FILE, ask_reference, dump_reference
from gristmill.lake.ledger.files import as_json
from gristmill.recipes.tokenizer import TokenizerOptions
from gristmill.stages.tokenization.files import ledger_path, read_reference, read_tokenizer, tokenizer_path


def test_facts_are_read_as_they_were_asked_for(whole: Mill) -> None:
    ledger, data = read_tokenizer(whole.store, TOKENIZER.name)
    asked, kept = ask_reference(data), read_reference(whole.store, ledger)
    assert kept is not None
    assert kept.texts == probe_texts(Loaded.from_str(data.decode()))
    for one, other in zip(asked[:-1], kept[:-1], strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))
    for one, other in zip(asked.vocabulary, kept.vocabulary, strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))
    assert (
        dump_reference(kept)
        == dump_reference(asked)
        == whole.store.read(tokenizer_path(TOKENIZER.name, REFERENCE_FILE))
    )


def test_the_fast_engine_is_tried_against_them_at_every_start(whole: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, data = read_tokenizer(whole.store, TOKENIZER.name)
    facts = read_reference(whole.store, ledger)
    assert facts is not None
    with monkeypatch.context() as patched:  # the reference is not even loaded
        patched.setattr(encoding, "load_reference", None)
        assert Encoder(data, TokenizerOptions(eos=TOKENIZER.eos), facts=facts).engine == "fastokens"
    other = facts.ids.copy()
    other[-1] += 1
    refused = Encoder(data, TokenizerOptions(eos=TOKENIZER.eos), facts=facts._replace(ids=other))
    assert refused.engine == "tokenizers"
    assert "gives other ids" in refused.engine_reason


@pytest.mark.slow
def test_caches_are_the_same_with_and_without_them(tmp_path: Path) -> None:
    one, other = make_whole(tmp_path / "one"), make_whole(tmp_path / "other")
    parts = [entry.path for entry in other.store.list("token_caches/")]
    other.store.delete(parts)
    found, _ = read_tokenizer(other.store, TOKENIZER.name)
    bare = msgspec.structs.replace(
        found, files={name: sha for name, sha in found.files.items() if name != REFERENCE_FILE}
    )
    other.store.put(ledger_path(TOKENIZER.name), as_json(bare))
    make_cache(other)
    assert table(one, CACHE) == table(other, CACHE)
