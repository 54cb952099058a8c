"""Why a document is not in a slice: each reason that there is, by the ledger's own rules."""

from pathlib import Path

import pytest
from testkit import SNAPSHOT, Mill, link, make_documents, put_list
from tracelake import BLOCKED, KNOWN, TAKEDOWN, even, make_trace_lake, where

from gristmill.errors import DataError, RecipeError
from gristmill.lake.address import place
from gristmill.recipes.mix import Stream
from gristmill.recipes.rules import Rule, field
from gristmill.tracing.trace import trace_document


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_trace_lake(tmp_path_factory.mktemp("traced") / "lake", even(validation=0.0)).root


@pytest.fixture
def mill(traced: Path, tmp_path: Path) -> Mill:
    return Mill(link(traced, tmp_path / "lake"))


def why(mill: Mill, number: int) -> list[str]:
    found = where(mill, number)
    return [each.why for each in (*found.documents[1:], *found.mixes)]


def test_the_rule_that_drops_a_row_is_named_with_the_values_that_it_saw(mill: Mill) -> None:
    assert why(mill, 5) == [
        "dropped by rule english: not (lang = 'en'); lang is 'fr'",
        "not in sources/pages/v1/documents either",
    ]
    assert why(mill, 6) == ["", "dropped by rule by-four: not (number % 4 = 0); number is 6"]
    assert why(mill, 8) == ["", ""]


def test_a_blocked_document_is_told_with_the_lists_own_reason(mill: Mill) -> None:
    assert why(mill, BLOCKED) == ["", "blocklist: takedowns: asked for by its author"]


def test_a_score_is_read_from_the_row_of_its_set(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw_shards(1)
    mill.convert()
    mill.tag("words-1")
    mill.revise()
    (found,) = trace_document(mill.store, "pages", "doc-00000", KNOWN)
    assert found.documents[1].why == "dropped by rule short: words_1__count < 2; words_1__count is 1.0"


def test_rows_that_a_draw_leaves_out_are_told_its_rate(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw("a.jsonl.gz", make_documents(30))
    mill.convert()
    mill.mix(Stream(source="pages", version="v0", rate=0.25, seed=7))
    kept = set(mill.ids(mill.stream(), "a"))
    for number in range(30):
        (found,) = trace_document(mill.store, "pages", f"doc-{number:05d}", KNOWN)
        (mixed,) = found.mixes
        assert mixed.why == ("" if f"doc-{number:05d}" in kept else "sampled out: rate 0.25, seed 7")
    assert 0 < len(kept) < 30


def test_a_rule_is_told_with_the_values_of_the_columns_that_it_reads_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw("a.jsonl.gz", [{"id": "one", "text": "word", "source": "pages"}])
    mill.convert()
    rule = Rule("other", "TEXT <> 'word' -- not id", "source and id are only named")
    columns = (field("id"), field("source"), field("text"))
    mill.mix(Stream(source="pages", version="v0", columns=columns, include=(rule,)))
    (found,) = trace_document(mill.store, "pages", "one", KNOWN)
    assert found.mixes[0].why == "dropped by rule other: not (TEXT <> 'word' -- not id); text is 'word'"


def test_a_value_too_long_to_read_is_cut(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    mill = Mill(tmp_path / "lake")
    mill.raw("a.jsonl.gz", [{"id": "long", "text": "word " * 1000, "source": "pages"}])
    mill.convert()
    rule = Rule("wordy", "text LIKE 'word%'", "it says one thing")
    mill.mix(Stream(source="pages", version="v0", columns=(field("text"),), exclude=(rule,)))
    (found,) = trace_document(mill.store, "pages", "long", KNOWN)
    assert found.mixes[0].why.startswith("dropped by rule wordy: text LIKE 'word%'; text is 'word word")
    assert len(found.mixes[0].why) < 140


def test_a_list_that_changed_since_is_taken_as_it_is_now_and_said_so(mill: Mill) -> None:
    put_list(mill.store, b"")
    assert why(mill, BLOCKED)[1].startswith("the rules keep it now: a blocklist has changed since")
    put_list(mill.store, TAKEDOWN.replace(b"author", b"heirs"))
    assert why(mill, BLOCKED)[1] == "blocklist: takedowns: asked for by its heirs"


def test_a_list_that_is_gone_is_an_error(mill: Mill) -> None:
    mill.store.delete(["blocklists/takedowns.jsonl"])
    with pytest.raises(RecipeError, match=r"blocklists/takedowns.jsonl"):
        why(mill, BLOCKED)


def test_what_was_selected_from_another_state_is_not_judged(mill: Mill) -> None:
    mill.raw("b.jsonl", b'{"id":"new","text":"one document more","source":"pages","metadata":{"language":"en"}}\n')
    mill.convert()
    (found,) = trace_document(mill.store, "pages", "new", KNOWN)
    assert found.documents[1].why == "made from another version of this shard: it is due to be rebuilt"
    mill.raw("d.jsonl", b'{"id":"newer","text":"and another","source":"pages"}\n')
    mill.convert()
    (found,) = trace_document(mill.store, "pages", "newer", KNOWN)
    assert found.documents[1].why == "has no shard d: it is due to be rebuilt"


def test_a_set_that_is_gone_is_an_error_that_names_it(mill: Mill) -> None:
    here = place("sources/pages/v0/attributes/words-1", SNAPSHOT)
    mill.store.delete([here.ledger])
    with pytest.raises(DataError, match=r"attributes/words-1: snapshot 2024 no longer exists"):
        where(mill, 5)
