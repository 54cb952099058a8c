"""Exports in Dagster and by the commands: planned, made, proven, traced, collected and synced like other assets."""

import json
from typing import Any

import dagster as dg
import pytest
from dagster_kit import BLEND_LETTERS, EXPORTING, SHELVES, Works

from gristmill.__main__ import main
from gristmill.errors import RecipeError
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.lake.address import export_asset, export_index, place
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.store.open import Lake
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.export import Export, Oscar
from gristmill.stages.export.index import index_export
from gristmill.stages.export.release import read_release
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.step import stream_step

LETTERS = export_asset("blend", "oscar", "letters")
INDEX = export_index("blend", "oscar")
HERE = place(LETTERS, "2024")


def export(exporting: Works, token: str = "one") -> Ledger:
    """The slice of the letters."""
    step = ExportStep(
        exporting.catalogue.mixes["blend"], "letters", exporting.catalogue.exports["oscar"], "2024", EXPORTING
    )
    return make(step, Lake(str(exporting.root)), Inline(), token, print)[LETTERS]


def close(exporting: Works) -> str:
    """The index; the folder of its release."""
    mix, sources = exporting.catalogue.mixes["blend"], exporting.catalogue.sources
    by_stream = {stream.key: sources[stream.source] for stream in mix.streams}
    index_export(
        exporting.store, mix, exporting.catalogue.exports["oscar"], by_stream, {"letters": ["2024"], "diary": []}
    )
    release = read_release(exporting.store, INDEX)
    assert release is not None
    return release.folder


def parts(exporting: Works) -> list[str]:
    """The objects of the export's slice that have documents."""
    return sorted(entry.path for entry in exporting.store.list(HERE.folder) if entry.path.endswith(".gz"))


def change(exporting: Works) -> None:
    """Another shard `b` of the mix."""
    exporting.block("letter-5")
    step = stream_step(exporting.catalogue.mixes["blend"], "letters", "2024", SHELVES)
    make(step, Lake(str(exporting.root)), Inline(), "mixer", print)


def plan(exporting: Works, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    main(["plan", str(exporting.root), "--shelves", ",".join(EXPORTING), "--mix", "blend", "--all", "--json"])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {each["asset"]: each for each in found if each["snapshot"] in {"", "2024"}}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and output of a subcommand."""
    capsys.readouterr()
    code = main(list(arguments))
    return code, capsys.readouterr().out


@pytest.mark.slow
def test_plan_says_what_becomes_of_slice_and_index(exporting: Works, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(exporting, capsys)
    assert (found[LETTERS]["state"], found[LETTERS]["missing"], found[LETTERS]["why"]) == ("make", 2, ["never made"])
    assert (found[INDEX]["state"], found[INDEX]["why"]) == ("follow", [f"after {LETTERS}"])
    export(exporting)
    found = plan(exporting, capsys)
    assert (found[LETTERS]["state"], found[LETTERS]["kept"]) == ("finished", 2)
    assert (found[INDEX]["state"], found[INDEX]["why"]) == ("make", ["never made"])
    close(exporting)
    assert plan(exporting, capsys)[INDEX]["state"] == "finished"
    change(exporting)
    found = plan(exporting, capsys)
    assert (found[LETTERS]["state"], found[LETTERS]["kept"], found[LETTERS]["missing"]) == ("make", 1, 1)


def test_make_makes_slices_and_release_and_does_nothing_when_they_are_there(
    exporting: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("make", str(exporting.root), "--shelves", ",".join(EXPORTING), "mixes/blend")
    code, said = run(capsys, *asked)
    assert (code, f"{INDEX}: written (never made)" in said) == (0, True)
    before = {entry.path: entry.etag for entry in exporting.store.list("exports/")}
    assert run(capsys, *asked)[0] == 0
    assert before == {entry.path: entry.etag for entry in exporting.store.list("exports/")}


@pytest.mark.slow
def test_a_run_in_dagster_makes_them_too(exporting: Works) -> None:
    exporting.run("sync", None)
    done = exporting.refresh()
    assert done.success, done.failures
    assert done.checks[f"{LETTERS}:export_complete"].passed
    assert done.metadata(LETTERS)["dagster/row_count"] == 5
    done = exporting.run("blend_index", None)
    assert done.success, done.failures
    release = read_release(exporting.store, INDEX)
    assert release is not None
    assert done.metadata(INDEX)["release"] == f"{exporting.root}/{release.folder}"
    names = [entry.path.removeprefix(release.folder) for entry in exporting.store.list(release.folder)]
    assert sorted(names) == ["und/und.jsonl.gz", "und/und_sha256.txt"]


def test_verify_proves_ledger_objects_and_inputs(exporting: Works, capsys: pytest.CaptureFixture[str]) -> None:
    export(exporting)
    asked = ("verify", str(exporting.root), "--asset", "exports/blend")
    assert run(capsys, *asked) == (0, f"proven {HERE.ledger}\n1 of 1 ledgers proven, 0 findings\n")
    path = parts(exporting)[0]
    good = exporting.store.read(path)
    exporting.store.put(path, b"X" + good[1:])
    code, said = run(capsys, *asked)
    assert (code, f"{path}: its sha256 is" in said) == (1, True)
    exporting.store.delete([path])
    code, said = run(capsys, *asked)
    assert (code, f"{path}: there is no such object" in said) == (1, True)
    exporting.store.put(path, good)
    foreign = path.replace("und.jsonl.gz", "foreign")
    exporting.store.put(foreign, b"")
    code, said = run(capsys, *asked)
    assert (code, f"{foreign}: no ledger names this object" in said) == (1, True)
    exporting.store.delete([foreign])
    change(exporting)
    code, said = run(capsys, *asked)
    assert (code, f"made from {BLEND_LETTERS} (2024) as" in said) == (1, True)


def test_a_lost_ledger_is_a_finding_that_make_mends(exporting: Works, capsys: pytest.CaptureFixture[str]) -> None:
    export(exporting)
    exporting.store.delete([HERE.ledger])
    code, said = run(capsys, "verify", str(exporting.root), "--asset", LETTERS)
    assert (code, f"there is no ledger (run `python -m gristmill make {exporting.root} mixes/blend`)" in said) == (
        1,
        True,
    )


def last(done: tuple[int, str]) -> str:
    """The last line of a command that ended well, after a note on what no recipe makes."""
    assert done[0] == 0
    return done[1].splitlines()[-1]


def test_gc_removes_the_parts_and_the_releases_that_nobody_names(
    exporting: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    export(exporting)
    first = close(exporting)
    change(exporting)
    export(exporting, "two")
    second = close(exporting)
    nothing = "0 parts removed, 0 bytes"
    old = sorted({path.rpartition("/")[0] for path in parts(exporting)})
    assert len(old) == 3
    exporting.store.put("releases/first.json", json.dumps({"files": [first], "parts": old}).encode())
    removed = run(capsys, "gc", str(exporting.root))[1]
    assert "examples.json" in removed  # they show a document that the change put on a blocklist
    assert last(run(capsys, "gc", str(exporting.root))) == nothing
    exporting.store.delete(["releases/first.json"])
    exporting.store.put(f"{INDEX}/writing.json", b"{}")
    assert f"{INDEX}: a run writes its release" in run(capsys, "gc", str(exporting.root))[1]
    assert exporting.store.read(f"{first}und/und.jsonl.gz")
    exporting.store.delete([f"{INDEX}/writing.json"])
    assert run(capsys, "verify", str(exporting.root), "--asset", "exports/blend")[0] == 0
    ledger = exporting.store.read(f"{INDEX}/ledger.json")
    exporting.store.delete([f"{INDEX}/ledger.json"])
    lost = f"{INDEX}: its ledger is lost, so the release that it names is unknown: nothing of it is touched; make it"
    told = f"\n{lost}\n{nothing}; 1 left alone, as said above: run gc again later\n"
    code, said = run(capsys, "gc", str(exporting.root))
    assert (code, said.endswith(told)) == (0, True)
    assert exporting.store.read(f"{second}und/und.jsonl.gz")
    exporting.store.put(f"{INDEX}/ledger.json", ledger)
    code, said = run(capsys, "gc", str(exporting.root))
    assert (code, f"removed {first}: 2 objects" in said) == (0, True)
    assert [entry.path for entry in exporting.store.list(first)] == []
    assert exporting.store.read(f"{second}und/und.jsonl.gz")
    assert len({path.rpartition("/")[0] for path in parts(exporting)}) == 2
    assert last(run(capsys, "gc", str(exporting.root))) == nothing


@pytest.mark.slow
def test_sync_shows_slices_and_index(exporting: Works) -> None:
    ledger = export(exporting)
    close(exporting)
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(exporting.root, fresh, exporting.catalogue)
        assert other.run("sync", None).said == ["12 materializations reported, 1 raw snapshots"]
        assert other.materialized(LETTERS) == {"2024"}
        assert other.version(LETTERS) == ledger.fingerprint
        assert other.version(INDEX, None) is not None
        assert other.run("sync", None).said == ["0 materializations reported, 0 raw snapshots"]
        exporting.store.delete([HERE.ledger, f"{INDEX}/index.json"])
        other.run("sync", None)
        assert other.materialized(LETTERS) == set()
        assert other.version(INDEX, None) is None


@pytest.mark.slow
def test_trace_names_file_and_line_of_the_part_and_of_the_release(
    exporting: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("trace", str(exporting.root), "letters", "letter-5", "--shelves", ",".join(EXPORTING))
    assert json.loads(run(capsys, *asked, "--json")[1])["parts"] == []
    export(exporting)
    folder = close(exporting)
    [found] = json.loads(run(capsys, *asked, "--json")[1])["parts"]
    assert found["asset"] == LETTERS
    assert found["lines"] == [[f"{found['path']}und.jsonl.gz", 2], [f"{folder}und/und.jsonl.gz", 4]]
    assert f"  {folder}und/und.jsonl.gz: line 4\n" in run(capsys, *asked)[1]
    change(exporting)
    four = ("trace", str(exporting.root), "letters", "letter-4", "--shelves", ",".join(EXPORTING))
    due = "made from another version of this shard: it is due to be rebuilt"
    assert run(capsys, *four)[1].splitlines()[-1] == f"  {found['path']}: made from its shard; {due}"
    assert json.loads(run(capsys, *asked, "--json")[1])["parts"] == []  # the mix dropped it


def test_an_export_of_a_mix_that_is_on_no_shelf_is_refused(exporting: Works) -> None:
    known = exporting.catalogue
    odd = {"odd": Export(name="odd", mixes=("blind",), format=Oscar())}
    with pytest.raises(RecipeError, match="export 'odd' names the mix 'blind'"):
        Catalogue(known.sources, known.taggers, known.mixes, known.tokenizers, odd)
