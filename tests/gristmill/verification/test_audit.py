from lies import LEDGERS, audit
from testkit import Mill

from gristmill.verification.audit import ledger_paths_to_audit


def test_a_clean_lake_is_proven_upstream_before_downstream(whole: Mill) -> None:
    assert ledger_paths_to_audit(whole.store) == LEDGERS
    assert audit(whole) == ([], [])


def test_one_asset_is_audited_by_whole_words(whole: Mill) -> None:
    assert ledger_paths_to_audit(whole.store, "sources/pages/v0") == LEDGERS[:3]
    assert ledger_paths_to_audit(whole.store, "sources/pages/v") == []
    assert ledger_paths_to_audit(whole.store, "tokenizers/tiny-1/") == [LEDGERS[5]]
