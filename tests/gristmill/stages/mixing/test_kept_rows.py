"""What people see of bad input to a mix: each message names the file or stream, the row, and the mend."""

from collections.abc import Callable
from typing import Any

import pytest
from labelrows import write_labels
from streams import rule, stream
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.errors import GristmillError
from gristmill.lake.address import blocklist_path
from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import field, score
from gristmill.stages.mixing.index import write_mix_index
from gristmill.stages.mixing.step import stream_step

WORDS = score("words-1__count", name="words")
RULED = {"columns": (WORDS,), "include": rule("words > 0", "some")}
EDITED = {"edits": (Edit(spans="words-1__first", mask="*"),)}


def labelled(count: int, first: int = 10, span: tuple[int, int] = (0, 4)) -> Callable[[Mill], object]:
    """Writes shard b of the set anew: it has the documents 10 to 19."""
    labels = [{"words-1__first": [[*span, 1.0]], "words-1__count": 1.0} for _ in range(count)]
    return lambda mill: write_labels(mill, mill.attributes("words-1"), "b", labels, first=first)


def unmade(mill: Mill) -> None:
    mill.store.delete([mill.attributes("words-1").ledger])


def blocked(*rows: bytes) -> Callable[[Mill], object]:
    return lambda mill: mill.store.put(blocklist_path("takedowns"), b"\n".join(rows))


def close(mill: Mill, *streams: Stream) -> None:
    mix = Mix(name="blend", streams=streams)
    for each in streams:
        mill.make(stream_step(mix, each.key, SNAPSHOT, SHELVES))
    known = {each.key: [SNAPSHOT] for each in streams}
    write_mix_index(mill.store, mix, dict.fromkeys(known, mill.source()), known)


CASES: dict[str, tuple[Callable[[Mill], object] | None, dict[str, Any], tuple[str, ...]]] = {
    "a set that is missing": (unmade, RULED, ("sources/pages/v0/attributes/words-1", "2024")),
    "a short set": (labelled(9), RULED, ("shard b has 9 rows", "its documents 10", "make the set again")),
    "a long set": (labelled(11), RULED, ("shard b has 11 rows", "its documents 10", "make the set again")),
    "a set in another order": (
        labelled(10, first=11),
        RULED,
        ("words-1/2024/b.jsonl.gz: row 0: id 'doc-00011'", "has 'doc-00010'", "make this attribute set again"),
    ),
    "a set of another version": (
        labelled(10, span=(2, 99)),
        EDITED,
        ("documents/2024/b.jsonl.gz: row 0: words-1__first has a span [2, 99)", "text has 4", "it is of other texts"),
    ),
    "a rate that rounds to nothing": (None, {"rate": 1e-12}, ("rate is 1e-12", "give a larger one")),
    "a line of a blocklist that cannot be read": (
        blocked(b'{"source":"pages","id":"doc-00001","reason":"r"}', b'{"source":"pages"}'),
        {"blocklists": ("takedowns",)},
        ("blocklists/takedowns.jsonl", "row 1"),
    ),
    "rules that keep nothing": (
        None,
        {"columns": (WORDS,), "exclude": rule("words > 0", "long")},
        ("mix 'blend', stream 'pages': keeps no row of 20 (long: 20)", "correct the rules"),
    ),
}


def start(mill: Mill) -> None:
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_named_with_its_place_and_mend(mill: Mill, case: str) -> None:
    spoil, options, words = CASES[case]
    start(mill)
    if spoil:
        spoil(mill)
    with pytest.raises(GristmillError) as raised:
        close(mill, stream(**options))
    assert [each for each in words if each not in str(raised.value)] == [], str(raised.value)


def test_two_streams_with_one_document_are_named(mill: Mill) -> None:
    start(mill)
    with pytest.raises(GristmillError, match="doc-000") as raised:
        close(mill, stream(), stream(name="again", rate=0.5))
    assert "again" in str(raised.value)


NUMBER = field("metadata.number", "BIGINT", name="number")


@pytest.mark.parametrize("quotient", ["1 / (words - words)", "0 / (words - words)"])
def test_a_division_by_zero_is_larger_than_every_number(mill: Mill, quotient: str) -> None:
    start(mill)
    mill.mix(stream(columns=(WORDS,), include=rule(f"{quotient} > 1e300")))
    mill.mix(stream(name="null", columns=(WORDS,), exclude=rule("words / nullif(words - words, 0) > 0")))
    assert [mill.table(mill.stream(name))["a"].rows for name in ("pages", "null")] == [10, 10]


@pytest.mark.parametrize("quotient", ["1 // number", "1 % number"])
def test_a_division_of_whole_numbers_by_zero_names_shard_row_and_rule(mill: Mill, quotient: str) -> None:
    start(mill)
    with pytest.raises(GristmillError, match=r"documents/2024/a\.jsonl\.gz: row 0: .*rule 'odd': .*Division by zero"):
        mill.mix(stream(columns=(NUMBER,), include=rule(f"{quotient} >= 0", "odd")))


def test_what_blocklists_alone_drop_leaves_the_index_and_is_no_mistake(mill: Mill) -> None:
    start(mill)
    rows = [b'{"source":"pages","id":"doc-%05d","reason":"r"}' % number for number in range(20)]
    blocked(*rows, b"")(mill)
    close(mill, stream(blocklists=("takedowns",)))
    assert mill.table(mill.stream())["a"].dropped == {"blocklist: takedowns": 10}
