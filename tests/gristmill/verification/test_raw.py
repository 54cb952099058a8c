"""Raw objects beside the ledgers that name them: lost, changed and new ones are told apart."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from adoptions import adopt, document, write_rows
from testkit import SHELVES, SNAPSHOT, Mill, lines, make_documents
from wholelake import DOCUMENTS, STREAM, flip, reseal, reseal_shard, table

from gristmill.__main__ import main
from gristmill.lake.address import raw_folder
from gristmill.recipes.adopted.dataset import Adopted
from gristmill.recipes.source import Split
from gristmill.stages.conversion.parts import PART
from gristmill.stages.conversion.step import ConversionStep
from gristmill.verification.raw import audit_checksums, audit_raw

RAW = raw_folder("pages", SNAPSHOT)
OTHER = ("--shelves", ",".join(SHELVES))
MADE_A = "shard a of sources/pages/v0/documents (2024) was made from it"


class Said:
    """What `verify --raw` says of a lake, and its exit code; it must not write."""

    def __init__(self, mill: Mill, capsys: pytest.CaptureFixture[str], *more: str) -> None:
        before = mill.stamps()
        capsys.readouterr()
        self.code = main(["verify", str(mill.root), "--raw", *OTHER, *more])
        told = capsys.readouterr()
        self.lines, self.error = told.out.splitlines(), told.err
        self.findings = [line.strip() for line in self.lines if line.startswith("       ")]
        assert mill.stamps() == before


def test_raw_data_that_is_as_it_was_read_is_proven(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(whole, capsys)
    assert said.code == 0
    assert said.lines[-2:] == [
        "proven sources/pages/raw (2024)",
        "9 of 9 ledgers and raw snapshots proven, 0 findings",
    ]


def test_each_shard_was_made_from_what_its_recipe_makes_it_from(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    """All digests of the objects are right: only who was made from whom is forged, and sealed again."""
    a, b = table(whole, DOCUMENTS)
    for name, inputs, told in (
        ("a", b.inputs, "a was made from b.jsonl.gz, but its recipe makes it from a.jsonl.gz"),
        (
            "a",
            (*a.inputs, *b.inputs),
            "a was made from a.jsonl.gz, b.jsonl.gz, but its recipe makes it from a.jsonl.gz",
        ),
        ("a", a.inputs * 2, "a was made from a.jsonl.gz, a.jsonl.gz, but its recipe makes it from a.jsonl.gz"),
        ("b", (), "b was made from nothing, but its recipe makes it from b.jsonl.gz"),
    ):
        reseal_shard(whole, DOCUMENTS, name, inputs=inputs)
        found = [str(each) for each in audit_raw(whole.lake, whole.source(), SNAPSHOT)]
        assert [each for each in found if each.startswith(f"{DOCUMENTS.table}: shard {told} (run `")], found
        reseal(whole, DOCUMENTS, [a, b])
    assert Said(whole, capsys).code == 0


def test_a_part_has_the_bounds_that_its_recipe_cuts(mill: Mill) -> None:
    source = replace(mill.source(), shards=Split(bytes=1000))
    mill.raw("a.jsonl", lines(make_documents(20)))
    mill.make(ConversionStep(source, SNAPSHOT, SHELVES))
    assert audit_raw(mill.lake, source, SNAPSHOT) == []
    good = table(mill, DOCUMENTS)
    assert len(good) > 1
    part = good[0].extra[PART]
    reseal_shard(mill, DOCUMENTS, good[0].name, extra={PART: [*part[:2], [0, 999], *part[3:]]})
    (finding,) = audit_raw(mill.lake, source, SNAPSHOT)
    assert "was made from another part of " in finding.what


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_lost_changed_and_new_objects_are_told_apart(
    whole: Mill, capsys: pytest.CaptureFixture[str], workers: str
) -> None:
    b = whole.store.read(f"{RAW}b.jsonl.gz")
    whole.store.delete([f"{RAW}a.jsonl.gz"])
    whole.store.put(f"{RAW}b.jsonl.gz", b[:-1] + bytes([b[-1] ^ 1]))
    whole.raw("c.jsonl.gz", make_documents(1, start=90))
    whole.raw("a.jsonl.gz", make_documents(1, start=91), snapshot="2025")
    said = Said(whole, capsys, "--all", "--workers", workers)
    assert said.code == 1
    lost, changed, new, snapshot = said.findings
    assert lost.startswith(f"{RAW}a.jsonl.gz: lost: there is no such object, but {MADE_A} (restore it from a copy; or,")
    assert changed.startswith(f"{RAW}b.jsonl.gz: changed: its sha256 is ")
    make = f"(run `python -m gristmill make {' '.join(OTHER)} {whole.root} pages --snapshot"
    assert new == (
        f"{RAW}c.jsonl.gz: new: no shard of sources/pages/v0/documents (2024) was made from it {make} 2024`)"
    )
    assert snapshot.startswith("sources/pages/raw/2025/: new: nothing was made from the 1 objects of this snapshot")
    assert said.lines[-1] == "8 of 10 ledgers and raw snapshots proven, 4 findings"


def test_another_size_is_told_without_reading(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    before = len(whole.store.read(f"{RAW}a.jsonl.gz"))
    whole.store.put(f"{RAW}a.jsonl.gz", b"short")
    told = f"{RAW}a.jsonl.gz: changed: it has 5 bytes, but had {before:,} when {MADE_A} (restore it from a copy; or,"
    assert Said(whole, capsys, "--all").findings[0].startswith(told)
    whole.store.delete([DOCUMENTS.run])  # the sizes are lost; the sha256 stands in the table
    assert "a.jsonl.gz: changed: its sha256 is" in Said(whole, capsys, "--all").findings[0]


def test_the_first_finding_is_enough_unless_all_are_asked_for(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    whole.store.delete([f"{RAW}a.jsonl.gz", f"{RAW}b.jsonl.gz"])
    said = Said(whole, capsys)
    assert (said.code, len(said.findings)) == (1, 1)
    assert said.lines[-1].startswith("stopped at the first finding; 8 of 9 ledgers and raw snapshots were proven")
    of_asset = Said(whole, capsys, "--asset", "sources/pages")
    assert (of_asset.code, len(of_asset.findings)) == (1, 2)


@pytest.mark.slow
def test_of_a_vanished_snapshot_the_mend_is_not_what_make_refuses(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    whole.store.delete([f"{RAW}a.jsonl.gz", f"{RAW}b.jsonl.gz"])
    confirm = (
        "if it is to go, say so by `gristmill make --vanished SOURCE/SNAPSHOT`, or let the raw sensor confirm it"
        " (docs/reference/dagster.md)"
    )
    findings = Said(whole, capsys, "--all").findings
    assert len(findings) == 2
    for finding, name in zip(findings, "ab", strict=True):
        assert finding.startswith(f"{RAW}{name}.jsonl.gz: lost: there is no such object, but shard {name} of")
        assert finding.endswith(f"(restore it from a copy; or, {confirm})")
    assert main(["make", str(whole.root), "pages", "--snapshot", SNAPSHOT, *OTHER]) == 1
    assert (
        f"put them under {RAW}: an empty folder may mean that raw data was lost; {confirm}" in capsys.readouterr().err
    )


def test_a_ledger_that_cannot_be_read_proves_no_raw_data(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    whole.store.put(DOCUMENTS.ledger, b"torn")
    said = Said(whole, capsys, "--all")
    assert "WRONG  sources/pages/raw (2024)" in said.lines
    assert any(f.startswith(f"{DOCUMENTS.ledger}: raw data cannot be compared: ") for f in said.findings)


def test_without_its_recipe_nobody_knows_where_raw_data_lies(whole: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(whole.root), "--raw", "--shelves", "gristmill"]) == 2
    assert "--raw: no shelf declares pages" in capsys.readouterr().err


def test_assets_without_raw_data_are_proven_and_the_proof_says_that_it_compared_none(
    whole: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    said = Said(whole, capsys, "--asset", "mixes")
    assert said.code == 0
    assert said.lines[0] == "note   mixes: no raw data belong to it, so none were compared"
    assert said.lines[-1] == "1 of 1 ledgers and raw snapshots proven, 0 findings"
    flip(whole, STREAM.shard("a"))
    assert Said(whole, capsys, "--asset", "mixes").code == 1


@pytest.mark.parametrize("more", [(), ("--all",)])
def test_a_lake_of_adopted_files_alone_is_proven(
    mill: Mill,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    more: tuple[str, ...],
) -> None:
    """One file of documents was adopted: its ledger is proven, and there is no raw snapshot beside it."""
    top = tmp_path / "dolma"
    file = write_rows(top / "v0" / "documents" / "a.jsonl.gz", [document("1")])
    adopt(mill, Adopted(name="web", root=str(top), folders=("v0",)))
    declared = f"Adopted(name='web', root={str(top)!r}, folders=('v0',))"
    package = f"adopted_alone_{len(more)}"  # of its own: a process reads a shelf of one name once
    (tmp_path / package / "sources").mkdir(parents=True)
    for folder in (package, f"{package}/sources"):
        (tmp_path / folder / "__init__.py").touch()
    recipe = f"from gristmill.recipes.adopted.dataset import Adopted\nWEB = {declared}\n"
    (tmp_path / package / "sources" / "web.py").write_text(recipe)
    monkeypatch.syspath_prepend(str(tmp_path))
    more = ("--shelves", package, *more)
    said = Said(mill, capsys, *more)
    assert said.error == ""
    assert said.lines[0] == f"note   {mill.root}: no raw data belong to it, so none were compared"
    assert (said.code, said.lines[-1]) == (0, "1 of 1 ledgers and raw snapshots proven, 0 findings")
    write_rows(file, [document("1", "other text")])
    assert Said(mill, capsys, *more).code == 1


def test_raw_data_outside_the_lake_is_named_with_its_store(whole: Mill, tmp_path: Path) -> None:
    elsewhere = Mill(tmp_path / "elsewhere")
    elsewhere.root.mkdir()
    for name in ("a", "b"):
        elsewhere.store.put(f"2024/{name}.jsonl.gz", whole.store.read(f"{RAW}{name}.jsonl.gz"))
    source = replace(whole.source(), raw=elsewhere.store.url)
    assert audit_raw(whole.lake, source, SNAPSHOT) == []
    elsewhere.store.delete(["2024/b.jsonl.gz"])
    (finding,) = audit_raw(whole.lake, source, SNAPSHOT)
    assert str(finding).startswith(f"{elsewhere.root}/2024/b.jsonl.gz: lost: ")


def test_checksum_files_are_compared_with_the_bytes(whole: Mill) -> None:
    """An object that was changed with its checksum is found by the ledger; one whose checksum is wrong, by the file."""
    source = replace(whole.source(), checksums="SHA256SUMS$")
    names = sorted(entry.path.removeprefix(RAW) for entry in whole.store.list(RAW))
    digests = {name: hashlib.sha256(whole.store.read(RAW + name)).hexdigest() for name in names}
    lines = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    whole.raw("SHA256SUMS", lines.encode())
    assert audit_raw(whole.lake, source, SNAPSHOT) == []
    assert list(audit_checksums(whole.lake, source, SNAPSHOT)) == []
    whole.raw("SHA256SUMS", ("0" * 64 + lines[64:]).encode())
    (finding,) = audit_raw(whole.lake, source, SNAPSHOT)
    words = f"1 checksums do not match; {names[0]} has sha256 {digests[names[0]]}, but SHA256SUMS says {'0' * 64}"
    assert str(finding).startswith(f"{RAW}: {words}")
    assert [str(each) for each in audit_checksums(whole.lake, source, SNAPSHOT)] == [str(finding)]
    assert list(audit_checksums(whole.lake, whole.source(), SNAPSHOT)) == []
    whole.raw("SHA256SUMS", b"no line\n")
    (broken,) = audit_checksums(whole.lake, source, SNAPSHOT)
    assert "checksums cannot be compared" in str(broken)
