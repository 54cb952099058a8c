import gzip
import io
import tarfile
from pathlib import Path

import pytest

from gristmill.errors import RecipeError
from gristmill.text.lists.list_files import ListFile, list_files


def read(path: Path) -> dict[str, list[str]]:
    return {file.name: list(file.lines()) for file in list_files(path)}


def test_a_byte_order_mark_carriage_returns_and_white_space_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes("\ufeffone\r\n  two words \r\n\r\nzwölf".encode())
    assert read(path) == {"list.txt": ["one", "two words", "", "zwölf"]}


def test_folders_gzip_and_tar_archives_hold_the_same_files(tmp_path: Path) -> None:
    folder = tmp_path / "adult"
    (folder / "more").mkdir(parents=True)
    (folder / "domains").write_text("b.com\n")
    (folder / "more" / "urls").write_bytes(gzip.compress(b"c.com/d\n", mtime=0))
    for passed_over in (".hidden", "README.md", "LICENSE", "ledger.json"):
        (folder / passed_over).write_text("no list")
    files = {"domains": ["b.com"], "more/urls": ["c.com/d"]}
    assert read(folder) == files
    for mode in ("w", "w:gz"):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode=mode) as archive:
            archive.add(folder, "")
        (tmp_path / "list.tar").write_bytes(buffer.getvalue())
        assert read(tmp_path / "list.tar") == files
    (tmp_path / "list.gz").write_bytes(gzip.compress(b"b.com", mtime=0))
    assert read(tmp_path / "list.gz") == {"list.gz": ["b.com"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"one\n\xff\xfet\0w\0", r"list\.txt:2: byte 1 is not UTF-8"),
        (b"one\nt\0o\n", r"list\.txt:2: the line has a NUL"),
        (b"one\n" + b"x" * 70_000, r"list\.txt:2: the line has more than 65,536 bytes"),
        (gzip.compress(b"one\n" * 9999, mtime=0)[:40], "cannot be read"),
    ],
)
def test_what_is_no_list_is_refused_with_its_place(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    with pytest.raises(RecipeError, match=message):
        read(path)


def test_a_missing_list_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"list .*absent cannot be read"):
        read(tmp_path / "absent")
    with pytest.raises(RecipeError, match="has no files"):
        read(tmp_path)


def test_a_list_is_read_up_to_a_number_of_bytes() -> None:
    few = ListFile("a", "a.txt", io.BytesIO(b"one\ntwo\n"), most=8)
    assert list(few.lines()) == ["one", "two"]
    many = ListFile("a", "a.txt", io.BytesIO(b"one\ntwo\n"), most=7)
    with pytest.raises(RecipeError, match=r"a\.txt:2: the list has more than 4,294,967,296 bytes, unpacked; divide it"):
        list(many.lines())
