"""The exports to Energon in Dagster and by the commands: made, traced to sample and byte, rebuilt by the shard."""

import json
from itertools import pairwise
from typing import Any

import dagster as dg
import numpy as np
import pytest
from dagster_kit import EXPORTING, Works, letter

from gristmill.__main__ import main
from gristmill.formats.tar.walk import TarWalk
from gristmill.lake.address import export_asset, export_index, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.recipes.export_formats.codec import Release
from gristmill.stages.export.part import ExportedPart
from gristmill.stages.export.release import read_release

LINES, TARS = export_index("blend", "lines"), export_index("blend", "tars")
LETTERS = {name: place(export_asset("blend", name, "letters"), "2024") for name in ("lines", "tars")}


def run(capsys: pytest.CaptureFixture[str], exporting: Works, command: str, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a subcommand that reads the shelves."""
    capsys.readouterr()
    code = main([command, str(exporting.root), *arguments, "--shelves", ",".join(EXPORTING)])
    return code, capsys.readouterr().out


def made(capsys: pytest.CaptureFixture[str], exporting: Works) -> None:
    code, said = run(capsys, exporting, "make", "blend/lines", "blend/tars")
    assert code == 0, said


def release_at(exporting: Works, asset: str) -> Release:
    release = read_release(exporting.store, asset)
    assert release is not None
    return release


def objects(exporting: Works, *below: str) -> dict[str, str]:
    return {entry.path: entry.etag for folder in below for entry in exporting.store.list(folder)}


@pytest.mark.slow
def test_runs_in_dagster_make_a_partition_and_the_index(exporting: Works) -> None:
    exporting.run("sync", None)
    done = exporting.refresh()
    assert done.success, done.failures
    for name, here in LETTERS.items():
        check = done.checks[f"{here.asset}:export_complete"]
        assert (check.passed, check.metadata["files"].value) == (True, 2), name
        assert exporting.materialized(here.asset) == {"2024"}
    done = exporting.run("blend_index", None)
    assert done.success, done.failures
    for asset in (LINES, TARS):
        shown = done.metadata(asset)
        assert shown["release"] == f"{exporting.root}/{release_at(exporting, asset).folder}"
        assert "warnings" not in shown


@pytest.mark.slow
def test_too_many_tars_are_said_in_the_log_and_in_the_metadata(
    exporting: Works, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gristmill.energon.exports.splits.MANY_FILES", 1)
    monkeypatch.setattr("gristmill.stages.export.part_table.MANY_FILES", 1)
    exporting.run("sync", None)
    done = exporting.refresh()
    assert "warning" in done.checks[f"{LETTERS['tars'].asset}:export_complete"].metadata
    done = exporting.run("blend_index", None)
    said = "the release has 2 files, and Energon works best with at most 1; give the export larger shard_samples"
    assert any(said in line for line in done.said)
    assert str(done.metadata(TARS)["warnings"]).startswith(said)
    exporting.store.delete([f"{TARS}/ledger.json"])
    assert f"warning: {TARS}: {said}" in run(capsys, exporting, "make", "blend/tars")[1]


def test_trace_names_sample_and_byte(exporting: Works, capsys: pytest.CaptureFixture[str]) -> None:
    made(capsys, exporting)
    code, said = run(capsys, exporting, "trace", "letters", "letter-5", "--json")
    assert code == 0
    parts: dict[str, dict[str, Any]] = {each["asset"]: each for each in json.loads(said)["parts"]}
    store = exporting.store
    lines = parts[LETTERS["lines"].asset]
    assert [number for _, number in lines["lines"]] == [2, 4]  # the mix refuses letter-1
    joined = release_at(exporting, LINES).folder + "letters/train-00000.jsonl"
    assert [sample["path"] for sample in lines["samples"]] == [lines["path"] + "train.jsonl", joined]
    for sample in lines["samples"]:
        row = store.read(sample["path"])[sample["offset"] :].partition(b"\n")[0]
        assert json.loads(row)["id"] == "letter-5"
    tars = parts[LETTERS["tars"].asset]
    [sample] = tars["samples"]
    assert tars["lines"] == [[f"{tars['path']}train-00000.tar", 2]]
    data = store.read(sample["path"])
    assert data[sample["offset"] :].startswith(f"{sample['key']}.txt\0".encode())
    assert data[sample["offset"] + 512 :].startswith(letter(5)["text"].encode())
    assert tars["release"] == release_at(exporting, TARS).folder
    said = run(capsys, exporting, "trace", "letters", "letter-5")[1]
    assert f"  {sample['path']}: line 2, from byte {sample['offset']}, sample {sample['key']}\n" in said
    assert f"  {tars['release']} names this file where it is\n" in said


@pytest.mark.slow
def test_a_changed_raw_shard_makes_one_part_and_the_index_again(
    exporting: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    made(capsys, exporting)
    folders = [here.folder for here in LETTERS.values()]
    before, old = objects(exporting, *folders), release_at(exporting, TARS).folder
    released = objects(exporting, old)
    exporting.raw([letter(4), letter(7), letter(6)], "b")
    code, said = run(capsys, exporting, "plan", "--mix", "blend", "--all")
    assert (code, f"follow   {LETTERS['tars'].asset} (2024): after mixes/blend/documents/letters" in said) == (1, True)
    made(capsys, exporting)
    after = objects(exporting, *folders)
    new = {path.rpartition("/")[0] for path in after.keys() - before.keys()}
    assert len({folder for folder in new if "/part-" in folder}) == 2  # one of each export
    assert all(after[path] == etag for path, etag in before.items() if "/part-" in path)
    assert objects(exporting, old) == released
    assert run(capsys, exporting, "trace", "letters", "letter-7", "--json")[0] == 0
    assert main(["verify", str(exporting.root), "--asset", "exports/blend"]) == 0
    capsys.readouterr()
    assert main(["gc", str(exporting.root)]) == 0
    assert f"removed {old}" in capsys.readouterr().out
    assert main(["verify", str(exporting.root), "--asset", "exports/blend"]) == 0
    for here in LETTERS.values():
        rows = read_ledger(exporting.store, here)[1]
        named = {ExportedPart.decode_from_row(row, here.table).folder for row in rows}
        there = {path.rpartition("/")[0] + "/" for path in objects(exporting, here.folder) if "/part-" in path}
        assert there == named


def test_a_named_release_keeps_its_tars(exporting: Works, capsys: pytest.CaptureFixture[str]) -> None:
    made(capsys, exporting)
    old = release_at(exporting, TARS)
    parts = sorted({file.path.rpartition("/")[0] for file in old.named})
    exporting.store.put(
        "releases/first.json", json.dumps({"files": [old.folder], "parts": parts, "objects": {}}).encode()
    )
    exporting.raw([letter(4)], "b")
    made(capsys, exporting)
    kept = objects(exporting, old.folder, *parts)
    assert main(["gc", str(exporting.root)]) == 0
    assert objects(exporting, old.folder, *parts) == kept
    for file in old.named:
        data = exporting.store.read(file.path)
        walk = TarWalk(lambda at, size, data=data: data[at : at + size], len(data), file.path)
        assert sum(len(batch.keys) for batch in walk) == file.rows


@pytest.mark.slow
def test_sync_shows_the_exports_of_another_machine(exporting: Works, capsys: pytest.CaptureFixture[str]) -> None:
    made(capsys, exporting)
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(exporting.root, fresh, exporting.catalogue)
        other.run("sync", None)
        for here, asset in zip(LETTERS.values(), (LINES, TARS), strict=True):
            assert other.materialized(here.asset) == {"2024"}
            assert other.version(asset, None) is not None


def test_the_index_of_a_joined_file_says_where_its_lines_end(
    exporting: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    made(capsys, exporting)
    path = release_at(exporting, LINES).folder + "letters/train-00000.jsonl"
    data, ends = exporting.store.read(path), np.frombuffer(exporting.store.read(path + ".idx"), "<u8")
    cut = [data[start:end] for start, end in pairwise(ends)]
    assert cut == data.splitlines(keepends=True)
    assert len(cut) == 5
