import gzip
import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from exported import INDEX, close, export, mix_of, release_of, released, start, why
from steered import before
from testkit import SHELVES, SNAPSHOT, Mill, make_documents
from wholelake import flip

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.formats.oscar.checksums import write_checksums
from gristmill.lake.ledger.index_ledger import read_index_ledger
from gristmill.recipes.export import Oscar
from gristmill.stages.export import oscar
from gristmill.stages.export.index import is_old_release, release_folder
from gristmill.stages.export.release import WRITING
from gristmill.stages.mixing.step import stream_step


def lines(mill: Mill, name: str) -> list[str]:
    return [json.loads(line)["content"] for line in gzip.decompress(released(mill)[name]).splitlines()]


def test_a_release_has_a_folder_for_each_language_and_coreutils_accepts_its_checksums(exported: Mill) -> None:
    assert why(exported) == ("never made",)
    close(exported)
    assert why(exported) == ()
    files = released(exported)
    assert sorted(files) == ["en/en.jsonl.gz", "en/en_sha256.txt", "fr/fr.jsonl.gz", "fr/fr_sha256.txt"]
    assert lines(exported, "fr/fr.jsonl.gz") == [row["text"] for row in make_documents(20)[1::2]]
    sha256sum = shutil.which("sha256sum")
    assert sha256sum
    for language in ("en", "fr"):
        folder = exported.root / release_of(exported).folder / language
        done = subprocess.run([sha256sum, "-c", f"{language}_sha256.txt"], cwd=folder, capture_output=True, check=False)
        assert (done.returncode, done.stdout.decode()) == (0, f"{language}.jsonl.gz: OK\n")


def test_large_languages_are_cut_into_parts(exported: Mill) -> None:
    close(exported, None, Oscar(part_bytes=1))
    files = [name for name in sorted(released(exported)) if name.startswith("en/")]
    assert files == ["en/en_part_1.jsonl.gz", "en/en_part_2.jsonl.gz", "en/en_sha256.txt"]
    both = [text for name in files[:2] for text in lines(exported, name)]
    assert both == [row["text"] for row in make_documents(20)[::2]]
    sums = released(exported)["en/en_sha256.txt"].decode().splitlines()
    assert [line.split("  ")[1] for line in sums] == ["en_part_1.jsonl.gz", "en_part_2.jsonl.gz"]


def test_the_ledger_names_every_file_and_release_json_the_folder(exported: Mill) -> None:
    index = close(exported, None, None, "2025")
    ledger = read_index_ledger(exported.store, f"{INDEX}/ledger.json")
    assert ledger is not None
    there = {entry.path for entry in exported.store.list(f"{INDEX}/")} - {f"{INDEX}/ledger.json"}
    assert there == set(ledger.files)
    assert index.absent == ("pages/2025",)
    assert {release_folder(path) for path in there} == {"", release_of(exported).folder}


def test_another_release_has_another_folder_and_the_old_one_stays_until_it_is_collected(exported: Mill) -> None:
    close(exported)
    first = release_of(exported)
    before = released(exported)
    exported.raw("b.jsonl.gz", make_documents(11, start=10))
    exported.convert()
    exported.make(stream_step(mix_of(), "pages", SNAPSHOT, SHELVES))
    export(exported)
    assert "its slices changed" in why(exported)
    close(exported)
    second = release_of(exported)
    assert second.folder != first.folder
    assert {name: exported.store.read(first.folder + name) for name in before} == before
    ledger = read_index_ledger(exported.store, f"{INDEX}/ledger.json")
    assert ledger is not None
    assert is_old_release(ledger, first.folder + "en/en.jsonl.gz")
    assert not is_old_release(ledger, second.folder + "en/en.jsonl.gz")


def test_an_index_with_the_same_release_does_not_copy_it_again(exported: Mill) -> None:
    close(exported)
    before = {entry.path: entry.etag for entry in exported.store.list(release_of(exported).folder)}
    close(exported, None, None, "2025")
    assert before == {entry.path: entry.etag for entry in exported.store.list(release_of(exported).folder)}


@pytest.mark.parametrize("name", ["en/en.jsonl.gz", "en/en_sha256.txt"])
def test_a_lost_file_makes_the_index_due_and_comes_back(exported: Mill, name: str) -> None:
    close(exported)
    before = exported.tree()
    exported.store.delete([release_of(exported).folder + name])
    assert any(name in reason for reason in why(exported))
    close(exported)
    assert exported.tree() == before


def test_a_small_file_that_a_release_names_is_not_replaced_by_that_of_a_newer_version(
    exported: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    close(exported)
    path = f"{release_of(exported).folder}en/en_sha256.txt"
    before = exported.store.read(path)
    pinned = {path: (hashlib.sha256(before).hexdigest(), len(before))}
    exported.store.put("releases/first.json", json.dumps({"objects": pinned}).encode())
    close(exported)
    monkeypatch.setattr(oscar, "write_checksums", lambda sums: write_checksums(sums).replace(b"  ", b" *"))
    with pytest.raises(DataError, match=rf"^{path}: release first names it with other bytes than were made now"):
        close(exported)
    assert exported.store.read(path) == before
    exported.store.delete(["releases/first.json"])
    close(exported)
    assert exported.store.read(path) == before.replace(b"  ", b" *")


def test_a_damaged_part_does_not_get_into_a_release(exported: Mill) -> None:
    path = next(entry.path for entry in exported.store.list("exports/") if entry.path.endswith("fr.jsonl.gz"))
    flip(exported, path)
    with pytest.raises(StoreError, match="not the object that its ledger names"):
        close(exported)
    assert exported.store.head(f"{INDEX}/ledger.json") is None
    assert exported.store.head(f"{INDEX}/release.json") is None


def test_held_out_documents_are_a_release_beside_the_others(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    export(mill, mix_of(validation=0.4))
    close(mill, mix_of(validation=0.4))
    names = sorted(released(mill))
    assert names[:2] == ["train/en/en.jsonl.gz", "train/en/en_sha256.txt"]
    assert "validation/fr/fr.jsonl.gz" in names


def test_a_release_names_only_options_that_its_slices_were_made_with(exported: Mill) -> None:
    close(exported)
    before = {entry.path: entry.version for entry in exported.store.list(f"{INDEX}/")}
    with pytest.raises(
        RecipeError, match=r"the slice pages/2024 .* now: format\.languages was \[\], is \['en'\]; .* another name"
    ):
        close(exported, None, Oscar(languages=("en",)))
    assert {entry.path: entry.version for entry in exported.store.list(f"{INDEX}/")} == before


def test_a_release_that_would_be_empty_is_an_error_that_names_the_reasons(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake", 1, 4)
    export(mill, None, Oscar(languages=("eng",)))
    with pytest.raises(
        DataError,
        match=r"would be empty, because the format refused every document \(.*: 4\); correct the format of export",
    ):
        close(mill, None, Oscar(languages=("eng",)))


def test_a_run_that_ends_leaves_the_mark_of_another_one_that_writes_its_release(tmp_path: Path) -> None:
    """Without the mark, `gc` would remove what the other one has written so far."""
    mill = start(tmp_path / "lake")
    export(mill)
    path = f"{INDEX}/{WRITING}"
    before(mill.store, "delete", path, lambda: mill.store.put(path, b'{"folder":"another"}'))
    close(mill)
    assert mill.store.read(path) == b'{"folder":"another"}'
    assert why(mill) == ("a run that wrote it was killed",)
    close(mill)
    assert mill.store.head(path) is None
