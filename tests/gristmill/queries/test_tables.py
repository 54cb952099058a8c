import pytest
from testkit import SHELVES, Mill

from gristmill.errors import RecipeError
from gristmill.queries.tables import NamedTable, Tables, plain, tables_of
from gristmill.reading.opened_lake import OpenedLake


def test_the_tables_of_a_lake_are_its_versions_and_sets(whole: Mill) -> None:
    assert tables_of(whole.store) == [
        NamedTable("pages_v0_characters_1", "sources/pages/v0/attributes/characters-1"),
        NamedTable("pages_v0_words_1", "sources/pages/v0/attributes/words-1"),
        NamedTable("pages_v0", "sources/pages/v0/documents"),
        NamedTable("pages_v1", "sources/pages/v1/documents"),
        NamedTable("ledgers", ""),
    ]


def test_a_table_is_named_by_its_address_or_its_parts(whole: Mill) -> None:
    tables = Tables(OpenedLake(str(whole.root), {}, shelves=SHELVES), None, whole.said.append)
    names = ["sources/pages/v0/documents", "pages/v0", "Pages_V0", "pages_v0"]
    assert len({str(tables.open(name).schema) for name in names}) == 1
    with pytest.raises(RecipeError, match="there is no table 'pages'; "):
        tables.open("pages")
    tables.close()


def test_names_that_are_alike_must_be_addresses(whole: Mill) -> None:
    for source, version in (("a-v1", "v0"), ("a", "v1_v0")):
        whole.store.put(f"sources/{source}/{version}/documents/2024/x.jsonl.gz", b"")
    tables = Tables(OpenedLake(str(whole.root), {}, shelves=SHELVES), None, whole.said.append)
    assert plain("a-v1/v0") == plain("a/v1_v0")
    with pytest.raises(RecipeError, match="may be sources/a-v1/v0/documents or sources/a/v1_v0/documents: write one"):
        tables.open("a_v1_v0")
    tables.close()
