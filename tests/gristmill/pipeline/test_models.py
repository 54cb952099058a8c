"""Labels, model, attribute set: what is made when, and that a model made anew concerns its own sets alone."""

import hashlib
from dataclasses import replace

import pytest
from remarks import PATH, catalogue, planned, remarks, run, start
from testkit import SNAPSHOT, Mill, make_documents, notes

from gristmill.errors import RecipeError
from gristmill.pipeline.tokenizers import UNSEALED
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.models.labelled_set import Draw, LabelledSet
from gristmill.recipes.models.model import FastTextTraining
from gristmill.recipes.rules import Rule, score
from gristmill.stages.models.ledger import read_folder

RUDE, LISTED = "attributes/rude-1", "attributes/listed-1"


def scores(mill: Mill, name: str, label: str) -> dict[str, float]:
    place = mill.attributes(name, source="notes")
    rows = [row for shard in mill.table(place) for row in mill.rows(place.shard(shard))]
    return {row["id"]: row["attributes"][f"{name}__{label}"][0][2] for row in rows}


@pytest.mark.slow
def test_a_set_makes_its_model_and_the_labels_first_and_has_its_scores(mill: Mill) -> None:
    known = start(mill)
    order = list(planned(mill, known))
    assert order == ["documents", "labels/remarks", "models/rude-1", "models/list-1", RUDE, LISTED]
    states = planned(mill, known)
    assert states["models/rude-1"] == ("follow", ("after labels/remarks", "never made"))
    assert states[RUDE] == ("follow", ("after sources/notes/v0/documents", "after models/rude-1"))
    maker, made = run(mill, known)
    assert maker.not_made == []
    assert made == {"documents": 2, "rude-1": 2, "listed-1": 2}
    assert scores(mill, "listed-1", "listed") == {"n1": 1.0, "n2": 0.0}
    found = scores(mill, "rude-1", "rude")
    assert (found["n1"] > 0.9, found["n2"] < 0.1) == (True, True)
    assert {state for state, _ in planned(mill, known).values()} == {"finished"}
    shard = next(iter(mill.table(mill.attributes("rude-1", source="notes")).values()))
    model = read_folder(mill.store, "models/rude-1")
    assert [(i.asset, i.shard, i.content) for i in shard.inputs[1:]] == [("models/rude-1", "model", model.fingerprint)]


@pytest.mark.slow
def test_a_model_made_anew_makes_its_own_sets_stale_and_no_others(mill: Mill) -> None:
    known = start(mill)
    run(mill, known)
    data = remarks(60)
    mill.store.put(PATH, data)
    known.labels["remarks"] = replace(known.labels["remarks"], sha256=hashlib.sha256(data).hexdigest())
    states = planned(mill, known)
    assert {asset for asset, (state, _) in states.items() if state != "finished"} == {"labels/remarks"}
    assert states["labels/remarks"][0] == "wait"  # by hand only
    maker, made = run(mill, known, "labels/remarks")
    assert (maker.made, made) == (1, {})
    assert planned(mill, known)["models/rude-1"][1][0].startswith("labels/remarks changed")
    maker, made = run(mill, known, "models/rude-1")
    assert (maker.made, made) == (1, {})
    stale = {asset: why for asset, (state, why) in planned(mill, known).items() if state != "finished"}
    assert list(stale) == [RUDE]
    assert "models/rude-1 changed" in stale[RUDE][0]
    assert run(mill, known)[1] == {"rude-1": 2}


@pytest.mark.slow
def test_when_the_mark_of_a_draft_is_removed_the_ledger_says_so_and_the_files_stay(mill: Mill) -> None:
    known = start(mill)
    final = replace(known.models["rude-1"], draft=False)
    known.models["rude-1"] = replace(final, draft=True)
    run(mill, known)
    draft = read_folder(mill.store, "models/rude-1")
    assert draft.recipe.draft
    known.models["rude-1"] = final
    due = {asset: why for asset, (state, why) in planned(mill, known).items() if state != "finished"}
    assert due == {"models/rude-1": (UNSEALED,)}
    run(mill, known)
    now = read_folder(mill.store, "models/rude-1")
    assert (now.recipe.draft, now.files, now.fingerprint) == (False, draft.files, draft.fingerprint)
    assert {state for state, _ in planned(mill, known).values()} == {"finished"}


@pytest.mark.slow
def test_what_is_no_draft_is_kept_and_another_recipe_refused(mill: Mill) -> None:
    known = start(mill)
    known.models["rude-1"] = replace(known.models["rude-1"], draft=False)
    run(mill, known)
    known.models["rude-1"] = replace(
        known.models["rude-1"], training=FastTextTraining(labels="remarks", positive="rude", dim=8, buckets=1000)
    )
    state, why = planned(mill, known)["models/rude-1"]
    assert (state, why[0].partition(";")[0]) == ("refused", "the recipe changed: dim, epochs")
    maker, _ = run(mill, known, "models/rude-1")
    with pytest.raises(RecipeError, match="the recipe changed: dim, epochs"):
        maker.raise_failures()


def test_a_missing_model_fails_its_own_set_alone_and_says_what_makes_it(mill: Mill) -> None:
    known = start(mill)
    mill.store.delete(["inputs/words.txt"])
    maker, made = run(mill, known)
    assert made == {"documents": 2, "rude-1": 2}
    assert [(each.prospect.asset, each.prospect.state) for each in maker.not_made] == [
        ("models/list-1", "refused"),
        ("sources/notes/v0/attributes/listed-1", "wait"),
    ]
    assert "no file" in str(maker.not_made[0])


@pytest.mark.slow
def test_a_lost_file_of_a_model_is_told(mill: Mill) -> None:
    known = start(mill)
    run(mill, known)
    mill.store.delete(["models/rude-1/model.bin"])
    state, why = planned(mill, known)["models/rude-1"]
    assert (state, why[0].partition(";")[0]) == ("wrong", "models/rude-1/model.bin: lost")


def drawn_from(pages: str) -> Catalogue:
    """Labels drawn from the documents of both sources, whose documents the same model scores."""
    known, tests = catalogue(), read_catalogue(("testshelf",))
    places = {"rude": Draw(source="notes", snapshots=(SNAPSHOT,)), "calm": Draw(source="pages", snapshots=(SNAPSHOT,))}
    places["calm"] = replace(places["calm"], version=pages)
    labels = {"remarks": LabelledSet(name="remarks", drawn={label: (place,) for label, place in places.items()})}
    known.taggers["rude-1"] = replace(known.taggers["rude-1"], only=frozenset({"notes", "pages"}))
    known.taggers["words-1"] = tests.taggers["words-1"]
    stream = Stream(
        source="pages",
        version="v0",
        columns=(score("rude-1__rude", "rude"),),
        exclude=(Rule("rude", "rude > 0.5", "x"),),
    )
    del known.taggers["listed-1"], known.models["list-1"]
    sources = {name: tests.sources[name] for name in ("notes", "pages")}
    return replace(known, sources=sources, labels=labels, mixes={"calm": Mix(name="calm", streams=(stream,))})


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v0", "v1"])
def test_labels_are_drawn_before_their_own_model_scores_the_same_documents(mill: Mill, version: str) -> None:
    notes(mill, *(f"n{n} what a fool {n}" for n in range(40)))
    mill.raw("a.jsonl.gz", make_documents(40))
    known = drawn_from(version)
    order = list(planned(mill, known))
    assert order.index("labels/remarks") < order.index("models/rude-1") < order.index("attributes/rude-1")
    drawn, scored = f"sources/pages/{version}/documents", "sources/pages/v0/attributes/rude-1"
    assert order.index(drawn) < order.index("models/rude-1") < order.index(scored)
    assert order.index(scored) < order.index("mixes/calm/documents/pages")
    assert {state for state, _ in planned(mill, known).values()} == {"make", "follow"}
    maker, _ = run(mill, known)
    assert maker.not_made == []
    assert {state for state, _ in planned(mill, known).values()} == {"finished"}


def test_a_set_of_the_name_of_its_model_is_asked_for_by_all_its_addresses(mill: Mill) -> None:
    known = replace(drawn_from("v0"), mixes={})
    both = "sources/notes/v0/attributes/rude-1 sources/pages/v1/attributes/rude-1"
    with pytest.raises(RecipeError, match=f"both a model and an attribute set: write models/rude-1 or {both}$"):
        planned(mill, known, "rude-1")
    notes(mill, "n1 what a fool")
    assert planned(mill, known, *both.split())


def test_a_tagger_whose_model_is_on_no_shelf_says_how_to_declare_one() -> None:
    known = catalogue()
    with pytest.raises(
        RecipeError, match=r"the model 'rude-1', which is on no shelf; .*on the shelf models/, as Model"
    ):
        replace(known, models={"list-1": known.models["list-1"]})


def test_labels_that_wait_for_their_own_model_are_refused() -> None:
    known = drawn_from("v1")
    [revision] = known.sources["pages"].revisions
    circle = replace(revision, columns=(*revision.columns, score("rude-1__rude", "rude")))
    pages = replace(known.sources["pages"], revisions=(circle,))
    said = (
        "labelled set 'remarks' is drawn from pages/v1, whose rules read scores of a model that is trained on 'remarks'"
    )
    with pytest.raises(RecipeError, match=said):
        replace(known, sources={**known.sources, "pages": pages})
    replace(drawn_from("v0"), sources={**known.sources, "pages": pages})
