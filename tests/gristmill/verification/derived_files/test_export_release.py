"""The release of an export that was forged and sealed again: samples that it leaves out, and its weights."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from testkit import Mill
from wholelake import even

from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import IndexWriter, read_index_ledger
from gristmill.recipes.export import Export
from gristmill.stages.export.index import index_export
from gristmill.stages.export.release import build_release, read_release, small_release_files, write_large_files
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.index import index_path, read_index, slices_as_inputs
from gristmill.verification.audit import audit_ledger

pytestmark = pytest.mark.slow

INDEX = "exports/even/tars/index"
LEDGER = f"{INDEX}/ledger.json"
SHELVES = ("gristmill", "testshelf")
TARS = Export(name="tars", mixes=("even",), format=EnergonWebdataset(parts={"txt": "text"}))


@pytest.fixture
def exported(whole: Mill, monkeypatch: pytest.MonkeyPatch) -> Mill:
    """The lake with an export to tars, whose recipe lies on a shelf."""
    monkeypatch.syspath_prepend(str(whole.root.parent))
    folder = whole.root.parent / "own_tars" / "exports"
    folder.mkdir(parents=True)
    for each in (folder.parent, folder):
        (each / "__init__.py").touch()
    imports = "from gristmill.recipes.export import Export\nfrom gristmill.energon.recipes.exports import *\n"
    (folder / "tars.py").write_text(f"{imports}TARS = {TARS!r}\n")
    whole.make(ExportStep(even(), "pages", TARS, "2024", SHELVES))
    index_export(whole.store, even(), TARS, {"pages": whole.source()}, {"pages": ["2024"]})
    whole.said.clear()
    return whole


def found(mill: Mill) -> Iterator[str]:
    shelves = (*SHELVES, "own_tars")
    yield from (str(each) for each in audit_ledger(mill.store, LEDGER, mill.said.append, shelves=shelves))


def forge(mill: Mill, *, excluded: tuple[str, ...] = (), weight: float = 1.0) -> None:
    """Writes the index with another release, which is right in itself."""
    index, old = read_index(mill.store, INDEX), read_index_ledger(mill.store, LEDGER)
    assert index is not None
    assert old is not None
    release = build_release(mill.store, INDEX, TARS.format, index.slices, {"pages": weight}, excluded)
    large = write_large_files(mill.store, release, TARS.format)
    writer = IndexWriter(mill.store, INDEX)
    for path, sha256 in large.items():
        writer.add(path, sha256)
    for path, data in {**small_release_files(release, TARS.format, large), index_path(INDEX): as_json(index)}.items():
        writer.put(path, data)
    made = writer.close(slices_as_inputs(index))
    mill.store.delete([path for path in old.files if path not in made.files])


def test_a_sample_that_nobody_excludes_is_found(exported: Mill) -> None:
    release = read_release(exported.store, INDEX)
    assert release is not None
    tar = next(file.path for file in release.named if file.path.endswith(".tar"))
    assert list(found(exported)) == []
    forge(exported, excluded=(f"{tar}/strange",))
    [finding] = found(exported)
    assert f"it leaves out {tar}/strange, unlike what its recipe and the blocklists exclude" in finding


def test_a_weight_that_the_shelf_does_not_say_is_told(exported: Mill) -> None:
    forge(exported, weight=7.0)
    assert list(found(exported)) == []
    assert exported.said == [
        f"{INDEX}/release.json: not proven, recipe changed: the shelves have another value of weights"
    ]


def test_an_option_that_the_slices_were_not_made_with_is_found(exported: Mill) -> None:
    path = f"{INDEX}/release.json"
    release = read_release(exported.store, INDEX)
    assert release is not None
    data = as_json(release).replace(b'"parts":{"txt":"text"}', b'"parts":{"txt":"id"}')
    exported.store.put(path, data)
    writer, old = IndexWriter(exported.store, INDEX), read_index_ledger(exported.store, LEDGER)
    assert old is not None
    for each, digest in old.files.items():
        writer.add(each, digest)
    writer.put(path, data)
    writer.close(old.inputs)
    assert any("its format is not that of its slices" in each for each in found(exported))


def test_a_weight_that_a_recipe_gives_as_a_whole_number_is_no_finding(exported: Mill) -> None:
    mix = replace(even(), streams=(replace(even().streams[0], weight=1),))
    index_export(exported.store, mix, TARS, {"pages": exported.source()}, {"pages": ["2024"]})
    assert b'"weights":{"pages":1}' in exported.store.read(f"{INDEX}/release.json")
    assert list(found(exported)) == []
