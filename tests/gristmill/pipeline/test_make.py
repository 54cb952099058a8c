from dataclasses import replace

import pytest
from testkit import SHELVES, Mill, Recorder, make_documents

from gristmill.errors import DataError, RecipeError
from gristmill.execution.runner import Inline
from gristmill.lake.ledger.model import Ledger
from gristmill.pipeline.make import Maker
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.mix import Mix, Stream

BOTH = Mix(name="pages", streams=(Stream(source="pages", version="v0"),))
"""A mix of the name of a source."""


@pytest.fixture
def catalogue() -> Catalogue:
    known = read_catalogue(SHELVES)
    return replace(known, mixes={**known.mixes, "pages": BOTH})


@pytest.fixture
def maker(mill: Mill, catalogue: Catalogue) -> Maker:
    return Maker(catalogue, SHELVES, mill.lake, Recorder(Inline()), mill.said.append)


def made(ledgers: list[Ledger]) -> list[tuple[str, str]]:
    return [(ledger.asset, ledger.snapshot) for ledger in ledgers]


def test_a_name_that_a_source_and_a_mix_have_needs_its_kind(mill: Mill, maker: Maker) -> None:
    mill.raw_shards(1)
    with pytest.raises(RecipeError, match="'pages' is both a source and a mix: write sources/pages or mixes/pages"):
        list(maker.named("pages"))
    with pytest.raises(RecipeError, match="'tokenizers/pages' is on no shelf"):
        list(maker.named("tokenizers/pages"))
    with pytest.raises(DataError, match="mix pages: no finished documents to select from"):
        list(maker.named("mixes/pages"))


def test_what_is_finished_is_surveyed_and_left_alone(mill: Mill, maker: Maker) -> None:
    mill.raw_shards(2)
    mill.convert()
    assert made(list(maker.mix(BOTH))) == [("mixes/pages/documents/pages", "2024")]
    assert mill.said[-1].startswith("mixes/pages/index")
    said = len(mill.said)
    before = mill.stamps()
    assert list(maker.mix(BOTH)) == []
    assert not [line for line in mill.said[said:] if line.startswith("mixes/")]
    assert mill.stamps() == before


def test_a_snapshot_that_is_not_finished_gives_a_mix_nothing(mill: Mill, maker: Maker) -> None:
    mill.raw_shards(1)
    mill.convert()
    mill.raw("a.jsonl.gz", make_documents(1), snapshot="2025")
    with pytest.raises(DataError, match="mix pages: no finished documents"):
        list(maker.mix(BOTH, ["2025"]))
    for name in ("mixes/pages", "sources/pages"):
        with pytest.raises(RecipeError, match=r"snapshot '2052': no source has .* there are pages: 2024, 2025"):
            list(maker.named(name, ["2025", "2052"]))
