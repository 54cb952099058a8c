"""Nothing is deleted that another run is reading: what is left for it, what verify says of that, and when it goes."""

import msgspec
import pytest
from testkit import SNAPSHOT, Mill

from gristmill.__main__ import main
from gristmill.execution.claim import others_at_work
from gristmill.lake.address import attributes_asset, cache_asset, documents_asset, mix_asset, place
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.receipts import read_run_note
from gristmill.maintenance.gc import find_run_leftovers, remove_run_leftovers

DOCUMENTS = place(documents_asset("pages", "v0"), SNAPSHOT)
WORDS = place(attributes_asset("pages", "v0", "words-1"), SNAPSHOT)
RAW = "sources/pages/raw/2024/"
ANOTHER = b'{"token":"another"}'


def made(mill: Mill) -> None:
    """Two shards of documents, and a set of attributes."""
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")


def test_a_shard_whose_raw_object_is_gone_stays_while_a_run_may_read_it(mill: Mill) -> None:
    made(mill)
    read = {path: mill.store.read(path) for path in (DOCUMENTS.shard("b"), DOCUMENTS.index("b"))}
    mill.store.put(WORDS.claim_path, ANOTHER)
    mill.store.delete([f"{RAW}b.jsonl.gz"])
    mill.convert()
    assert list(mill.table(DOCUMENTS)) == ["a"]  # the ledger says so at once
    assert {path: mill.store.read(path) for path in read} == read
    mill.store.delete([WORDS.claim_path])
    mill.convert()
    assert [mill.store.head(path) for path in read] == [None, None]


def test_without_another_run_it_goes_at_once(mill: Mill) -> None:
    made(mill)
    mill.store.delete([f"{RAW}b.jsonl.gz"])
    mill.convert()
    assert mill.store.head(DOCUMENTS.shard("b")) is None
    assert mill.store.head(DOCUMENTS.index("b")) is None


@pytest.mark.parametrize(
    ("asset", "snapshot", "expected"),
    [
        (documents_asset("pages", "v1"), SNAPSHOT, True),
        (attributes_asset("pages", "v1", "words-1"), SNAPSHOT, True),
        (mix_asset("blend", "pages"), SNAPSHOT, True),
        (cache_asset("blend", "tiny-1", "pages"), SNAPSHOT, True),
        (documents_asset("other", "v0"), SNAPSHOT, False),
        (documents_asset("pages", "v0"), SNAPSHOT, False),  # its own
        (documents_asset("pages", "v1"), "2025", False),
    ],
)
def test_who_may_be_reading(mill: Mill, asset: str, snapshot: str, *, expected: bool) -> None:
    mill.store.put(place(asset, snapshot).claim_path, ANOTHER)
    assert others_at_work(mill.store, DOCUMENTS, "mine") == expected


def test_the_other_sets_of_one_step_are_no_other_run(mill: Mill) -> None:
    mill.store.put(WORDS.claim_path, b'{"token":"mine"}')
    assert not others_at_work(mill.store, DOCUMENTS, "mine")
    assert others_at_work(mill.store, DOCUMENTS, "another")


def test_sets_that_are_made_in_one_step_lose_their_shards_at_once(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1", "characters-1")
    mill.store.delete([f"{RAW}b.jsonl.gz"])
    mill.convert()
    mill.tag("words-1", "characters-1")
    for name in ("words-1", "characters-1"):
        assert mill.store.head(mill.attributes(name).shard("b")) is None


def leave(mill: Mill) -> None:
    made(mill)
    mill.store.put(WORDS.claim_path, ANOTHER)
    mill.store.delete([f"{RAW}b.jsonl.gz"])
    mill.convert()


def test_verify_has_a_note_of_what_is_left_and_finds_what_is_foreign(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    leave(mill)
    assert main(["verify", str(mill.root), "--asset", DOCUMENTS.asset]) == 0
    said = capsys.readouterr().out
    assert f"note   {DOCUMENTS.shard('b')}: left for a run that may have been reading it; gc removes it" in said
    mill.store.put(DOCUMENTS.shard("foreign"), b"")
    assert main(["verify", str(mill.root), "--asset", DOCUMENTS.asset]) == 1


def test_gc_removes_what_was_left_once_nobody_can_be_reading_it(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    leave(mill)
    before = mill.stamps()
    assert main(["gc", str(mill.root)]) == 0
    said = capsys.readouterr().out
    assert "sources/pages/v0/documents (2024): a run is at work that may read it, or was killed" in said
    assert mill.stamps() == before
    mill.tag("words-1")  # the run that held the claim is made up for
    assert main(["gc", str(mill.root), "--dry-run"]) == 0
    assert "would remove sources/pages/v0/documents (2024): 2 objects left by a run" in capsys.readouterr().out
    assert main(["gc", str(mill.root)]) == 0
    assert "removed sources/pages/v0/documents (2024): 2 objects left by a run" in capsys.readouterr().out
    assert mill.store.head(DOCUMENTS.shard("b")) is None
    assert main(["gc", str(mill.root)]) == 0
    note = "note   no recipe of --shelves makes anything of this lake: name the packages of its recipes"
    assert capsys.readouterr().out == f"{note}\n0 parts removed, 0 bytes\n"
    assert main(["verify", str(mill.root)]) == 0


def test_gc_keeps_what_a_ledger_names_again(mill: Mill) -> None:
    leave(mill)
    mill.store.delete([WORDS.claim_path])
    note = mill.store.read(DOCUMENTS.run)
    mill.raw("b.jsonl.gz", [{"id": "back", "text": "again", "source": "pages"}])
    mill.convert()
    mill.store.put(DOCUMENTS.run, note)  # an old note names what is data again
    assert main(["gc", str(mill.root)]) == 0
    assert mill.ids(DOCUMENTS, "b") == ["back"]


FOREIGN = [
    f"{RAW}a.jsonl.gz",
    WORDS.shard("a"),
    DOCUMENTS.ledger,
    "releases/first.json",
    f"{DOCUMENTS.folder}../../../raw/2024/a.jsonl.gz",
    "/etc/hostname",
]


def name(mill: Mill, *paths: str) -> None:
    """The note of the last run names these objects as left behind."""
    note = msgspec.structs.replace(read_run_note(mill.store, DOCUMENTS), left=paths)
    mill.store.put(DOCUMENTS.run, as_json(note))


@pytest.mark.parametrize("path", FOREIGN)
def test_gc_deletes_nothing_that_a_note_names_elsewhere_and_tells_it(
    mill: Mill, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    made(mill)
    mill.store.put("releases/first.json", b"{}")
    mill.store.put(DOCUMENTS.shard("left"), b"")
    name(mill, path, DOCUMENTS.shard("left"))
    before = mill.stamps()
    assert main(["gc", str(mill.root)]) == 1
    said = capsys.readouterr().out
    assert f"WRONG  {DOCUMENTS.run}: it names {path!r} as left by a run" in said
    assert mill.stamps() == {each: etag for each, etag in before.items() if each != DOCUMENTS.shard("left")}
    assert main(["verify", str(mill.root), "--asset", DOCUMENTS.asset]) == 1
    assert f"{DOCUMENTS.run}: it names {path!r} as left by a run" in capsys.readouterr().out


def test_gc_shows_the_names_before_it_removes_and_says_so_after(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    leave(mill)
    mill.store.delete([WORDS.claim_path])
    assert main(["gc", str(mill.root)]) == 0
    _, before, *names, after, _ = capsys.readouterr().out.splitlines()
    assert before.startswith("removing sources/pages/v0/documents (2024): 2 objects left by a run, ")
    assert [each.strip() for each in names] == [DOCUMENTS.shard("b"), DOCUMENTS.index("b")]
    assert after == before.replace("removing", "removed")


def test_leftovers_that_a_run_or_a_ledger_wants_meanwhile_are_kept(mill: Mill) -> None:
    leave(mill)
    mill.store.delete([WORDS.claim_path])
    (left,) = find_run_leftovers(mill.store, mill.said.append)
    assert len(left.entries) == 2
    for claim in (WORDS.claim_path, DOCUMENTS.claim_path):  # a reader, then a run on the partition itself
        mill.store.put(claim, ANOTHER)
        assert not remove_run_leftovers(mill.store, left)
        mill.store.delete([claim])
    mill.raw("b.jsonl.gz", [{"id": "back", "text": "again", "source": "pages"}])
    mill.convert()
    assert remove_run_leftovers(mill.store, left)
    assert mill.ids(DOCUMENTS, "b") == ["back"]
