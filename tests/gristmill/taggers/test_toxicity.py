"""The demo's tagger, with the model that the demo trains."""

from scriptrows import documents
from testkit import Mill

from gristmill.lake.asset_kinds import MODEL
from gristmill.recipes.catalogue import read_catalogue
from gristmill.stages.models.labels import make_labels
from gristmill.stages.models.local_copy import copy_models_locally
from gristmill.stages.models.training import make_model
from gristmill.taggers.toxicity import TOXICITY


def test_insults_have_higher_scores_than_neutral_sentences(mill: Mill) -> None:
    known = read_catalogue(("gristmill",))
    make_labels(mill.store, known.labels["rude-remarks"], mill.said.append)
    ledger, _ = make_model(mill.store, known.models["toxicity-1"], mill.said.append)
    tagger = TOXICITY.opened(copy_models_locally(mill.store, {"toxicity-1": ledger.fingerprint}))
    rude, plain = tagger.look(documents(["You are a stupid idiot.", "The train leaves at nine."]))["toxic"]
    assert rude > 0.5 > plain  # type: ignore[operator]
    assert ledger.asset == MODEL.at(model="toxicity-1")


def test_it_tags_the_sources_of_the_demo_alone() -> None:
    known = read_catalogue(("gristmill",))
    tagged = [
        name for name, source in known.sources.items() if TOXICITY in known.taggers_of_version(source, source.current)
    ]
    assert tagged == ["packages", "stdlib"]
