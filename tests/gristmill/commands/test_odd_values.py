"""A sample of tests/attack/test_odd_values.py: records with one value of another type."""

import json
from pathlib import Path

import pytest
from oddvalues import CACHE, SHELVES, drawn, judged, make_odd_lake, odd_records
from testkit import Mill, link

from gristmill.__main__ import main

pytestmark = pytest.mark.slow


TOKENS = "token_caches/blend/tiny-1/ledgers/letters/2024.json"
EXPORTED = "exports/blend/lines/ledgers/letters/2024.json"
STREAM = "mixes/blend/ledgers/letters/2024.json"
REVISION = "sources/letters/v1/ledgers/documents/2024.json"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    return make_odd_lake(tmp_path_factory.mktemp("odd") / "lake")


@pytest.mark.slow
def test_odd_values_in_records_end_in_words_that_name_them(good: Mill, tmp_path: Path) -> None:
    (tmp_path / "ids.jsonl").write_bytes((good.root.parent / "ids.jsonl").read_bytes())
    odd = odd_records(good)
    assert len(odd) > 3000
    wrong = [told for each in drawn(odd, 26, 4) for told in judged(good, tmp_path / "tried", each)]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ledger", "option", "words"),
    [
        (TOKENS, "validation", ["trace", "letters", "a1"]),
        (TOKENS, "validation", ["trace", f"{CACHE}:3"]),
        (EXPORTED, "format", ["trace", "letters", "a1"]),
        (REVISION, "columns", ["trace", "letters", "b1"]),
        (STREAM, "blocklists", ["takedown", "--ids", "ids.jsonl", "--dry-run"]),
    ],
)
@pytest.mark.parametrize("value", [None, "x", {"a": 1}])
def test_an_option_of_another_type_is_an_error_that_names_the_ledger(
    good: Mill,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    ledger: str,
    option: str,
    words: list[str],
    value: object,
) -> None:
    mill = Mill(link(good.root, tmp_path / "lake"))
    head = json.loads(mill.store.read(ledger))
    head["recipe"]["parameters"][option] = value
    mill.store.put(ledger, json.dumps(head).encode())
    (tmp_path / "ids.jsonl").write_text('{"source":"letters","id":"a1"}\n')
    given = [str(tmp_path / "ids.jsonl") if word == "ids.jsonl" else word for word in words]
    capsys.readouterr()
    assert main([given[0], str(mill.root), *given[1:], *SHELVES]) == 2
    assert capsys.readouterr().err.startswith(f"{ledger}: what it says of its recipe is damaged (")
