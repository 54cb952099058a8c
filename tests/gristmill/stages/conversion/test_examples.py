import json
from typing import Any

import pytest
from testkit import Mill, lines

from gristmill.lake.address import documents_asset, place
from gristmill.stages.conversion.examples import quarantined_rows, refused_examples

PAGES = place(documents_asset("pages", "v0"), "2024")


def good(name: str, count: int = 500) -> list[Any]:
    return [{"id": f"{name}{number}", "text": "words", "source": "pages"} for number in range(count)]


def test_each_reason_has_the_place_of_its_first_row(mill: Mill) -> None:
    first = json.dumps(good("a")[0]).encode()
    mill.raw("a.jsonl", lines([first, b"no json", *good("b"), b'{"text": "x"}', b"no json"]))
    mill.raw("b.jsonl", lines([*good("c"), b"", b'{"text": "x"}']))
    ledger = mill.convert()
    assert ledger.dropped == {"quarantine: empty line": 1, "quarantine: invalid JSON": 2, "quarantine: no id": 2}
    found = refused_examples(mill.store, PAGES, list(mill.table(PAGES).values()))
    size = len(lines([first, b"no json", *good("b")]))
    assert {reason: row.place for reason, row in found.items()} == {
        "invalid JSON": f"a.jsonl, row 1, byte {len(first) + 1}",
        "no id": f"a.jsonl, row 502, byte {size}",
        "empty line": f"b.jsonl, row 500, byte {len(lines(good('c')))}",
    }


def test_a_reason_costs_one_quarantine_and_one_that_is_gone_costs_no_example_of_others(
    mill: Mill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        mill.raw(f"{name}.jsonl", lines([*good(name), b"no json"]))
    mill.raw("d.jsonl", lines([*good("d"), b'{"text": "x"}']))
    mill.convert()
    read: list[str] = []

    def counted(store: Any, path: str) -> Any:
        read.append(path)
        return quarantined_rows(store, path)

    monkeypatch.setattr("gristmill.stages.conversion.examples.quarantined_rows", counted)
    shards = list(mill.table(PAGES).values())
    assert set(refused_examples(mill.store, PAGES, shards)) == {"invalid JSON", "no id"}
    assert read == [PAGES.quarantine_path("a"), PAGES.quarantine_path("d")]
    mill.store.delete([PAGES.quarantine_path("a")])
    assert set(refused_examples(mill.store, PAGES, shards)) == {"no id"}
