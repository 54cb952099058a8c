"""A `mixture.json` that does not follow from the slices and the recipes, though its index agrees with it."""

import json
from typing import Any

import pytest
from testkit import Mill, own_shelf

from gristmill.lake.ledger.files import as_json
from gristmill.lake.ledger.index_ledger import compose_index, content_digest, read_index_ledger
from gristmill.verification.audit import audit_ledger

pytestmark = pytest.mark.slow

INDEX = "token_caches/even/tiny-1/index"
SHELVES = ("gristmill", "testshelf", "own_tokenizers")
RECIPE = (
    "from gristmill.recipes.tokenizer import Tokenizer, Training\n"
    "TINY = Tokenizer(name='tiny-1', training=Training(mix='even', snapshots={'pages': ('2024',)}, vocabulary=300))\n"
)


@pytest.fixture
def mill(whole: Mill, monkeypatch: pytest.MonkeyPatch) -> Mill:
    """A lake whose tokenizer is on a shelf."""
    monkeypatch.syspath_prepend(str(whole.root.parent))
    own_shelf(whole, "tokenizers", RECIPE)
    whole.said.clear()
    return whole


def forge(mill: Mill, name: str, **changes: Any) -> str:
    """Changes a file of the index, and the ledger with it."""
    path = f"{INDEX}/{name}"
    value = {**json.loads(mill.store.read(path)), **changes}
    data = as_json(value) if name == "mixture.json" else json.dumps(value, indent=2).encode() + b"\n"
    ledger = read_index_ledger(mill.store, f"{INDEX}/ledger.json")
    assert ledger is not None
    mill.store.put(path, data)
    digests = ledger.files | {path: content_digest(data, path, mill.store.url)}
    mill.store.put(f"{INDEX}/ledger.json", as_json(compose_index(ledger.asset, ledger.inputs, digests)))
    return path


def found(mill: Mill, shelves: tuple[str, ...] = SHELVES) -> list[tuple[str, str]]:
    findings = audit_ledger(mill.store, f"{INDEX}/ledger.json", mill.said.append, shelves=shelves)
    return [(finding.path, finding.what) for finding in findings]


def test_forged_numbers_are_a_finding(mill: Mill) -> None:
    assert (found(mill), mill.said) == ([], [])
    path = forge(mill, "mixture.json", total=7, licences={"CC0-1.0": 1})
    assert found(mill) == [(path, "its licences, total do not follow from the slices and the recipes on the shelves")]


def test_other_weights_than_those_of_the_recipe_are_a_note(mill: Mill) -> None:
    """The recipe may have changed since: `plan` says then that the index is due."""
    forge(mill, "data.yaml", mixture_block_size=7)
    assert found(mill) == []
    [note] = mill.said
    assert "not proven, recipe changed: the shelves have other weights, streams or packing" in note


def test_without_recipes_a_note_says_what_is_not_proven(mill: Mill) -> None:
    assert found(mill, ("gristmill", "testshelf")) == []
    assert mill.said == [f"{INDEX}/mixture.json: not proven, no recipe on the shelves makes it"]
