"""A carried set as an asset: the journey of a source makes it after both versions."""

from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from testkit import SHELVES, SNAPSHOT, Mill

from definitions import build
from gristmill.environment import read_environment
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Revision
from gristmill.recipes.tagger import Tagger

CARRIED = "sources/pages/v1/attributes/carried-words-1"
SECOND = Edit(spans="words-1__first", replacement="|||", least=0.5)


@pytest.mark.slow
def test_the_journey_of_a_source_makes_carried_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mill = Mill(tmp_path)
    mill.raw_shards(2)
    monkeypatch.setenv("GRISTMILL_LAKE", mill.lake.url)
    monkeypatch.setenv("GRISTMILL_SHELVES", ",".join(SHELVES))
    of = replace(mill.source("pages"), revisions=(Revision(version="v1", edits=(SECOND,), carry=("words-1",)),))
    recipes = Catalogue({"pages": of}, {"words-1": find_recipe("taggers", Tagger, SHELVES, "words-1")}, {}, {})
    built = build(read_environment(), recipes)
    graph = built.resolve_asset_graph()
    above = graph.get(dg.AssetKey(CARRIED.split("/"))).parent_keys
    assert {key.to_user_string() for key in above} == {
        "sources/pages/v0/documents",
        "sources/pages/v0/attributes/words-1",
        "sources/pages/v1/documents",
    }
    instance = dg.DagsterInstance.ephemeral()
    instance.add_dynamic_partitions("snapshots/pages", [SNAPSHOT])
    done = built.resolve_job_def("pages_journey").execute_in_process(instance=instance, partition_key=SNAPSHOT)
    made = {
        str(event.asset_key and event.asset_key.to_user_string()): event
        for event in done.get_asset_materialization_events()
    }
    facts = made[CARRIED].materialization.metadata
    assert facts["spans dropped: touched by an edit"].value == 20
    assert "first" in str(facts["scores"].value)
