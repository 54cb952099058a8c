import gzip
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from adoptions import adopt, document, read_only, stamps, write_rows
from dolmaform import SETS, write_dolma
from seaweed import KEY, SECRET
from steered import before_any
from testkit import Mill

from gristmill.api import open_lake
from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.execution.survey import survey_step
from gristmill.lake.address import attributes_asset, documents_asset, mix_asset, place
from gristmill.lake.store.s3 import BucketStore
from gristmill.recipes.adopted.attribute_set import AdoptedSet
from gristmill.recipes.adopted.dataset import Adopted
from gristmill.recipes.adopted.raw_root import RawRoot
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.raw_rules import Folders
from gristmill.recipes.rules import Rule, score, spans
from gristmill.recipes.source import Source
from gristmill.stages.adoption.step import AdoptionStep
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.tagging.step import TaggingStep
from gristmill.verification.audit import audit_ledger, ledger_paths_to_audit

TOXIC = Rule("toxic", "toxicity__toxicity > 0.55", "too toxic")
COLUMNS = (
    score("toxicity__toxicity"),
    score("sample__random_number_v1__random"),
    spans("duplicate_paragraphs__bff_duplicate_paragraph_spans"),
    spans("pii__pii__email", optional=True),
)
MIX = Mix(name="blend", streams=(Stream(source="dolma", version="v0", columns=COLUMNS, exclude=(TOXIC,)),))


@pytest.fixture
def mill(tmp_path: Path) -> Mill:
    (tmp_path / "lake").mkdir()
    return Mill(tmp_path / "lake")


def test_a_dataset_of_dolma_is_used_where_it_is(dolma: Path, mill: Mill, tmp_path: Path) -> None:
    root = read_only(shutil.copytree(dolma, tmp_path / "theirs"))
    before = stamps(root)
    ledgers = adopt(mill, Adopted(name="dolma", root=str(root), sets=SETS))
    assert [ledger.totals["rows"] for ledger in ledgers.values()] == [10] * 5
    assert ledgers["sources/dolma/v0/attributes/toxicity"].totals["attribute rows without a source"] == 10
    assert ledgers["sources/dolma/v0/attributes/sample"].totals["spans outside of the text"] > 0
    mixed = mill.make(stream_step(MIX, "dolma", "all", ()))
    assert (mixed.totals["rows"], mixed.dropped) == (5, {"toxic": 5})
    tagging = TaggingStep("dolma", "v0", "all", mill.tagging("words-1").taggers, ("gristmill", "testshelf"))
    assert mill.make(tagging).totals["rows"] == 10
    assert [audit_ledger(mill.store, path, print) for path in ledger_paths_to_audit(mill.store)] == [[]] * 7
    assert stamps(root) == before
    kept = gzip.decompress((root / "documents" / "000.json.gz").read_bytes()).splitlines()[:5]
    assert mill.lines(place(mix_asset("blend", "dolma"), "all").shard("000")) == kept
    held = [path for path in mill.tree() if "/v0/documents/" in path or "/attributes/pii/" in path]
    assert sorted(path.rpartition("/")[2] for path in held if "ledgers" not in path) == ["root.json"] * 2


def test_files_that_people_removed_on_purpose_leave_a_finished_partition(mill: Mill, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d" / "documents" / "a.jsonl.gz", [document("1")])
    step = AdoptionStep(Adopted(name="dolma", root=str(tmp_path / "d")), "v0", "all", (), vanished=True)
    mill.make(step)
    path.unlink()
    assert mill.make(step).totals["shards"] == 0
    assert [each.finished for each in survey_step(step, mill.store)] == [True]
    assert [audit_ledger(mill.store, path, print) for path in ledger_paths_to_audit(mill.store)] == [[]]
    assert not [path for path in mill.tree() if path.endswith("root.json")]
    write_rows(path, [document("1"), document("2")])
    assert mill.make(step).totals["rows"] == 2
    assert [audit_ledger(mill.store, path, print) for path in ledger_paths_to_audit(mill.store)] == [[]]


def test_a_byte_that_changes_after_adoption_is_an_error_and_is_adopted_again(mill: Mill, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "d" / "documents" / "a.jsonl.gz", [document("1"), document("2")])
    source = Adopted(name="dolma", root=str(tmp_path / "d"))
    adopt(mill, source)
    stream = Mix(name="blend", streams=(Stream(source="dolma", version="v0"),))
    old = path.read_bytes()
    write_rows(path, [document("1"), document("3")])
    assert len(path.read_bytes()) == len(old)  # then only the sha256 can tell
    with pytest.raises(StoreError, match=r"a\.jsonl\.gz: changed since it was adopted: it has another sha256"):
        mill.make(stream_step(stream, "dolma", "all", ()))
    write_rows(path, [document("1")])
    with pytest.raises(StoreError, match=r"a\.jsonl\.gz: changed since it was adopted: it has .* adopt it again"):
        mill.make(stream_step(stream, "dolma", "all", ()))
    path.unlink()
    with pytest.raises(StoreError, match="this adopted file is missing, or its disk is not mounted"):
        mill.make(stream_step(stream, "dolma", "all", ()))
    write_rows(path, [document("1"), document("4")])
    [found] = survey_step(AdoptionStep(source, "v0", "all", ()), mill.store)
    assert (found.finished, found.why) == (
        False,
        ("raw data must be looked at again (other stamps, same sizes): shard a",),
    )
    adopt(mill, source)
    assert mill.make(stream_step(stream, "dolma", "all", ())).totals["rows"] == 2


def test_what_is_as_it_was_is_not_read_again_and_a_root_may_move(mill: Mill, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_rows(tmp_path / "d" / "documents" / f"{name}.jsonl.gz", [document(name)])
    source = Adopted(name="dolma", root=str(tmp_path / "d"))
    before = adopt(mill, source)
    assert mill.ground == ["a", "b"]
    write_rows(tmp_path / "d" / "documents" / "c.jsonl.gz", [document("c")])
    adopt(mill, source)
    assert mill.ground == ["c"]
    (tmp_path / "d" / "documents" / "c.jsonl.gz").unlink()
    (tmp_path / "d").rename(tmp_path / "e")
    moved = Adopted(name="dolma", root=str(tmp_path / "e"))
    [found] = survey_step(AdoptionStep(moved, "v0", "all", ()), mill.store)
    assert not found.finished
    assert adopt(mill, moved) == before
    assert mill.ground == []
    stream = Mix(name="blend", streams=(Stream(source="dolma", version="v0"),))
    assert mill.make(stream_step(stream, "dolma", "all", ())).totals["rows"] == 2


def test_every_packing_depth_and_snapshot_is_read(mill: Mill, tmp_path: Path) -> None:
    top = tmp_path / "d" / "documents"
    write_rows(top / "2024" / "lang=en" / "a.json.gz", [document("1"), document("2")])
    write_rows(top / "loose.jsonl.gz", [document("3")])
    line = b'{"id":"4","source":"web","text":"no line feed at the end"}'
    (top / "2024" / "b.jsonl.zst").write_bytes(zstandard.compress(line))
    (top / "2024" / "c.jsonl").write_bytes(line.replace(b'"4"', b'"5"') + b"\n")
    (top / "2024" / "README.md").write_text("not read")
    source = Adopted(name="dolma", root=str(tmp_path / "d"), partition=Folders())
    assert adopt(mill, source, "2024")["sources/dolma/v0/documents"].totals["rows"] == 4
    assert mill.ground == ["b", "c", "lang=en/a"]
    assert adopt(mill, source, "all")["sources/dolma/v0/documents"].totals["rows"] == 1
    mix = Mix(name="blend", streams=(Stream(source="dolma", version="v0"),))
    mill.make(stream_step(mix, "dolma", "2024", ()))
    assert mill.ids(place(mix_asset("blend", "dolma"), "2024"), "b") == ["4"]
    assert [audit_ledger(mill.store, path, print) for path in ledger_paths_to_audit(mill.store)] == [[]] * 3


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (['{"id":"1","attributes":{}}'], "x.jsonl.gz: ends after 1 rows, but .*documents/x.jsonl.gz has more"),
        (['{"id":"1"}', '{"id":"2"}', '{"id":"3"}'], "has a row 2, but .*documents/x.jsonl.gz ends before it"),
        (['{"id":"2","attributes":{}}', '{"id":"1","attributes":{}}'], r"x.jsonl.gz: row 0: id '2' .* has '1'"),
        (['{"id":"1","attributes":{"q":"high"}}', '{"id":"2"}'], r"x.jsonl.gz.*row 0.*neither a number"),
    ],
)
def test_a_set_that_does_not_match_names_file_and_row(mill: Mill, tmp_path: Path, rows: list[str], told: str) -> None:
    write_rows(tmp_path / "d" / "documents" / "x.jsonl.gz", [document("1"), document("2")])
    write_rows(tmp_path / "d" / "attributes" / "q_v1" / "x.jsonl.gz", rows)
    with pytest.raises(DataError, match=told):
        adopt(mill, Adopted(name="dolma", root=str(tmp_path / "d"), sets=("q_v1",)))


def test_a_set_without_a_file_or_with_one_too_many_is_an_error(mill: Mill, tmp_path: Path) -> None:
    source = Adopted(name="dolma", root=str(tmp_path / "d"), sets=("q",))
    for name in ("x", "y"):
        write_rows(tmp_path / "d" / "documents" / f"{name}.jsonl.gz", [document(name)])
    write_rows(tmp_path / "d" / "attributes" / "q" / "x.jsonl.gz", ['{"id":"x","q":0.5}'])
    with pytest.raises(DataError, match=r"attributes/q/y\.\*: the set q has no file for the documents' shard y"):
        adopt(mill, source)
    write_rows(tmp_path / "d" / "attributes" / "q" / "y.json.gz", ['{"id":"y","q":0.5}'])
    write_rows(tmp_path / "d" / "attributes" / "q" / "z.json.gz", ['{"id":"z","q":0.5}'])
    with pytest.raises(DataError, match=r"attributes/q/z\.json\.gz: the documents have no shard z"):
        adopt(mill, source)


def test_a_misspelt_name_tells_which_folders_the_root_has(mill: Mill, tmp_path: Path) -> None:
    for name in ("documents", "attributes/pii", "attributes/toxicity"):
        write_rows(tmp_path / "d" / "v0" / name / "x.jsonl.gz", [document("1")])
    root = str(tmp_path / "d")
    folder = f"source 'dolma': {root}/v0/attributes/ has no folder 'pi', which the set 'pi' of v0 needs"
    with pytest.raises(RecipeError, match=f"^{folder}; it has pii, toxicity; correct root, folders or sets$"):
        adopt(mill, Adopted(name="dolma", root=root, folders=("v0",), sets=("pi",)))
    with pytest.raises(RecipeError, match=f"{root}/ has no folder 'v1', which the documents of v1 needs; it has v0; "):
        adopt(mill, Adopted(name="dolma", root=root, folders=("v0", "v1")))
    with pytest.raises(
        RecipeError, match=f"{root}/ has no folder 'documents', which the documents of v0 needs; it has"
    ):
        adopt(mill, Adopted(name="dolma", root=root))
    alone = AdoptedSet(name="pii", root=f"{root}/gone")
    with pytest.raises(StoreError, match=f"^{root}/gone: the root of the set 'pii' of v0 that source 'pages' adopts"):
        AdoptionStep(replace(mill.source(), adopted=(alone,)), "v0", "all", (), "pii").plan(mill.store)


def test_attributes_alone_are_adopted_for_documents_of_the_lake(mill: Mill, tmp_path: Path) -> None:
    mill.raw_shards(2)
    mill.convert()
    before = mill.tree()
    for number, name in enumerate("ab"):
        rows = [{"id": f"doc-{n:05d}", "tox": n / 100} for n in range(number * 10, number * 10 + 10)]
        write_rows(tmp_path / "theirs" / "2024" / f"{name}.json.gz", rows)
    own = mill.source()
    source = Source(
        name="pages", convert=own.convert, adopted=(AdoptedSet(name="tox_v2", root=str(tmp_path / "theirs")),)
    )
    adopt(mill, source, "2024")
    stream = Stream(
        source="pages",
        version="v0",
        columns=(score("tox_v2__tox"),),
        include=(Rule("tame", "tox_v2__tox < 0.05", "tame"),),
    )
    assert mill.mix(stream).totals["rows"] == 5
    where = place(attributes_asset("pages", "v0", "tox_v2"), "2024")
    assert audit_ledger(mill.store, where.ledger, print) == []
    assert {path: data for path, data in mill.tree().items() if path in before} == before


def test_versions_side_by_side_keep_ids_and_metadata(mill: Mill, tmp_path: Path) -> None:
    rows = [document(str(n), metadata={"doi": n}) for n in range(4)]
    for version, kept in (("v0", rows), ("v1", rows[1:]), ("v1_6", [{**row, "text": "edited"} for row in rows[2:]])):
        write_rows(tmp_path / "d" / version / "documents" / "6f" / "a.jsonl.gz", kept)
    source = Adopted(name="s2", root=str(tmp_path / "d"), folders=("v1_6", "v0", "v1"))
    ledgers = adopt(mill, source)
    assert {name: ledger.totals["rows"] for name, ledger in ledgers.items()} == {
        documents_asset("s2", "v0"): 4,
        documents_asset("s2", "v1"): 3,
        documents_asset("s2", "v1_6"): 2,
    }
    assert [audit_ledger(mill.store, path, print) for path in ledger_paths_to_audit(mill.store)] == [[]] * 3
    changed = [document(str(n), metadata={"doi": n + (n == 3)}) for n in range(1, 4)]
    write_rows(tmp_path / "d" / "v1" / "documents" / "6f" / "a.jsonl.gz", changed)
    with pytest.raises(
        DataError, match="metadata_kept: 1 documents in 1 shards have other metadata than in the version"
    ):
        adopt(mill, source)
    write_rows(tmp_path / "d" / "v1" / "documents" / "6f" / "a.jsonl.gz", [document("new")])
    with pytest.raises(DataError, match=r"ids_stable: .* 1 ids are not in .*; the first: row 0, id 'new'"):
        adopt(mill, source)
    free = Adopted(name="s3", root=str(tmp_path / "d"), folders=("v0", "v1"), same_metadata=False)
    assert adopt(mill, free)[documents_asset("s3", "v1")].totals["rows"] == 1


def test_documents_twice_or_with_a_wrong_type_are_errors(mill: Mill, tmp_path: Path) -> None:
    path = tmp_path / "d" / "documents" / "x.jsonl.gz"
    source = Adopted(name="dolma", root=str(tmp_path / "d"))
    with pytest.raises(
        StoreError, match="/d: the root of the documents of v0 that source 'dolma' adopts is not there: "
    ):
        adopt(mill, source)
    path.parent.mkdir(parents=True)
    with pytest.raises(DataError, match=r"snapshot all has no files with rows .* below .*/d/documents/"):
        adopt(mill, source)
    write_rows(path, [document("1"), document("1")])
    with pytest.raises(DataError, match=r"ids_unique: 1 ids .* /.*/x\.jsonl\.gz row 0 and in /.*/x\.jsonl\.gz row 1"):
        adopt(mill, source)
    write_rows(path, [document("1"), {"id": 1, "source": "web", "text": ""}])
    with pytest.raises(DataError, match=r"ids_unique: 1 ids .* row 0 and in /.*/x\.jsonl\.gz row 1"):
        adopt(mill, source)
    for wrong in (2.0, True, None):
        write_rows(path, [document("1"), {"id": wrong, "source": "web", "text": ""}])
        with pytest.raises(DataError, match=r"x\.jsonl\.gz.*row 1.*`str`, got `.*converted instead of adopted"):
            adopt(mill, source)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(DataError, match=r"x\.jsonl\.gz: the file ends in the middle: it was truncated"):
        adopt(mill, source)


def test_integer_ids_are_their_decimal_digits_in_every_step(mill: Mill, tmp_path: Path) -> None:
    ids = [7, -1, 0, 2**64, 10**40]
    for folder, kind in (("numbers", int), ("strings", str)):
        root = tmp_path / folder
        rows = [{"id": kind(each), "source": "web", "text": f"text {n}"} for n, each in enumerate(ids)]
        write_rows(root / "documents" / "x.jsonl.gz", rows)
        write_rows(root / "attributes" / "q" / "x.jsonl.gz", [{"id": each, "q": n / 4} for n, each in enumerate(ids)])
        adopt(mill, Adopted(name=folder, root=str(root), sets=("q",)))
    digests = {
        mill.table(place(asset, "all"))["x"].ids
        for folder in ("numbers", "strings")
        for asset in (documents_asset(folder, "v0"), attributes_asset(folder, "v0", "q"))
    }
    assert len(digests) == 1
    low = Rule("low", "q__q < 0.5", "a low score")
    stream = Stream(source="numbers", version="v0", columns=(score("q__q"),), exclude=(low,))
    mixed = mill.make(stream_step(Mix(name="blend", streams=(stream,)), "numbers", "all", ()))
    assert (mixed.totals["rows"], mixed.dropped) == (3, {"low": 2})
    tagging = TaggingStep("numbers", "v0", "all", mill.tagging("words-1").taggers, ("gristmill", "testshelf"))
    assert mill.make(tagging).totals["rows"] == 5
    assert [audit_ledger(mill.store, path, print) for path in ledger_paths_to_audit(mill.store)] == [[]] * 6
    reader = open_lake(str(mill.root), shelves=("gristmill",))
    assert [row["id"] for row in reader.documents("numbers/v0", columns=["id"])] == [str(each) for each in ids]


@pytest.mark.slow
def test_a_bucket_is_adopted_with_credentials_of_its_own(
    bucket: BucketStore, endpoint: str, mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dolma = write_dolma(tmp_path / "dolma")
    for path in dolma.rglob("*.json.gz"):
        bucket.put(str(path.relative_to(dolma)), path.read_bytes())
    before = [(entry.path, entry.etag) for entry in bucket.list("")]
    monkeypatch.setenv("THEIRS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("THEIRS_SECRET_ACCESS_KEY", SECRET)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    root = RawRoot(bucket.url, endpoint=endpoint, region="us-east-1", credentials="THEIRS")
    adopt(mill, Adopted(name="dolma", root=root, sets=("toxicity",)))
    stream = Stream(source="dolma", version="v0", columns=COLUMNS[:1], exclude=(TOXIC,))
    mix = Mix(name="blend", streams=(stream,))
    assert mill.make(stream_step(mix, "dolma", "all", ())).totals["rows"] == 5
    assert [audit_ledger(mill.store, path, print) for path in ledger_paths_to_audit(mill.store)] == [[]] * 3
    assert [(entry.path, entry.etag) for entry in bucket.list("")] == before
    assert SECRET.encode() not in b"".join(mill.tree().values())


def test_a_late_worker_does_not_replace_the_id_index_of_a_newer_run(
    mill: Mill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has read the old file, and looked at its claim; then a newer run adopts the new file."""
    root = tmp_path / "theirs"
    source = Adopted(name="web", root=str(root))
    file = write_rows(root / "documents" / "000.json.gz", [document(f"a{number}") for number in range(5)])

    def newer() -> None:
        write_rows(file, [document(f"b{number}") for number in range(6)])
        adopt(mill, source)

    where = place(documents_asset("web", "v0"), "all")
    before_any(monkeypatch, "put_if", where.index("000"), newer)
    with pytest.raises(StoreError):
        adopt(mill, source)
    assert [audit_ledger(mill.store, path, print) for path in ledger_paths_to_audit(mill.store)] == [[]]
    assert adopt(mill, source)[where.asset].totals["rows"] == 6
