from gristmill.lake.address import attributes_asset, cache_asset, documents_asset
from gristmill.pipeline.dry_run import Prospect, State
from gristmill.pipeline.due_sets import DueSets


def told(*prospects: Prospect) -> list[str]:
    due = DueSets()
    for prospect in prospects:
        due.add(prospect)
    return due.lines()


def loud(source: str, snapshot: str, state: State, *why: str, kept: int = 0, version: str = "v0") -> Prospect:
    return Prospect(attributes_asset(source, version, "loud-1"), snapshot, state, kept=kept, why=why)


def test_a_new_set_is_told_with_its_sources_and_snapshots() -> None:
    assert told(
        loud("wiki", "2024", "make", "never made"),
        loud("wiki", "2025", "make", "never made"),
        loud("wiki", "2025", "follow", "after sources/wiki/v1/documents", "never made", version="v1"),
        loud("books", "2024", "follow", "after sources/books/v0/documents"),
        Prospect(documents_asset("wiki", "v0"), "2024", "make", why=("never made",)),
    ) == ["set loud-1: 2 sources, 3 snapshots, new"]


def test_a_set_of_which_something_is_there_is_not_new() -> None:
    due = loud("wiki", "2025", "make", "never made")
    line = ["set loud-1: 1 source, 1 snapshot"]
    assert told(loud("wiki", "2024", "finished"), due) == line
    assert told(due, loud("wiki", "2024", "finished")) == line
    assert told(loud("wiki", "2024", "make", "the recipe changed: word was 'A', is 'B'")) == line
    assert told(loud("wiki", "2024", "make", "new: shard c", kept=2)) == line


def test_what_is_finished_or_waits_is_not_due() -> None:
    assert told(loud("wiki", "2024", "finished"), loud("wiki", "2025", "wait", "for sources/wiki/raw")) == []


def test_token_caches_are_told_by_mix_and_tokenizer() -> None:
    caches = [
        Prospect(cache_asset("blend", "tiny-1", stream), key, "make", why=("never made",))
        for stream, key in (("letters", "2024"), ("letters", "2025"), ("diary", "2024"))
    ]
    assert told(*caches) == ["tokens blend by tiny-1: 2 streams, 3 snapshots, new"]
