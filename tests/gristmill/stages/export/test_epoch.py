from dataclasses import replace
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from energonlake import INDEX, close, export, mix_of, mixed, start, why
from testkit import SHELVES, SNAPSHOT, lines, make_documents

from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import cache_asset, place
from gristmill.lake.ledger.files import read_head
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.export.epoch import TokensMissing
from gristmill.stages.export.release import release_warnings
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.stages.tokenization.training import make_tokenizer
from gristmill.verification.audit import audit_ledger

TOKENIZER = Tokenizer(name="bytes-1", training=Training(mix="blend", snapshots={"pages": (SNAPSHOT,)}, vocabulary=258))
JSONL = EnergonJsonl(tokenizer=TOKENIZER.name, file_bytes=1 << 20, subflavors={"version": "12e4"})


@pytest.mark.slow
def test_an_epoch_repeats_the_stream_until_the_budget_is_reached(tmp_path: Path) -> None:
    mill, mix = start(tmp_path / "lake"), mix_of(token_budget=1000)
    export(mill, JSONL, mix)
    assert "make this token cache first" in why(mill, JSONL, mix)[0]
    with pytest.raises(TokensMissing, match="make this token cache first"):
        close(mill, JSONL, mix)
    make_tokenizer(mill.store, TOKENIZER, mill.said.append)
    mill.make(TokenCacheStep(mix, "pages", TOKENIZER, SNAPSHOT, SHELVES))
    close(mill, JSONL, mix)
    head = read_head(mill.store, place(cache_asset("blend", TOKENIZER.name, "pages"), SNAPSHOT))
    assert head is not None
    data = mill.store.read(f"{INDEX}/metadataset.yaml")
    assert b'version: "12e4"' in data
    [entry] = yaml.safe_load(data)["splits"]["train"]["blend_epochized"]
    assert entry["repetitions"] * head.totals["train tokens"] == pytest.approx(1000)
    findings = [str(each) for each in audit_ledger(mill.store, f"{INDEX}/ledger.json", mill.said.append)]
    assert (why(mill, JSONL, mix), findings) == ((), [])
    [warning] = release_warnings(mill.store, INDEX)
    assert warning.startswith(f"an epoch reads 'pages' {entry['repetitions']:.3g} times, and only the first epoch of")


def test_an_epoch_needs_a_budget_and_splits_whose_tokens_are_counted(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    export(mill, JSONL)
    with pytest.raises(RecipeError, match="the mix has no token_budget"):
        close(mill, JSONL)
    with pytest.raises(RecipeError, match="leave split_ratios and split_patterns out"):
        EnergonWebdataset(tokenizer="t-1", split_ratios={"train": 1})


def test_shares_of_tokens_need_a_tokenizer_and_then_give_an_epoch_without_a_budget(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    mix = mix_of()
    mix = replace(mix, streams=(replace(mix.streams[0], weight=1.0),), proportions={"pages": 1.0})
    plain = EnergonJsonl(file_bytes=1 << 20)
    export(mill, plain, mix)
    with pytest.raises(RecipeError, match="are shares of tokens, and the format of the export counts none"):
        close(mill, plain, mix)
    make_tokenizer(mill.store, TOKENIZER, mill.said.append)
    mill.make(TokenCacheStep(mix, "pages", TOKENIZER, SNAPSHOT, SHELVES))
    export(mill, JSONL, mix)
    close(mill, JSONL, mix)
    [entry] = yaml.safe_load(mill.store.read(f"{INDEX}/metadataset.yaml"))["splits"]["train"]["blend_epochized"]
    assert entry["repetitions"] == pytest.approx(1.0)
    assert release_warnings(mill.store, INDEX) == ()


def test_the_error_about_an_emptied_stream_names_its_mix_and_what_to_do(tmp_path: Path) -> None:
    mill, mix = start(tmp_path / "lake"), mix_of(token_budget=1000)
    make_tokenizer(mill.store, TOKENIZER, mill.said.append)
    mix = replace(mix, name="rest", streams=(replace(mix.streams[0], blocklists=("takedowns",)),))
    taken = [{"source": "pages", "id": row["id"], "reason": "asked"} for row in make_documents(20)]
    mill.store.put("blocklists/takedowns.jsonl", lines(taken))
    mixed(mill, mix)
    mill.make(TokenCacheStep(mix, "pages", TOKENIZER, SNAPSHOT, SHELVES))
    export(mill, JSONL, mix)
    with pytest.raises(RecipeError, match=r"tokens in token_caches/rest/bytes-1/pages, .* leave .* out of mix 'rest'"):
        close(mill, JSONL, mix)


def test_an_epoch_that_the_stream_cannot_give_is_an_error(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    mix = mix_of(token_budget=1_000_000)
    short = replace(mix, streams=(replace(mix.streams[0], most_epochs=2.0),))
    make_tokenizer(mill.store, TOKENIZER, mill.said.append)
    mill.make(TokenCacheStep(short, "pages", TOKENIZER, SNAPSHOT, SHELVES))
    export(mill, JSONL, short)
    with pytest.raises(DataError, match="the budget cannot be met: stream 'pages' is short of"):
        close(mill, JSONL, short)
