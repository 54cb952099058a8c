from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.readers.gettext_po import PoEntry, declared_po_charset, entries, translated_text
from gristmill.readers.text import Unfit

HEADER = 'msgid ""\nmsgstr ""\n"Project-Id-Version: x\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n'


def test_a_catalogue_becomes_its_translations_a_string_a_line() -> None:
    catalogue = (
        HEADER
        + """
#. a note for translators
#: place.py:7
#, python-format
msgctxt "month"
msgid "May"
msgstr "Mai"

msgid "%d day"
msgid_plural "%d days"
msgstr[0] "%d Tag"
msgstr[1] "%d Tage"

msgid "not yet"
msgstr ""
"""
    )
    assert translated_text(catalogue.encode()) == "Mai\n%d Tag\n%d Tage"


def test_fuzzy_and_obsolete_entries_are_no_translations() -> None:
    catalogue = """
#, c-format, fuzzy
#| msgid "old"
msgid "guess"
msgstr "geraten"

msgid "sure"
msgstr "sicher"

#, fuzzy
#~ msgid "gone"
#~ msgstr "weg"

msgid "also sure"
msgstr "auch sicher"
"""
    assert translated_text(catalogue.encode()) == "sicher\nauch sicher"


def test_a_fuzzy_header_still_declares_its_charset() -> None:
    catalogue = "#, fuzzy\n" + HEADER.replace("UTF-8", "ISO-8859-2") + 'msgid "hedgehog"\nmsgstr "jež"\n'
    assert declared_po_charset(catalogue.encode("iso-8859-2")) == "ISO-8859-2"
    assert translated_text(catalogue.encode("iso-8859-2")) == "jež"


def test_an_unfilled_charset_is_utf_8() -> None:
    assert declared_po_charset(HEADER.replace("UTF-8", "CHARSET").encode()) == "utf-8"
    assert declared_po_charset(b'msgid "a"\nmsgstr "b"\n') == "utf-8"


def test_strings_go_on_over_lines_and_know_escapes() -> None:
    catalogue = 'msgid "a"\nmsgstr ""\n  "one \\"two\\"\\n"\n"\\ttab \\\\ \\101\\x42" "!"\r\n'
    assert list(entries(catalogue)) == [PoEntry(None, "a", None, ('one "two"\n\ttab \\ AB!',), fuzzy=False)]


def test_more_than_ten_plural_forms_stay_in_order() -> None:
    forms = "".join(f'msgstr[{n}] "{n}"\n' for n in range(12))
    [entry] = entries('msgid "a"\nmsgid_plural "b"\n' + forms)
    assert entry.strings == tuple(str(n) for n in range(12))


@pytest.mark.parametrize(
    ("catalogue", "why"),
    [
        ('msgid "a"\nmsgstr "b', "line 2: not a keyword"),
        ('"a"\n', "line 1: a string without a keyword"),
        ('msgstr "a"\n', "line 1: msgstr before any msgid"),
        ('msgid "a"\nmsgid "b"\n', "line 2: msgid twice"),
        ('msgid "a"\n', "no msgstr"),
        ('msgid "a"\nmsgstr "\\q"\n', "line 2: unknown escape"),
        ('msgid "a"\nmsgstr "\\xff"\n', "line 2: an escaped byte above ASCII"),
        ("<html>", "line 1: not a keyword"),
    ],
)
def test_a_malformed_catalogue_is_refused_with_its_line(catalogue: str, why: str) -> None:
    with pytest.raises(Unfit, match=why) as caught:
        translated_text(catalogue.encode())
    assert caught.value.reason == "malformed catalogue"


@pytest.mark.parametrize("charset_name", ["UTF-8", "ascii", "klingon", r"a\\000b", "punycode", "hex"])
def test_bytes_outside_the_declared_charset_are_refused(charset_name: str) -> None:
    catalogue = HEADER.replace("UTF-8", charset_name).encode() + b'msgid "a"\nmsgstr "\xff"\n'
    with pytest.raises(Unfit) as caught:
        translated_text(catalogue)
    assert caught.value.reason == "undecodable catalogue"


@pytest.mark.parametrize("catalogue", ["", HEADER, 'msgid "a"\nmsgstr ""\n'])
def test_a_catalogue_without_translations_is_refused(catalogue: str) -> None:
    with pytest.raises(Unfit, match="no translated strings"):
        translated_text(catalogue.encode())


def _quoted(text: str, cuts: list[int]) -> str:
    """The text as strings over several lines, cut where the cuts say."""
    places = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    pieces = [text[a:b] for a, b in pairwise(places)] or [""]
    escaped = [p.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for p in pieces]
    return "\n".join(f'"{piece}"' for piece in escaped)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
CUTS = st.lists(st.integers(0, 50), max_size=3)
ENTRY = st.builds(
    lambda context, msgid, forms, fuzzy: PoEntry(
        context, msgid, "many" if len(forms) > 1 else None, tuple(forms), fuzzy=fuzzy
    ),
    st.none() | TEXT,
    TEXT,
    st.lists(TEXT, min_size=1, max_size=4),
    st.booleans(),
)


def _rendered(entry: PoEntry, cuts: list[int]) -> str:
    lines = ["#: place.py:1", "#, fuzzy, c-format" if entry.fuzzy else "#, c-format"]
    if entry.context is not None:
        lines.append(f"msgctxt {_quoted(entry.context, cuts)}")
    lines.append(f"msgid {_quoted(entry.msgid, cuts)}")
    if entry.plural is None:
        lines.append(f"msgstr {_quoted(entry.strings[0], cuts)}")
    else:
        lines.append(f"msgid_plural {_quoted(entry.plural, cuts)}")
        lines += [f"msgstr[{n}] {_quoted(form, cuts)}" for n, form in enumerate(entry.strings)]
    return "\n".join(lines) + "\n"


@pytest.mark.slow
@given(st.lists(st.tuples(ENTRY, CUTS), max_size=5), st.sampled_from(["", "\n", '\n#~ msgid "gone"\n\n']))
def test_what_is_written_as_a_catalogue_is_read_back(drawn: list[tuple[PoEntry, list[int]]], between: str) -> None:
    catalogue = between.join(_rendered(entry, cuts) for entry, cuts in drawn)
    assert list(entries(catalogue)) == [entry for entry, _ in drawn]


@given(st.text('msgidtrxp_l[]01"\\ \n#~,fuzy', max_size=60))
def test_any_other_text_is_read_or_refused_but_never_breaks_the_reader(text: str) -> None:
    with suppress(Unfit):
        assert all(isinstance(entry, PoEntry) for entry in entries(text))
