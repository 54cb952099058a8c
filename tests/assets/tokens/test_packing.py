"""Packing plans through Dagster, over a real token cache."""

import base64
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import dagster as dg
import numpy as np
import pytest
from dagster_kit import SHELVES, TINY_INDEX, TINY_LETTERS, Result, Works, letters

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import packing_stem
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.row_format import Format, Text
from gristmill.stages.packing.examples import examples_of
from gristmill.stages.packing.plans import read_plan
from gristmill.stages.token_cache.token_stream import TokenStream, open_split

PACKING = f"{TINY_INDEX}/packing"
OP = "token_caches__blend__tiny_1__index__packing"
STEM = packing_stem("blend", "tiny-1", "letters", "train", 8)
PACKED = Text(pack=2)


def catalogue_with(form: Format) -> Catalogue:
    """The recipes, with another format of the letters; how they are packed changes no token."""
    found = read_catalogue(SHELVES)
    blend = found.mixes["blend"]
    streams = (replace(blend.streams[0], format=form), *blend.streams[1:])
    return replace(found, mixes={**found.mixes, "blend": replace(blend, streams=streams)})


def pack(works: Works, length: int) -> Result:
    config = {"ops": {OP: {"config": {"length": length}}}}
    return works.run("__ASSET_JOB", None, only=[PACKING], config=config)


def facts(done: Result) -> dict[str, Any]:
    assert done.success, done.failures
    return done.metadata(PACKING)


def letters_row(found: dict[str, Any]) -> dict[str, Any]:
    return next(dict(record.data) for record in found["splits"].records if record.data["stream"] == "letters")


def train(works: Works) -> TokenStream:
    return open_split(works.store, TINY_LETTERS, "train")


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Works]:
    """A finished lake: letters of two to eight words, and nothing in the diary."""
    with dg.DagsterInstance.ephemeral() as instance:
        made = Works(tmp_path_factory.mktemp("works") / "lake", instance, catalogue_with(Text()))
        made.raw(letters(*range(2, 9)))
        made.know("2024")
        made.whole()
        yield made


@pytest.fixture
def packing(works: Works) -> Works:
    """The same lake, where letters are packed."""
    return Works(works.root, works.instance, catalogue_with(PACKED))


def test_a_stream_that_is_cut_into_windows_has_a_report_and_no_plan(works: Works) -> None:
    found = facts(pack(works, 5))
    tokens = train(works).count("input_ids")
    assert (found["sequence length"], found["rows"], found["tokens"]) == (5, 7, tokens)
    assert (found["sequences"], found["filled (%)"], found["padding"]) == (tokens // 5, 100.0, 0)
    assert letters_row(found)["sequences are"] == "windows"
    assert [entry.path.rpartition("/")[2] for entry in works.store.list(f"{PACKING}/")] == [
        "5.json",
        "diary-train-5.json",
        "letters-train-5.json",
    ]
    with pytest.raises(RecipeError, match="documents of format text are not packed"):
        read_plan(works.store, train(works), Text(), STEM.replace("-8", "-5"))


@pytest.mark.slow
def test_without_a_length_the_mixs_own_is_taken(packing: Works) -> None:
    blend = packing.catalogue.mixes["blend"]
    packing.load(
        replace(packing.catalogue, mixes={**packing.catalogue.mixes, "blend": replace(blend, sequence_length=11)})
    )
    assert facts(packing.run("__ASSET_JOB", None, only=[PACKING]))["sequence length"] == 11


def test_a_plan_is_read_back_and_gives_the_examples_that_planning_anew_gives(packing: Works) -> None:
    found = facts(pack(packing, 8))
    stream = train(packing)
    sizes = np.diff(stream.row_bounds("input_ids", 0, 7)).tolist()
    cut = sum(size > 8 for size in sizes)
    row = letters_row(found)
    assert (row["sequences are"], row["rows"], row["tokens"]) == ("packed", 7, sum(sizes))
    assert (row["rows cut"], row["tokens cut"]) == (cut, sum(max(size - 8, 0) for size in sizes))
    plan = read_plan(packing.store, stream, PACKED, STEM)
    assert int(plan.count.sum()) == 7
    ours = examples_of(stream, PACKED, 8, packed=plan)
    anew = examples_of(stream, PACKED, 8)
    assert len(ours) == len(anew) == row["sequences"]
    assert [ours[n].tokens.tolist() for n in range(len(ours))] == [anew[n].tokens.tolist() for n in range(len(anew))]
    filled = sum(min(size, 8) for size in sizes)
    assert row["filled (%)"] == pytest.approx(100 * filled / (8 * len(ours)), rel=1e-3)
    pairs = np.load(packing.root / f"{STEM}.npy", allow_pickle=False)
    assert (str(pairs.dtype), pairs.shape) == ("int64", (len(plan), 2))


@pytest.mark.slow
def test_the_histograms_are_drawings_within_the_metadata(packing: Works) -> None:
    found = facts(pack(packing, 8))
    for name in ("document lengths", "fill of sequences"):
        images = re.findall(r"!\[(.*)\]\(data:image/svg\+xml;base64,(.*)\)", found[name])
        assert [title for title, _ in images] == ["letters, train", "diary, train"]
        for _, data in images:
            assert ET.fromstring(base64.b64decode(data)).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.slow
def test_the_same_cache_gives_the_same_plan_and_rewrites_nothing(packing: Works) -> None:
    pack(packing, 8)
    version = packing.version(PACKING, None)
    stamps = {entry.path: entry.etag for entry in packing.store.list(f"{PACKING}/")}
    assert pack(packing, 8).success
    assert packing.version(PACKING, None) == version
    assert {entry.path: entry.etag for entry in packing.store.list(f"{PACKING}/")} == stamps


def test_a_plan_of_another_cache_or_format_and_a_damaged_one_are_refused(packing: Works) -> None:
    pack(packing, 8)
    stream = train(packing)
    with pytest.raises(DataError, match="made before the cache or its format changed"):
        read_plan(packing.store, stream, Text(pack=3), STEM)
    with pytest.raises(DataError, match="does not exist yet; materialize the cache's packing"):
        read_plan(packing.store, stream, PACKED, f"{STEM}0")
    whole = packing.store.read(f"{STEM}.npy")
    packing.store.put(f"{STEM}.npy", whole[:-8] + b"\x09" + whole[-7:])
    with pytest.raises(DataError, match=r"letters-train-8\.npy: missing, or not the file"):
        read_plan(packing.store, stream, PACKED, STEM)
    assert pack(packing, 8).success
    assert packing.store.read(f"{STEM}.npy") == whole
    plan = packing.store.read(f"{STEM}.json")
    packing.store.put(f"{STEM}.json", plan.replace(stream.sha256.encode(), b"0" * 64))
    with pytest.raises(DataError, match="made before the cache or its format changed"):
        read_plan(packing.store, stream, PACKED, STEM)


@pytest.mark.parametrize("length", [1, 1 << 25])
def test_a_length_out_of_bounds_is_refused_before_anything_is_read(works: Works, length: int) -> None:
    before = {entry.path for entry in works.store.list(f"{PACKING}/")}
    done = pack(works, length)
    assert not done.success
    assert f"the run configuration: length is {length}: Input should be" in next(iter(done.failures.values()))
    assert {entry.path for entry in works.store.list(f"{PACKING}/")} == before


def test_a_damaged_cache_fails_the_run_and_names_the_object(packing: Works) -> None:
    path = next(e.path for e in packing.store.list(f"{TINY_LETTERS}/") if e.path.endswith("input_ids/offsets/c/0"))
    whole = packing.store.read(path)
    packing.store.put(path, whole[:30] + bytes([whole[30] ^ 1]) + whole[31:])
    try:
        done = pack(packing, 8)
    finally:
        packing.store.put(path, whole)
    assert not done.success
    assert f"{path}: its sha256 is" in next(iter(done.failures.values()))


@pytest.mark.slow
def test_sync_forgets_plans_that_are_not_in_the_lake(packing: Works) -> None:
    pack(packing, 8)
    assert packing.version(PACKING, None) is not None
    packing.run("sync", None)
    assert packing.version(PACKING, None) is not None
    packing.store.delete([entry.path for entry in packing.store.list(f"{PACKING}/")])
    packing.run("sync", None)
    assert packing.version(PACKING, None) is None
