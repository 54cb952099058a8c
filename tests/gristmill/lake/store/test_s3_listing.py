"""Pages of a bucket's listing, as lists of keys."""

import pytest

from gristmill.errors import StoreError
from gristmill.lake.store.s3_listing import note_page_begin, pages_after


def page(*keys: str) -> list[dict[str, str]]:
    return [{"path": key} for key in keys]


def test_a_listing_goes_on_behind_the_last_key_that_was_given() -> None:
    pages = [page("a", "b"), page("c", "d"), page("e")]
    assert list(pages_after("", pages)) == pages
    assert list(pages_after("b", pages)) == pages[1:]
    assert list(pages_after("c", pages)) == [page("d"), page("e")]
    with pytest.raises(StoreError, match="x: the listing broke off after this object"):
        list(pages_after("x", pages))


def test_a_page_that_comes_twice_is_an_error_because_another_is_left_out() -> None:
    begins: set[str] = set()
    for each in (page("a", "b"), page("c")):
        note_page_begin(each, begins)
    with pytest.raises(StoreError, match="a: the bucket lists it twice, so others may be left out"):
        note_page_begin(page("a", "b"), begins)
