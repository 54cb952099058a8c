"""Labelled sets and models in Dagster: made by hand, with their measures; a new model asks for its own sets alone."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster_kit import SHELVES, Works, environment_of, letters
from remarks import PATH, remarks, start
from testkit import Mill
from ticking import Daemon, flat

from assets.models import folder_asset_of
from assets.support.keys import key_of
from assets.support.step_graphs import define_steps
from definitions import steps_of
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from resources.lake import lake_resource


def test_a_model_shows_its_measures_and_depends_on_its_labels(mill: Mill) -> None:
    known = start(mill)
    assets = [folder_asset_of(known.labels["remarks"], []), folder_asset_of(known.models["rude-1"], [])]
    model = key_of("models/rude-1")
    assert assets[1].asset_deps[model] == {key_of("labels/remarks")}
    with dg.DagsterInstance.ephemeral() as instance:
        resources = {"lake": lake_resource(environment_of(mill.root))}
        done = dg.materialize(assets, instance=instance, resources=resources)
        assert done.success
        event = done.asset_materializations_for_node("models__rude_1")[0]
    said = {name: value.value for name, value in event.metadata.items()}
    assert (said["auc"], said["this run"], said["made from"]) == (1.0, "made it", "labels/remarks")
    assert "data:image/svg+xml;base64," in str(said["thresholds and confusion"])
    assert "auc of the number of words" in said
    assert (next(iter(said)), list(said)[-1]) == ("auc", "this run")  # the measures come first


@pytest.mark.parametrize("name", ["rude-1", "listed-1"])
def test_only_the_sets_of_a_model_depend_on_it(mill: Mill, name: str) -> None:
    known = start(mill)
    graphs = define_steps(steps_of(known), known)
    deps = {key: above for graph in graphs for key, above in graph.asset_deps.items()}
    documents, model = (
        key_of("sources/notes/v0/documents"),
        {"rude-1": "models/rude-1", "listed-1": "models/list-1"}[name],
    )
    assert deps[key_of(f"sources/notes/v0/attributes/{name}")] == {documents, key_of(model)}


RUDE = "sources/letters/v1/attributes/rude-1"
LABELS, MODEL = "labels/remarks", "models/rude-1"


@pytest.fixture
def works(tmp_path: Path) -> Iterator[Works]:
    """Letters, and a tagger of them whose model nobody has trained."""
    shelves = (*SHELVES, "remarkshelf")
    known = read_catalogue(SHELVES)
    own = read_catalogue(shelves)
    taggers = {**known.taggers, "rude-1": own.taggers["rude-1"]}
    labels, models = {"remarks": own.labels["remarks"]}, {"rude-1": own.models["rude-1"]}
    known = Catalogue(known.sources, taggers, known.mixes, known.tokenizers, labels=labels, models=models)
    with dg.DagsterInstance.ephemeral() as instance:
        works = Works(tmp_path / "lake", instance, known, shelves=shelves)
        works.store.put(PATH, remarks())
        works.raw(letters(1, 2, 3))
        works.arrive("letters")
        yield works


def train(daemon: Daemon) -> None:
    """Labels and model are materialized by hand."""
    daemon.make({(LABELS, None), (MODEL, None)})


@pytest.mark.slow
def test_without_its_model_only_the_set_itself_fails_and_says_what_to_make(works: Works) -> None:
    done = works.run("letters_journey")
    assert not done.success
    assert RUDE not in done.made
    assert "sources/letters/v1/attributes/count-1" in done.made
    [said] = done.failures.values()
    assert f"{MODEL}: not there yet; make it: `gristmill make LAKE {MODEL}`, or materialize {MODEL} in Dagster" in said
    train(Daemon(works))
    again = works.run("letters_journey")
    assert again.success
    ledger = works.ledger(RUDE)
    assert ledger is not None
    assert ledger.totals["rows"] == 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Parameter `include_sources`:dagster.BetaWarning")  # Dagster's own
def test_by_itself_a_set_waits_for_its_model_and_does_not_wait_for_one_that_is_out_of_date(works: Works) -> None:
    daemon = Daemon(works)
    assert RUDE not in {address for address, _ in flat(daemon.settle())}
    assert daemon.tick() == set()
    train(daemon)
    assert flat(daemon.settle()) == [(RUDE, "2024")]
    version = {"dagster/data_version": "other"}
    works.instance.report_runless_asset_event(dg.AssetMaterialization(key_of(LABELS), tags=version))
    works.raw(letters(4, 5), snapshot="2025")
    works.arrive("letters")
    assert (RUDE, "2025") in flat(daemon.settle())
    assert daemon.tick() == set()
