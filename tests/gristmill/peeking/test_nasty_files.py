"""Files that mislead, are damaged, or are no data: the right format or an honest "unknown", and never a traceback."""

import gzip
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gristmill.__main__ import main
from gristmill.errors import DataError
from gristmill.peeking.look import guess_format, irregular_files, visible_files

ROWS = [{"id": f"r{n}", "text": f"The mill {n} grinds, naïve as it is."} for n in range(9)]
LINES = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in ROWS)
TABLE = b"id,text\r\n" + b"".join(f'{row["id"]},"{row["text"]}"\r\n'.encode() for row in ROWS)
WORDS = "Die Mühle drehte sich.\n" * 9


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def packed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), buffer)
    return buffer.getvalue()


def encrypted() -> bytes:
    data = bytearray(zipped({"a.txt": b"hello there"}))
    data[6] |= 1  # the flag in the local header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and in the directory
    return bytes(data)


DESKTOP = {"__MACOSX/._a.txt": b"\0\5\x16\7" + bytes(50), ".DS_Store": b"\0\0\0\1Bud1"}
FILES: dict[str, tuple[bytes, str, int]] = {
    "lines.csv": (LINES, "JSON lines", 0),
    "table.jsonl": (TABLE, "table with a delimiter", 0),
    "tabs.csv": (TABLE.replace(b",", b"\t"), "table with a delimiter", 0),
    "parquet.jsonl": (parquet(), "parquet", 0),
    "packed.jsonl": (packed(LINES), "JSON lines", 0),
    "plain.jsonl.gz": (LINES, "JSON lines", 0),
    "twice.jsonl.gz": (packed(packed(LINES)), "unknown", 1),
    "truncated.jsonl.gz": (packed(LINES)[:-30], "JSON lines", 0),
    "array.jsonl": (json.dumps(ROWS).encode(), "JSON array", 0),
    "comment.jsonl": (b"// nine rows\n" + LINES, "JSON lines", 0),
    "mark.jsonl": (b"\xef\xbb\xbf" + LINES, "JSON lines", 0),
    "wide.jsonl": (LINES.decode().encode("utf-16"), "JSON that is not UTF-8", 1),
    "long.jsonl": (b'{"id": "1", "text": "' + b"y" * (9 << 20) + b'"}\n', "JSON", 1),
    "deep.json": (b"[" * 200_000, "JSON", 1),
    "empty.jsonl": (b"", "unknown", 1),
    "blank.txt": (b"\n" * 5000, "unknown", 1),
    "zeros.txt": (bytes(9000), "unknown", 1),
    "one line.txt": (b"One line without an end", "plain text", 0),
    "wide.txt": (WORDS.encode("utf-16"), "plain text", 0),
    "latin.txt": (WORDS.encode("latin-1"), "plain text", 0),
    "long.txt": (b"x " * (5 << 20), "plain text", 0),
    "paper.txt": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "for paper", 1),
    "page.txt": (b"<!doctype html><html><body><p>hi</p></body></html>", "web page", 0),
    "bomb.xml": (b'<!DOCTYPE a [<!ENTITY a "aaaa">]><a>&a;</a>', "XML", 1),
    "nested.zip": (
        zipped({"in.zip": zipped({"a.txt": b"hello"}), "b.tar.gz": packed(tarred({"x": b"y"}))}),
        "archive",
        1,
    ),
    "desktop.zip": (zipped({**DESKTOP, "a.txt": b"Hello good text.\n"}), "archive of texts", 0),
    "desktop.tar": (tarred({**DESKTOP, "a.txt": b"Hello good text.\n"}), "archive of texts", 0),
    "encrypted.zip": (encrypted(), "archive", 1),
    "truncated.zip": (zipped({"a.txt": b"hello there"})[:-30], "archive", 1),
    "bad.epub": (b"PK\x03\x04" + bytes(100), "archive", 1),
    "tar.gz": (packed(tarred({"a.txt": b"Hello good text.\n"})), "archive of texts", 0),
    "7z.xml": (b"7z\xbc\xaf\x27\x1c" + bytes(99), "unknown", 1),
}


@pytest.mark.parametrize("name", FILES)
def test_a_nasty_file_has_its_format_or_none(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, format_, code = FILES[name]
    path = tmp_path / name
    path.write_bytes(data)
    assert main(["peek", str(path)]) == code
    seen = capsys.readouterr()
    assert f"  format:    {format_}\n" in seen.out
    assert seen.err == ""


def test_what_is_no_file_is_an_error_or_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A FIFO would block its reader, and a link to its own folder would never end."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"Hello\n")
    os.mkfifo(folder / "fifo")
    (folder / "me").symlink_to(".")
    (folder / "loop").symlink_to("loop")
    assert visible_files(folder) == [folder / "a.txt"]
    assert irregular_files(folder) == [folder / "fifo", folder / "loop"]
    assert main(["peek", str(folder)]) == 0
    capsys.readouterr()
    with pytest.raises(DataError, match="fifo: neither a regular file nor a folder"):
        guess_format(folder / "fifo")
    assert main(["peek", str(folder / "loop")]) == 2
    assert capsys.readouterr().err == f"{folder}/loop: nothing is there; give a file or a folder\n"


@pytest.mark.parametrize(
    ("encoding", "named"), [("latin-1", "iso-8859-1"), ("utf-16", "utf-16"), ("utf-16-le", "utf-16le")]
)
@pytest.mark.parametrize("begin", [b"", b"["])
def test_json_that_is_not_utf8_is_told_with_its_mend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], encoding: str, named: str, begin: bytes
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes((begin.decode() + '{"id": "1", "text": "Caf\u00e9s of the mill."}\n' * 4).encode(encoding))
    assert main(["peek", str(path)]) == 1
    assert f"JSON must be UTF-8; rewrite it: iconv -f {named} -t utf-8 OLD > NEW\n" in capsys.readouterr().out
