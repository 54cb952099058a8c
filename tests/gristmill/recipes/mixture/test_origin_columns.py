"""Rules that read what the source of a stream or revision declares."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.errors import RecipeError
from gristmill.lake.ledger.model import Ledger
from gristmill.previews.slice_preview import SlicePreview
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Column, Rule, field, origin
from gristmill.recipes.selection import read_selection
from gristmill.recipes.source import Revision, Source
from gristmill.stages.mixing.step import MixingStep, stream_step

FREE = Rule("not-free", "licence = 'CC0-1.0'", "only free texts")


def source_of(mill: Mill, **options: Any) -> Source:
    return replace(mill.source(), **{"revisions": (), **options})


def mix_of(*columns: Column, rule: Rule = FREE, **options: Any) -> Mix:
    return Mix(
        name="blend", streams=(Stream(source="pages", version="v0", columns=columns, include=(rule,), **options),)
    )


def step_of(source: Source, mix: Mix) -> MixingStep:
    bound = Catalogue({source.name: source}, {}, {mix.name: mix}, {}).mixes[mix.name]
    return stream_step(bound, "pages", SNAPSHOT, SHELVES)


def made(mill: Mill, source: Source, mix: Mix) -> Ledger:
    """Made by a build, with the counts of a preview."""
    step = step_of(source, mix)
    ledger = mill.make(step)
    tally = SlicePreview(mill.store, step, {}).tally_rows(0)
    assert tally.kept.documents == ledger.totals["rows"]
    assert {reason: amount.documents for reason, amount in tally.dropped.items()} == ledger.dropped
    return ledger


@pytest.mark.parametrize(("licence", "rows"), [("CC0-1.0", 10), ("CC-BY-4.0", 0)])
def test_a_rule_keeps_a_source_by_its_licence(mill: Mill, licence: str, rows: int) -> None:
    mill.raw_shards(1)
    mill.convert()
    ledger = made(mill, source_of(mill, licence=licence), mix_of(origin("licence")))
    assert ledger.totals["rows"] == rows
    assert read_selection(msgspec.to_builtins(ledger.recipe.parameters)).parameters() == ledger.recipe.parameters


def test_a_licence_that_is_not_declared_is_refused_or_null_and_counted(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    with pytest.raises(RecipeError, match="stream 'pages' of source 'pages', column 'licence': the source declares no"):
        step_of(source_of(mill), mix_of(origin("licence")))
    ledger = made(mill, source_of(mill), mix_of(origin("licence", optional=True)))
    assert (ledger.totals["rows"], ledger.dropped) == (0, {"not-free": 10})
    assert ledger.totals["absent: licence"] == 10


def test_a_stream_may_say_its_language_itself(mill: Mill) -> None:
    english = Rule("english", "language = 'en' AND id != 'doc-00003'", "one language")
    mill.raw_shards(1)
    mill.convert()
    source = source_of(mill, language="de")
    columns = origin("language"), field("id")
    assert made(mill, source, mix_of(*columns, rule=english, language="en")).totals["rows"] == 9
    with pytest.raises(RecipeError, match="'English' is no tag"):
        replace(source, language="English")


def test_another_licence_is_another_recipe(mill: Mill) -> None:
    """A correction of the licence may change what is kept, so a mix that reads it needs a new name, or is a draft."""
    first, second = (step_of(source_of(mill, licence=each), mix_of(origin("licence"))) for each in ("A", "B"))
    assert first.recipe.digest != second.recipe.digest
    assert (
        step_of(source_of(mill, licence="A"), mix_of(field("id", name="licence"))).recipe
        == step_of(source_of(mill, licence="B"), mix_of(field("id", name="licence"))).recipe
    )


def test_a_revision_reads_its_own_source(mill: Mill) -> None:
    revision = Revision(version="v1", columns=(origin("terms"),), include=(Rule("terms", "terms != ''", "known"),))
    source = source_of(mill, terms="ask first", revisions=(revision,))
    assert source.revisions[0].columns[0].value == "ask first"
    with pytest.raises(RecipeError, match="revision 'v1', column 'terms': the source declares no terms"):
        source_of(mill, revisions=(revision,))


def test_a_mix_without_its_source_is_no_null(mill: Mill) -> None:
    mill.raw_shards(1)
    mill.convert()
    with pytest.raises(RecipeError, match="known only if mix and source are read together"):
        mill.make(stream_step(mix_of(origin("licence")), "pages", SNAPSHOT, SHELVES))
    with pytest.raises(RecipeError, match="the same for a whole source"):
        Mix(name="b", streams=mix_of(origin("licence")).streams, validation=0.1, validation_key=origin("licence"))
    with pytest.raises(RecipeError, match=r"no VARCHAR at 'origin\.author'"):
        origin("author")
