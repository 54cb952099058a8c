"""`python -m gristmill erase`: from raw data to token caches, proven by reading every object of the lake."""

import gzip
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard
from dying import deaths
from testkit import SHELVES, SNAPSHOT, Mill, link
from tracelake import even, line, make_trace_lake, spell

from gristmill.__main__ import main
from gristmill.lake.ledger.derived import columns_path
from gristmill.lake.store.protocol import Entry
from gristmill.stages.mixing.step import stream_step
from gristmill.takedowns.erasing.erasure import erasure_record_path

SHELF = ["--shelves", "gristmill,testshelf"]
NUMBERS = (0, 8, 32, 59, 88)
"""The first row of shard a, one in its middle; two of b, the last one among them; one of c. Four of them are mixed."""


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    return make_trace_lake(tmp_path_factory.mktemp("trace") / "lake", even())


@pytest.fixture
def mill(clean: Mill, tmp_path: Path) -> Mill:
    link(clean.root, tmp_path / "lake", shared=False)  # raw files with another name are not erased
    return Mill(tmp_path / "lake")


def run(mill: Mill, capsys: pytest.CaptureFixture[str], command: str, *words: str) -> tuple[int, list[str]]:
    asked = mill.root.parent / "asked.jsonl"
    if not asked.exists():
        asked.write_text("".join(json.dumps({"source": "pages", "id": f"doc-{number}"}) + "\n" for number in NUMBERS))
    code = main([command, str(mill.root), "--ids", str(asked), *words, *SHELF])
    return code, capsys.readouterr().out.splitlines()


def remake(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.convert()
    mill.tag("words-1", "characters-1")
    mill.revise()
    mill.tag("characters-1", version="v1")
    mill.make(stream_step(even(), "pages", SNAPSHOT, SHELVES))
    spell(mill, even())
    assert main(["gc", str(mill.root)]) == 0
    capsys.readouterr()


def is_erasure(path: str) -> bool:
    """Whether the record of an erasure lies at a path, and not that of a blocklist."""
    return path.startswith("withdrawn/") and path.endswith(".json")


def named_in(mill: Mill, number: int) -> set[str]:
    """The objects whose bytes, unpacked, have the id of a document. Read without any code of the lake."""
    found = set()
    for path in mill.root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if data[:2] == b"\x1f\x8b":
                data = gzip.decompress(data)
            elif data[:4] == b"\x28\xb5\x2f\xfd":
                data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
            if b'"doc-%d"' % number in data:
                found.add(str(path.relative_to(mill.root)))
    return found


@pytest.mark.slow
def test_nothing_but_the_blocklist_and_the_record_names_what_was_erased(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    assert all(len(named_in(mill, number)) >= 4 for number in NUMBERS)
    rows = [row["id"] for shard in "abc" for row in mill.rows(mill.documents().shard(shard))]
    code, said = run(mill, capsys, "erase")
    assert code == 0
    assert [each for each in said if each.startswith("erased")] == [
        "erased 2 records of sources/pages/raw/2024/a.jsonl.gz: rewritten",
        "erased 2 records of sources/pages/raw/2024/b.jsonl: rewritten",
        "erased 1 records of sources/pages/raw/2024/c.jsonl.zst: rewritten",
    ]
    remake(mill, capsys)
    gone = {f"doc-{number}" for number in NUMBERS}
    left = [row["id"] for shard in "abc" for row in mill.rows(mill.documents().shard(shard))]
    assert left == [each for each in rows if each not in gone]
    pairs = {("pages", f"doc-{number}"): "" for number in NUMBERS}
    allowed = {"blocklists/takedowns.jsonl", "withdrawn/blocklists/takedowns.jsonl", erasure_record_path(pairs)}
    assert [named_in(mill, number) for number in NUMBERS] == [allowed] * 5
    code, lines = run(mill, capsys, "takedown", "--prove", "--json")
    states = {each["what"]: each["state"] for each in map(json.loads, lines)}
    assert (code, states.pop("blocklist"), states.pop("tokenizers and models")) == (0, "listed", "remains")
    assert set(states.values()) == {"absent"}
    assert main(["verify", str(mill.root), *SHELF]) == 0
    capsys.readouterr()
    mill.store.put("sources/pages/v1/documents/2024/old.jsonl.gz", b"left by a run")
    code, lines = run(mill, capsys, "takedown", "--prove")
    assert code == 1
    assert "strays: not proven: not searched: sources/pages/v1/documents/2024/old.jsonl.gz: no ledger" in "\n".join(
        lines
    )


def test_a_dry_run_changes_nothing(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    before = mill.stamps()
    code, said = run(mill, capsys, "erase", "--dry-run")
    assert (code, said[0]) == (0, "would erase 2 records of sources/pages/raw/2024/a.jsonl.gz")
    assert mill.stamps() == before


def test_an_id_that_several_objects_have_is_named_with_each_of_them(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    mill.raw("other.jsonl", json.dumps({"id": "doc-8", "text": "Of another author."}).encode() + b"\n", snapshot="2025")
    mill.convert(snapshot="2025")
    words = (
        "'doc-8' of 'pages' is in 2 raw objects, and is cut from each: sources/pages/raw/2024/a.jsonl.gz,"
        " sources/pages/raw/2025/other.jsonl"
    )
    for options in (["--dry-run"], []):
        _, said = run(mill, capsys, "erase", *options)
        assert [line for line in said if " of 'pages' is in " in line] == [words]
        assert said[0] == words


def test_rows_of_labelled_sets_and_items_of_models_are_named_with_what_to_do(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("labels/quiz/rows.jsonl", "models/quiz-1/items.jsonl"):
        mill.store.put(path, b'{"source":"pages","id":"doc-8"}\n')
    code, lines = run(mill, capsys, "erase")
    assert code == 1
    again = "make it again (gristmill make LAKE %s), then erase again"
    labels, model = (again % asset for asset in ("labels/quiz", "models/quiz-1"))
    first = "a model never changes: remove the folder models/quiz-1/, "
    assert (
        f"not erased: labels/quiz/rows.jsonl: row 0: {labels}; if people brought its file, first remove the row there"
        in lines
    )
    assert f"not erased: models/quiz-1/items.jsonl: row 0: {first}{model}" in lines


def test_files_that_are_derived_go_at_once(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    path = columns_path(mill.documents(), "a")
    mill.store.put(path, b"columns with ids and addresses")
    run(mill, capsys, "erase")
    assert mill.store.head(path) is None


class _Killed(BaseException):
    """The process ended here."""


def raw_line(mill: Mill, capsys: pytest.CaptureFixture[str]) -> str:
    """What the proof says of raw data, of documents of an erasure that has not ended."""
    code, lines = run(mill, capsys, "takedown", "--prove")
    assert code == 1
    (told,) = [each for each in lines if each.startswith("raw: not proven: withdrawn/")]
    return told


@pytest.mark.slow
def test_an_erasure_that_was_killed_goes_on(
    mill: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = type(mill.store)
    put, puts = store.put_if, list[str]()

    def dying(self: Any, path: str, data: bytes, *more: Any) -> Entry:
        puts.append(path)
        if is_erasure(path) and sum(map(is_erasure, puts)) == 3:
            raise _Killed  # the first object is replaced, and the record does not tell it yet
        return put(self, path, data, *more)

    monkeypatch.setattr(store, "put_if", dying)
    with pytest.raises(_Killed):
        run(mill, capsys, "erase")
    monkeypatch.undo()
    record = json.loads(mill.store.read(erasure_record_path({("pages", f"doc-{number}"): "" for number in NUMBERS})))
    assert not record["done"]
    assert set(record["objects"]) == {
        f"sources/pages/raw/2024/{name}" for name in ("a.jsonl.gz", "b.jsonl", "c.jsonl.zst")
    }
    remake(mill, capsys)
    raw = "sources/pages/raw/2024"
    told = f"its erasure has not ended: {raw}/b.jsonl is not replaced; {raw}/c.jsonl.zst is not replaced;"
    assert f"{told} run gristmill erase again with the documents of the record" in raw_line(mill, capsys)
    code, said = run(mill, capsys, "erase")
    assert code == 0
    assert [each for each in said if each.startswith(("erased", "not"))] == [
        "erased 2 records of sources/pages/raw/2024/b.jsonl: rewritten",
        "erased 1 records of sources/pages/raw/2024/c.jsonl.zst: rewritten",
    ]
    remake(mill, capsys)
    assert run(mill, capsys, "erase")[0] == 0
    assert run(mill, capsys, "takedown", "--prove")[0] == 0


@pytest.mark.slow
def test_what_a_person_has_erased_by_hand_is_erased(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    """The raw file has another name, so that the command cuts nothing."""
    (mill.root.parent / "asked.jsonl").write_text('{"source":"pages","id":"doc-8"}\n')
    path = mill.root / "sources/pages/raw/2024/a.jsonl.gz"
    other = path.with_name(".kept")
    other.hardlink_to(path)
    code, said = run(mill, capsys, "erase")
    assert (code, [line for line in said if line.startswith("erased")]) == (1, [])
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    for each in (path, other):
        each.unlink()
    path.write_bytes(gzip.compress(b"".join(each for each in lines if b'"doc-8"' not in each), mtime=0))
    remake(mill, capsys)
    for _ in range(2):
        code, said = run(mill, capsys, "erase")
        assert (code, [line for line in said if line.startswith("not")]) == (0, [])
    assert run(mill, capsys, "takedown", "--prove")[0] == 0


@pytest.mark.slow
def test_raw_objects_that_nothing_was_made_from_are_not_called_erased(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    """A delivery of today has a document of the order again; then a copy of the raw data of before is put back."""
    old = mill.store.read("sources/pages/raw/2024/b.jsonl")
    mill.raw("new.jsonl", json.dumps({"id": "doc-8", "text": "Again."}).encode() + b"\n", snapshot="2025")
    mill.raw(".new.jsonl.part", b"hidden, so nobody reads it", snapshot="2025")
    code, said = run(mill, capsys, "erase")
    told = "sources/pages/raw/2025/new.jsonl: no document was made from it; make it (gristmill make), then erase again"
    assert (code, [line for line in said if line.startswith("not")]) == (1, [f"not erased: {told}"])
    pairs = {("pages", f"doc-{number}"): "" for number in NUMBERS}
    record = json.loads(mill.store.read(erasure_record_path(pairs)))
    assert (record["done"], record["left"], len(record["objects"])) == (False, [told], 3)
    mill.convert(snapshot="2025")
    remake(mill, capsys)
    code, said = run(mill, capsys, "erase")
    assert (code, said[0]) == (
        0,
        "erased 1 records of sources/pages/raw/2025/new.jsonl: removed, as nothing else was in it",
    )
    mill.store.put("sources/pages/raw/2024/b.jsonl", old)
    code, said = run(mill, capsys, "erase")
    assert code == 1
    assert "not erased: sources/pages/raw/2024/b.jsonl: it has changed since documents were made from it" in "\n".join(
        said
    )


@pytest.mark.slow
def test_what_an_erasure_has_left_is_known_only_if_documents_were_made_from_what_it_cut(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    """The object that an erasure has left is put back, after documents were made from another one."""
    path = "sources/pages/raw/2024/a.jsonl.gz"
    assert run(mill, capsys, "erase")[0] == 0
    assert run(mill, capsys, "erase")[0] == 0  # nothing was made since, and what is left is known
    left = mill.store.read(path)
    mill.raw("a.jsonl.gz", [json.loads(line) for line in gzip.decompress(left).splitlines()[:3]])
    remake(mill, capsys)
    assert run(mill, capsys, "erase")[0] == 0
    mill.store.put(path, left)
    code, said = run(mill, capsys, "erase")
    assert (code, [line.partition(";")[0] for line in said if line.startswith("not")]) == (
        1,
        [f"not erased: {path}: it has changed since documents were made from it"],
    )


@pytest.mark.parametrize("command", ["erase", "takedown"])
def test_an_index_of_another_time_is_not_searched(mill: Mill, capsys: pytest.CaptureFixture[str], command: str) -> None:
    """As a copy of before has it: as many rows, and other documents."""
    there = mill.documents()
    mill.store.put(there.index("b"), mill.store.read(there.index("a")))
    code, said = run(mill, capsys, command)
    assert code == 1
    told = f"not searched: sources/pages/v0/documents (2024), shard b: {there.index('b')}: another sha256"
    assert [line for line in said if line.startswith(told)]
    if command == "erase":
        [record] = (mill.root / "withdrawn").glob("*.json")
        assert not json.loads(record.read_bytes())["done"]


@pytest.mark.slow
@pytest.mark.parametrize("moment", [1, 2, 3, 4])
def test_of_two_commands_that_erase_the_same_documents_the_record_tells_what_became_of_each_object(
    mill: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """The other command does everything right before a version of the record is written, or right after."""
    store = type(mill.store)
    put, puts, codes = store.put_if, list[str](), list[int]()

    def meanwhile(self: Any, path: str, data: bytes, *more: Any) -> Entry:
        puts.append(path)
        is_now = is_erasure(path) and sum(map(is_erasure, puts)) == moment
        done = put(self, path, data, *more) if is_now and moment == 2 else None  # announced, and not replaced yet
        if is_now:
            monkeypatch.undo()
            codes.append(run(mill, capsys, "erase")[0])
        return done or put(self, path, data, *more)

    monkeypatch.setattr(store, "put_if", meanwhile)
    codes.append(run(mill, capsys, "erase")[0])
    assert sorted(codes) == [0, 2]
    remake(mill, capsys)
    assert run(mill, capsys, "erase")[0] == 0
    record = json.loads(mill.store.read(erasure_record_path({("pages", f"doc-{number}"): "" for number in NUMBERS})))
    after = {path: each["after"] for path, each in record["objects"].items()}
    assert after == {path: hashlib.sha256(mill.store.read(path)).hexdigest() for path in after}
    assert (len(after), record["done"]) == (3, True)
    assert run(mill, capsys, "takedown", "--prove")[0] == 0


@pytest.mark.slow
def test_what_another_erasure_has_replaced_is_no_object_that_waits_for_ever(
    mill: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An erasure of document 8 is killed; one of 0 and 8, which are in one file, ends; then the first one again."""
    one, two, tried = tmp_path / "one.jsonl", tmp_path / "two.jsonl", tmp_path / "tried"
    one.write_text('{"source":"pages","id":"doc-8"}\n')
    two.write_text(one.read_text() + '{"source":"pages","id":"doc-0"}\n')

    def erase(asked: Path = one) -> int:
        return main(["erase", str(tried), "--ids", str(asked), *SHELF])

    def again() -> None:
        shutil.rmtree(tried, ignore_errors=True)
        link(mill.root, tried, shared=False)

    killed = set[str | None]()
    for _ in deaths(tried, erase, again, every=3):
        path = tried / erasure_record_path({("pages", "doc-8"): ""})
        [begun] = json.loads(path.read_bytes())["objects"].values() if path.exists() else [{}]
        killed.add("replaced" if begun.get("after") else "announced" if begun.get("coming") else None)
        for asked in (two, one):
            Mill(tried).convert()
            erase(asked)  # 1 if nothing has a document any more
        now = {hashlib.sha256(each.read_bytes()).hexdigest() for each in tried.rglob("raw/2024/a.jsonl.gz")}
        records = [json.loads(each.read_bytes()) for each in (tried / "withdrawn").glob("*.json")]
        cut = [each for record in records for each in record["objects"].values()]
        assert all(record["done"] for record in records)
        assert now <= {each["after"] for each in cut}
        assert {each["after"] for each in cut} <= now | {each["before"] for each in cut}
    assert killed >= {None, "announced"}
    capsys.readouterr()


@pytest.mark.slow
def test_after_a_kill_at_any_moment_the_record_is_as_if_there_had_been_none(
    mill: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Document 8 is in a file of many; the only row of d.jsonl goes, so this object is removed."""
    mill.raw("d.jsonl", line(900) + b"\n")
    mill.convert()
    asked = tmp_path / "two.jsonl"
    asked.write_text('{"source":"pages","id":"doc-8"}\n{"source":"pages","id":"doc-900"}\n')
    tried = tmp_path / "tried"

    def erase() -> int:
        return main(["erase", str(tried), "--ids", str(asked), *SHELF])

    def again() -> None:
        shutil.rmtree(tried, ignore_errors=True)
        link(mill.root, tried, shared=False)

    def state() -> dict[str, bytes]:
        top = tried / "sources" / "pages" / "raw"
        files = [*top.rglob("*"), *(tried / "withdrawn").rglob("*"), *(tried / "blocklists").rglob("*")]
        return {str(path.relative_to(tried)): path.read_bytes() for path in files if path.is_file()}

    again()
    assert erase() == 0
    wanted = state()
    (record,) = [json.loads(data) for path, data in wanted.items() if is_erasure(path)]
    after = {Path(path).name: each["after"] for path, each in record["objects"].items()}
    assert record["done"]
    assert after["d.jsonl"] == ""
    assert after["a.jsonl.gz"] == hashlib.sha256(wanted["sources/pages/raw/2024/a.jsonl.gz"]).hexdigest()
    died = []
    for change in deaths(tried, erase, again, every=5):
        died.append(change)
        assert erase() == 0
        assert state() == wanted
    assert len(died) >= 4
    capsys.readouterr()


@pytest.mark.parametrize("kind", ["link", "hard link", "folder"])
def test_bytes_that_stay_under_another_name_are_not_called_erased(
    mill: Mill, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    raw, other = mill.root / "sources" / "pages" / "raw" / "2024", tmp_path / "other"
    if kind == "folder":
        raw.rename(other)
        raw.symlink_to(other)
        words = f"it lies behind a link: sources/pages/raw/2024 leads to {other}; erase it there"
    else:
        other.mkdir()
        (raw / "b.jsonl").rename(other / "b.jsonl")
        if kind == "link":
            (raw / "b.jsonl").symlink_to(other / "b.jsonl")
            words = f"it is a link to {other / 'b.jsonl'}, which would stay"
        else:
            (raw / "b.jsonl").hardlink_to(other / "b.jsonl")
            words = "its file has 2 names (hard links), and its bytes would stay under the others"
    before = {path.name: path.read_bytes() for path in raw.iterdir()}
    for dry in (["--dry-run"], []):
        code, said = run(mill, capsys, "erase", *dry)
        assert code == 1
        assert f"not erased: sources/pages/raw/2024/b.jsonl: {words}" in "\n".join(said)
    assert (raw / "b.jsonl").read_bytes() == (other / "b.jsonl").read_bytes() == before["b.jsonl"]
    assert ((raw / "a.jsonl.gz").read_bytes() == before["a.jsonl.gz"]) == (kind == "folder")
    (record,) = [json.loads(path.read_bytes()) for path in (mill.root / "withdrawn").glob("*.json")]
    assert not record["done"]
    assert "sources/pages/raw/2024/b.jsonl" not in record["objects"]
    assert words in raw_line(mill, capsys)


def test_what_was_erased_is_not_erased_twice(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    run(mill, capsys, "erase")
    path = erasure_record_path({("pages", f"doc-{number}"): "" for number in NUMBERS})
    before = mill.store.read(path)
    code, said = run(mill, capsys, "erase")
    assert (code, [each for each in said if each.startswith(("erased", "not"))]) == (0, [])
    assert mill.store.read(path) == before


def test_a_document_that_is_nowhere_is_no_success(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    asked = mill.root.parent / "misspelt.jsonl"
    asked.write_text('{"source":"pages","id":"doc-none"}\n')
    for words in (["--dry-run"], []):
        assert main(["erase", str(mill.root), "--ids", str(asked), *words, *SHELF]) == 1
        assert "not erased: 'doc-none' of 'pages' is unknown: no document" in capsys.readouterr().out
        assert not list(mill.root.glob("withdrawn/*.json"))


def test_a_refused_row_is_cut_too(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.raw("d.jsonl", line(900) + b'\n{"id":"doc-8","text":1,"source":"pages"}\n' + line(901) + b"\n")
    mill.convert()
    assert run(mill, capsys, "erase")[0] == 0
    assert mill.store.read("sources/pages/raw/2024/d.jsonl") == line(900) + b"\n" + line(901) + b"\n"
    mill.convert()
    assert mill.store.head(mill.documents().quarantine_path("d")) is None


def test_raw_data_outside_of_the_lake_are_named(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.store.delete(["sources/pages/raw/2024/a.jsonl.gz"])
    code, said = run(mill, capsys, "erase")
    assert code == 1
    assert any(each.startswith("not erased: a.jsonl.gz: the object is not under sources/pages/raw/") for each in said)


def test_a_file_of_which_only_a_refused_row_is_left_is_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Others wrote that row, so it is no loss that nothing else is there. A file that nobody cut is stopped at."""
    lake = tmp_path / "small"
    lake.mkdir()
    small = Mill(lake)
    small.raw("a.jsonl.gz", [{"id": "doc-0", "text": "one", "source": "pages"}, b"no document"])
    small.raw("b.jsonl.gz", [{"id": "other", "text": "two", "source": "pages"}])
    assert main(["make", str(lake), "sources/pages/v0/documents", *SHELF]) == 0
    (tmp_path / "asked.jsonl").write_bytes(b'{"source": "pages", "id": "doc-0"}')
    assert run(small, capsys, "erase")[0] == 0
    assert main(["make", str(lake), "sources/pages/v0/documents", *SHELF]) == 0
    lines = run(small, capsys, "takedown", "--prove")[1]
    assert [line for line in lines if line.startswith(("raw: absent", "versions and sets: absent"))] == [
        line for line in lines if line.startswith(("raw:", "versions and sets:"))
    ]
    assert main(["verify", str(lake), "--all", "--raw", "--reconvert", "1", *SHELF]) == 0
    small.raw("b.jsonl.gz", [b"no document either"])
    assert main(["make", str(lake), "sources/pages/v0/documents", *SHELF]) == 1
