"""What is cut is the record of the document that was asked for, also if a run made the documents again meanwhile."""

import pytest
from testkit import SHELVES, Mill, make_documents

from gristmill.errors import StoreError
from gristmill.takedowns.erasing.erasure_plan import plan_erasure
from gristmill.takedowns.finder import Finder
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.raw import Shelves


@pytest.mark.parametrize("now", [make_documents(3)[2:], [], None], ids=["another document", "no document", "no shard"])
def test_documents_that_are_made_again_after_the_search_are_not_cut_by_their_old_rows(
    mill: Mill, now: list[dict[str, object]] | None
) -> None:
    mill.raw("a.jsonl.gz", make_documents(2))
    mill.raw("b.jsonl.gz", make_documents(1, start=50))
    mill.convert()
    shelves, wanted = Shelves(SHELVES, {}), Wanted({("pages", "doc-00000"): "asked"})
    search = Finder(mill.store, wanted, shelves, left_out=True).run()
    plan = plan_erasure(mill.store, wanted, search, shelves)
    assert [(each.path, each.pairs) for each in plan.objects.values()] == [
        ("sources/pages/raw/2024/a.jsonl.gz", {("pages", "doc-00000")})
    ]
    if now is None:
        mill.store.delete(["sources/pages/raw/2024/a.jsonl.gz"])
    else:
        mill.raw("a.jsonl.gz", now)
    mill.convert()
    with pytest.raises(StoreError, match=r"v0/documents/2024/a\.jsonl\.gz: row 0 is not the row .* try again"):
        plan_erasure(mill.store, wanted, search, shelves)
