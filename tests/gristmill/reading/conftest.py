from pathlib import Path

import pytest
from testkit import SHELVES, Mill, link, make_documents
from wholelake import even, make_whole

from gristmill.api import open_lake
from gristmill.reading.opened_lake import OpenedLake
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.tagger import Tagger
from gristmill.stages.mixing.index import write_mix_index
from gristmill.stages.tagging.step import TaggingStep


@pytest.fixture(scope="session")
def read_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole lake, and more: v1 has words-1 too, the mix its index, v0 a second snapshot with documents 0 to 9."""
    mill = make_whole(tmp_path_factory.mktemp("read-once") / "lake")
    mill.tag("words-1", version="v1")
    write_mix_index(mill.store, even(), {"pages": mill.source()}, {"pages": ["2024"]})
    mill.raw("a.jsonl.gz", make_documents(10), snapshot="2025")
    mill.convert(snapshot="2025")
    taggers = (find_recipe("taggers", Tagger, SHELVES, "words-1"),)
    mill.make(TaggingStep("pages", "v0", "2025", taggers, SHELVES))
    return mill.root


@pytest.fixture
def read_mill(read_once: Path, tmp_path: Path) -> Mill:
    """A copy of that lake for one test."""
    return Mill(link(read_once, tmp_path / "lake"))


@pytest.fixture
def opened(read_once: Path) -> OpenedLake:
    """That lake, opened; no test changes it."""
    return open_lake(str(read_once), {}, shelves=SHELVES)


@pytest.fixture
def own(read_mill: Mill) -> OpenedLake:
    """The copy, opened."""
    return open_lake(str(read_mill.root), {}, shelves=SHELVES)
