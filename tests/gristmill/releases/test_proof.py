import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace
from releasekit import write_whole
from testkit import Mill
from wholelake import flip, make_cache

from gristmill.lake.ledger.files import as_json
from gristmill.releases.pinned import read_pinned
from gristmill.releases.proof import pinned_findings
from gristmill.verification.lake_file import release_findings


def test_a_release_is_right_as_long_as_its_objects_are_there(whole: Mill) -> None:
    write_whole(whole)
    assert list(pinned_findings(whole.store, read_pinned(whole.store, "first"), whole.said.append)) == []
    assert list(release_findings(whole.store, whole.said.append)) == []


@pytest.mark.parametrize("kind", ["token_caches/", "tokenizers/", "releases/first/data.yaml", "releases/first/cache_"])
def test_each_object_that_is_lost_or_changed_is_named(whole: Mill, kind: str) -> None:
    write_whole(whole)
    release = read_pinned(whole.store, "first")
    path = next(each for each in sorted([*release.objects, *release.files]) if each.startswith(kind))
    flip(whole, path, at=-5)
    [finding] = release_findings(whole.store, whole.said.append)
    assert finding.path == path
    assert "is not the one that releases/first.json names" in finding.what
    whole.store.delete([path])
    [finding] = release_findings(whole.store, whole.said.append)
    assert (finding.path, "releases/first.json names it" in finding.what) == (path, True)


def test_a_lost_object_of_a_token_cache_is_the_same_when_it_is_made_again(whole: Mill) -> None:
    write_whole(whole)
    path = next(each for each in sorted(read_pinned(whole.store, "first").objects) if each.startswith("token_caches/"))
    whole.store.delete([path])
    [finding] = release_findings(whole.store, whole.said.append)
    assert "lacks objects, `gristmill make` makes the same again; else restore it from a copy" in finding.mend
    make_cache(whole)
    assert list(release_findings(whole.store, whole.said.append)) == []


def test_an_edited_release_is_named(whole: Mill) -> None:
    """Without its objects it would pin nothing, and gc would remove them."""
    release = write_whole(whole)
    path = "releases/first.json"
    for edited in (replace(read_pinned(whole.store, "first"), objects={}), replace(release.with_digest, name="../odd")):
        whole.store.put(path, as_json(edited))
        [finding] = release_findings(whole.store, whole.said.append)
        assert finding.path == path
        assert "it was edited" in finding.what or "its name is '../odd'" in finding.what


def test_a_release_that_cannot_be_read_is_named(whole: Mill) -> None:
    whole.store.put("releases/first.json", b'{"schema":1,"name":7}')
    [finding] = release_findings(whole.store, whole.said.append)
    assert finding.path == "releases/first.json"
    whole.store.put("releases/first.json", b'{"parts":["made by hand"]}')
    assert list(release_findings(whole.store, whole.said.append)) == []


def test_a_release_of_a_copied_lake_is_proven_and_a_note_names_the_lake_that_it_reads(
    whole: Mill, tmp_path: Path
) -> None:
    write_whole(whole)
    copy = Mill(Path(shutil.copytree(whole.root, tmp_path / "a copy")))
    assert list(release_findings(copy.store, copy.said.append)) == []
    names = ("cache_catalog.json", "data.yaml")
    *directed, last = copy.said
    assert [note.partition(": ")[0] for note in directed] == [f"releases/first/{name}" for name in names]
    assert all(f"reads the lake {whole.root}, from which this one was copied" in note for note in directed)
    assert last == "releases/first.json: not proven: it has no data card"
    path = "releases/first/data.yaml"
    copy.store.put(path, copy.store.read(path).replace(b"tiny-1", b"tiny-2", 1))
    [finding] = release_findings(copy.store, copy.said.append)
    assert finding.path == path
