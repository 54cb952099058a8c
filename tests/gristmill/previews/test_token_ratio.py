from dataclasses import replace

from testkit import Mill
from wholelake import CACHE, STREAM, even

from gristmill.lake.ledger.files import read_ledger
from gristmill.previews.tally import Amount
from gristmill.previews.token_ratio import TokenRatio, token_ratio


def test_the_ratio_is_that_of_the_cache_of_the_documents_as_they_are(whole: Mill) -> None:
    ratio = token_ratio(whole.store, even(), "pages")
    tokens = read_ledger(whole.store, CACHE)[0].totals["tokens"]
    length = read_ledger(whole.store, STREAM)[0].totals["length"]
    assert ratio == TokenRatio(tokens, length, f"{CACHE.asset} (2024)")
    assert ratio.estimate_tokens(Amount(8, length, 0)) == tokens
    assert str(ratio).startswith("bytes x 0.")


def test_a_cache_of_other_documents_measures_nothing(whole: Mill) -> None:
    whole.store.delete([STREAM.ledger])
    assert token_ratio(whole.store, even(), "pages") == TokenRatio()
    assert token_ratio(whole.store, even(), "other") == TokenRatio()


def test_a_cache_of_what_the_stream_read_before_measures_nothing(whole: Mill) -> None:
    before = replace(even(), streams=(replace(even().streams[0], version="v0"),))
    assert token_ratio(whole.store, before, "pages") == TokenRatio()
