import dataclasses
import json

import pytest
from msgspec.structs import replace
from releasekit import change_whole, release_of_whole, write_whole
from testkit import Mill
from wholelake import CACHE, REVISED, STREAM, TOKENIZER, even

from gristmill.errors import DataError, RecipeError
from gristmill.lake.ledger.files import as_json, read_head, read_table
from gristmill.maintenance.gc import find_unnamed_parts
from gristmill.releases.pinned import read_pinned
from gristmill.releases.pinning import pinned_release, trainer_files, write_release
from gristmill.releases.withdrawal import withdraw_release
from gristmill.stages.cache_index.index import index_cache


def test_a_release_has_every_ledger_from_the_raw_data_to_the_token_cache(whole: Mill) -> None:
    release = release_of_whole(whole)
    assert [ledger.asset for ledger in release.ledgers] == [
        "sources/pages/v0/documents",
        "sources/pages/v0/attributes/words-1",
        "sources/pages/v1/documents",
        "mixes/even/documents/pages",
        "tokenizers/tiny-1",
        "token_caches/even/tiny-1/pages",
    ]
    heads = [read_head(whole.store, place) for place in (REVISED, STREAM, CACHE)]
    fingerprints = {ledger.fingerprint for ledger in release.ledgers}
    assert all(head is not None and head.fingerprint in fingerprints for head in heads)
    assert release.slices == (("pages", "2024"),)


def test_a_release_names_each_object_of_its_parts_and_of_its_tokenizer(whole: Mill) -> None:
    release = release_of_whole(whole)
    parts = {path for row in read_table(whole.store, CACHE) for path in row.objects or {}}
    assert parts
    assert parts <= release.objects.keys()
    assert {path for path in release.objects if path.startswith("tokenizers/")} >= {"tokenizers/tiny-1/tokenizer.json"}
    for path, (_, size) in release.objects.items():
        entry = whole.store.head(path)
        assert entry is not None
        assert entry.size == size


def test_the_trainer_reads_the_catalogue_of_the_release_which_a_later_run_does_not_replace(whole: Mill) -> None:
    release = write_whole(whole)
    config = json.loads(whole.store.read("releases/first/data.yaml"))
    assert config["cache_catalog"] == f"{whole.store.url}/releases/first/cache_catalog.json"
    index = "token_caches/even/tiny-1/index"
    assert whole.store.read("releases/first/cache_catalog.json") == whole.store.read(f"{index}/cache_catalog.json")
    assert sorted(read_pinned(whole.store, "first").files) == [
        "releases/first/cache_catalog.json",
        "releases/first/data.yaml",
    ]
    assert release.index == pinned_release(whole.store, "other", "even", "tiny-1").index


def test_gc_keeps_the_parts_of_a_release_when_the_mix_has_new_ones(whole: Mill) -> None:
    old = {path for path in release_of_whole(whole).objects if path.startswith("token_caches/")}
    write_whole(whole)
    whole.store.put("blocklists/takedowns.jsonl", b"")
    change_whole(whole)
    now = {path for row in read_table(whole.store, CACHE) for path in row.objects or {}}
    assert not old & now
    assert find_unnamed_parts(whole.store, lambda _: None) == []
    whole.store.delete(["releases/first.json", *_files(whole)])
    assert find_unnamed_parts(whole.store, lambda _: None) != []


def _files(whole: Mill) -> list[str]:
    return [entry.path for entry in whole.store.list("releases/")]


def test_a_release_is_written_once_and_a_killed_writer_is_continued(whole: Mill) -> None:
    release = release_of_whole(whole)
    files = trainer_files(whole.store, release)
    whole.store.put("releases/first/data.yaml", b"half")  # what a killed run may leave; the release itself comes last
    assert write_release(whole.store, release, files) == (*files, "releases/first.json")
    before = whole.tree()
    assert write_release(whole.store, release, files) == ()
    assert whole.tree() == before
    whole.store.delete(["releases/first/data.yaml"])
    whole.store.put("releases/first/cache_catalog.json", b"{}")
    assert sorted(write_release(whole.store, release, files)) == sorted(files)
    assert whole.tree() == before
    with pytest.raises(
        DataError, match="a release never changes, and the mix, its token cache or the words of its card did"
    ):
        write_release(whole.store, release, files | {"releases/first/card.md": b"more"})


def test_the_name_of_a_withdrawn_release_is_not_used_again(whole: Mill) -> None:
    write_whole(whole)
    withdraw_release(whole.store, "first")
    before = whole.tree()
    with pytest.raises(DataError, match=r"^withdrawn/releases/first\.json: the release first was withdrawn"):
        write_whole(whole)
    assert whole.tree() == before
    write_whole(whole, "second")


def test_a_release_that_is_withdrawn_while_it_is_written_again_stays_withdrawn(whole: Mill) -> None:
    release = write_whole(whole)
    files = trainer_files(whole.store, release)
    withdraw_release(whole.store, "first")  # after the look at the record, before the file of the release is written
    with pytest.raises(DataError, match="the release first was withdrawn, and its name is not used again"):
        write_release(whole.store, release, files)
    assert [entry.path for entry in whole.store.list("releases/")] == []


def test_a_release_of_an_older_version_has_no_digest_and_is_the_same(whole: Mill) -> None:
    release = release_of_whole(whole)
    files = trainer_files(whole.store, release)
    write_release(whole.store, release, files)
    written = read_pinned(whole.store, "first")
    whole.store.put("releases/first.json", as_json(replace(written, digest="")))
    assert written.digest
    assert write_release(whole.store, release, files) == ()


def test_what_has_changed_since_is_not_released(whole: Mill) -> None:
    whole.store.delete([STREAM.ledger])
    with pytest.raises(DataError, match=r"mixes/even/documents/pages \(2024\): has no ledger any more; make the mix"):
        release_of_whole(whole)


def test_a_missing_index_is_named(whole: Mill) -> None:
    with pytest.raises(DataError, match="token_caches/even/other-1/index: not made yet"):
        pinned_release(whole.store, "first", "even", "other-1")


def test_a_changed_configuration_is_not_released(whole: Mill) -> None:
    release = release_of_whole(whole)
    whole.store.put("token_caches/even/tiny-1/index/data.yaml", b"{}\n")
    with pytest.raises(DataError, match=r"index/data\.yaml: it is not the file that its ledger names"):
        trainer_files(whole.store, release)


def test_a_release_has_no_configuration_of_an_index_that_was_written_since(whole: Mill) -> None:
    """The slices are the same, and training reads them by other weights."""
    release = release_of_whole(whole)
    mix = even()
    mix = dataclasses.replace(mix, streams=(dataclasses.replace(mix.streams[0], weight=3.0), *mix.streams[1:]))
    index_cache(whole.store, mix, TOKENIZER, {"pages": whole.source()}, {"pages": ["2024"]})
    assert release_of_whole(whole).objects == release.objects
    with pytest.raises(DataError, match=r"^token_caches/even/tiny-1/index: was made again while the release was made"):
        trainer_files(whole.store, release)


def test_the_work_of_a_draft_is_not_released(whole: Mill) -> None:
    path = STREAM.ledger
    head = json.loads(whole.store.read(path))
    head["recipe"]["draft"] = True
    whole.store.put(path, json.dumps(head).encode())
    with pytest.raises(RecipeError, match="mixes/even/documents/pages: made by a draft"):
        release_of_whole(whole)
