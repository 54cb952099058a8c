import gzip
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from gristmill.__main__ import main

ROWS = b"".join(json.dumps({"id": f"d{n}", "body": f"Text {n}"}).encode() + b"\n" for n in range(4))


def test_a_file_is_told_with_three_documents_and_a_draft(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tales.txt"
    path.write_bytes(gzip.compress(ROWS, mtime=0))
    assert main(["peek", str(path)]) == 0
    told, draft = capsys.readouterr().out.split("a draft to paste into a file of sources/, and to check:\n\n")
    assert f"{path} ({path.stat().st_size} bytes)" in told
    for line in (
        "format:    JSON lines",
        "packing:   gzip",
        "encoding:  utf-8",
        "has:       id: string",
        "           body: string",
        "rename it to tales.txt.gz",
        "document 3: id d2, 6 characters",
        "  | Text 2",
    ):
        assert line in told
    assert "document 4" not in told
    assert 'convert=JsonLines(source="tales", format=Text(text_key="body")),' in draft
    assert sorted(tmp_path.iterdir()) == [path]  # nothing is written


def test_a_folder_lists_its_formats_and_what_no_reader_knows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_bytes(ROWS)
    (tmp_path / "b.bin").write_bytes(bytes(100))
    assert main(["peek", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert f"{tmp_path}: 2 files, 2 of them looked at\n       1  JSON lines\n       1  unknown\n" in told
    assert f"{tmp_path / 'b.bin'} (100 bytes)\n  format:    unknown\n" in told
    (tmp_path / "a.jsonl").unlink()
    assert main(["peek", str(tmp_path)]) == 1


def test_all_files_of_a_folder_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(2_100):
        (tmp_path / f"{number:04}.txt").touch()
    (tmp_path / "z.txt").write_bytes(b"A tale.\n")
    assert main(["peek", str(tmp_path)]) == 1  # the files that are opened are empty
    assert f"{tmp_path}: 2,101 files, 60 of them looked at\n" in capsys.readouterr().out


def test_files_that_no_draft_reads_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README").write_bytes(b"What this is.\n")  # without an ending, so that `select` lists names
    for number in range(70):
        (tmp_path / f"{number:02}.txt").write_bytes(b"A tale.\n")
    assert main(["peek", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "  11 files were not looked at\n" in out
    assert "  11 of them no draft reads (59.txt and others): widen `select`\n" in out
    (tmp_path / "README").unlink()
    assert main(["peek", str(tmp_path)]) == 0
    assert "no draft reads" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("s3://bucket/raw", "peek reads files of this machine"),
        ("nothing", "nothing is there"),
        (".", "the folder has no file"),
    ],
)
def test_what_cannot_be_looked_at_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["peek", path]) == 2
    assert words in capsys.readouterr().err


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert main(["peek", str(tmp_path / "pipe")]) == 2
    assert "pipe: neither a regular file nor a folder; copy" in capsys.readouterr().err
    assert main(["peek", str(tmp_path)]) == 2
    (tmp_path / "a.jsonl").write_bytes(ROWS)
    assert main(["peek", str(tmp_path)]) == 0
    assert f"{tmp_path / 'pipe'}: neither a regular file nor a folder; passed over\n" in capsys.readouterr().out


def test_control_characters_of_the_data_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": f"\x1b[3{n}m", "text": f"\x1b]0;t\x07 \x9b2J\u202e {n}", "k\ney\x1b": 1} for n in range(4)]
    path = tmp_path / "a\x1b[2J\nb.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    for given in (path, tmp_path):
        assert main(["peek", str(given)]) == 0
        told = capsys.readouterr().out
        assert [each for each in told if not each.isprintable() and each != "\n"] == []
        for words in (r"a\x1b[2J\nb.jsonl (", r" \x1b[30m, ", r"| \x1b]0;t\x07 \u009b2J\u202e 0", r"k\ney\x1b: number"):
            assert words in told


def test_a_huge_row_of_a_small_file_is_not_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(ROWS[: len(ROWS) // 2] + b'{"id": "' + b" " * (20 << 20) + b'"}\n', 1, mtime=0))
    tracemalloc.start()
    main(["peek", str(path)])
    assert tracemalloc.get_traced_memory()[1] < 40 << 20
    tracemalloc.stop()
    assert "refused until then: 1 row too long\npeek reads rows of at most 8,388,608 bytes" in capsys.readouterr().out


def test_the_snapshots_of_a_draft_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for author in ("austen", "dickens"):
        (tmp_path / author).mkdir()
        (tmp_path / author / "chapter-1.txt").write_bytes(b"A tale.\n")
    assert main(["peek", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "note: several first folders have a file chapter-1.txt." in told
    assert "document 2: id dickens/chapter-1.txt" in told
    (tmp_path / "dickens" / "chapter-1.txt").rename(tmp_path / "dickens" / "chapter-2.txt")
    assert main(["peek", str(tmp_path)]) == 0
    assert "note: the first folder of a file becomes its snapshot (austen, dickens); " in capsys.readouterr().out
