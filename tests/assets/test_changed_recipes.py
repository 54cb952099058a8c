"""What a recipe or a tokenizer's file that changed under its name starts, tick by tick, and what it does not."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from dagster_kit import (
    BLEND_LETTERS,
    COUNT_V0,
    COUNT_V1,
    LETTERS_V0,
    LETTERS_V1,
    MOODY_V1,
    TINY_LETTERS,
    Works,
    letters,
)
from ticking import Asked, Daemon

from gristmill.lake.ledger.files import as_json, list_ledgers, read_ledger
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.rules import Rule
from gristmill.recipes.tokenizer import Tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:Parameter `include_sources`:dagster.BetaWarning")  # Dagster's own

TOKENS = "tokenizers/tiny-1/tokenizer.json"


def load(works: Works, **shelves: Mapping[str, Any]) -> None:
    """The code is loaded again, with these recipes in the place of those of the same names."""
    known = works.catalogue
    names = ("sources", "taggers", "mixes", "tokenizers")
    works.load(Catalogue(**{name: {**getattr(known, name), **shelves.get(name, {})} for name in names}))


def slices(waves: list[Asked]) -> list[str]:
    """What was asked for, indexes left out, in order."""
    return sorted(address for wave in waves for address, snapshot in wave if snapshot)


def made_by_drafts(works: Works) -> None:
    """The ledgers of the lake say that drafts have made them."""
    for where in list_ledgers(works.store):
        head = read_ledger(works.store, where)[0]
        recipe = msgspec.structs.replace(head.recipe, draft=True)
        works.store.put(where.ledger, as_json(msgspec.structs.replace(head, recipe=recipe)))


@pytest.mark.slow
def test_a_changed_draft_rebuilds_what_it_touches_and_what_lies_below_once(daemon: Daemon) -> None:
    works = daemon.works
    made_by_drafts(works)
    source = works.catalogue.sources["letters"]
    rule = Rule("short", "words < 3", "two words say nothing either")
    draft = replace(source, draft=True, revisions=(replace(source.revisions[0], exclude=(rule,)),))
    load(works, sources={"letters": draft})
    assert slices(daemon.settle()) == sorted([LETTERS_V1, COUNT_V1, MOODY_V1, BLEND_LETTERS, TINY_LETTERS])
    assert works.ids(BLEND_LETTERS) == ["letter-3"]


@pytest.mark.slow
def test_a_draft_mix_that_holds_other_documents_out_is_spelled_anew(daemon: Daemon) -> None:
    works = daemon.works
    made_by_drafts(works)
    load(works, mixes={"blend": replace(works.catalogue.mixes["blend"], draft=True, validation=0.5)})
    assert slices(daemon.settle()) == [TINY_LETTERS]


@pytest.mark.slow
def test_a_changed_recipe_that_is_no_draft_is_refused_once_and_left_alone(daemon: Daemon) -> None:
    works = daemon.works
    before = works.fingerprint(COUNT_V1)
    load(works, taggers={"count-1": replace(works.catalogue.taggers["count-1"], parameters={"by": "white space"})})
    asked = daemon.tick()
    assert {(COUNT_V0, "2024"), (COUNT_V1, "2024")} <= asked
    daemon.make(asked, well=False)
    [run] = daemon.runs[-1:]
    words = "was made by another recipe of the same name: by was absent, is 'white space'"
    assert any(words in each for each in run.failures.values())
    assert works.fingerprint(COUNT_V1) == before
    assert [daemon.tick() for _ in range(3)] == [set(), set(), set()]


@pytest.mark.slow
def test_the_other_sets_of_the_version_are_made_although_one_is_refused(made: Works) -> None:
    works = made
    count, moody = works.fingerprint(COUNT_V1), works.fingerprint(MOODY_V1)
    load(works, taggers={"moody-1": replace(works.catalogue.taggers["moody-1"], parameters={"mood": "worse"})})
    works.raw(letters(1, 2, 3, 4, 5))
    works.arrive("letters")
    done = works.run("letters_journey")
    [(step, said)] = done.failures.items()
    assert step.endswith("commit_moody_1")
    assert said.startswith(
        f"{MOODY_V1} (2024) was made by another recipe of the same name: mood was absent, is 'worse'."
    )
    assert works.fingerprint(MOODY_V1) == moody
    assert works.fingerprint(COUNT_V1) != count


@pytest.mark.slow
def test_a_recipe_that_is_put_back_is_at_peace_again(daemon: Daemon) -> None:
    works = daemon.works
    good = works.catalogue.taggers["moody-1"]
    load(works, taggers={"moody-1": replace(good, parameters={"mood": "worse"})})
    daemon.make(daemon.tick(), well=False)
    load(works, taggers={"moody-1": good})
    assert slices(daemon.settle()) == [MOODY_V1]
    assert daemon.runs[-1].metadata(MOODY_V1)["shards ground"] == 0


@pytest.mark.slow
def test_a_tokenizer_file_that_was_edited_in_the_lake_is_refused_by_name_and_once(daemon: Daemon) -> None:
    works = daemon.works
    held = works.store.read(TOKENS)
    works.store.put(TOKENS, held.replace(b"ByteLevel", b"Whitespace", 1))
    works.raw(letters(1, 2, 3, 4))
    works.arrive("letters")
    asked = daemon.tick()
    assert (TINY_LETTERS, "2024") in asked
    daemon.make(asked, well=False)
    [said] = daemon.runs[-1].failures.values()
    assert said.startswith(f"{TOKENS}: changed under its name: its sha256 is not the one in tokenizers/tiny-1/ledger")
    assert "restore the file, or bring the other one as a tokenizer of the next number" in said
    assert works.ids(BLEND_LETTERS) == ["letter-2", "letter-3", "letter-4"]  # all that needs no tokenizer was made
    assert not [wave for wave in (daemon.tick() for _ in range(3)) if (TINY_LETTERS, "2024") in wave]
    [said] = works.run("tiny_1_train", None).failures.values()
    assert "changed under its name" in said
    works.store.put(TOKENS, held)
    assert works.refresh().success


def test_a_brought_tokenizer_is_the_file_that_the_recipe_pins(made: Works, tmp_path: Path) -> None:
    works = made
    origin = tmp_path / "tokenizer.json"
    origin.write_bytes(works.store.read(TOKENS))
    pinned = hashlib.sha256(origin.read_bytes()).hexdigest()
    brought = Tokenizer(name="brought-1", file=str(origin), sha256=pinned)
    load(works, tokenizers={"brought-1": brought})
    origin.write_bytes(b"{}")
    [said] = works.run("brought_1_train", None).failures.values()
    assert "the recipe says" in said
    origin.write_bytes(works.store.read(TOKENS))
    assert works.run("brought_1_train", None).success
    origin.write_bytes(b"{}")  # what the lake has is what counts from now on
    assert works.run("brought_1_train", None).success
    load(works, tokenizers={"brought-1": replace(brought, sha256=hashlib.sha256(b"{}").hexdigest())})
    [said] = works.run("brought_1_train", None).failures.values()
    assert "a tokenizer never changes: declare one of the next number" in said


def test_of_what_is_made_only_sets_of_the_current_version_and_what_they_need_are_kept_up(works: Works) -> None:
    graph = works.definitions.resolve_asset_graph()
    kept = {"/".join(k.path) for k in graph.get_all_asset_keys() if graph.get(k).automation_condition is not None}
    letters_ = {address for address in kept if address.startswith("sources/letters/")}
    assert letters_ == {LETTERS_V0, COUNT_V0, LETTERS_V1, COUNT_V1, MOODY_V1}  # moody-1 of v0: nobody reads it
