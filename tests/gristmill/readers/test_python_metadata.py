import pytest

from gristmill.readers.python_metadata import Distribution, distribution, normalise_package_name
from gristmill.readers.text import Unfit


def test_a_release_says_its_name_version_licence_and_description() -> None:
    raw = "Metadata-Version: 2.4\nName: Foo_Bar\nVersion: 1.2\nLicense-Expression: MIT\n\n# Grüße\n\nText\n".encode()
    assert distribution(raw) == Distribution("foo-bar", "1.2", "MIT", "# Grüße\n\nText\n")


def test_a_classifier_counts_where_it_names_one_licence() -> None:
    head = "Name: a\nVersion: 1\nLicense: see the file\n"
    mit = "Classifier: License :: OSI Approved :: MIT License\n"
    bsd = "Classifier: License :: OSI Approved :: BSD License\n"
    isc = "Classifier: License :: OSI Approved :: ISC License (ISCL)\n"
    licences = [distribution((head + extra).encode()).licence for extra in (mit, bsd, mit + isc, "")]
    assert licences == ["MIT", "NOASSERTION", "NOASSERTION", "NOASSERTION"]


def test_a_description_folded_into_a_header_is_unfolded() -> None:
    bars = b"Name: a\nVersion: 1\nDescription: First\n       |  second\n       |third\n"
    spaces = b"Name: a\nVersion: 1\nDescription: First\n          second\n        third\n"
    assert distribution(bars).description == "First\n  second\nthird"
    assert distribution(spaces).description == "First\n  second\nthird"


def test_unknown_is_no_description() -> None:
    assert distribution(b"Name: a\nVersion: 1\nDescription: UNKNOWN\n").description == ""


@pytest.mark.parametrize(
    ("raw", "reason"),
    [(b"", "empty text"), (b"Name: a\n\nx", "metadata without name or version"), (b"Name: \xff", "not utf-8")],
)
def test_metadata_that_names_no_release_is_unfit(raw: bytes, reason: str) -> None:
    with pytest.raises(Unfit) as caught:
        distribution(raw)
    assert caught.value.reason == reason


def test_names_are_compared_as_the_index_compares_them() -> None:
    assert normalise_package_name("Foo.Bar__baz") == "foo-bar-baz"
