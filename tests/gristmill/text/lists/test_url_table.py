import random
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.errors import RecipeError
from gristmill.text.lists.url_lines import ListedUrl
from gristmill.text.lists.url_table import UrlTable
from gristmill.text.lists.urls import canonical_url


def by_definition(entries: Iterable[ListedUrl], url: str, *, below: bool) -> tuple[bool, bool]:
    """Whether a URL is listed by its host, and by its page: entry by entry."""
    found = canonical_url(url)
    if found is None:
        return False, False
    host, path, query = found
    bare = host.removeprefix("www.")
    pages = {path.rstrip("/"), f"{path}?{query}" if query else ""}
    pages |= {path[:at] for at, sign in enumerate(path) if sign == "/"}
    by_host = by_page = False
    for listed, page in entries:
        if page:
            by_page |= listed.removeprefix("www.") == bare and page in pages
        else:
            by_host |= listed.removeprefix("www.") == bare or (below and f".{host}".endswith(f".{listed}"))
    return by_host, by_page


HOSTS = st.lists(st.sampled_from(["a", "b", "www", "com", "co"]), min_size=1, max_size=4).map(".".join)
PATHS = st.lists(st.sampled_from(["a", "b", "/"]), max_size=4).map(lambda parts: "/" + "/".join(parts))
QUERIES = st.sampled_from(["", "?", "?q", "?a/b", "#x"])
ENTRIES = st.lists(
    st.tuples(HOSTS, st.sampled_from(["", "", "/a", "/a/b", "/?q", "/a?q", "/a/b?a/b"])), min_size=1, max_size=12
)
URLS = st.builds("http://{}{}{}".format, HOSTS, PATHS, QUERIES)


@given(ENTRIES, st.lists(st.one_of(URLS, st.text()), max_size=12), st.booleans())
@settings(max_examples=40)
def test_urls_are_found_as_if_each_was_compared_with_each_entry(
    entries: list[ListedUrl],
    urls: list[str],
    below: bool,  # noqa: FBT001 - drawn
) -> None:
    found = UrlTable.of(entries, below=below).find(urls)
    assert found.known.tolist() == [canonical_url(url) is not None for url in urls]
    listed = list(zip(found.hosts.tolist(), found.pages.tolist(), strict=True))
    assert listed == [by_definition(entries, url, below=below) for url in urls]


def test_a_collision_of_hashes_gives_no_hit() -> None:
    table = UrlTable.of([("a.com", ""), ("b.com", "")])
    keys = table.keys.replace(b"a.com", b"z.com")  # the hash of a.com is there, another string below it
    forged = UrlTable(keys, table.starts, table.hashes, table.bits, table.pages)
    assert forged.find(["http://a.com", "http://b.com"]).hosts.tolist() == [False, True]


def test_a_large_list_finds_each_of_its_entries_and_no_other() -> None:
    draw = random.Random(7)
    names = sorted({f"{draw.randrange(10**9)}.example" for _ in range(20_000)})
    table = UrlTable.of((name, "") for name in names[::2])
    hosts = table.find([f"http://{name}/" for name in names]).hosts
    assert np.flatnonzero(hosts).tolist() == list(range(0, len(names), 2))


def test_an_empty_list_and_one_that_is_too_long_are_refused() -> None:
    with pytest.raises(RecipeError, match="no entries"):
        UrlTable.of([])
    with pytest.raises(RecipeError, match="may have 9 entries"):
        UrlTable.of([("a.com", "")] * 10, most=9)


def test_pages_in_the_first_32_folders_are_found() -> None:
    table = UrlTable.of([("a.com", "/x" * depth) for depth in (31, 40)])
    urls = [f"http://a.com{'/x' * 31}/y", f"http://a.com{'/x' * 40}", f"http://a.com{'/y' * 40}{'/x' * 9}/z"]
    assert table.find(urls).pages.tolist() == [True, True, False]
