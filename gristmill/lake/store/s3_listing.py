"""The pages of a bucket's listing: where one goes on after it broke off, and that none comes twice."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from gristmill.errors import StoreError

Listed = TypeVar("Listed", bound=Mapping[str, Any])
"""An object as the client lists it; `path` is its key."""


def pages_after(last: str, pages: Iterable[Sequence[Listed]]) -> Iterator[Sequence[Listed]]:
    """The pages of a listing after an object. Servers keep their order.

    Args:
        last: key of the object; empty: the listing begins at its beginning.
        pages: all pages of the listing.

    Raises:
        StoreError: the object is not listed any more.
    """
    missing = last
    for page in pages:
        rest = page
        if missing:
            names = [meta["path"] for meta in page]
            if missing not in names:
                continue
            rest = page[names.index(missing) + 1 :]
            missing = ""
        if rest:
            yield rest
    if missing:
        raise StoreError(f"{missing}: the listing broke off after this object, which has been removed since; try again")


def note_page_begin(page: Sequence[Listed], begins: set[str]) -> None:
    """Notes where a page begins. A server that sends a page twice leaves out another, which nobody would miss.

    Args:
        page: the objects of one page.
        begins: first keys of the pages before it; that of this page is added.

    Raises:
        StoreError: an earlier page began with the same key.
    """
    first = page[0]["path"]
    if first in begins:
        raise StoreError(f"{first}: the bucket lists it twice, so others may be left out: run again")
    begins.add(first)
