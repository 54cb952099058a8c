"""Exports, of which no format exists: a row of the table of asset kinds and a recipe do for all but making them.

The partition here is made with what every stage uses to publish; nothing below knows of exports but the table.
"""

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
from gristmill.execution.commit import assemble, claim_and_plan, publish
from gristmill.execution.plan import Target, Want
from gristmill.execution.runner import Inline
from gristmill.execution.step import make
from gristmill.lake.address import export_asset, export_index, place
from gristmill.lake.identity import digest_of
from gristmill.lake.ledger.files import dump, read_ledger
from gristmill.lake.ledger.model import Input, Ledger, Recipe, Shard
from gristmill.lake.ledger.receipts import Receipt, leave_receipt
from gristmill.lake.store.hashing import sha256_of
from gristmill.lake.store.open import Lake
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.export import Export
from gristmill.stages.mixing.index import Index, Slice
from gristmill.stages.mixing.step import stream_step

PACKAGES = (*SHELVES, "exportshelf")
TARBALLS = export_asset("blend", "tarballs", "letters")
INDEX = export_index("blend", "tarballs")
HERE = place(TARBALLS, "2024")
RECIPE = Recipe("blend/tarballs/letters", 1, {"format": "energon"})


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
    """Publishes the slice of the letters: one part for each shard of the mix."""
    store = works.store
    head, shards = read_ledger(store, place(BLEND_LETTERS, "2024"))
    inputs = {f"part-{n:05d}": (Input(BLEND_LETTERS, s.name, s.content),) for n, s in enumerate(shards)}
    wants = tuple(Want(name, read) for name, read in inputs.items())
    partition, todo, _ = claim_and_plan(store, Target(HERE, RECIPE, (head.upstream,), wants), token)
    for want in todo:
        read = inputs[want.name][0]
        body = f"{read.shard} {read.content}".encode()
        path = f"{HERE.folder}{want.name}-{read.content[:8]}/data.tar"
        entry = store.put(path, body)
        sha256 = sha256_of(store, path)
        objects = {path: [sha256, len(body)]}
        row = Shard(
            name=want.name,
            rows=3,
            bytes=len(body),
            length=len(body),
            sha256=digest_of(objects),
            content=read.content,
            ids="",
            recipe=RECIPE.digest,
            inputs=inputs[want.name],
            extra={"objects": objects},
        )
        leave_receipt(store, HERE, Receipt(row, {path: entry.version}))
    return publish(store, partition, assemble(store, partition, lambda _: {}, {}))


def parts(works: Works) -> list[str]:
    """The objects of the export's slice."""
    return sorted(entry.path for entry in works.store.list(HERE.folder))


def change(works: Works) -> None:
    """Another shard `b` of the mix."""
    works.block("letter-5")
    mix_again(works)


def mix_again(works: Works) -> None:
    step = stream_step(works.catalogue.mixes["blend"], "letters", "2024", SHELVES)
    make(step, Lake(str(works.root)), Inline(), "mixer", print)


def close(works: Works, ledger: Ledger) -> None:
    """The export's index, in the form that all indexes have."""
    slices = (Slice("letters", "2024", ledger.fingerprint, ledger.totals),)
    index = Index(1, INDEX, digest_of(ledger.fingerprint), slices, (), (), ledger.totals)
    works.store.put(f"{INDEX}/index.json", dump(index))


def plan(works: Works, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    main(["plan", str(works.root), "--shelves", ",".join(PACKAGES), "--mix", "blend", "--source", "letters", "--json"])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return next(each for each in found if each["asset"] == TARBALLS)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and output of a subcommand."""
    capsys.readouterr()
    code = main(list(arguments))
    return code, capsys.readouterr().out


def test_plan_says_what_becomes_of_a_slice(works: Works, capsys: pytest.CaptureFixture[str]) -> None:
    missing = "export 'tarballs': no format 'energon' yet; known: none"
    found = plan(works, capsys)
    assert (found["snapshot"], found["state"], found["why"]) == ("2024", "wait", ["never made", missing])
    export(works)
    found = plan(works, capsys)
    assert (found["state"], found["kept"], found["why"]) == ("finished", 2, [])
    works.block("letter-5")
    found = plan(works, capsys)
    assert (found["state"], found["why"]) == ("wait", [f"after {BLEND_LETTERS}", missing])
    mix_again(works)
    found = plan(works, capsys)
    assert (found["state"], found["why"]) == ("wait", [f"{BLEND_LETTERS} changed", missing])


def test_who_is_asked_to_make_it_says_that_there_is_no_format(works: Works) -> None:
    with pytest.raises(RecipeError, match="no format 'energon' yet; known: none"):
        works.catalogue.exports["tarballs"].check_format()


def test_what_is_published_again_is_kept(works: Works) -> None:
    first = export(works)
    before = {path: works.store.read(path) for path in parts(works)}
    assert export(works, "two") == first
    change(works)
    assert export(works, "three") != first
    assert len(parts(works)) == 3  # one part anew; the old one is left to gc
    assert before.items() <= {path: works.store.read(path) for path in parts(works)}.items()


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
    foreign = path.replace("data.tar", "foreign")
    works.store.put(foreign, b"")
    code, said = run(capsys, *asked)
    assert (code, f"{foreign}: no ledger names this object" in said) == (1, True)
    works.store.delete([foreign])
    change(works)
    code, said = run(capsys, *asked)
    assert (code, f"made from {BLEND_LETTERS} (2024) as" in said) == (1, True)


def test_verify_finds_a_table_without_its_head_and_a_changed_table(
    works: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    export(works)
    head = works.store.read(HERE.ledger)
    works.store.put(HERE.ledger, head.replace(b'"rows":6', b'"rows":7'))
    code, said = run(capsys, "verify", str(works.root), "--asset", TARBALLS)
    assert (code, "totals is" in said) == (1, True)
    works.store.delete([HERE.ledger])
    code, said = run(capsys, "verify", str(works.root), "--asset", TARBALLS)
    assert (code, "there is no ledger (run the program again that wrote this export)" in said) == (1, True)


def test_gc_removes_the_parts_that_nobody_names(works: Works, capsys: pytest.CaptureFixture[str]) -> None:
    export(works)
    old = parts(works)[1]
    change(works)
    export(works, "two")
    named = [path for path in parts(works) if path != old]
    folder = old.removesuffix("data.tar")
    part = folder.rstrip("/").rpartition("/")[2]
    nothing = (0, "0 parts removed, 0 bytes\n")
    for mention in ("releases/first.json", f"{INDEX}/index.json"):
        works.store.put(mention, json.dumps({"parts": [part]}).encode())
        assert run(capsys, "gc", str(works.root)) == nothing
        works.store.delete([mention])
    works.store.put(HERE.claim, b"{}")
    code, said = run(capsys, "gc", str(works.root))
    assert (code, f"{TARBALLS} (2024): a run is at work there" in said, parts(works)) == (
        0,
        True,
        sorted([*named, old]),
    )
    works.store.delete([HERE.claim])
    code, said = run(capsys, "gc", str(works.root))
    assert (code, said.splitlines()[0]) == (0, f"removing {folder}: 1 objects, 34 bytes")
    assert parts(works) == named
    assert run(capsys, "gc", str(works.root)) == nothing


def test_sync_shows_slices_and_index(works: Works) -> None:
    ledger = export(works)
    close(works, ledger)
    with dg.DagsterInstance.ephemeral() as fresh:
        other = Works(works.root, fresh, works.catalogue)
        assert other.run("sync", None).said == ["12 materializations reported, 1 raw snapshots"]
        assert other.materialized(TARBALLS) == {"2024"}
        assert other.version(TARBALLS) == ledger.fingerprint
        assert other.version(INDEX, None) == digest_of(ledger.fingerprint)
        assert other.run("sync", None).said == ["0 materializations reported, 0 raw snapshots"]
        works.store.delete([HERE.ledger, f"{INDEX}/index.json"])
        other.run("sync", None)
        assert other.materialized(TARBALLS) == set()
        assert other.version(INDEX, None) is None


def test_trace_names_the_part_that_was_made_from_the_document_s_shard(
    works: Works, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("trace", str(works.root), "letters", "letter-4", "--shelves", ",".join(PACKAGES))
    assert json.loads(run(capsys, *asked, "--json")[1])["parts"] == []
    export(works)
    part = parts(works)[1].removesuffix("data.tar")
    assert json.loads(run(capsys, *asked, "--json")[1])["parts"] == [{"asset": TARBALLS, "path": part}]
    assert run(capsys, *asked)[1].splitlines()[-1] == f"  {part}: made from its shard"
    change(works)
    due = "made from another version of this shard: it is due to be rebuilt"
    assert run(capsys, *asked)[1].splitlines()[-1] == f"  {part}: made from its shard; {due}"
    blocked = ("trace", str(works.root), "letters", "letter-5", "--json", "--shelves", ",".join(PACKAGES))
    assert json.loads(run(capsys, *blocked)[1])["parts"] == []  # the mix dropped it


def test_an_export_of_a_mix_that_is_on_no_shelf_is_refused(works: Works) -> None:
    known = works.catalogue
    odd = {"odd": Export(name="odd", mixes=("blind",), format="energon")}
    with pytest.raises(RecipeError, match="export 'odd' names the mix 'blind'"):
        Catalogue(known.sources, known.taggers, known.mixes, known.tokenizers, odd)
    with pytest.raises(RecipeError, match="name at least one mix, each once"):
        Export(name="odd", mixes=("blend", "blend"), format="energon")
    with pytest.raises(RecipeError, match="lower-case letters"):
        Export(name="index", mixes=("blend",), format="energon")
