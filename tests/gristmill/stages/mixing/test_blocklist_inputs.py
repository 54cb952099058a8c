from streams import stream
from testkit import Mill, lines


def test_a_blocklist_grinds_only_the_shards_that_it_touches(mill: Mill) -> None:
    mill.raw_shards(4)
    mill.convert()
    entry = {"source": "pages", "id": "doc-00012", "reason": "asked for"}
    elsewhere = {"source": "books", "id": "doc-00012", "reason": "another document"}
    chosen = stream(blocklists=("takedowns",))
    for listed, ground, rows in (
        ([], ["a", "b", "c", "d"], 40),
        ([elsewhere], [], 40),
        ([elsewhere, entry], ["b"], 39),
        ([entry, {**entry, "reason": "again"}], [], 39),
        ([entry, {**entry, "id": "doc-00035"}], ["d"], 38),
        ([{**entry, "id": "doc-00035"}], ["b"], 39),
    ):
        mill.store.put("blocklists/takedowns.jsonl", lines(listed))
        ledger = mill.mix(chosen)
        assert mill.ground == ground
        assert ledger.totals["rows"] == rows
    assert ledger.dropped == {"blocklist: takedowns": 1}
    assert "doc-00035" not in mill.ids(mill.stream(), "d")
