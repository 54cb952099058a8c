"""Lies in a lake that has one of everything: planted by hand, found by an audit."""

from collections.abc import Callable

from testkit import Mill
from wholelake import CACHE, DOCUMENTS, WORDS, table

from gristmill.execution.finding import Finding
from gristmill.verification.audit import audit_ledger, ledger_paths_to_audit
from gristmill.verification.shard import ReadDocuments

LEDGERS = [
    "sources/pages/v0/ledgers/documents/2024.json",
    "sources/pages/v0/ledgers/attributes/characters-1/2024.json",
    "sources/pages/v0/ledgers/attributes/words-1/2024.json",
    "sources/pages/v1/ledgers/documents/2024.json",
    "mixes/even/ledgers/pages/2024.json",
    "tokenizers/tiny-1/ledger.json",
    "token_caches/even/tiny-1/ledgers/pages/2024.json",
    "token_caches/even/tiny-1/index/ledger.json",
]
A, B = DOCUMENTS.shard("a"), DOCUMENTS.shard("b")
SET = WORDS.shard("a")

Lie = tuple[Callable[[Mill], object], str, int | None, str]
"""What plants it; the path, row and words of the finding that must tell of it."""


def audit(mill: Mill, *, first_only: bool = False) -> tuple[list[Finding], list[str]]:
    notes: list[str] = []
    found: list[Finding] = []
    known = ReadDocuments()
    for path in ledger_paths_to_audit(mill.store, say=notes.append):
        found += audit_ledger(mill.store, path, notes.append, first_only=first_only, known=known)
        if first_only and found:
            break
    return found, notes


def check_found(mill: Mill, plant: Callable[[Mill], object], path: str, row: int | None, what: str) -> None:
    """Plants a lie, and looks for the finding; whoever asks for one finding gets the first of all."""
    plant(mill)
    found, _ = audit(mill)
    assert found
    assert any(f.path.endswith(path) and f.row == row and what in f.what for f in found), "\n".join(map(str, found))
    first, _ = audit(mill, first_only=True)
    assert first == found[:1]


def part_object(mill: Mill, end: str) -> str:
    objects: dict[str, object] = table(mill, CACHE)[0].extra["objects"]
    return next(path for path in sorted(objects) if path.endswith(end))


def swap(rows: list[bytes], one: int, other: int) -> list[bytes]:
    rows[one], rows[other] = rows[other], rows[one]
    return rows


def edit(mill: Mill, path: str, old: bytes, new: bytes) -> None:
    data = mill.store.read(path)
    assert old in data
    mill.store.put(path, data.replace(old, new, 1))
