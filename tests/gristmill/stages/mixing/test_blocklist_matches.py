"""A takedown of an id that exists nowhere is told, and what was not searched is not taken for empty."""

from dataclasses import replace

from streams import stream
from testkit import Mill, lines, make_documents

from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.mix import Mix
from gristmill.stages.mixing.blocklist_matches import unmatched_entries

PATH = "blocklists/takedowns.jsonl"


def catalogue(mill: Mill) -> Catalogue:
    mix = Mix(name="blend", streams=(stream(blocklists=("takedowns",)),))
    source = replace(mill.source(), revisions=())
    return Catalogue({source.name: source}, {}, {"blend": mix}, {})


def told(mill: Mill, *pairs: tuple[str, str]) -> list[str]:
    """What is told of a list of these (source, id)."""
    mill.store.put(PATH, lines({"source": source, "id": id_, "reason": "asked for"} for source, id_ in pairs))
    return [str(each) for each in unmatched_entries(mill.store, catalogue(mill))]


def test_ids_are_found_in_any_snapshot_and_others_are_told(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(2))
    mill.convert()
    mill.raw("a.jsonl.gz", make_documents(2, start=2), snapshot="2025")
    mill.convert(snapshot="2025")
    assert told(mill) == []
    assert told(mill, ("pages", "doc-00000"), ("pages", "doc-00003")) == []
    [line] = told(mill, ("pages", "doc-00000"), ("pages", "doc-3"), ("page", "doc-00000"))
    assert line == (
        f"{PATH}: 2 of 3 entries match no document: 'doc-00000' of page (no recipe declares this source), 'doc-3' of"
        " pages; correct them, unless their documents are still to come, or were erased"
    )
    [line] = told(mill, *(("pages", str(n)) for n in range(4)))
    assert "'0' of pages, '1' of pages, '2' of pages and 1 more;" in line


def test_a_row_that_was_copied_may_have_a_source_of_its_own(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", [row | {"source": "crawl"} for row in make_documents(1)])
    mill.convert()
    assert told(mill, ("crawl", "doc-00000")) == []


def test_what_has_no_index_was_not_searched(mill: Mill) -> None:
    entry = ("pages", "doc-00009")
    words = f"{PATH}: 1 of 1 entries match no document: 'doc-00009' of pages; correct them"
    [line] = told(mill, entry)
    assert line.startswith(words)
    assert line.endswith(". Not searched: sources/pages/v0/documents (never made)")
    mill.raw("a.jsonl.gz", make_documents(2))
    mill.convert()
    mill.store.delete([mill.documents().index("a")])
    [line] = told(mill, entry)
    assert line.endswith(". Not searched: sources/pages/v0/documents (2024)")


def test_a_list_that_cannot_be_read_is_left_to_the_plan_of_its_mix(mill: Mill) -> None:
    assert told(mill, ("pages", "x"))
    mill.store.put(PATH, b"no row\n")
    assert list(unmatched_entries(mill.store, catalogue(mill))) == []


def test_what_the_record_of_an_erasure_names_is_not_told(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(2))
    mill.convert()
    mill.store.put("withdrawn/0000000000000001.json", b'{"documents":[["pages","gone","x"]],"done":false}')
    assert told(mill, ("pages", "gone")) == []
    [line] = told(mill, ("pages", "gone"), ("pages", "ghost"))
    assert line.startswith(f"{PATH}: 1 of 2 entries match no document: 'ghost' of pages; correct them")
    mill.store.put("withdrawn/0000000000000001.json", b"{")
    assert told(mill, ("pages", "gone"))[0].startswith(f"{PATH}: 1 of 1 entries match no document: 'gone' of pages;")
