"""Edited rows that are made again from the rows that they were: a forged one is found by its name."""

import json

import pytest
from resealed import Seals
from streams import rule, stream
from testkit import SHELVES, Mill
from wholelake import rewrite

from gristmill.recipes.edits.edit import Edit
from gristmill.recipes.rules import score
from gristmill.verification.audit import audit_ledger

FIRST = Edit(spans="words-1__first", replacement="|||WORD|||")


def made(mill: Mill, **options: object) -> None:
    """Two shards of ten documents; number n has n % 5 + 1 times `word`."""
    mill.raw_shards(2)
    mill.convert()
    mill.tag("words-1")
    mill.mix(stream(**{"edits": (FIRST,), **options}))


def found(mill: Mill, shelves: tuple[str, ...] = SHELVES) -> list[str]:
    return [str(each) for each in audit_ledger(mill.store, mill.stream().ledger, mill.said.append, shelves=shelves)]


def forge(mill: Mill, old: bytes, new: bytes, row: int = 3) -> None:
    """Changes row 3 of shard b, which is `word word word word` in v0, and its ledger with it."""
    path = mill.stream().shard("b")
    rows = mill.lines(path)
    assert old in rows[row]
    rewrite(mill, mill.stream(), "b", [*rows[:row], rows[row].replace(old, new), *rows[row + 1 :]])


OPTIONS = [
    {"transforms": ("whitespace-1",)},
    {"shortest": 12, "least_kept": 0.1, "seed": 3, "rate": 0.8},
    {"columns": (score("words-1__count", name="words"),), "exclude": rule("words = 2")},
    {"edits": (), "merge": ("words-1",), "origin": True},
    {"edits": (), "discard": ("metadata.number",)},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_rows_as_their_recipe_makes_them_have_no_findings(mill: Mill, options: dict[str, object]) -> None:
    made(mill, **options)
    assert found(mill) == []
    assert "not made again" not in " ".join(mill.said)


def test_a_forged_text_is_found_by_row_and_id_and_is_not_shown(mill: Mill) -> None:
    made(mill)
    forge(mill, b"||| word word word", b"||| word secret")
    [finding] = found(mill)
    assert finding.startswith("mixes/blend/documents/pages/2024/b.jsonl.gz: row 3: id 'doc-00013' (source 'pages')")
    assert "its text differs from code point 16 on" in finding
    assert "secret" not in finding


@pytest.mark.parametrize(("name", "value"), [("exclude", [["a", "b", "c"]]), ("rate", "all"), ("edits", [{"a": 1}])])
def test_a_forged_recipe_is_named_and_is_no_bug(mill: Mill, name: str, value: object) -> None:
    made(mill)
    seals, path = Seals(mill), mill.stream().ledger
    head = json.loads(mill.store.read(path))
    head["recipe"]["parameters"][name] = value
    mill.store.put(path, json.dumps(head).encode())
    assert seals.seal(path)
    (told,) = [each for each in found(mill) if "its recipe is damaged" in each]
    assert told.startswith(f"{path}: what it says of its recipe is damaged")
    assert "bug" not in " ".join(found(mill))


def test_a_forged_field_is_found(mill: Mill) -> None:
    made(mill, origin=True)
    forge(mill, b'"shard":"b"', b'"shard":"a"')
    [finding] = found(mill)
    assert "row 3" in finding
    assert "another field than its text differs" in finding


def test_a_row_that_an_edit_drops_is_found(mill: Mill) -> None:
    made(mill, shortest=12)
    rows = mill.lines(mill.stream().shard("b"))
    again = rows[0].replace(b"doc-00011", b"doc-00010").replace(b"||| word", b"|||")
    rewrite(mill, mill.stream(), "b", [again, *rows])
    assert any("row 0" in each and "its recipe drops it: too short after edits" in each for each in found(mill))


def test_rows_of_a_transform_that_is_not_there_are_not_compared_and_a_note_says_so(mill: Mill) -> None:
    made(mill, transforms=("whitespace-1",))
    forge(mill, b"||| word word word", b"||| word forged")
    assert len(found(mill)) == 1
    assert found(mill, ("testshelf",)) == []
    assert "its rows were not made again and compared" in mill.said[-1]


def test_damage_of_what_was_read_is_left_to_its_own_audit(mill: Mill) -> None:
    made(mill)
    path = mill.attributes("words-1").shard("b")
    data = bytearray(mill.store.read(path))
    data[-20] ^= 1
    mill.store.put(path, bytes(data))
    assert found(mill) == []


def test_nothing_is_compared_with_documents_that_changed_since(mill: Mill) -> None:
    made(mill)
    mill.raw("b.jsonl.gz", [])
    mill.convert()
    assert not any("makes of it" in each for each in found(mill))
