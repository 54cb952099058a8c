"""Raw places: by the index that conversion writes, and by converting again where a lake is older than that."""

import gzip
import hashlib
import io
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from testkit import SNAPSHOT, Mill, lines, make_documents
from wholelake import reseal_shard

from gristmill.lake.address import documents_asset, place
from gristmill.lake.store.folder import FolderStore
from gristmill.readers.parquet import ParquetRows
from gristmill.recipes.shelf import HOME
from gristmill.sources.packages import PACKAGES
from gristmill.stages.conversion import grinder as conversion_grinder
from gristmill.stages.conversion.step import ConversionStep
from gristmill.tracing import raw as raw_places
from gristmill.tracing.raw import RawPlace, Shelves
from gristmill.tracing.trace import trace_document

SHELVES = ("gristmill", "testshelf")
KNOWN = Shelves(SHELVES, {})
UNKNOWN = Shelves((HOME,), {})


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    (tmp_path / "lake").mkdir()
    return Mill(tmp_path / "lake")


def raw_of(mill: Mill, source: str, id_: str, shelves: Shelves = KNOWN) -> RawPlace:
    (found,) = trace_document(mill.store, source, id_, shelves)
    assert found.raw is not None
    return found.raw


def grow_old(mill: Mill, shard: str, source: str = "pages") -> None:
    """Leaves of an id index what Gristmill 0.1 wrote: the hashes."""
    here = place(documents_asset(source, "v0"), SNAPSHOT)
    old = mill.store.read(here.index(shard))[: 16 * mill.table(here)[shard].rows]
    mill.store.put(here.index(shard), old)
    reseal_shard(mill, here, shard, index=hashlib.sha256(old).hexdigest())


def wheel(**files: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tool-1.0.dist-info/METADATA", "Name: tool\nVersion: 1.0\nLicense: MIT\n\nWhat it is for.\n")
        for name, text in files.items():
            archive.writestr(f"tool/{name}.py", text)
    return packed.getvalue()


def test_the_range_of_a_row_in_a_plain_file_is_one_of_the_file(mill: Mill) -> None:
    rows = make_documents(5)
    mill.raw("a.jsonl", lines(rows))
    mill.convert()
    raw = raw_of(mill, "pages", "doc-00003")
    assert raw.range == (len(lines(rows[:3])), len(lines(rows[:4])) - 1)
    assert (raw.path, raw.counted_in, raw.member, raw.why) == ("sources/pages/raw/2024/a.jsonl", "object", "", "")
    (shard,) = mill.table(mill.documents()).values()
    assert (raw.asset, raw.object, raw.sha256) == ("sources/pages/raw", "a.jsonl", shard.inputs[0].content)


def test_refused_rows_before_a_document_count_into_its_place(mill: Mill) -> None:
    mill.raw("a.jsonl", b'{"text":"no id"}\n\n' + lines(make_documents(1)))
    mill.convert()
    assert raw_of(mill, "pages", "doc-00000").range == (18, 18 + len(lines(make_documents(1))) - 1)


def test_a_converter_that_says_nothing_still_tells_the_object_among_several(mill: Mill) -> None:
    for number in range(9):
        mill.raw(f"{number}.txt", f"note-{number} words".encode(), "notes")
    mill.convert("notes")
    for number in range(9):
        raw = raw_of(mill, "notes", f"note-{number}")
        assert (raw.object, raw.range) == (f"{number}.txt", None)
        assert raw.why.startswith("the reader tells no single place of it in the object")


def test_a_document_out_of_a_wheel_names_the_file_in_it(mill: Mill) -> None:
    mill.raw(
        "tool-1.0-py3-none-any.whl", wheel(one="print('the first of two files')\n", two="x = 2  # two\n"), "packages"
    )
    mill.make(ConversionStep(PACKAGES, SNAPSHOT, (HOME,)))
    raw = raw_of(mill, "packages", "tool/tool/two.py", UNKNOWN)
    assert (raw.member, raw.range, raw.counted_in) == ("tool/two.py", (0, len("x = 2  # two\n")), "member")
    assert raw.object == "tool-1.0-py3-none-any.whl"


# lakes of Gristmill 0.1


@pytest.mark.slow
def test_an_old_shard_is_converted_again_until_it_gives_the_row(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(40))
    mill.convert()
    before = [raw_of(mill, "pages", f"doc-{number:05d}") for number in range(40)]
    grow_old(mill, "a")
    assert [raw_of(mill, "pages", f"doc-{number:05d}") for number in range(40)] == before
    assert before[39].range is not None


def test_the_raw_object_of_an_old_shard_is_found_among_several(mill: Mill) -> None:
    for number in range(9):
        mill.raw(f"{number}.txt", f"note-{number} words".encode(), "notes")
    mill.convert("notes")
    for shard in ("00", "01", "02"):
        grow_old(mill, shard, "notes")
    assert [raw_of(mill, "notes", f"note-{number}").object for number in range(9)] == [f"{n}.txt" for n in range(9)]


def test_an_old_shard_whose_recipe_is_on_no_shelf_says_so(mill: Mill) -> None:
    mill.raw("a.jsonl", lines(make_documents(2)))
    mill.convert()
    grow_old(mill, "a")
    raw = raw_of(mill, "pages", "doc-00001", UNKNOWN)
    assert (raw.asset, raw.object, raw.range) == ("sources/pages/raw", "", None)
    assert raw.why.startswith("v0 was made before raw spans were recorded, and sources: no 'pages' on this shelf")


def test_an_old_shard_whose_raw_rows_changed_gives_no_range(mill: Mill) -> None:
    mill.raw("a.jsonl", lines(make_documents(2)))
    mill.convert()
    grow_old(mill, "a")
    mill.raw("a.jsonl", lines([{**row, "text": "something else"} for row in make_documents(2)]))
    raw = raw_of(mill, "pages", "doc-00001")
    assert (raw.object, raw.range) == ("", None)
    assert "no raw object gives this row any longer: convert again" in raw.why


# raw objects that are not where they were


def test_a_raw_object_that_is_gone_is_told_with_the_range_that_it_had(mill: Mill) -> None:
    mill.raw("a.jsonl", lines(make_documents(2)))
    mill.convert()
    mill.store.delete(["sources/pages/raw/2024/a.jsonl"])
    raw = raw_of(mill, "pages", "doc-00001")
    assert (raw.path, raw.object) == ("", "a.jsonl")
    assert raw.range is not None
    assert raw.why == "the object is not under sources/pages/raw/ any longer"
    assert raw_of(mill, "pages", "doc-00001", UNKNOWN).why.endswith("and no recipe in --shelves names another place")


def test_raw_data_elsewhere_are_named_by_their_own_address(
    mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = FolderStore(str(tmp_path / "elsewhere"))
    mill.raw("a.jsonl", lines(make_documents(2)))
    mill.convert()
    shutil.move(mill.root / "sources/pages/raw", tmp_path / "elsewhere")
    source = replace(mill.source(), raw=elsewhere.url)
    monkeypatch.setattr(
        raw_places, "find_recipe", lambda *_: source
    )  # the shelf of a team whose raw data lie elsewhere
    raw = raw_of(mill, "pages", "doc-00001")
    assert (raw.path, raw.why) == (f"{elsewhere.url}/2024/a.jsonl", "")


def test_an_object_that_is_not_the_one_that_was_read_is_told(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    """`raw=` of the recipe leads elsewhere since v0 was made, or the object was replaced."""
    mill.raw("a.jsonl", lines(make_documents(2)))
    mill.convert()
    new = mill.root.parent / "new" / "2024" / "a.jsonl"
    new.parent.mkdir(parents=True)
    new.write_bytes(lines(make_documents(2)))
    source = replace(mill.source(), raw=str(mill.root.parent / "new"))
    monkeypatch.setattr(raw_places, "find_recipe", lambda *_: source)
    shutil.move(mill.root / "sources/pages/raw", mill.root.parent / "old")
    assert raw_of(mill, "pages", "doc-00001").why == ""  # a copy
    other = "its bytes there are not those that were read: it was replaced, or `raw=` led elsewhere then"
    new.write_bytes(lines(make_documents(3)))
    assert (raw_of(mill, "pages", "doc-00001").path, raw_of(mill, "pages", "doc-00001").why) == (str(new), other)
    new.write_bytes(lines(make_documents(2)).swapcase())
    assert raw_of(mill, "pages", "doc-00001").why == other
    new.unlink()
    assert raw_of(mill, "pages", "doc-00001").why == f"the object is not in {new.parents[1]}, where `raw=` leads now"
    mill.raw("a.jsonl", lines(make_documents(3)))
    assert raw_of(mill, "pages", "doc-00001").why == other


def test_of_a_parquet_file_the_row_is_told(mill: Mill, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = replace(mill.source(), convert=ParquetRows(source="pages"), select=None)
    monkeypatch.setattr(conversion_grinder, "find_recipe", lambda *_: source)  # the shelf of a team with parquet files
    table = pa.table({"id": [f"row-{n}" for n in range(5)], "text": ["first", None, "third", "fourth", "fifth"]})
    pq.write_table(table, tmp_path / "a.parquet")
    mill.raw("a.parquet", (tmp_path / "a.parquet").read_bytes())
    mill.make(ConversionStep(source, SNAPSHOT, SHELVES))
    raw = raw_of(mill, "pages", "row-3")
    assert (raw.range, raw.counted_in, raw.object) == ((3, 4), "rows", "a.parquet")


def test_gz_of_several_members_counts_through(mill: Mill) -> None:
    rows = make_documents(6)
    mill.raw("a.jsonl.gz", gzip.compress(lines(rows[:3]), mtime=0) + gzip.compress(lines(rows[3:]), mtime=0))
    mill.convert()
    raw = raw_of(mill, "pages", "doc-00004")
    assert raw.range == (len(lines(rows[:4])), len(lines(rows[:5])) - 1)
    assert msgspec.json.decode(lines(rows)[slice(*raw.range)]) == rows[4]
