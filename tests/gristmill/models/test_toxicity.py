"""The demo's model: trained on sentences of its own, and asked about sentences of patterns that it never saw."""

from testkit import Mill

from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.models.labels import make_labels
from gristmill.stages.models.training import make_model


def test_the_demo_s_model_tells_insults_of_other_patterns(mill: Mill) -> None:
    known = read_catalogue(("gristmill",))
    labels, _ = make_labels(mill.store, known.labels["rude-remarks"], mill.said.append)
    assert {name: value for name, value in labels.facts.items() if name != "code"} == {
        "rows": 480,
        "labels": {"train": {"neutral": 180, "toxic": 180}, "held-out": {"neutral": 60, "toxic": 60}},
        "left out": {},
    }
    ledger, _ = make_model(mill.store, known.models["toxicity-1"], mill.said.append)
    assert ledger.facts["auc"] > max(0.95, ledger.facts["baseline"])
