"""The tools that compare versions: what is a difference, and where a name of another version is found."""

import gzip
import json
from pathlib import Path

import compare_lakes
import pytest
from compare_lakes import compared
from versions import adapted


def lake(folder: Path, **objects: bytes) -> Path:
    """A folder with these objects."""
    folder.mkdir()
    for name, data in objects.items():
        (folder / name.replace("__", ".")).write_bytes(data)
    return folder


def table(**dropped: int) -> bytes:
    return gzip.compress(json.dumps({"name": "a", "dropped": dropped}).encode() + b"\n", mtime=0)


def test_every_object_that_differs_is_named_and_what_is_a_lakes_own_is_not(tmp_path: Path) -> None:
    old = lake(tmp_path / "old", same=b"1", other=b"abc", gone=b"", lake__json=b"1", a__run__json=b"1")
    new = lake(tmp_path / "new", same=b"1", other=b"abd", come=b"", lake__json=b"2", a__run__json=b"2")
    assert list(compared(old, new)) == [
        "only in the old lake: gone",
        "only in the new lake: come",
        "other: 3 and 3 bytes, byte 2 differs",
    ]


def test_a_renamed_counter_is_no_difference_and_another_number_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = lake(tmp_path / "old", renamed=table(trouble=1), counted=table(trouble=1), text=b"trouble")
    new = lake(tmp_path / "new", renamed=table(problem=1), counted=table(problem=2), text=b"problem")
    assert len(list(compared(old, new))) == 3
    monkeypatch.setattr(compare_lakes, "RENAMED", {"trouble": "problem"})
    assert [each.partition(":")[0] for each in compared(old, new)] == ["counted", "text"]


def test_an_import_is_led_to_where_another_version_defines_the_name(tmp_path: Path) -> None:
    rooms = {
        "gristmill/here.py": "A = 1\n",
        "gristmill/there/b.py": "class B: ...\n",
        "resources/c.py": "def c(): ...\n",
    }
    for path, text in rooms.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    text = "import os\nfrom gristmill.here import (\n    A,\n    B as D,\n)\nfrom gristmill.c import c\n\nprint(A)\n"
    assert adapted(text, tmp_path).splitlines() == [
        "import os",
        "from gristmill.here import A",
        "from gristmill.there.b import B as D",
        "from resources.c import c",
        "",
        "print(A)",
    ]
    with pytest.raises(AssertionError, match="Z is defined in 0 modules"):
        adapted("from gristmill.here import Z\n", tmp_path)
