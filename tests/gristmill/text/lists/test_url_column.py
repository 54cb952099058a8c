from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.text.lists.url_column import UrlColumn
from gristmill.text.lists.urls import canonical_url

PIECES = [
    *("http://", "https://", "HTTP://", "a", "B", "example", ".com", ".", "/", "//", "?", "#", ":", "80", "@", "x-y"),
    *(
        "_",
        "%2F",
        "é",
        "..",
        "/.",
        "\\",
        " ",
        "\t",
        "\n",
        "[::1]",
        "<",
        ">",
        "www.",
        "\u0130",
        "\0",
        "\u202e",
        "\ud800",
    ),
    *('"', "^", "~", "&", "=", "b" * 63, "c" * 64),
]
URLS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def parts(column: UrlColumn, number: int) -> tuple[str, str, str]:
    edges = (column.hosts, column.paths, column.queries, column.ends)
    a, b, c, d = (int(edge[number]) for edge in edges)
    host, path, query = (column.column.units[s:e].tobytes().decode() for s, e in ((a, b), (b, c), (c, d)))
    return host, path, query.removeprefix("?")


@given(st.lists(URLS, min_size=1, max_size=20))
@settings(max_examples=40)
def test_urls_of_a_column_are_those_of_canonical_url(urls: list[str]) -> None:
    column = UrlColumn.of(urls)
    expected = {place: canonical for place, url in enumerate(urls) if (canonical := canonical_url(url))}
    assert {place: parts(column, number) for number, place in enumerate(column.places.tolist())} == expected


def test_a_column_of_no_url_is_empty() -> None:
    assert UrlColumn.of(["", "\n", "é"]).places.tolist() == [2]
    assert UrlColumn.of(["", "\n"]).places.tolist() == []
