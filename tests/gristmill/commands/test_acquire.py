import hashlib
import importlib.util
import os
import re
import zipfile
from pathlib import Path

import pytest
from testkit import Mill

from gristmill.__main__ import main
from gristmill.acquisition.real_input import acquire_installed, acquire_packages, acquire_stdlib, read_lock
from gristmill.errors import RecipeError

needs_pip = pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="this environment has no pip")
METADATA = "Metadata-Version: 2.1\nName: Mill\nVersion: 2.0\n\nA mill grinds.\n"


class Lake:
    """Objects in memory, with a count of the writes."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.writes = 0
        self.said: list[str] = []

    def put(self, path: str, data: bytes) -> None:
        self.objects[path] = data
        self.writes += 1

    def have(self, path: str) -> int | None:
        data = self.objects.get(path)
        return None if data is None else len(data)


@pytest.fixture
def lake() -> Lake:
    return Lake()


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all that pip can see: no index, no settings of this machine."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def make_wheel(folder: Path) -> str:
    """Puts the wheel of `mill` 2.0 into a folder; gives its line for a lock file."""
    path = folder / "mill-2.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mill.py", "x = 1\n")
        archive.writestr("mill-2.0.dist-info/METADATA", METADATA)
        archive.writestr("mill-2.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("mill-2.0.dist-info/RECORD", "")
    return f"mill==2.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def test_a_library_is_acquired_without_packages_caches_and_built_modules(lake: Lake, tmp_path: Path) -> None:
    for name in [
        "os.py",
        "json/decoder.py",
        "LICENSE.txt",
        "site-packages/x.py",
        "__pycache__/os.py",
        "_sysconfigdata__linux_.py",
        "os.so",
    ]:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    acquired = acquire_stdlib(lake.put, lake.have, lake.said.append, library=tmp_path, version="3.12.4+")
    assert sorted(lake.objects) == [
        "sources/stdlib/raw/3.12.4-/LICENSE.txt",
        "sources/stdlib/raw/3.12.4-/json/decoder.py",
        "sources/stdlib/raw/3.12.4-/os.py",
    ]
    assert (acquired.written, acquired.kept, acquired.size, acquired.trouble) == (3, 0, 3, "")


def test_what_the_lake_has_in_the_same_size_is_not_written_again(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one")
    (tmp_path / "b.py").write_text("two")
    acquire_stdlib(lake.put, lake.have, lake.said.append, library=tmp_path, version="1")
    (tmp_path / "b.py").write_text("three")
    again = acquire_stdlib(lake.put, lake.have, lake.said.append, library=tmp_path, version="1")
    assert (again.written, again.kept, lake.writes) == (1, 1, 3)
    assert lake.objects["sources/stdlib/raw/1/b.py"] == b"three"


def test_a_python_without_source_files_is_trouble_in_words(lake: Lake, tmp_path: Path) -> None:
    acquired = acquire_stdlib(lake.put, lake.have, lake.said.append, library=tmp_path, version="1")
    assert str(acquired) == (
        "sources/stdlib/raw/1/: nothing acquired: this Python has no source files; use one that has"
    )


def test_the_library_of_this_python_is_acquired(lake: Lake) -> None:
    acquired = acquire_stdlib(lake.put, lake.have, lake.said.append)
    assert acquired.trouble == ""
    assert f"sources/stdlib/raw/{acquired.snapshot}/os.py" in lake.objects
    assert not any("site-packages/" in path for path in lake.objects)


@pytest.mark.slow
@needs_pip
def test_locked_wheels_are_fetched_with_pip(lake: Lake, shelf: Path, tmp_path: Path) -> None:
    lock = tmp_path / "packages-2025-12.txt"
    lock.write_text("# a comment\n" + make_wheel(shelf))
    acquired = acquire_packages(lake.put, lake.have, lake.said.append, cache=tmp_path / "cache", requirements=lock)
    assert acquired.trouble == ""
    wheel = (shelf / "mill-2.0-py3-none-any.whl").read_bytes()
    assert lake.objects == {"sources/packages/raw/2025-12/mill-2.0-py3-none-any.whl": wheel}


def test_a_cache_that_holds_all_wheels_needs_no_pip(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    cache = tmp_path / "cache" / "2025-12"
    cache.mkdir(parents=True)
    lock = tmp_path / "packages-2025-12.txt"
    lock.write_text(make_wheel(cache))
    (cache / "stray-1-py3-none-any.whl").write_bytes(b"not locked")
    acquired = acquire_packages(lake.put, lake.have, lake.said.append, cache=cache.parent, requirements=lock)
    assert lake.said == ["packages of 2025-12: 1 wheels"]
    assert list(lake.objects) == ["sources/packages/raw/2025-12/mill-2.0-py3-none-any.whl"]
    assert acquired.written == 1


@pytest.mark.slow
def test_without_a_network_nothing_is_written_and_the_fallback_is_named(
    lake: Lake, shelf: Path, tmp_path: Path
) -> None:
    lock = tmp_path / "packages-2025-12.txt"
    lock.write_text(make_wheel(shelf) + f"stone==1.0 --hash=sha256:{'0' * 64}\n")
    acquired = acquire_packages(lake.put, lake.have, lake.said.append, cache=tmp_path / "cache", requirements=lock)
    assert "stone==1.0" in acquired.trouble
    assert "the snapshot 'installed' needs no network" in acquired.trouble
    assert lake.objects == {}


@pytest.mark.slow
@needs_pip
def test_a_wheel_with_another_digest_is_never_taken(lake: Lake, shelf: Path, tmp_path: Path) -> None:
    make_wheel(shelf)
    lock = tmp_path / "packages-2025-12.txt"
    lock.write_text(f"mill==2.0 --hash=sha256:{'0' * 64}\n")
    acquired = acquire_packages(lake.put, lake.have, lake.said.append, cache=tmp_path / "cache", requirements=lock)
    assert acquired.trouble.startswith("not fetched: mill==2.0 (ERROR: ")
    assert lake.objects == {}


@pytest.mark.parametrize(
    "line",
    ["mill", "mill>=2.0 --hash=sha256:" + "0" * 64, "mill==2.0", "--index-url x", "mill==2.0 --hash=md5:0"],
)
def test_a_line_that_locks_nothing_is_an_error_that_names_it(line: str, tmp_path: Path) -> None:
    lock = tmp_path / "packages-1.txt"
    lock.write_text(f"\n{line}\n")
    with pytest.raises(RecipeError, match=r"packages-1\.txt, line 2: write name==version"):
        read_lock(lock)


def test_a_lock_file_says_its_snapshot_in_its_name(lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"x\.txt: a lock file is named packages-<snapshot>\.txt"):
        acquire_packages(lake.put, lake.have, print, cache=tmp_path, requirements=tmp_path / "x.txt")


@pytest.mark.parametrize("edition", ["2023-12", "2024-12", "2025-12"])
def test_the_locks_of_this_checkout_name_the_same_packages(edition: str) -> None:
    folder = Path(__file__).parents[3] / "requirements"
    names = [release.partition("==")[0] for release in read_lock(folder / f"packages-{edition}.txt")]
    assert names == ["attrs", "awscli", "dateparser", "django", "faker", "pydantic", "rich", "sphinx"]


def test_installed_distributions_give_their_metadata_and_bad_ones_are_told(lake: Lake, tmp_path: Path) -> None:
    for folder, metadata in [
        ("mill-2.0.dist-info", METADATA),
        ("bad-1.dist-info", "Name: bad\n"),
    ]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "METADATA").write_text(metadata)
    acquired = acquire_installed(lake.put, lake.have, lake.said.append, path=[str(tmp_path)])
    assert lake.objects == {"sources/packages/raw/installed/mill-2.0.dist-info/METADATA": METADATA.encode()}
    assert acquired.written == 1
    assert lake.said == [
        "an installed distribution was skipped: metadata without name or version",
        "installed distributions: 1",
    ]


def test_a_python_without_distributions_is_trouble_in_words(lake: Lake, tmp_path: Path) -> None:
    acquired = acquire_installed(lake.put, lake.have, lake.said.append, path=[str(tmp_path)])
    assert acquired.trouble == "this Python has no distributions installed"


def test_acquire_puts_raw_snapshots_and_an_example_of_a_takedown_and_keeps_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "new"
    assert main(["acquire", str(root), "installed"]) == 0
    said = capsys.readouterr().out
    written = re.search(r"sources/packages/raw/installed/: (\d+) objects written, 0 kept", said)
    assert written
    takedowns = root / "blocklists/takedowns.jsonl"
    assert takedowns.read_text() == '{"source":"stdlib","id":"this.py","reason":"example of a takedown request"}\n'
    takedowns.write_text("")
    assert main(["acquire", str(root), "installed"]) == 0
    said = capsys.readouterr().out
    assert f"0 objects written, {written[1]} kept" in said
    assert takedowns.read_text() == ""


def test_what_cannot_be_acquired_exits_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["acquire", str(tmp_path), "wikipedia"]) == 2
    assert "'wikipedia' cannot be acquired; choose from stdlib, packages, installed" in capsys.readouterr().err
    assert main(["acquire", str(tmp_path), "packages", "--requirements", str(tmp_path)]) == 2
    assert "there is no packages-<snapshot>.txt" in capsys.readouterr().err


def objects(mill: Mill, folder: str) -> int:
    return len(list(mill.store.list(folder)))
