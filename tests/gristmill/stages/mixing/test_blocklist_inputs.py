from streams import stream
from testkit import Mill, lines, put_list
from wholelake import reseal, table

from gristmill.lake.rows.blocklists.blocklist import Blocklist
from gristmill.stages.mixing.blocklist_inputs import hashes_by_name, shards_touched_by_blocklists


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
        put_list(mill.store, lines(listed))
        ledger = mill.mix(chosen)
        assert mill.ground == ground
        assert ledger.totals["rows"] == rows
    assert ledger.dropped == {"blocklist: takedowns": 1}
    assert "doc-00035" not in mill.ids(mill.stream(), "d")


def test_a_slice_is_touched_where_a_list_that_it_knows_changed(mill: Mill) -> None:
    mill.raw_shards(3)
    mill.convert()
    entry = {"source": "pages", "id": "doc-00012", "reason": "asked for"}
    mill.store.put("blocklists/takedowns.jsonl", b"")

    def touched(*names: str, rows: list[dict[str, str]]) -> list[str]:
        pairs = {(row["source"], row["id"]): row["reason"] for row in rows}
        blocked = hashes_by_name([Blocklist(name, pairs) for name in names])
        return shards_touched_by_blocklists(mill.store, mill.stream(), mill.documents(), blocked)

    assert touched("takedowns", rows=[entry]) == []  # the slice is not finished
    mill.mix(stream(blocklists=("takedowns",)))
    assert touched("takedowns", rows=[]) == []
    assert touched("takedowns", rows=[entry]) == ["b"]
    assert touched("unknown", rows=[entry]) == []
    reseal(mill, mill.documents(), table(mill, mill.documents())[2:])
    assert touched("takedowns", rows=[entry]) == []
