from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from blendlake import TOKENIZER as BLEND_TOKENIZER
from blendlake import Blend
from talklake import BYTES, row, started
from testkit import SHELVES, Mill, make_documents

from gristmill.lake.ledger.files import as_json, read_ledger
from gristmill.pipeline.dry_run import Prospects, survey_steps
from gristmill.pipeline.indexes import MixIndexes
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.mixing.step import stream_step
from gristmill.stages.tagging.step import TaggingStep
from gristmill.stages.tokenization.files import ledger_path, read_tokenizer

V0, WORDS = "sources/pages/v0/documents", "sources/pages/v0/attributes/words-1"


def states(mill: Mill) -> dict[str, str]:
    """What would become of v0 and of one set on it."""
    found = survey_steps([mill.conversion(), mill.tagging("words-1")], mill.store)
    return {each.asset: each.state for each in found}


def test_what_would_be_made_first_is_followed_and_what_is_finished_is_left(mill: Mill) -> None:
    mill.raw_shards(2)
    assert states(mill) == {V0: "make", WORDS: "follow"}
    mill.convert()
    assert states(mill) == {V0: "finished", WORDS: "make"}
    mill.tag("words-1")
    assert states(mill) == {V0: "finished", WORDS: "finished"}
    mill.raw("b.jsonl.gz", make_documents(1, start=100))
    assert states(mill) == {V0: "make", WORDS: "follow"}


def test_what_lacks_its_input_is_wrong_and_what_reads_it_waits(mill: Mill) -> None:
    assert states(mill) == {V0: "wrong", WORDS: "wait"}
    prospects = Prospects(mill.store)
    prospects.step(mill.conversion())
    (waiting,) = prospects.step(mill.tagging("words-1"))
    assert waiting.why == (f"for {V0}",)


@pytest.mark.parametrize(
    ("was_draft", "is_draft", "state"),
    [(False, False, "refused"), (False, True, "refused"), (True, False, "refused"), (True, True, "make")],
)
def test_a_recipe_that_changed_under_its_name_is_refused_unless_both_are_drafts(
    mill: Mill, state: str, *, was_draft: bool, is_draft: bool
) -> None:
    mill.raw_shards(1)
    mill.convert()
    before = replace(mill.tagging("words-1").taggers[0], draft=was_draft)
    here = TaggingStep("pages", "v0", "2024", (before,), SHELVES)
    mill.tag("words-1")
    head = read_ledger(mill.store, mill.attributes("words-1"))[0]
    recipe = before.recipe
    mill.store.put(mill.attributes("words-1").ledger, as_json(msgspec.structs.replace(head, recipe=recipe)))
    assert Prospects(mill.store).step(here)[0].state == "finished"
    changed = replace(before, parameters={"other": 1}, draft=is_draft)
    (found,) = Prospects(mill.store).step(replace(here, taggers=(changed,)))
    assert found.state == state
    assert "other" in found.why[0]


def test_a_draft_that_is_sealed_and_changed_in_one_step_is_told_though_its_input_is_made_first(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    stream = Stream(source="pages", version="v0", rate=0.5)
    draft = Mix(name="blend", streams=(stream,), draft=True)
    mill.make(stream_step(draft, "pages", "2024", SHELVES))
    mill.raw("b.jsonl.gz", make_documents(1, start=100))
    sealed = replace(draft, streams=(replace(stream, rate=0.75),), draft=False)
    found = survey_steps([mill.conversion(), stream_step(sealed, "pages", "2024", SHELVES)], mill.store)
    assert [each.state for each in found] == ["make", "refused"]
    assert "rate" in found[1].why[0]
    assert "or mark the recipe draft=True until this is made, and seal it then" in found[1].why[0]
    found = survey_steps(
        [mill.conversion(), stream_step(replace(draft, draft=False), "pages", "2024", SHELVES)], mill.store
    )
    assert [each.state for each in found] == ["make", "follow"]  # sealed alone


@pytest.mark.slow
def test_a_tokenizer_waits_for_a_person_and_one_that_was_damaged_or_changed_is_told_apart(
    mill: Mill, tmp_path: Path
) -> None:
    assert Prospects(mill.store).tokenizer(BYTES).state == "wait"
    store = started(tmp_path / "talk", *(row(number, {}) for number in range(4))).store

    def state(tokenizer: Tokenizer) -> str:
        return Prospects(store).tokenizer(tokenizer).state

    larger = replace(BYTES, training=Training(mix="talk", snapshots={"pages": ("2024",)}, vocabulary=300))
    assert (state(BYTES), state(larger), state(replace(larger, draft=True))) == ("finished", "refused", "refused")
    ledger = read_tokenizer(store, BYTES.name)[0]
    draft = msgspec.structs.replace(ledger, recipe=msgspec.structs.replace(ledger.recipe, draft=True))
    store.put(ledger_path(BYTES.name), as_json(draft))
    assert (state(BYTES), state(larger), state(replace(larger, draft=True))) == ("finished", "refused", "wait")
    (path,) = (entry.path for entry in store.list("tokenizers/") if entry.path.endswith("tokenizer.json"))
    store.put(path, b"{}")
    assert state(BYTES) == "wrong"


@pytest.mark.slow
def test_a_share_that_is_too_small_for_its_tokens_refuses_one_index_and_not_the_whole_plan(mill: Mill) -> None:
    weights = {"pages": 1.0, "notes": 1.0}
    blend = Blend(mill, {}, weights)
    blend.write({"2024/a": range(3)}, count=3)
    blend.make("2024", tokens=True)
    mix = replace(blend, repeats={"pages": 1e9}).mix
    known = dict.fromkeys(weights, ("2024",))
    indexes = MixIndexes(mix, [BLEND_TOKENIZER], {name: mill.source(name) for name in weights}, known)
    found = Prospects(mill.store).index(indexes, "token_caches/blend/bytes-1/index")
    assert found is not None
    assert found.state == "refused"
    assert "these streams get none: notes" in found.why[0]


def test_a_tokenizer_that_no_mix_uses_waits_for_a_person_and_names_the_command_and_the_job(mill: Mill) -> None:
    training = Training(mix="blend", snapshots={}, vocabulary=300)
    waiting = Prospects(mill.store).tokenizer(Tokenizer(name="own-bpe-1", training=training), needed=False)
    assert waiting.state == "wait"
    words = (
        "no mix uses it; `gristmill make LAKE tokenizers/own-bpe-1` makes it, or the job `own_bpe_1_train` in Dagster"
    )
    assert waiting.why == ("never made", words)
