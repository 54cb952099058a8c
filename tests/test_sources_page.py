"""The page of sources names readers that exist, and all that `peek` knows."""

import importlib
import re

from paths import ROOT

from gristmill.peeking.formats import FORMATS

PAGE = (ROOT / "docs" / "sources.md").read_text()
READERS = set(re.findall(r"\| `((?:\w+\.)+[A-Z]\w+)` \|", PAGE))


def test_every_reader_of_the_page_exists() -> None:
    assert len(READERS) > 15
    for reader in READERS:
        module, _, name = reader.rpartition(".")
        room = "gristmill" if module.startswith("energon.") else "gristmill.readers"
        assert hasattr(importlib.import_module(f"{room}.{module}"), name), reader


def test_every_reader_that_peek_drafts_is_on_the_page() -> None:
    assert {f"{each.module}.{each.reader}" for each in FORMATS if each.module} <= READERS


def test_every_table_of_formats_has_the_same_columns() -> None:
    heads = re.findall(r"^\| format \|.*$", PAGE, re.MULTILINE)
    assert set(heads) == {"| format | reader | id | kept | left out or refused | cut |"}
    assert len(heads) == 5
