from lies import A, edit
from testkit import Mill
from wholelake import CACHE, DOCUMENTS, STREAM, flip

from gristmill.execution.finding import Finding
from gristmill.lake.address import Place
from gristmill.verification.partition import partition_findings


def found(mill: Mill, here: Place) -> list[Finding]:
    return list(partition_findings(mill.store, here, mill.said.append))


def test_a_whole_partition_of_any_kind_has_no_findings(whole: Mill) -> None:
    assert [found(whole, here) for here in (DOCUMENTS, STREAM, CACHE)] == [[], [], []]
    assert whole.said == []


def test_any_object_that_a_ledger_names_is_proven_byte_by_byte(whole: Mill) -> None:
    flip(whole, A)
    flip(whole, DOCUMENTS.index("b"))
    whole.store.delete([DOCUMENTS.quarantine("a")])
    assert {each.path for each in found(whole, DOCUMENTS)} == {A, DOCUMENTS.index("b"), DOCUMENTS.quarantine("a")}


def test_strays_are_findings_where_objects_change_and_in_the_parts_where_they_do_not(whole: Mill) -> None:
    whole.store.put(DOCUMENTS.shard("z"), b"")
    assert [each.path for each in found(whole, DOCUMENTS)] == [DOCUMENTS.shard("z")]
    whole.store.put(f"{CACHE.part_folder('train')}part-old/input_ids/data/c/0", b"")
    assert found(whole, CACHE) == []
    assert whole.said == [f"{CACHE.asset} (2024): 1 parts that its ledger does not name; gc removes them"]


def test_of_a_partition_without_a_head_nothing_else_is_said(whole: Mill) -> None:
    edit(whole, STREAM.ledger, b"{", b"[")
    flip(whole, STREAM.shard("a"))
    assert [each.path for each in found(whole, STREAM)] == [STREAM.ledger]
