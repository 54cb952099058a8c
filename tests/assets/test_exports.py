"""Exports in Dagster and by the commands: planned, made, proven, traced, collected and synced like other assets."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_kit import BLEND_LETTERS, SHELVES, Works, letters
from testkit import link

from gristmill.__main__ import main
from gristmill.errors import RecipeError
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.lake.address import export_asset, export_index, place
from gristmill.lake.ledger.model import Ledger
from gristmill.lake.store.open import Lake
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.export import Export, Oscar
from gristmill.stages.export.index import index_export
from gristmill.stages.export.release import read_release
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.step import stream_step

PACKAGES = (*SHELVES, "exportshelf")
LETTERS = export_asset("blend", "oscar", "letters")
INDEX = export_index("blend", "oscar")
HERE = place(LETTERS, "2024")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole lake of the letters, two shards of the mix; not to be changed."""
    root = tmp_path_factory.mktemp("whole") / "lake"
    with dg.DagsterInstance.ephemeral() as instance:
        made = Works(root, instance)
        made.raw(letters(1, 2, 3), "a")
        made.raw(letters(4, 5, 6), "b")
        made.arrive("letters")
        made.whole()
    return root


@pytest.fixture
def works(whole: Path, tmp_path: Path) -> Iterator[Works]:
    """That lake in links: a store puts another file in a file's place, and the etags stay."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield Works(link(whole, tmp_path / "lake"), instance, read_catalogue(PACKAGES))


def export(works: Works, token: str = "one") -> Ledger:
    """The slice of the letters."""
    step = ExportStep(works.catalogue.mixes["blend"], "letters", works.catalogue.exports["oscar"], "2024", PACKAGES)
    return make(step, Lake(str(works.root)), Inline(), token, print)[LETTERS]


def close(works: Works) -> str:
    """The index; the folder of its release."""
    mix, sources = works.catalogue.mixes["blend"], works.catalogue.sources
    by_stream = {stream.key: sources[stream.source] for stream in mix.streams}
    index_export(works.store, mix, works.catalogue.exports["oscar"], by_stream, {"letters": ["2024"], "diary": []})
    release = read_release(works.store, INDEX)
    assert release is not None
    return release.folder


def parts(works: Works) -> list[str]:
    """The objects of the export's slice that have documents."""
    return sorted(entry.path for entry in works.store.list(HERE.folder) if entry.path.endswith(".gz"))


def change(works: Works) -> None:
    """Another shard `b` of the mix."""
    works.block("letter-5")
    step = stream_step(works.catalogue.mixes["blend"], "letters", "2024", SHELVES)
    make(step, Lake(str(works.root)), Inline(), "mixer", print)


def plan(works: Works, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    main(["plan", str(works.root), "--shelves", ",".join(PACKAGES), "--mix", "blend", "--all", "--json"])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {each["asset"]: each for each in found if each["snapshot"] in {"", "2024"}}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and output of a subcommand."""
    capsys.readouterr()
    code = main(list(arguments))
    return code, capsys.readouterr().out


def test_plan_says_what_becomes_of_slice_and_index(works: Works, capsys: pytest.CaptureFixture[str]) -> None:
    found = plan(works, capsys)
    assert (found[LETTERS]["state"], found[LETTERS]["missing"], found[LETTERS]["why"]) == ("make", 2, ["never made"])
    assert (found[INDEX]["state"], found[INDEX]["why"]) == ("follow", [f"after {LETTERS}"])
    export(works)
    found = plan(works, capsys)
    assert (found[LETTERS]["state"], found[LETTERS]["kept"]) == ("finished", 2)
    assert (found[INDEX]["state"], found[INDEX]["why"]) == ("make", ["never made"])
    close(works)
    assert plan(works, capsys)[INDEX]["state"] == "finished"
    change(works)
    found = plan(works, capsys)
    assert (found[LETTERS]["state"], found[LETTERS]["kept"], found[LETTERS]["missing"]) == ("make", 1, 1)


def test_make_makes_slices_and_release_and_does_nothing_when_they_are_there(
    works: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("make", str(works.root), "--shelves", ",".join(PACKAGES), "mixes/blend")
    code, said = run(capsys, *asked)
    assert (code, f"{INDEX}: written (never made)" in said) == (0, True)
    before = {entry.path: entry.etag for entry in works.store.list("exports/")}
    assert run(capsys, *asked)[0] == 0
    assert before == {entry.path: entry.etag for entry in works.store.list("exports/")}


def test_a_run_in_dagster_makes_them_too(works: Works) -> None:
    works.run("sync", None)
    done = works.run("blend_letters_refresh")
    assert done.success, done.failures
    assert done.checks[f"{LETTERS}:export_complete"].passed
    assert done.metadata(LETTERS)["dagster/row_count"] == 5
    done = works.run("blend_index", None)
    assert done.success, done.failures
    release = read_release(works.store, INDEX)
    assert release is not None
    assert done.metadata(INDEX)["release"] == f"{works.root}/{release.folder}"
    names = [entry.path.removeprefix(release.folder) for entry in works.store.list(release.folder)]
    assert sorted(names) == ["und/und.jsonl.gz", "und/und_sha256.txt"]


def test_verify_proves_ledger_objects_and_inputs(works: Works, capsys: pytest.CaptureFixture[str]) -> None:
    export(works)
    asked = ("verify", str(works.root), "--asset", "exports/blend")
    assert run(capsys, *asked) == (0, f"proven {HERE.ledger}\n1 of 1 ledgers proven, 0 findings\n")
    path = parts(works)[0]
    good = works.store.read(path)
    works.store.put(path, b"X" + good[1:])
    code, said = run(capsys, *asked)
    assert (code, f"{path}: its sha256 is" in said) == (1, True)
    works.store.delete([path])
    code, said = run(capsys, *asked)
    assert (code, f"{path}: there is no such object" in said) == (1, True)
    works.store.put(path, good)
    foreign = path.replace("und.jsonl.gz", "foreign")
    works.store.put(foreign, b"")
    code, said = run(capsys, *asked)
    assert (code, f"{foreign}: no ledger names this object" in said) == (1, True)
    works.store.delete([foreign])
    change(works)
    code, said = run(capsys, *asked)
    assert (code, f"made from {BLEND_LETTERS} (2024) as" in said) == (1, True)


def test_a_lost_ledger_is_a_finding_that_make_mends(works: Works, capsys: pytest.CaptureFixture[str]) -> None:
    export(works)
    works.store.delete([HERE.ledger])
    code, said = run(capsys, "verify", str(works.root), "--asset", LETTERS)
    assert (code, f"there is no ledger (run `python -m gristmill make {works.root} mixes/blend`)" in said) == (1, True)


def test_gc_removes_the_parts_and_the_releases_that_nobody_names(
    works: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    export(works)
    first = close(works)
    change(works)
    export(works, "two")
    second = close(works)
    nothing = (0, "0 parts removed, 0 bytes\n")
    old = sorted({path.rpartition("/")[0] for path in parts(works)})
    assert len(old) == 3
    works.store.put("releases/first.json", json.dumps({"files": [first], "parts": old}).encode())
    assert run(capsys, "gc", str(works.root)) == nothing
    works.store.delete(["releases/first.json"])
    works.store.put(f"{INDEX}/writing.json", b"{}")
    assert f"{INDEX}: a run writes its release" in run(capsys, "gc", str(works.root))[1]
    assert works.store.read(f"{first}und/und.jsonl.gz")
    works.store.delete([f"{INDEX}/writing.json"])
    assert run(capsys, "verify", str(works.root), "--asset", "exports/blend")[0] == 0
    code, said = run(capsys, "gc", str(works.root))
    assert (code, f"removed {first}: 2 objects" in said) == (0, True)
    assert [entry.path for entry in works.store.list(first)] == []
    assert works.store.read(f"{second}und/und.jsonl.gz")
    assert len({path.rpartition("/")[0] for path in parts(works)}) == 2
    assert run(capsys, "gc", str(works.root)) == nothing


def test_sync_shows_slices_and_index(works: Works) -> None:
    ledger = export(works)
    close(works)
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(works.root, fresh, works.catalogue)
        assert other.run("sync", None).said == ["12 materializations reported, 1 raw snapshots"]
        assert other.materialized(LETTERS) == {"2024"}
        assert other.version(LETTERS) == ledger.fingerprint
        assert other.version(INDEX, None) is not None
        assert other.run("sync", None).said == ["0 materializations reported, 0 raw snapshots"]
        works.store.delete([HERE.ledger, f"{INDEX}/index.json"])
        other.run("sync", None)
        assert other.materialized(LETTERS) == set()
        assert other.version(INDEX, None) is None


def test_trace_names_file_and_line_of_the_part_and_of_the_release(
    works: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("trace", str(works.root), "letters", "letter-5", "--shelves", ",".join(PACKAGES))
    assert json.loads(run(capsys, *asked, "--json")[1])["parts"] == []
    export(works)
    folder = close(works)
    [found] = json.loads(run(capsys, *asked, "--json")[1])["parts"]
    assert found["asset"] == LETTERS
    assert found["lines"] == [[f"{found['path']}und.jsonl.gz", 2], [f"{folder}und/und.jsonl.gz", 4]]
    assert f"  {folder}und/und.jsonl.gz: line 4\n" in run(capsys, *asked)[1]
    change(works)
    four = ("trace", str(works.root), "letters", "letter-4", "--shelves", ",".join(PACKAGES))
    due = "made from another version of this shard: it is due to be rebuilt"
    assert run(capsys, *four)[1].splitlines()[-1] == f"  {found['path']}: made from its shard; {due}"
    assert json.loads(run(capsys, *asked, "--json")[1])["parts"] == []  # the mix dropped it


def test_an_export_of_a_mix_that_is_on_no_shelf_is_refused(works: Works) -> None:
    known = works.catalogue
    odd = {"odd": Export(name="odd", mixes=("blind",), format=Oscar())}
    with pytest.raises(RecipeError, match="export 'odd' names the mix 'blind'"):
        Catalogue(known.sources, known.taggers, known.mixes, known.tokenizers, odd)
