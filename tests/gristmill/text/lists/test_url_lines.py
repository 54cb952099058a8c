import pytest

from gristmill.errors import RecipeError
from gristmill.text.lists.url_lines import listed_urls


@pytest.mark.parametrize(
    ("line", "entries"),
    [
        ("example.com", [("example.com", "")]),
        ("EXAMPLE.com # comment", [("example.com", "")]),
        (".xxx", [("xxx", "")]),
        ("*.example.com", [("example.com", "")]),
        ("https://www.example.com/", [("www.example.com", "")]),
        ("example.com/a/", [("example.com", "/a")]),
        ("http://example.com/watch?v=1", [("example.com", "/watch?v=1")]),
        ("bücher.example", [("xn--bcher-kva.example", "")]),
        ("192.0.2.1", [("192.0.2.1", "")]),
        ("[2001:db8::1]", [("[2001:db8::1]", "")]),
        ("0.0.0.0 ads.example.com  ADS.example.net # both", [("ads.example.com", ""), ("ads.example.net", "")]),
        ("::1 localhost ip6-loopback", []),
        ("127.0.0.1\tlocalhost.localdomain example.org", [("example.org", "")]),
        ("||example.com^", [("example.com", "")]),
        ("||xxx^", [("xxx", "")]),
        ("||example.com^$document", [("example.com", "")]),
        ("||example.com^$third-party", []),
        ("||example.com/ads/*", []),
        ("@@||example.com^", []),
        ("example.com##.banner", []),
        ("###banner", []),
        ("&ad_box=^", []),
        *((comment, []) for comment in ("# one", "! two", "; three", "[Adblock Plus 2.0]", "")),
    ],
)
def test_each_form_of_a_line(line: str, entries: list[tuple[str, str]]) -> None:
    assert list(listed_urls([line], "list.txt")) == entries


@pytest.mark.parametrize(
    "line", ["com", "two words.com", "http://", "a..b", "a\u202eb.com", "x" * 3000 + ".com", "<p>"]
)
def test_a_line_that_is_no_host_and_no_url_is_refused_with_its_place(line: str) -> None:
    with pytest.raises(RecipeError, match=r"list\.txt:2: .* is no host and no URL"):
        list(listed_urls(["example.com", line], "list.txt"))
