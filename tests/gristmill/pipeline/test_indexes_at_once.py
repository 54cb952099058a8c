"""A run lists the slices of an index, another run adds one and writes the index, and then the first goes on."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from steered import before
from testkit import SHELVES, SNAPSHOT, Mill, make_documents
from wholelake import TOKENIZER, even, make_whole

from gristmill.energon.recipes.exports import EnergonJsonl
from gristmill.errors import Conflict
from gristmill.lake.address import Place, export_asset, place
from gristmill.lake.ledger.index_ledger import changed_files, read_index_ledger
from gristmill.recipes.export import Export
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.export.index import index_export
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.index import Index, read_index, write_mix_index
from gristmill.stages.mixing.step import revision_step, stream_step
from gristmill.stages.tagging.step import TaggingStep
from gristmill.stages.token_cache.step import TokenCacheStep

LINES = Export(name="lines", mixes=("even",), format=EnergonJsonl(fields={"t": "text"}))
NEW = "2025"

Write = Callable[[Mill], Index]


def of_mix(mill: Mill) -> Index:
    return write_mix_index(mill.store, even(), {"pages": mill.source()}, {"pages": [SNAPSHOT]})


def of_cache(mill: Mill) -> Index:
    sources, known = {"pages": mill.source()}, {"pages": [SNAPSHOT]}
    return index_cache(mill.store, even(), TOKENIZER, sources, known, consolidated=True)


def of_export(mill: Mill) -> Index:
    return index_export(mill.store, even(), LINES, {"pages": mill.source()}, {"pages": [SNAPSHOT]})


def make_new(mill: Mill) -> None:
    """Everything of another snapshot, but for the indexes."""
    mill.raw("c.jsonl.gz", make_documents(20, start=100), snapshot=NEW)
    mill.convert(snapshot=NEW)
    mill.make(TaggingStep("pages", "v0", NEW, mill.tagging("words-1", "characters-1").taggers, SHELVES))
    mill.make(revision_step(mill.source(), "v1", NEW, SHELVES))
    mill.make(stream_step(even(), "pages", NEW, SHELVES))
    mill.make(TokenCacheStep(even(), "pages", TOKENIZER, NEW, SHELVES))
    mill.make(ExportStep(even(), "pages", LINES, NEW, SHELVES))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("write", "slice_there"),
    [
        pytest.param(of_mix, place("mixes/even/documents/pages", SNAPSHOT), id="mix"),
        pytest.param(of_cache, place("token_caches/even/tiny-1/pages", SNAPSHOT), id="cache"),
        pytest.param(of_export, place(export_asset("even", "lines", "pages"), SNAPSHOT), id="export"),
    ],
)
def test_an_index_that_another_run_wrote_meanwhile_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Write, slice_there: Place
) -> None:
    mill = make_whole(tmp_path / "lake")
    mill.make(ExportStep(even(), "pages", LINES, SNAPSHOT, SHELVES))
    read = mill.store.read_tagged
    left: list[dict[str, str]] = []

    def meanwhile(path: str) -> tuple[bytes, str] | None:
        found = read(path)
        if path == slice_there.ledger:
            monkeypatch.undo()
            make_new(mill)
            write(mill)
            left.append(mill.stamps())
        return found

    monkeypatch.setattr(mill.store, "read_tagged", meanwhile)
    with pytest.raises(Conflict, match=r"/index/ledger.json: another run wrote it meanwhile; run again$"):
        write(mill)
    now = {path: etag for path, etag in mill.stamps().items() if not path.endswith("/writing.json")}
    assert [now] == left
    index = write(mill)
    assert ([each.snapshot for each in index.slices], read_index(mill.store, index.asset)) == ([SNAPSHOT, NEW], index)
    assert [mill.stamps()] == left


CACHE_INDEX = "token_caches/even/tiny-1/index"
MOST = 60
"""Seconds that a run waits for the other one, at most."""


@pytest.mark.slow
def test_a_run_whose_files_another_one_has_written_over_does_not_end_well(tmp_path: Path) -> None:
    """The older run knows one slice, the newer one two. The older one writes between the files and the ledger of it."""
    newer = make_whole(tmp_path / "lake")
    of_cache(newer)
    older = Mill(newer.root)
    listed, goes_on = threading.Event(), threading.Event()

    def pause() -> None:
        listed.set()
        assert goes_on.wait(MOST)

    def let_older_end() -> None:
        goes_on.set()
        assert not wait([late], MOST).not_done

    before(older.store, "read_tagged", f"{CACHE_INDEX}/mixture.json", pause)
    before(newer.store, "put_if", f"{CACHE_INDEX}/ledger.json", let_older_end)
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(of_cache, older)
        try:
            assert listed.wait(MOST)
            make_new(newer)
            with pytest.raises(Conflict, match=r"/index/index.json: another run wrote it meanwhile; run again$"):
                of_cache(newer)
        finally:
            goes_on.set()
    with pytest.raises(Conflict, match=r"cache_catalog.json: another run wrote it meanwhile; run again$"):
        late.result()
    index = of_cache(newer)
    ledger = read_index_ledger(newer.store, f"{CACHE_INDEX}/ledger.json")
    assert ledger is not None
    assert [each.snapshot for each in index.slices] == [each.snapshot for each in ledger.inputs] == [SNAPSHOT, NEW]
    assert list(changed_files(newer.store, ledger)) == []
