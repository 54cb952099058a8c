import pytest
from msgspec.structs import replace
from testkit import SHELVES, SNAPSHOT, Mill
from wholelake import CACHE, even, make_cache, table

from gristmill.__main__ import main
from gristmill.lake.ledger.files import as_json
from gristmill.lake.store.s3 import BucketStore
from gristmill.releases.pinned import PinnedRelease
from gristmill.reports.sizes import size_in_words
from gristmill.stages.mixing.step import stream_step


def old_parts(whole: Mill) -> set[str]:
    """Changes a document and makes everything again; the folders of the parts that were replaced."""
    before = {folder for part in table(whole, CACHE) for folder in part.extra["folders"].values()}
    metadata = {"number": 24, "language": "en"}
    whole.raw("b.jsonl.gz", [{"id": "doc-00024", "text": "word word", "source": "pages", "metadata": metadata}])
    whole.convert()
    whole.tag("words-1", "characters-1")
    whole.revise()
    whole.make(stream_step(even(), "pages", SNAPSHOT, SHELVES))
    make_cache(whole)
    return before - {folder for part in table(whole, CACHE) for folder in part.extra["folders"].values()}


def objects(whole: Mill, folder: str) -> int:
    return len(list(whole.store.list(folder)))


def test_gc_of_a_lake_without_garbage_removes_nothing(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    before = whole.stamps()
    assert main(["gc", str(whole.root), "--shelves", ",".join(SHELVES)]) == 0
    *notes, last = capsys.readouterr().out.splitlines()
    assert last == "0 parts removed, 0 bytes"
    assert all(note.startswith("note   no recipe of --shelves makes ") for note in notes)
    assert whole.stamps() == before


@pytest.mark.slow
def test_gc_removes_the_parts_that_nobody_names_and_nothing_else(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    (old,) = old_parts(whole)
    before = whole.stamps()
    size = sum(entry.size for entry in whole.store.list(old))
    assert main(["gc", str(whole.root), "--dry-run"]) == 0
    assert f"would remove {old}: {objects(whole, old)} objects, {size_in_words(size)}" in capsys.readouterr().out
    assert whole.stamps() == before
    assert main(["gc", str(whole.root)]) == 0
    assert capsys.readouterr().out.endswith(f"1 parts removed, {size_in_words(size)}\n")
    assert whole.stamps() == {path: etag for path, etag in before.items() if not path.startswith(old)}
    assert main(["verify", str(whole.root)]) == 0


def test_gc_keeps_what_a_release_or_a_merged_ledger_names(whole: Mill) -> None:
    top = f"{CACHE.asset}/train/shard_ledger.json"
    merged = whole.store.read(top)
    (old,) = old_parts(whole)
    held = objects(whole, old)
    index = whole.store.read(top)
    whole.store.put(top, merged)
    assert main(["gc", str(whole.root)]) == 0
    assert objects(whole, old) == held
    whole.store.put(top, index)
    whole.store.put("releases/first.json", b'{"parts": ["' + old.replace("/", "\\/").encode() + b'"]}')
    assert main(["gc", str(whole.root)]) == 0
    assert objects(whole, old) == held
    whole.store.delete(["releases/first.json"])
    assert main(["gc", str(whole.root)]) == 0
    assert objects(whole, old) == 0


def test_gc_leaves_a_slice_alone_where_a_run_is_at_work(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    (old,) = old_parts(whole)
    whole.store.put(CACHE.claim_path, b'{"token":"another"}')
    assert main(["gc", str(whole.root)]) == 0
    said = capsys.readouterr().out
    assert f"{CACHE.asset} (2024): a run is at work there, or was killed: nothing of it is touched" in said
    assert objects(whole, old)


@pytest.mark.parametrize("path", ["releases/first.json", CACHE.ledger])
def test_gc_removes_nothing_while_a_ledger_or_a_release_cannot_be_read(
    whole: Mill, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    (old,) = old_parts(whole)
    whole.store.put(path, b"{")
    assert main(["gc", str(whole.root)]) == 2
    assert path in capsys.readouterr().err
    assert objects(whole, old)


def test_gc_removes_nothing_while_a_release_is_edited(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    (old,) = old_parts(whole)
    bare = PinnedRelease(1, "first", "even", "tiny-1", "", (), (), {f"{old}/a": ("00", 1)}, {})
    whole.store.put("releases/first.json", as_json(bare.with_digest))
    assert main(["gc", str(whole.root)]) == 0
    assert objects(whole, old)
    whole.store.put("releases/first.json", as_json(replace(bare.with_digest, objects={})))
    capsys.readouterr()
    assert main(["gc", str(whole.root)]) == 2
    assert "releases/first.json: it was edited: it has not the digest that it names" in capsys.readouterr().err
    assert objects(whole, old)


def test_gc_names_a_withdrawn_release_that_was_put_back_until_it_is_withdrawn(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    (old,) = old_parts(whole)
    path = "releases/first.json"
    data = as_json(PinnedRelease(1, "first", "even", "tiny-1", "", (), (), {f"{old}/a": ("00", 1)}, {}).with_digest)
    whole.store.put(path, data)
    assert main(["erase", str(whole.root), "--release", "first"]) == 0
    whole.store.put(path, data)
    capsys.readouterr()
    assert main(["gc", str(whole.root)]) == 1
    assert f"WRONG  {path}: it was withdrawn, as withdrawn/{path} says, and is " in capsys.readouterr().out
    assert objects(whole, old)
    assert main(["erase", str(whole.root), "--release", "first"]) == 0
    assert main(["gc", str(whole.root)]) == 0
    assert not objects(whole, old)


@pytest.mark.slow
def test_gc_aborts_old_unfinished_uploads_of_ours_and_shows_them(
    endpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """moto says of each upload that it began in 2010."""
    bucket = BucketStore("s3://mill/lake", {"endpoint": endpoint, "region": "us-east-1"})
    shard, raw = "sources/pages/v0/documents/2024/a.jsonl.gz", "sources/pages/raw/2024/a.jsonl.gz"
    uploads = [bucket.open_parts(path, None) for path in (shard, raw)]
    given = [bucket.url, "--option", f"endpoint={endpoint}", "--option", "region=us-east-1"]
    assert main(["gc", *given, "--dry-run"]) == 0
    assert f"would abort an upload to {shard}, unfinished for " in capsys.readouterr().out
    assert len(bucket.unfinished()) == 2
    assert main(["gc", *given, "--upload-days", "100000"]) == 0
    assert len(bucket.unfinished()) == 2
    assert main(["gc", *given]) == 0
    said = capsys.readouterr().out
    assert said.index(f"aborting an upload to {shard}") < said.index(f"aborted an upload to {shard}")
    assert [upload.path for upload in bucket.unfinished()] == [raw]
    for upload in uploads:
        upload.abort()
