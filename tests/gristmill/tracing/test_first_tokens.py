"""The first tokens of a cache, and whose they are."""

from pathlib import Path

import pytest
from testkit import Mill
from tokenizers import Tokenizer
from tracelake import CACHE, even, in_mix, make_trace_lake, text, where
from wholelake import TOKENIZER

from gristmill.errors import DataError
from gristmill.stages.token_cache.token_stream import open_split
from gristmill.stages.tokenization.files import tokenizer_path
from gristmill.tracing.tokens import TracedTokens, first_tokens


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    return make_trace_lake(tmp_path_factory.mktemp("first") / "lake", even())


@pytest.mark.slow
def test_all_tokens_of_the_train_split_are_given_in_order_with_their_documents(mill: Mill) -> None:
    spelled = Tokenizer.from_str(mill.store.read(tokenizer_path(TOKENIZER.name)).decode())
    traced = list(first_tokens(mill.store, "even", "tiny-1", "pages", 10_000))
    stream = open_split(mill.store, CACHE, "train")
    assert [token for each in traced for token in each.ids] == stream.read_elements(
        "input_ids", 0, stream.count("input_ids")
    ).tolist()
    numbers = [int(each.id.removeprefix("doc-")) for each in traced]
    assert sorted(numbers) == [n for n in in_mix() if where(mill, n).token_caches[0].split == "train"]
    for number, each in zip(numbers, traced, strict=True):
        assert spelled.decode(list(each.ids)).strip() == text(number)
        assert (each.source, each.snapshot, each.shard) == ("pages", "2024", "abc"[number // 30])
        assert f"{CACHE}/train/{each.part}/" == where(mill, number).token_caches[0].part


def test_no_more_tokens_are_given_than_were_asked_for(mill: Mill) -> None:
    (first, second) = first_tokens(mill.store, "even", "tiny-1", "pages", len(_whole(mill).ids) + 3)
    assert (first, len(second.ids)) == (_whole(mill), 3)
    assert list(first_tokens(mill.store, "even", "tiny-1", "pages", 0)) == []


def _whole(mill: Mill) -> TracedTokens:
    return next(first_tokens(mill.store, "even", "tiny-1", "pages", 10_000))


def test_a_cache_without_an_index_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    with pytest.raises(DataError, match="does not exist yet; make the cache's index"):
        next(first_tokens(Mill(tmp_path / "lake").store, "even", "tiny-1", "pages", 1))
