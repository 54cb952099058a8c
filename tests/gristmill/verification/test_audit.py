from lies import LEDGERS, audit
from testkit import Mill

from gristmill.verification.audit import audited_ledgers


def test_a_clean_lake_is_proven_upstream_before_downstream(whole: Mill) -> None:
    assert audited_ledgers(whole.store) == LEDGERS
    assert audit(whole) == ([], [])


def test_one_asset_is_audited_by_whole_words(whole: Mill) -> None:
    assert audited_ledgers(whole.store, "sources/pages/v0") == LEDGERS[:3]
    assert audited_ledgers(whole.store, "sources/pages/v") == []
    assert audited_ledgers(whole.store, "tokenizers/tiny-1/") == [LEDGERS[5]]
