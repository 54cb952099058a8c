from dataclasses import replace

import dagster as dg
import pytest
from dagster_kit import (
    COUNT_V0,
    COUNT_V1,
    JOURNEY,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    Result,
    Works,
    letter,
    letters,
)

from assets.support.keys import key_of
from definitions import steps_of
from gristmill.lake.address import place
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.models.fasttext import fasttext_tagger
from gristmill.recipes.models.labelled_set import Draw, LabelledSet
from gristmill.recipes.models.model import FastTextTraining, Model
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.source import Revision


@pytest.mark.slow
def test_one_set_alone_can_be_asked_for(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    assert works.run("letters_journey", only=[LETTERS_V0, COUNT_V0, LETTERS_V1]).success
    done = works.run("letters_journey", only=[COUNT_V1])
    assert done.success
    assert set(done.made) == {COUNT_V1}
    assert set(done.checks) == {f"{COUNT_V1}:row_alignment", f"{COUNT_V1}:volume"}
    assert works.ledger(MOODY_V1) is None
    rest = works.run("letters_journey", only=[MOODY_V1])
    assert set(rest.made) == {MOODY_V1}


@pytest.mark.slow
def test_a_failing_tagger_leaves_the_other_sets_and_is_named_with_shard_and_row(works: Works) -> None:
    works.raw([letter(1, "two words"), letter(2, "RAISE hell")])
    works.arrive("letters")
    done = works.run("letters_journey")
    assert not done.success
    assert set(done.made) == set(JOURNEY) - {MOODY_V1}
    assert works.ledger(MOODY_V1) is None
    [(step, said)] = done.failures.items()
    assert step == "sources__letters__v1__attributes.commit_moody_1"
    assert said.startswith(f"{MOODY_V1} (2024): ")
    assert f"{place(MOODY_V1, '2024').shard('a')}: tagger 'moody-1' on row 1 (id 'letter-2')" in said
    assert "LookupError: letter-2" in said


@pytest.mark.slow
def test_checks_that_automation_does_not_select_are_recorded_without_a_warning(works: Works) -> None:
    works.raw(letters(1, 2, 3))
    works.arrive("letters")
    assert works.run("letters_journey", only=[LETTERS_V0, COUNT_V0]).success
    selected = {dg.AssetCheckKey(key_of(LETTERS_V1), name) for name in ("ids_stable", "ids_unique", "volume")}
    done = (  # the daemon adds no check of the sets to these
        works.definitions.resolve_implicit_global_asset_job_def()
        .get_subset(asset_selection={key_of(LETTERS_V1), key_of(COUNT_V1)}, asset_check_selection=selected)
        .execute_in_process(instance=works.instance, partition_key="2024", raise_on_error=False)
    )
    result = Result(done.run_id, works.instance)
    assert (done.success, set(result.made)) == (True, {LETTERS_V1, COUNT_V1})
    found = result.checks[f"{COUNT_V1}:row_alignment"]
    assert (found.passed, found.blocking, found.partition) == (True, True, "2024")
    alone = dg.AssetCheckKey(key_of(COUNT_V1), "row_alignment")
    status = works.instance.event_log_storage.get_latest_asset_check_execution_by_key([alone])
    assert status[alone].status.value == "SUCCEEDED"
    assert [said for said in result.said if "not selected" in said] == []


def graphs(drawn: dict[str, str]) -> set[str]:
    """The graphs of the sets of `here/v0` and `there/v0`, each as the names of its sets.

    Args:
        drawn: by source, where the model of its classifier is drawn from. Each v1 is chosen by the classifier `near-1`.
    """
    known = read_catalogue(("dagshelf",))
    near = Revision(version="v1", columns=(score("near-1__good", "g"),), exclude=(Rule("poor", "g < 0.5", "x"),))
    sources = {name: replace(known.sources["letters"], name=name, revisions=(near,)) for name in drawn}
    places = {"near-1": "here/v0", **{f"{name}-1": place for name, place in drawn.items()}}
    other = {"bad": (Draw(source="there", snapshots=("b",)),)}
    labels, models, taggers = {}, {}, {"count-1": known.taggers["count-1"]}
    for name, (source, version) in ((name, each.split("/")) for name, each in places.items()):
        good = (Draw(source=source, version=version, snapshots=("a",)),)
        labels[name] = LabelledSet(name=name, drawn={"good": good, **other})
        models[name] = Model(name=name, training=FastTextTraining(labels=name, positive="good"))
        taggers[name] = fasttext_tagger(name, model=name, labels=("good",))
    columns = {name: (score(f"{name}-1__good", "g"), score("count-1__words", "words")) for name in drawn}
    poor = (Rule("poor", "g < 0.5 and words < 9", "x"),)
    streams = tuple(Stream(source=name, version="v0", columns=columns[name], exclude=poor) for name in drawn)
    known = Catalogue(sources, taggers, {"m": Mix(name="m", streams=streams)}, {}, labels=labels, models=models)
    every = [[output.address.split("/") for output in step.outputs] for step in steps_of(known)]
    return {
        " ".join(f"{each[1]}:{each[-1]}" for each in step) for step in every if step[0][2:4] == ["v0", "attributes"]
    }


def test_sets_are_made_apart_only_where_one_graph_would_wait_for_another_and_that_one_for_it() -> None:
    one_way = graphs({"here": "there/v1", "there": "there/v0"})
    assert one_way == {"here:count-1 here:near-1 here:here-1", "there:count-1 there:near-1 there:there-1"}
    round_ = graphs({"here": "there/v1", "there": "here/v1"})
    assert round_ == {f"{source}:{name}-1" for source in ("here", "there") for name in ("count", "near", source)}
    itself = graphs({"here": "here/v1", "there": "there/v0"})
    assert itself == {"here:count-1", "here:near-1", "here:here-1", "there:count-1 there:near-1 there:there-1"}
