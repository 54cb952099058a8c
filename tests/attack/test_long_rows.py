"""A row of 100 MB: it is a document, or it is refused, in memory that a few copies of it fill."""

import json
import sys
from pathlib import Path

import pytest
from peak_memory import run_with_peak

SIZE = 100 << 20

READ = """
import json, sys
from gristmill.lake.rows.document import Document
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.delimited import DelimitedRows
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.raw_object import Limits, RawObject
folder, name, limit = sys.argv[1:]
store = FolderStore(folder)
raw = RawObject(store, name, name, store.head(name).size, Limits(row=int(limit)))
reader = (JsonLines if name.endswith(".jsonl") else DelimitedRows)(source="a")
before = peak()
found, refused = [], []
for row in reader(raw):
    refused += [(each.reason, each.size) for each in raw.take_refused()]
    found.append((row.id, len(row.text))) if isinstance(row, Document) else refused.append((row.reason, row.size))
    del row
refused += [(each.reason, each.size) for each in raw.take_refused()]
print(json.dumps([found, refused, peak() - before]))
"""


def write(path: Path) -> None:
    """A file of three rows; the text of the second has 100 MB."""
    with path.open("w") as file:
        if path.suffix == ".csv":
            file.write("id,text\n")
        for id_, length in (("1", 5), ("2", SIZE), ("3", 5)):
            text = "mill " * (length // 5)
            file.write(f'{id_},"{text}"\n' if path.suffix == ".csv" else json.dumps({"id": id_, "text": text}) + "\n")


@pytest.mark.parametrize(("name", "copies"), [("a.jsonl", 6), ("a.csv", 10)])  # csv holds four bytes for a letter
def test_a_row_of_100_mb_is_read_or_refused_in_bounded_memory(tmp_path: Path, name: str, copies: int) -> None:
    write(tmp_path / name)
    found, refused, more = json.loads(run_with_peak(READ, tmp_path, name, 256 << 20))
    assert (found, refused) == ([["1", 5], ["2", SIZE], ["3", 5]], [])
    sys.stdout.write(f"{name}: {more} MiB for a row of {SIZE >> 20} MiB\n")
    assert more < copies * (SIZE >> 20)
    found, refused, more = json.loads(run_with_peak(READ, tmp_path, name, 10 << 20))
    assert found == [["1", 5], ["3", 5]]
    assert [reason for reason, _ in refused] == ["row too long"]
    sys.stdout.write(f"{name}: {more} MiB for such a row that is refused\n")
    assert more < 50
