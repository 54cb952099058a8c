"""Labelled sets and models in Dagster: made by hand, with their measures; a new model asks for its own sets alone."""

import dagster as dg
import pytest
from dagster_kit import environment_of
from remarks import start
from testkit import Mill

from assets.models import folder_asset_of
from assets.support.keys import key_of
from assets.support.step_graphs import define_steps
from definitions import steps_of
from resources.lake import lake_resource


def test_a_model_shows_its_measures_and_depends_on_its_labels(mill: Mill) -> None:
    known = start(mill)
    assets = [folder_asset_of(known.labels["remarks"]), folder_asset_of(known.models["rude-1"])]
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


@pytest.mark.parametrize("name", ["rude-1", "listed-1"])
def test_only_the_sets_of_a_model_depend_on_it(mill: Mill, name: str) -> None:
    known = start(mill)
    graphs = define_steps(steps_of(known))
    deps = {key: above for graph in graphs for key, above in graph.asset_deps.items()}
    documents, model = (
        key_of("sources/notes/v0/documents"),
        {"rude-1": "models/rude-1", "listed-1": "models/list-1"}[name],
    )
    assert deps[key_of(f"sources/notes/v0/attributes/{name}")] == {documents, key_of(model)}
