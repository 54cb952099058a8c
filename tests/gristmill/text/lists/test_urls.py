from functools import partial

import pytest
from cpu_time import cpu_seconds

from gristmill.text.lists.urls import canonical_url

SAME = [
    "http://example.com/a/b?q=1",
    "HTTPS://EXAMPLE.com/A/b?Q=1",
    "//example.com/a/b?q=1",
    "example.com/a/b?q=1#top",
    "http://example.com:8080/a/./c/../b?q=1",
    "http://user:secret@example.com.//a/b?q=1",
    " <http:\\\\example.com\\a\\b?q=1> ",
    "ftp://example.com/%61/../a/b?q=1",
]


@pytest.mark.parametrize("url", SAME)
def test_spellings_of_one_url_are_one(url: str) -> None:
    assert canonical_url(url) == ("example.com", "/a/b", "q=1")


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("http://bücher.example/straße", ("xn--bcher-kva.example", "/stra%c3%9fe", "")),
        ("http://例え.jp", ("xn--r8jz45g.jp", "/", "")),
        ("http://[2001:DB8::1]:80/x", ("[2001:db8::1]", "/x", "")),
        ("http://192.0.2.1", ("192.0.2.1", "/", "")),
        ("http://example.com/a/", ("example.com", "/a/", "")),
        ("http://example.com?q", ("example.com", "/", "q")),
        ("http://example.com/a\udc80", ("example.com", "/a?", "")),
    ],
)
def test_canonical_forms(url: str, canonical: tuple[str, str, str]) -> None:
    assert canonical_url(url) == canonical


@pytest.mark.parametrize(
    "url",
    [
        *("", "http://", "/only/a/path", "mailto:a@example.com", "urn:uuid:0-1", "http://a..b/", "http://a b/"),
        *("http://a\0b.com/", "http://a\u202eb.com/", "http://" + "a" * 64 + ".com/", "http://[::1", "javascript:x()"),
        *("http://" + "ü" * 300 + ".com/", "http://" + ".".join(["ab"] * 90) + "/"),
    ],
)
def test_what_has_no_host_is_no_url(url: str) -> None:
    assert canonical_url(url) is None


def test_a_long_url_costs_no_more_than_its_beginning() -> None:
    for hostile in ("http://a.b/" + "a/" * 500_000, "http://" + "a." * 500_000, "@" * 10**6, "/." * 10**6, "é" * 10**6):
        assert cpu_seconds(partial(canonical_url, hostile)) < 1
