"""An older copy of a blocklist is put over a newer one: what was taken down never comes back by itself."""

from dataclasses import replace

import pytest
from testkit import SHELVES, Mill, make_documents

from gristmill.execution.runner import Inline
from gristmill.lake.address import place
from gristmill.pipeline.make import Maker
from gristmill.pipeline.planner import Planner
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.mix import Mix, Stream

V0, MIXED = "sources/pages/v0/documents", "mixes/blend/documents/pages"
LIST, RECORD = "blocklists/takedowns.jsonl", "withdrawn/blocklists/takedowns.jsonl"
ENTRY = b'{"source":"pages","id":"doc-0000%d","reason":"asked"}\n'
LOST = f"{LIST}: it has lost 1 of the 2 entries that {RECORD} has: 'doc-00003' of 'pages'; if an older copy was put in"


@pytest.fixture
def catalogue() -> Catalogue:
    pages = replace(read_catalogue(SHELVES).sources["pages"], revisions=())
    mixes = {
        name: Mix(name=name, streams=(Stream(source="pages", version="v0", blocklists=("takedowns",)),))
        for name in ("blend", "other")
    }
    return Catalogue(sources={"pages": pages}, taggers={}, mixes=mixes, tokenizers={})


@pytest.fixture
def lake(mill: Mill, catalogue: Catalogue) -> Mill:
    """Ten documents, of which doc-00002 and doc-00003 are left out of two mixes."""
    mill.raw("a.jsonl.gz", make_documents(10))
    mill.store.put(LIST, ENTRY % 2 + ENTRY % 3)
    assert made(mill, catalogue).not_made == []
    return mill


def made(mill: Mill, catalogue: Catalogue) -> Maker:
    maker = Maker(Planner(catalogue, SHELVES, mill.lake), mill.lake, Inline(), mill.said.append)
    list(maker.run())
    return maker


def states(mill: Mill, catalogue: Catalogue) -> dict[str, tuple[str, str]]:
    found = Planner(catalogue, SHELVES, mill.lake).survey_all()
    return {f"{each.asset} {each.snapshot}": (each.state, "; ".join(each.why)) for each in found}


def test_plan_and_make_refuse_what_the_list_would_bring_back(lake: Mill, catalogue: Catalogue) -> None:
    lake.store.put(LIST, ENTRY % 2)
    found = states(lake, catalogue)
    for mix in ("blend", "other"):
        state, why = found[f"mixes/{mix}/documents/pages 2024"]
        assert (state, why.startswith(LOST)) == ("refused", True)
    before = lake.stamps()
    maker = made(lake, catalogue)
    assert {each.prospect.asset for each in maker.not_made if each.counts} >= {MIXED, "mixes/other/documents/pages"}
    assert lake.stamps() == before
    assert "doc-00003" not in lake.ids(lake.stream(), "a")
    lake.store.put(LIST, ENTRY % 3 + ENTRY % 2)
    assert {state for state, _ in states(lake, catalogue).values()} == {"finished"}


def test_a_new_snapshot_waits_for_the_list_and_is_told_before_anything_is_ground(
    lake: Mill, catalogue: Catalogue
) -> None:
    lake.store.put(LIST, ENTRY % 2)
    lake.raw("a.jsonl.gz", make_documents(10), snapshot="2025")
    assert states(lake, catalogue)[f"{MIXED} 2025"][0] == "refused"
    said = len(lake.said)
    made(lake, catalogue)
    told = lake.said[said:]
    assert [line for line in told if line.startswith(f"refused {MIXED}: {LOST}")] == told[:1]
    assert place(V0, "2025").ledger in lake.stamps()
    assert place(MIXED, "2025").ledger not in lake.stamps()
    lake.store.put(LIST, ENTRY % 2 + ENTRY % 3)
    assert made(lake, catalogue).not_made == []


def test_a_line_whose_document_is_still_to_come_is_known_once_make_has_seen_it(
    lake: Mill, catalogue: Catalogue
) -> None:
    older = lake.store.read(LIST)
    lake.store.put(LIST, older + b'{"source":"pages","id":"doc-00700","reason":"asked"}\n')
    assert made(lake, catalogue).made == 0
    lake.store.put(LIST, older)
    lake.raw("b.jsonl.gz", make_documents(1, start=700), snapshot="2025")
    assert "'doc-00700' of 'pages'" in states(lake, catalogue)[f"{MIXED} 2025"][1]


def test_a_lake_of_an_older_version_stays_finished_and_has_its_record_after_one_make(
    lake: Mill, catalogue: Catalogue
) -> None:
    lake.store.delete([RECORD])
    assert {state for state, _ in states(lake, catalogue).values()} == {"finished"}
    assert lake.store.head(RECORD) is None  # plan writes nothing
    assert made(lake, catalogue).made == 0
    assert lake.store.read(RECORD) == ENTRY % 2 + ENTRY % 3
