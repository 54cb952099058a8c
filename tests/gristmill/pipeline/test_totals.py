"""The totals of a lake count what a mix takes: of editions that replace each other the newest."""

from dataclasses import replace

from corruptions import KNOWN, close_everything
from testkit import SHELVES, Mill, make_documents
from wholelake import TOKENIZER, even

from gristmill.lake.address import cache_index
from gristmill.pipeline.totals import lake_totals
from gristmill.recipes.catalogue import Catalogue, read_catalogue
from gristmill.stages.cache_index.index import index_cache
from gristmill.stages.mixing.index import index_path, write_mix_index


def test_documents_are_those_of_the_newest_edition(mill: Mill) -> None:
    for snapshot, rows in (("3.9", 5), ("3.11", 7)):
        mill.raw("a.jsonl.gz", make_documents(rows), snapshot=snapshot)
        mill.convert(snapshot=snapshot)
    pages = replace(mill.source(), revisions=())
    added = lake_totals(mill.store, Catalogue({"pages": pages}, {}, {}, {})).sources["pages"]
    replaced = replace(pages, snapshots="replace")
    newest = lake_totals(mill.store, Catalogue({"pages": replaced}, {}, {}, {})).sources["pages"]
    assert (added.rows, newest.rows) == (12, 7)
    assert newest.bytes < added.bytes
    assert added.snapshots == newest.snapshots == {"3.9", "3.11"}


def test_tokens_are_those_of_the_slices_that_the_index_names(whole: Mill) -> None:
    """The older edition has 8 documents, and the newer one has 1. Without an index, those count that it would name."""
    close_everything(whole)
    known = read_catalogue(SHELVES)
    sources = {**known.sources, "pages": replace(whole.source(), snapshots="replace")}
    catalogue = replace(known, sources=sources)

    def rows(of: Catalogue = catalogue) -> int:
        return lake_totals(whole.store, of).tokens["even", "tiny-1"].rows

    assert rows() == 9
    write_mix_index(whole.store, even(), sources, KNOWN)
    index = index_cache(whole.store, even(), TOKENIZER, sources, KNOWN)
    assert rows() == 1
    assert lake_totals(whole.store, catalogue).tokens["even", "tiny-1"].tokens == index.totals["tokens"]
    path = index_path(cache_index("even", "tiny-1"))
    whole.store.put(path, b'{"schema":2}')
    assert list(lake_totals(whole.store, catalogue).unread) == [path]
    whole.store.delete([path])
    assert rows() == 1
    assert rows(Catalogue({"pages": replace(whole.source(), revisions=())}, {}, {}, {})) == 9
