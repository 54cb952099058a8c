"""What the audit of documents leaves for the audits of their sets, and when that must not be used."""

from countedreads import CountedReads
from labelrows import write_rows
from lies import SET, A
from testkit import Mill, packed
from wholelake import DOCUMENTS, WORDS

from gristmill.verification.audit import audit_ledger
from gristmill.verification.shard import ReadDocuments


def found(mill: Mill, store: CountedReads, known: ReadDocuments, ledger: str) -> list[str]:
    return [str(each) for each in audit_ledger(store, ledger, mill.said.append, known=known)]


def test_sets_are_compared_with_what_the_audit_of_their_documents_has_read(whole: Mill) -> None:
    store, known = CountedReads(whole.store), ReadDocuments()
    assert found(whole, store, known, DOCUMENTS.ledger) == []
    assert found(whole, store, known, WORDS.ledger) == []
    assert [store.read_objects.count(where.shard(name)) for where in (DOCUMENTS, WORDS) for name in "ab"] == [1] * 4
    assert found(whole, store, known, WORDS.ledger) == []  # what is kept serves each set
    assert [store.read_objects.count(path) for path in (A, SET)] == [1, 2]


def test_documents_that_were_replaced_since_are_read_again(whole: Mill) -> None:
    store, known = CountedReads(whole.store), ReadDocuments()
    assert found(whole, store, known, DOCUMENTS.ledger) == []
    whole.store.put(A, packed([whole.lines(A)[0].replace(b"word", b"", 1), *whole.lines(A)[1:]]))
    [told] = found(whole, store, known, WORDS.ledger)
    assert told.startswith(f"{SET}: row 0: count: a span [0, 4) in a text of 0 characters")


def test_damaged_documents_leave_nothing(whole: Mill) -> None:
    store, known = CountedReads(whole.store), ReadDocuments()
    whole.store.put(A, packed(whole.lines(A)[:-1]))
    assert found(whole, store, known, DOCUMENTS.ledger)
    [told, *_] = found(whole, store, known, WORDS.ledger)
    assert told.startswith(f"{SET}: row 19: id 'doc-00019', but {A} ends before it")


def test_a_row_of_a_set_is_named_although_its_documents_were_read_before(whole: Mill) -> None:
    store, known = CountedReads(whole.store), ReadDocuments()
    assert found(whole, store, known, DOCUMENTS.ledger) == []
    rows = whole.lines(SET)
    write_rows(whole, WORDS, "a", [rows[0].replace(b"[0,4,", b"[0,5,"), *rows[1:]])
    [told, *_] = found(whole, store, known, WORDS.ledger)
    assert told.startswith(f"{SET}: row 0: count: a span [0, 5) in a text of 4 characters")
    assert store.read_objects.count(A) == 2
