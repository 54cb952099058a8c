"""A lake of pages that repeat each other, and runs of the dedupe recipes of the test shelf."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import orjson
from testkit import Mill

from gristmill.execution.runner import Inline
from gristmill.execution.work import Engine
from gristmill.lake.address import attributes_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.rows.shard_file import read_blocks, split_rows
from gristmill.pipeline.make import Maker
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.targets import read_targets
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.shelf import read_shelf
from gristmill.recipes.source import Source

SHELVES = ("gristmill", "testshelf", "dedupeshelf")


@cache
def known(
    snapshots: Literal["accumulate", "replace"] = "accumulate", scope: Literal["group", "source", "snapshot"] = "group"
) -> Catalogue:
    """The source `pages` in one version, and the recipes of the shelf; those that may have it with this scope."""
    sources = read_shelf("sources", Source, ("gristmill", "testshelf"))
    dedupes = read_shelf("dedupes", Dedupe, ("gristmill", "dedupeshelf"))
    mine = {name: each for name, each in dedupes.items() if set(each.versions) == {"pages"}}
    mine = {name: each if each.numbered else replace(each, scope=scope) for name, each in mine.items()}
    pages = replace(sources["pages"], revisions=(), snapshots=snapshots)
    return Catalogue({"pages": pages}, {}, {}, {}, dedupes=mine)


def put(mill: Mill, snapshot: str, name: str, *texts: str) -> None:
    """A raw object of pages with these texts; their ids are the name and a number."""
    rows = [{"id": f"{name}{number}", "text": text, "source": "pages"} for number, text in enumerate(texts)]
    mill.raw(f"{name}.jsonl.gz", rows, snapshot=snapshot)


def resolved(
    mill: Mill, *words: str, engine: Engine | None = None, catalogue: Catalogue | None = None
) -> list[tuple[str, str]]:
    """One run of some targets: the partitions that it made. Everything of it must succeed."""
    catalogue = catalogue or known()
    planner = Planner(catalogue, SHELVES, mill.lake, read_targets(catalogue, words))
    maker = Maker(planner, mill.lake, engine or Inline(), mill.said.append)
    made = [(ledger.asset, ledger.snapshot) for ledger in maker.run()]
    maker.raise_failures()
    return made


def labels(mill: Mill, name: str, snapshot: str) -> Mapping[str, Any]:
    """What each page of a snapshot has in a set: its labels without the name of the set, by id."""
    where = place(attributes_asset("pages", "v0", name), snapshot)
    rows: dict[str, Any] = {}
    for shard in read_ledger(mill.store, where)[1]:
        for block in read_blocks(mill.store, where.shard(shard.name), shard.sha256):
            for row in map(orjson.loads, split_rows(block)):
                rows[row["id"]] = {key.removeprefix(f"{name}__"): spans for key, spans in row["attributes"].items()}
    return rows
