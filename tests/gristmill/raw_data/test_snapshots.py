"""Something odd in the raw data of one source: it is told, and all else is planned, made and compared."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from powers import held_to_modes
from testkit import SHELVES, SNAPSHOT, Mill, make_documents

from gristmill.__main__ import main
from gristmill.errors import StoreError
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.targets import Targets
from gristmill.raw_data.roots import raw_store
from gristmill.raw_data.scan import scan_raw
from gristmill.raw_data.snapshots import Stray, raw_snapshots
from gristmill.recipes.catalogue import read_catalogue
from gristmill.recipes.source import Folders
from gristmill.verification.raw import audit_raw, raw_snapshots_to_compare

RAW = "sources/pages/raw/"
V0 = "sources/pages/v0/documents"
OTHER = ("--shelves", ",".join(SHELVES))
RULE = "a snapshot is 1 to 100 letters, digits, '.', '_' or '-', begins with a letter or digit, has no '..'; rename it"

ODD = [
    ("2025/pipe", "FIFO", "(2025)", f"{RAW}2025/pipe: a FIFO, not a file; remove it"),
    ("2025/far", "link", "(2025)", f"{RAW}2025/far: the target of this link does not exist; mount the target, or"),
    ("2025/caf\udce9", "file", "(2025)", rf"{RAW}2025/caf\xe9: its name is not UTF-8; rename it"),
    ("2025/a%b.jsonl", "file", "(2025)", f"{RAW}2025/a%b.jsonl: shard 'a%b': each part of a shard's name is"),
    ("far", "link", "(far)", f"{RAW}far: the target of this link does not exist; mount the target, or remove"),
    ("pipe", "FIFO", "", f"{RAW}: 'pipe' is not read: a FIFO, not a file; remove it"),
    ("bad name/pipe", "FIFO", "", f"{RAW}: 'bad name/pipe' is not read: a FIFO, not a file; remove it"),
    ("bad name/a.jsonl", "file", "", f"{RAW}: 'bad name' is not read: {RULE}"),
    ("caf\udce9/a.jsonl", "file", "", rf"{RAW}: 'caf\xe9' is not read: its name is not UTF-8; rename it"),
]
"""Something below `raw/`, what it is, the snapshot that it belongs to, and what is told of it."""


def put(mill: Mill, name: str, kind: str) -> None:
    path = mill.root / RAW / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/nowhere/at/all")
    else:
        path.write_bytes(b"")


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    """Exit code, lines, and the error of a command."""
    capsys.readouterr()
    code = main([*arguments, *OTHER])
    said = capsys.readouterr()
    return code, said.out.splitlines(), said.err


@pytest.mark.parametrize(("name", "kind", "snapshot", "words"), ODD)
def test_one_odd_thing_is_told_and_all_else_is_compared_and_planned(
    mill: Mill, capsys: pytest.CaptureFixture[str], name: str, kind: str, snapshot: str, words: str
) -> None:
    mill.raw_shards(1)
    mill.convert()
    put(mill, name, kind)
    code, lines, error = told(capsys, "verify", str(mill.root), "--raw", "--all")
    assert (code, error) == (1, "")
    at = lines.index(f"WRONG  sources/pages/raw {snapshot}".rstrip())
    assert words in lines[at + 1]
    assert lines[0] == "proven sources/pages/v0/ledgers/documents/2024.json"
    assert "proven sources/pages/raw (2024)" in lines
    assert lines[-1] == "2 of 3 ledgers and raw snapshots proven, 1 findings"
    code, lines, error = told(capsys, "plan", str(mill.root), "--source", "pages", "--all")
    assert (code, error) == (1, "")
    asset = f"{V0} {snapshot}" if snapshot else "sources/pages/raw"
    (wrong,) = (line for line in lines if line.startswith("wrong "))
    assert wrong.startswith(f"wrong    {asset}: {words}")
    assert f"finished {V0} (2024)" in lines


def test_snapshots_that_differ_by_case_only_are_not_made_beside_each_other(
    mill: Mill, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, snapshot in enumerate(("en", "EN", "de")):
        mill.raw("a.jsonl.gz", make_documents(1, start=number), snapshot=snapshot)
    held = scan_raw(mill.source(), mill.store).held
    words = "EN and en differ only by case or by the form of a letter, so disks of macOS and Windows hold one of them"
    assert held == {"en": f"{words}; rename one"}
    code, lines, _ = told(capsys, "plan", str(mill.root), "--source", "pages")
    assert code == 1
    assert f"wrong    sources/pages/raw: {RAW}: 'en' is not read: {words}; rename one" in lines
    assert [key for key in ("en", "EN", "de") if any(f"v0/documents ({key})" in line for line in lines)] == ["EN", "de"]


@pytest.mark.slow
def test_make_tells_of_what_it_does_not_read(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    mill.raw_shards(1)
    put(mill, "bad name/a.jsonl", "file")
    put(mill, ".git/a.jsonl", "file")
    code, lines, _ = told(capsys, "make", str(mill.root), "pages")
    assert code == 1
    assert lines[0] == f"wrong sources/pages/raw: {RAW}: 'bad name' is not read: {RULE}"  # before anything is made
    assert [line for line in lines if "is not read" in line] == lines[:1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bad name", "WEB", ""])
def test_make_plan_and_run_agree_on_what_is_in_no_snapshot(
    mill: Mill, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(mill.root.parent / "home"))
    mill.raw("a.jsonl.gz", make_documents(2), snapshot="web")
    if name:
        mill.raw("a.jsonl.gz", make_documents(2, start=2), snapshot=name)
    for command in ("make", "plan", "run"):
        code, lines, complained = told(capsys, command, str(mill.root), "pages")
        assert code == (1 if name else 0), command
        assert bool(name) == any("is not read: " in line for line in (*lines, *complained.splitlines())), command


@contextlib.contextmanager
def forbidden(path: Path) -> Iterator[None]:
    """A file or folder that this process may not read, though it may be root."""
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        with held_to_modes():
            yield
    finally:
        path.chmod(mode)


@pytest.mark.parametrize(("name", "asked"), [("2024/b.jsonl.gz", "b.jsonl.gz: it cannot be read: "), ("2024", "")])
def test_what_may_not_be_read_is_a_finding_and_a_wrong_plan(mill: Mill, name: str, asked: str) -> None:
    mill.raw_shards(3)
    mill.convert()
    mill.raw("c.jsonl.gz", b"short")
    planner = Planner(read_catalogue(SHELVES), SHELVES, mill.lake, Targets(("sources/pages",)))
    with forbidden(mill.root / RAW / name):
        findings = [str(finding) for finding in audit_raw(mill.lake, mill.source(), SNAPSHOT)]
        prospects = {(each.asset, each.snapshot): each for each in planner.survey_all()}
    assert all("Permission denied" in finding for finding in findings[:1])
    assert [finding.partition(RAW + "2024/")[2][: len(asked)] for finding in findings[:1]] == [asked]
    assert [": changed: it has 5 bytes" in finding for finding in findings[1:]] == ([True] if asked else [])
    assert prospects[V0, SNAPSHOT].state == "wrong"
    assert "Permission denied" in prospects[V0, SNAPSHOT].why[0]


@pytest.mark.parametrize(
    ("mounted", "words"),
    [
        (
            ".mounted",
            "/disk/.mounted: the mount marker of source 'pages' is not there: mount the disk with its raw data",
        ),
        (None, "/disk: the folder with the raw data of source 'pages' is not there: mount the disk with its raw data"),
    ],
)
def test_a_disk_that_is_gone_is_told_as_such_and_holds_back_its_source_alone(
    mill: Mill, tmp_path: Path, mounted: str | None, words: str
) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.raw("a.jsonl.gz", make_documents(1), "capped")
    source = replace(mill.source(), raw=str(tmp_path / "disk"), mounted=mounted)
    with pytest.raises(StoreError, match=f"^{tmp_path}{words}"):
        scan_raw(source, raw_store(mill.lake, source))
    catalogue = read_catalogue(SHELVES)
    sources = {"pages": source, "capped": catalogue.sources["capped"]}
    told: list[tuple[str, str]] = []
    compared = raw_snapshots_to_compare(mill.lake, sources, "", lambda name, finding: told.append((name, str(finding))))
    assert compared == [("capped", "2024"), ("pages", "2024")]
    ((name, said),) = told
    assert name == "pages"
    assert said.startswith(f"sources/pages/raw: raw data cannot be compared: {tmp_path}{words}")
    (finding,) = audit_raw(mill.lake, source, SNAPSHOT)
    assert f"{tmp_path}{words}" in str(finding)
    taggers = {name: tagger for name, tagger in catalogue.taggers.items() if not tagger.only}
    alone = replace(catalogue, sources=sources, taggers=taggers, mixes={}, tokenizers={}, exports={}, dedupes={})
    planner = Planner(alone, SHELVES, mill.lake)
    states = {(each.asset, each.snapshot): each for each in planner.survey_all()}
    assert states["sources/pages/raw", ""].state == "wrong"
    assert states["sources/pages/raw", ""].why[0].startswith(f"{tmp_path}{words}")
    assert states[V0, SNAPSHOT].why == ("for sources/pages/raw",)
    assert states["sources/capped/v0/documents", SNAPSHOT].state == "make"


def test_what_is_in_no_snapshot_is_told_beside_the_snapshots(mill: Mill) -> None:
    mill.raw_shards(1)
    put(mill, "bad name/a.jsonl", "file")
    strays: list[Stray] = []
    assert raw_snapshots(mill.lake, mill.source(), strays.append) == {"2024"}
    assert strays == [Stray(RAW, f"'bad name' is not read: {RULE}")]


def test_what_may_hide_snapshots_is_told(mill: Mill) -> None:
    put(mill, "en", "link")
    source = replace(mill.source(), partition=Folders(2))
    strays: list[Stray] = []
    assert raw_snapshots(mill.lake, source, strays.append) == set()
    assert [str(stray).partition(";")[0] for stray in strays] == [
        f"{RAW}: some snapshots may not be seen: en: the target of this link does not exist"
    ]
