from concurrent.futures import ThreadPoolExecutor

import pytest

from gristmill.errors import DataError, MalformedRow, RecipeError
from gristmill.lake.rows.blocklists.blocklist import add_to_blocklist, erased_pairs, read_blocklist
from gristmill.lake.store.folder import FolderStore

ROW = b'{"source":"s","id":"%s","reason":"asked for"}\n'


def test_pairs_are_read_with_their_reasons(lake: FolderStore) -> None:
    lake.put("blocklists/takedowns.jsonl", ROW % b"a" + b"\n" + ROW % b"b")
    found = read_blocklist(lake, "takedowns")
    assert found.reasons == {("s", "a"): "asked for", ("s", "b"): "asked for"}
    assert ("s", "a") in found
    assert ("t", "a") not in found


def test_order_and_reasons_do_not_change_what_it_is(lake: FolderStore) -> None:
    lake.put("blocklists/one.jsonl", ROW % b"a" + ROW % b"b")
    lake.put("blocklists/two.jsonl", (ROW % b"b" + ROW % b"a").replace(b"asked for", b"other"))
    lake.put("blocklists/three.jsonl", ROW % b"a")
    one, two, three = (read_blocklist(lake, name).digest for name in ("one", "two", "three"))
    assert one == two != three


def test_an_empty_list_is_one_and_an_absent_list_is_none(lake: FolderStore) -> None:
    lake.put("blocklists/empty.jsonl", b"")
    assert read_blocklist(lake, "empty").reasons == {}
    with pytest.raises(RecipeError, match=r"blocklists/absent\.jsonl"):
        read_blocklist(lake, "absent")


@pytest.mark.parametrize("row", [b"{", b"[]", b'{"source":"s","id":"a"}', b'{"source":"s","id":1,"reason":""}'])
def test_a_row_that_is_none_is_named(lake: FolderStore, row: bytes) -> None:
    lake.put("blocklists/takedowns.jsonl", ROW % b"a" + row + b"\n")
    with pytest.raises(MalformedRow, match=r"blocklists/takedowns\.jsonl: row 1: "):
        read_blocklist(lake, "takedowns")


def test_a_blank_line_counts_when_a_row_behind_it_is_named(lake: FolderStore) -> None:
    lake.put("blocklists/takedowns.jsonl", b"\n" + ROW % b"a" + b"  \n" + b"{\n")
    with pytest.raises(MalformedRow, match=r"takedowns\.jsonl: row 3: "):
        read_blocklist(lake, "takedowns")


def test_pairs_are_added_behind_the_lines_that_are_there(lake: FolderStore) -> None:
    lake.put("blocklists/takedowns.jsonl", b"\n" + (ROW % b"a").rstrip())
    assert add_to_blocklist(lake, "takedowns", {("s", "a"): "other", ("s", "c"): "x", ("s", "b"): "\u00fc\n"}) == [
        ("s", "b"),
        ("s", "c"),
    ]
    assert lake.read("blocklists/takedowns.jsonl") == (
        b"\n" + ROW % b"a" + b'{"source":"s","id":"b","reason":"\xc3\xbc\\n"}\n{"source":"s","id":"c","reason":"x"}\n'
    )
    assert add_to_blocklist(lake, "takedowns", {("s", "b"): "again"}) == []
    assert add_to_blocklist(lake, "new", {("s", "b"): "first"}) == [("s", "b")]


def test_nothing_is_added_to_a_list_with_a_wrong_row(lake: FolderStore) -> None:
    lake.put("blocklists/takedowns.jsonl", ROW % b"a" + b"{\n")
    with pytest.raises(MalformedRow, match=r"takedowns\.jsonl: row 1: "):
        add_to_blocklist(lake, "takedowns", {("s", "b"): "x"})
    assert lake.read("blocklists/takedowns.jsonl") == ROW % b"a" + b"{\n"


def test_people_who_add_at_the_same_time_lose_no_line(lake: FolderStore) -> None:
    def add(number: int) -> None:
        add_to_blocklist(lake, "takedowns", {("s", f"{number}-{each}"): "x" for each in range(3)})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(12)))
    assert len(read_blocklist(lake, "takedowns").reasons) == 36


def test_all_records_of_erasures_count_finished_or_not(lake: FolderStore) -> None:
    assert erased_pairs(lake) == set()
    lake.put("withdrawn/0000000000000001.json", b'{"documents":[["pages","a","x"],["pages","b","x"]],"done":true}')
    lake.put("withdrawn/0000000000000002.json", b'{"documents":[["notes","c","x"]],"done":false}')
    lake.put("withdrawn/releases/spring.json", b"{}")
    assert erased_pairs(lake) == {("pages", "a"), ("pages", "b"), ("notes", "c")}


def test_a_damaged_record_of_an_erasure_is_an_error(lake: FolderStore) -> None:
    lake.put("withdrawn/0000000000000001.json", b'{"documents":')
    with pytest.raises(DataError, match=r"^withdrawn/0000000000000001\.json: .*restore it from a copy"):
        erased_pairs(lake)
