"""An index that lacks a finished slice: an older one was put back, or a run ended between the slice and the index."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from corruptions import KNOWN, close_everything
from lies import audit
from testkit import SHELVES, Mill, link, make_documents
from wholelake import TOKENIZER, even

from gristmill.__main__ import main
from gristmill.lake.address import place
from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import compose_index, content_digest, read_index_ledger
from gristmill.recipes.export import Export, Oscar
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.export.index import index_export
from gristmill.stages.mixing.index import write_mix_index
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.token_cache.step import TokenCacheStep
from gristmill.verification.audit import audit_ledger

pytestmark = pytest.mark.slow

OLDER = {"pages": ["2024"]}
LACKS = "it is behind by 1 slice (pages (2025)): finished, and not in it"
MIX_INDEX = "mixes/even/index"
CACHE_INDEX = "token_caches/even/tiny-1/index"


@pytest.fixture(scope="module")
def closed_once(made_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = link(made_once, tmp_path_factory.mktemp("behind") / "lake")
    close_everything(Mill(root))
    return root


@pytest.fixture
def mill(closed_once: Path, tmp_path: Path) -> Mill:
    """Two slices, all indexes, a consolidated copy and packing plans."""
    return Mill(link(closed_once, tmp_path / "lake"))


def behind(mill: Mill) -> dict[str, str]:
    """The ledgers of indexes with a finding on slices that are not in them."""
    return {finding.path: finding.what for finding in audit(mill)[0] if "it is behind" in finding.what}


@contextmanager
def before_2025(mill: Mill) -> Iterator[None]:
    """The lake as it was before the slices of 2025 were made: their ledgers are away."""
    away = [each for each in mill.root.rglob("2025.json") if "ledgers" in each.parts and "sources" not in each.parts]
    assert away
    for each in away:
        each.rename(each.with_suffix(".away"))
    yield
    for each in away:
        each.with_suffix(".away").rename(each)


def test_an_index_that_was_put_back_is_behind_and_so_are_copies_of_it(mill: Mill) -> None:
    assert behind(mill) == {}
    sources = {"pages": mill.source()}
    with before_2025(mill):
        write_mix_index(mill.store, even(), sources, OLDER)
    assert behind(mill) == {f"{MIX_INDEX}/ledger.json": LACKS}
    export = Export(name="oscar", mixes=("even",), format=Oscar())
    with before_2025(mill):
        index_cache(mill.store, even(), TOKENIZER, sources, OLDER, consolidated=True)
        index_export(mill.store, even(), export, sources, OLDER)
    named = [MIX_INDEX, CACHE_INDEX, f"{CACHE_INDEX}/consolidated", "exports/even/oscar/index"]
    assert behind(mill) == {f"{asset}/ledger.json": LACKS for asset in named}
    write_mix_index(mill.store, even(), sources, KNOWN)
    assert f"{MIX_INDEX}/ledger.json" not in behind(mill)


def test_verify_ends_with_the_indexes_that_are_behind(mill: Mill, capsys: pytest.CaptureFixture[str]) -> None:
    with before_2025(mill):
        write_mix_index(mill.store, even(), {"pages": mill.source()}, OLDER)
    assert main(["verify", str(mill.root), "--all", "--shelves", ",".join(SHELVES)]) == 1
    told, last = capsys.readouterr().out.splitlines()[-2:]
    assert told.startswith(f"WRONG: behind  {MIX_INDEX}/ledger.json: {LACKS} (")
    assert last.endswith(" 1 findings")


def left_out(mill: Mill) -> None:
    """The index says that it leaves the slice, as the index of a source of editions does."""
    with before_2025(mill):
        write_mix_index(mill.store, even(), {"pages": mill.source()}, OLDER)
    path = f"{MIX_INDEX}/index.json"
    data = as_json({**json.loads(mill.store.read(path)), "left": ["pages/2025"]})
    ledger = read_index_ledger(mill.store, f"{MIX_INDEX}/ledger.json")
    assert ledger is not None
    mill.store.put(path, data)
    digests = {path: content_digest(data, path, mill.store.url)}
    mill.store.put(f"{MIX_INDEX}/ledger.json", as_json(compose_index(ledger.asset, ledger.inputs, digests)))


def of_mix(mill: Mill, shelves: tuple[str, ...]) -> list[str]:
    return [
        each.what for each in audit_ledger(mill.store, f"{MIX_INDEX}/ledger.json", mill.said.append, shelves=shelves)
    ]


def test_an_index_cannot_call_the_newest_slice_left_out(mill: Mill) -> None:
    left_out(mill)
    mill.said.clear()
    assert of_mix(mill, SHELVES) == [LACKS]
    assert mill.said == []
    assert of_mix(mill, ()) == [LACKS, "it has 1 slice (pages (2024)) that its recipe does not take"]


def test_without_a_recipe_a_note_says_who_chose_the_newest_edition(mill: Mill) -> None:
    editions = {"pages": replace(mill.source(), snapshots="replace")}
    write_mix_index(mill.store, even(), editions, KNOWN)
    mill.said.clear()
    assert of_mix(mill, ()) == []
    note = "no recipe on the shelves says that it takes the newest slice alone of pages"
    assert mill.said == [f"{MIX_INDEX}: {note}"]
    assert of_mix(mill, SHELVES) == ["it is behind by 1 slice (pages (2024)): finished, and not in it"]


def test_an_edition_whose_documents_are_gone_is_finished_for_nobody(mill: Mill) -> None:
    """Its slice is there. `make` closes the index over the edition before, and `verify` asks for no other."""
    editions = {"pages": replace(mill.source(), snapshots="replace")}
    write_mix_index(mill.store, even(), editions, KNOWN)
    for ledger in mill.root.glob("sources/pages/*/ledgers/documents/2025.json"):
        ledger.unlink()
    mill.said.clear()
    assert of_mix(mill, ()) == []
    assert write_mix_index(mill.store, even(), editions, OLDER).left == ()
    assert of_mix(mill, ()) == []
    assert of_mix(mill, SHELVES) == []


def test_a_slice_of_what_a_stream_read_before_is_not_lacking(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(4), snapshot="2023")
    mill.convert(snapshot="2023")
    before = Mix(name="even", streams=(Stream(source="pages", version="v0"),))
    others = [place("mixes/even/documents/pages", snapshot).ledger for snapshot in ("2024", "2025")]
    beside = {path: mill.store.read(path) for path in others}
    mill.store.delete(others)  # else the new slice is refused beside them
    mill.make(stream_step(before, "pages", "2023", SHELVES))
    for path, data in beside.items():
        mill.store.put(path, data)
    mill.said.clear()
    assert of_mix(mill, SHELVES) == []
    assert of_mix(mill, ()) == ["it is behind by 1 slice (pages (2023)): finished, and not in it"]


def test_a_stream_that_the_recipe_has_not_is_a_finding_of_each_index(mill: Mill) -> None:
    others = (Rule("not-by-four", "number % 4 = 2", "a number that one can count by eye"),)
    wide = replace(even(), streams=(*even().streams, replace(even().streams[0], name="strange", include=others)))
    mill.make(stream_step(wide, "strange", "2024", SHELVES))
    mill.make(TokenCacheStep(wide, "strange", TOKENIZER, "2024", SHELVES))
    sources = {"pages": mill.source(), "strange": mill.source()}
    known = {**OLDER, "strange": ["2024"]}
    write_mix_index(mill.store, wide, sources, known)
    index_cache(mill.store, wide, TOKENIZER, sources, known)
    for asset in (MIX_INDEX, CACHE_INDEX):
        ledger = f"{asset}/ledger.json"
        told = [each.what for each in audit_ledger(mill.store, ledger, mill.said.append, shelves=SHELVES)]
        assert "it has 1 slice (strange (2024)) that its recipe does not take" in told
