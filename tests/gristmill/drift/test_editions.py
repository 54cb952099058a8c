from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from testkit import Mill, make_documents

from gristmill.drift.editions import why_too_small
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_head
from gristmill.lake.ledger.model import Ledger

V0 = "sources/pages/v0/documents"


@pytest.fixture
def editions(tmp_path: Path) -> dict[str, Ledger]:
    """Editions of 10, 30, 20 and 9 rows: half of the median of those before the last is 10."""
    mill = Mill(tmp_path / "lake")
    heads: dict[str, Ledger] = {}
    for key, rows in (("2021", 10), ("2022", 30), ("2023", 20), ("2024", 9)):
        mill.raw("a.jsonl.gz", make_documents(rows), snapshot=key)
        mill.convert(snapshot=key)
        head = read_head(mill.store, place(V0, key))
        assert head is not None
        heads[key] = head
    return heads


def why(editions: dict[str, Ledger], edition: str, accept: str = "") -> str:
    source = replace(Mill(Path("nowhere")).source(), snapshots="replace", accept=accept)
    return why_too_small("pages", editions, edition, source)


def test_an_edition_below_half_is_held_back_with_the_numbers(editions: dict[str, Ledger]) -> None:
    said = why(editions, "2024")
    assert said.startswith(
        "stream 'pages': edition 2024 has 9 rows, less than half of 20, the median of 2021, 2022, 2023; the index takes"
    )
    assert "say accept='2024' in the recipe of source 'pages'" in said


def test_half_is_enough_and_one_edition_before_is_no_level(editions: dict[str, Ledger]) -> None:
    ten = {**editions, "2024": replaced(editions["2024"], rows=10, bytes=10**6)}
    assert why(ten, "2024") == ""
    assert why({key: editions[key] for key in ("2022", "2024")}, "2024") == ""
    assert why(editions, "2022") == ""


def test_bytes_and_tokens_count_too(editions: dict[str, Ledger]) -> None:
    assert "edition 2024 has 1 bytes" in why({**editions, "2024": replaced(editions["2024"], rows=20, bytes=1)}, "2024")
    tokens = {key: replaced(head, rows=20, bytes=100, tokens=8) for key, head in editions.items()}
    tokens["2024"] = replaced(editions["2024"], rows=20, bytes=100, tokens=3)
    assert "edition 2024 has 3 tokens, less than half of 8" in why(tokens, "2024")


def test_an_accepted_edition_may_be_as_small_as_it_is(editions: dict[str, Ledger]) -> None:
    assert why(editions, "2024", accept="2024") == ""
    assert why(editions, "2024", accept="2023") == ""  # one before it is left
    assert why(editions, "2024", accept="2022") != ""  # half of 25


def replaced(head: Ledger, **totals: int) -> Ledger:
    return msgspec.structs.replace(head, totals={**head.totals, **totals})
