"""A cap keeps so many documents of each host, and those without a host."""

from collections import Counter
from typing import Any

import pytest
from dedupelake import SHELVES, resolved
from testkit import Mill

from gristmill.errors import RecipeError
from gristmill.lake.address import mix_asset, place
from gristmill.previews.slice_preview import SlicePreview
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.mixture.caps import capped
from gristmill.stages.mixing.step import stream_step

HOSTS = ("alpha", "alpha", "alpha", "beta", "beta", None)


def page(number: int) -> dict[str, Any]:
    host = HOSTS[number % 6]
    return {"id": f"d{number}", "text": f"text {number}", "source": "pages", "metadata": {"host": host} if host else {}}


@pytest.mark.slow
def test_a_cap_keeps_so_many_documents_of_each_host_and_those_without(mill: Mill) -> None:
    """10 shards of 6 documents: 30 of alpha, 20 of beta, 10 without a host; and one shard whose host is alone."""
    for shard in range(10):
        mill.raw(f"{shard}.jsonl.gz", [page(number) for number in range(6 * shard, 6 * shard + 6)], snapshot="2024")
    mill.raw(
        "z.jsonl.gz", [{"id": "z", "text": "alone", "source": "pages", "metadata": {"host": "zeta"}}], snapshot="2024"
    )
    resolved(mill, "hosts-1")
    stream = capped(Stream(source="pages", version="v0"), "hosts-1", most=7)
    step = stream_step(Mix(name="blend", streams=(stream,)), "pages", "2024", SHELVES)
    ledger = mill.make(step)
    where = place(mix_asset("blend", "pages"), "2024")
    kept = [row for shard in mill.table(where) for row in mill.rows(where.shard(shard))]
    assert Counter(row["metadata"].get("host") for row in kept) == {"alpha": 7, "beta": 7, None: 10, "zeta": 1}
    assert ledger.dropped == {"most-of-hosts-1": 36}
    shards = {row["id"] for row in kept if row["metadata"].get("host") == "alpha"}
    assert not shards <= {f"d{number}" for number in range(24)}  # drawn over all shards, not the first ones
    tally = SlicePreview(mill.store, step, {"hosts-1": {"number": "score", "size": "score"}}).tally_rows(0)
    assert tally.kept.documents == len(kept)
    assert {reason: amount.documents for reason, amount in tally.dropped.items()} == ledger.dropped


def test_a_cap_of_none_is_refused() -> None:
    with pytest.raises(RecipeError, match="most is 0; give 1 document or more"):
        capped(Stream(source="pages", version="v0"), "hosts-1", most=0)
