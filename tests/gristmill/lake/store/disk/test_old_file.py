"""What the file of a replaced object says of its bytes."""

from pathlib import Path

import pytest

from gristmill.lake.store.folder import FolderStore

PATH = "sources/pages/raw/2024/a.jsonl"


@pytest.mark.parametrize("change", ["replace", "remove"])
@pytest.mark.parametrize("others", ["", "hard link", "rename", "append"])
def test_bytes_are_gone_when_no_name_is_left(tmp_path: Path, change: str, others: str) -> None:
    (tmp_path / "lake").mkdir()
    store, raw, kept = FolderStore(str(tmp_path / "lake")), tmp_path / "lake" / PATH, tmp_path / "kept"
    store.put(PATH, b"secret")
    with store.old_file(PATH) as old:
        if others == "append":
            with raw.open("ab") as file:
                file.write(b" and more")
        elif others:
            kept.hardlink_to(raw) if others == "hard link" else raw.rename(kept)
        if change == "replace":
            store.put(PATH, b"new")
        else:
            store.delete([PATH])
        why = old.why_left()
    told = {"": "", "append": "others wrote to it"}.get(others, "while it was replaced its file got another name")
    assert (why.startswith(told), bool(why)) == (True, bool(others))
    assert kept.exists() == (others in {"hard link", "rename"})
