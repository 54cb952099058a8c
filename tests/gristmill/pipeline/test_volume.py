from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from testkit import SHELVES, Mill, make_documents

from gristmill.execution.runner import Inline
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_head, read_ledger
from gristmill.pipeline.make import Maker
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.targets import Targets, read_targets
from gristmill.pipeline.volume import Volume, bounds_of_recipe, source_of_address, volume_check_of_address
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.drift.bounds import Bounds
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, field
from gristmill.recipes.source import Revision

pytestmark = pytest.mark.slow

V0, V1, WORDS = "sources/pages/v0/documents", "sources/pages/v1/documents", "sources/pages/v1/attributes/words-1"
SLICE, INDEX = "mixes/blend/documents/pages", "mixes/blend/index"
ODD = Revision(
    version="v1",
    columns=(field("metadata.number", "BIGINT", name="n"),),
    exclude=(Rule("odd", "n % 2 = 1", "only the even ones"),),
)
BLEND = Mix(name="blend", streams=(Stream(source="pages", version="v1"),))


@dataclass
class Lake:
    """A lake with one source in two versions, one set and one mix, made by `gristmill make`."""

    mill: Mill
    catalogue: Catalogue

    def declare(self, **options: Any) -> None:
        """Gives the source other options."""
        pages = replace(self.catalogue.sources["pages"], **options)
        self.catalogue = replace(self.catalogue, sources={"pages": pages})

    def raw(self, snapshot: str, rows: int, start: int = 0) -> None:
        self.mill.raw("a.jsonl.gz", make_documents(rows, start=start), snapshot=snapshot)

    def planner(self, *words: str, snapshots: tuple[str, ...] = ()) -> Planner:
        targets = read_targets(self.catalogue, words, snapshots) if words else Targets()
        return Planner(self.catalogue, SHELVES, self.mill.lake, targets)

    def make(self, *words: str, snapshots: tuple[str, ...] = ()) -> Maker:
        self.mill.said.clear()
        maker = Maker(self.planner(*words, snapshots=snapshots), self.mill.lake, Inline(), self.mill.said.append)
        for _ in maker.run():
            pass
        return maker

    def made(self, asset: str, snapshot: str) -> int | None:
        """The rows of a published partition."""
        head = read_head(self.mill.store, place(asset, snapshot))
        return None if head is None else head.totals["rows"]

    @property
    def warnings(self) -> list[str]:
        return [line.removeprefix("warning: ") for line in self.mill.said if line.startswith("warning: ")]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Two snapshots of 10 and 12 rows are made."""
    known = read_catalogue(SHELVES)
    sources = {"pages": replace(known.sources["pages"], revisions=(ODD,))}
    taggers = {"words-1": known.taggers["words-1"]}
    lake = Lake(
        Mill(tmp_path / "lake"), Catalogue(sources=sources, taggers=taggers, mixes={"blend": BLEND}, tokenizers={})
    )
    lake.raw("2021", 10)
    lake.raw("2022", 12)
    lake.make()
    assert lake.warnings == []
    return lake


def errors(maker: Maker) -> dict[tuple[str, str], str]:
    return {
        (each.prospect.asset, each.prospect.snapshot): str(each.error or "; ".join(each.prospect.why))
        for each in maker.not_made
    }


def test_a_snapshot_below_half_is_made_with_a_warning(lake: Lake) -> None:
    lake.raw("2023", 5)
    maker = lake.make()
    assert (errors(maker), lake.made(V0, "2023")) == ({}, 5)
    [documents] = [line for line in lake.warnings if line.startswith(V0)]
    assert documents.startswith(f"{V0} (2023): volume: rows 5, level 11, 0.45 of it, expected 5.5 to 22")


def test_a_snapshot_like_those_before_has_no_warning(lake: Lake) -> None:
    lake.raw("2023", 11)
    assert (errors(lake.make()), lake.warnings) == ({}, [])


def test_the_second_snapshot_has_no_verdict(tmp_path: Path, lake: Lake) -> None:
    few = Lake(Mill(tmp_path / "few"), lake.catalogue)
    few.declare(bounds=Bounds(rows=(0.9, 1.1)))
    few.raw("2021", 100)
    few.raw("2022", 1)
    assert (errors(few.make()), few.warnings) == ({}, [])


def test_what_is_outside_of_bounds_is_not_published_and_what_follows_waits(lake: Lake) -> None:
    lake.declare(bounds=Bounds(rows=(0.5, 2.0)))
    lake.raw("2023", 5)
    maker = lake.make()
    found = errors(maker)
    assert found[V0, "2023"].startswith(f"{V0}: not published: volume: rows 5, level 11, 0.45 of it, allowed 5.5 to 22")
    assert "say accept='2023' in the recipe of source 'pages'" in found[V0, "2023"]
    assert found[V1, "2023"] == f"for {V0}"
    assert {asset: lake.made(asset, "2023") for asset in (V0, V1, SLICE)} == dict.fromkeys((V0, V1, SLICE))
    assert any(each.counts for each in maker.not_made)


def test_a_level_is_accepted_without_grinding_again(lake: Lake) -> None:
    lake.declare(bounds=Bounds(rows=(0.5, 2.0)))
    lake.raw("2023", 5)
    lake.make()
    lake.declare(accept="2023")
    before = lake.mill.stamps()
    assert (errors(lake.make()), lake.made(V0, "2023")) == ({}, 5)
    shard = place(V0, "2023").shard("a")
    assert lake.mill.stamps()[shard] == before[shard]
    lake.raw("2024", 4)
    lake.raw("2025", 5)
    assert errors(lake.make()) == {}
    lake.raw("2026", 11)  # the new level is 5
    assert "rows 11, level 5, 2.2 of it" in errors(lake.make())[V0, "2026"]


def test_old_partitions_stay_finished_when_bounds_and_accept_are_declared(lake: Lake) -> None:
    lake.declare(bounds=Bounds(rows=(0.99, 1.01), dropped={"*": 0.0}), accept="2022")
    maker = lake.make()
    assert (maker.made, errors(maker)) == (0, {})
    assert {each.state for each in lake.planner().survey_all()} == {"finished"}


@pytest.mark.parametrize(("most", "published"), [(0.5, 5), (0.49, None)])
def test_the_share_that_a_rule_drops_is_bound_from_the_first_snapshot_on(
    tmp_path: Path, lake: Lake, most: float, published: int | None
) -> None:
    first = Lake(Mill(tmp_path / "first"), lake.catalogue)
    first.declare(revisions=(replace(ODD, bounds=Bounds(dropped={"odd": most})),))
    first.raw("2021", 10)  # half of the numbers are odd
    found = errors(first.make())
    assert first.made(V1, "2021") == published
    if published is None:
        assert found[V1, "2021"].startswith(
            f"{V1}: not published: volume: rows dropped: odd 50.00%, allowed at most 49.00%"
        )


def test_a_vanished_snapshot_is_outside_of_no_bounds(lake: Lake) -> None:
    lake.declare(bounds=Bounds(rows=(0.9, 1.1)))
    volume = volume_check_of_address(lake.catalogue, V0, ["2021", "2022", "2023"])
    verdict = volume(lake.mill.store, place(V0, "2023"), [])
    assert (verdict.passed, verdict.description) == (True, "no shards: its raw data have vanished")


def test_partitions_of_another_recipe_are_not_compared(tmp_path: Path, lake: Lake) -> None:
    """Only a draft makes a snapshot beside those of another recipe."""
    draft = Lake(Mill(tmp_path / "draft"), lake.catalogue)
    draft.declare(draft=True)
    for year, rows in (("2021", 10), ("2022", 12)):
        draft.raw(year, rows)
    draft.make("sources/pages/v0/documents")
    draft.declare(select=r"gz$", bounds=Bounds(rows=(0.9, 1.1)))
    draft.raw("2023", 5)
    maker = draft.make("sources/pages/v0/documents", snapshots=("2023",))
    assert errors(maker) == {}
    assert [draft.made(V0, year) for year in ("2021", "2022", "2023")] == [10, 12, 5]


@dataclass
class Reads:
    """A store that names what is read of it."""

    store: Any
    paths: list[str]

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.store, name)

        def called(path: str, *arguments: Any, **options: Any) -> Any:
            self.paths.append(path)
            return method(path, *arguments, **options)

        return called if callable(method) else method


def test_a_check_reads_no_shard_and_at_most_five_ledgers(lake: Lake) -> None:
    for year in range(2023, 2031):
        lake.raw(str(year), 11)
    lake.make("sources/pages/v0/documents")
    last = place(V0, "2030")
    _, shards = read_ledger(lake.mill.store, last)
    store = Reads(lake.mill.store, [])
    verdict = volume_check_of_address(lake.catalogue, V0, [str(year) for year in range(1000, 9999)])(
        store, last, shards
    )
    assert verdict.metadata["compared with"] == "2025, 2026, 2027, 2028, 2029"
    assert store.paths == [place(V0, str(year)).ledger for year in range(2029, 2024, -1)]


def scored(lake: Lake, *, describes: bool = False, **bounds: Any) -> Callable[[str], Any]:
    """The verdict on the set of a snapshot."""
    taggers = {"words-1": replace(lake.catalogue.taggers["words-1"], bounds=Bounds(**bounds))}
    lake.catalogue = replace(lake.catalogue, taggers=taggers)

    def verdict(snapshot: str) -> Any:
        where = place(WORDS, snapshot)
        volume: Volume = volume_check_of_address(lake.catalogue, WORDS, ["2021", "2022", "2023"], describes=describes)
        return volume(lake.mill.store, where, read_ledger(lake.mill.store, where)[1])

    return verdict


def long_texts(lake: Lake, snapshot: str) -> None:
    """Ten documents of 40 words; those of the other snapshots have 1 to 5."""
    documents = [{**each, "text": " ".join(["word"] * 40)} for each in make_documents(10)]
    lake.mill.raw("a.jsonl.gz", documents, snapshot=snapshot)
    lake.make()


def test_scores_are_compared_where_columns_are_written(lake: Lake) -> None:
    long_texts(lake, "2023")
    plain = scored(lake)("2023")
    assert (plain.passed, "count 50%" in plain.metadata) == (True, False)  # nothing was described
    for key in ("2021", "2022"):
        scored(lake, describes=True)(key)
    found = scored(lake, describes=True)("2023")
    assert (found.passed, found.blocks) == (False, False)
    assert found.metadata["count 50%"].startswith("40, level ")


def test_a_bound_of_scores_describes_the_set_and_blocks(lake: Lake) -> None:
    long_texts(lake, "2023")
    found = scored(lake, scores={"count": 0.5})("2023")
    assert (found.passed, found.blocks) == (False, True)


def test_an_index_keeps_its_edition_if_the_new_one_is_below_half(lake: Lake) -> None:
    lake.declare(snapshots="replace")
    lake.make()
    kept = lake.mill.store.read(f"{INDEX}/index.json")
    lake.raw("2023", 4)
    maker = lake.make()
    assert lake.made(SLICE, "2023") == 2
    assert "edition 2023 has 2 rows, less than half of 5.5, the median of 2021, 2022" in errors(maker)[INDEX, ""]
    assert lake.mill.store.read(f"{INDEX}/index.json") == kept
    [planned] = [each for each in lake.planner().survey_all() if each.asset == INDEX]
    assert planned.state == "wrong"
    lake.declare(accept="2023")
    assert errors(lake.make()) == {}
    assert b'"2023"' in lake.mill.store.read(f"{INDEX}/index.json")


def test_an_index_that_has_its_small_edition_already_stays_finished(lake: Lake) -> None:
    lake.declare(snapshots="replace", accept="2023")
    lake.raw("2023", 4)
    lake.make()
    lake.declare(accept="")
    assert (lake.make().made, {each.state for each in lake.planner().survey_all()}) == (0, {"finished"})


def test_bounds_of_an_asset_are_those_of_the_recipe_that_makes_it(lake: Lake) -> None:
    rows, tokens = Bounds(rows=(0.1, 9.0)), Bounds(tokens=(0.5, 2.0), dropped={"*": 0.5})
    lake.declare(bounds=rows)
    lake.catalogue = replace(
        lake.catalogue, mixes={"blend": replace(BLEND, streams=(replace(BLEND.streams[0], bounds=tokens),))}
    )
    assert bounds_of_recipe(lake.catalogue, V0) == rows
    assert bounds_of_recipe(lake.catalogue, V1) is None
    assert bounds_of_recipe(lake.catalogue, WORDS) is None
    assert bounds_of_recipe(lake.catalogue, SLICE) == tokens
    assert bounds_of_recipe(lake.catalogue, "token_caches/blend/tiny-1/pages") == Bounds(tokens=(0.5, 2.0))
    assert source_of_address(lake.catalogue, SLICE) == source_of_address(lake.catalogue, V1) == "pages"
