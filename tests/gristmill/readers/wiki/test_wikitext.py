"""Wikitext: what is text, by example; and pages that are made to take for ever."""

import pytest
from cpu_time import cpu_seconds

from gristmill.readers.text import Unfit
from gristmill.readers.wiki.interlanguage import ALWAYS_LEFT_OUT
from gristmill.readers.wiki.wikitext import OPEN_LIMIT, wikitext_to_plain


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'''Rye''' ''is'' a [[cereal|grass]], [[crop]], [[:Category:Food|food]].", "Rye is a grass, crop, food."),
        ("a<ref>b</ref>c<ref name=x/>d<ref name='y' >e {{f}}</ref>", "acd"),
        ("a<ref>b<nowiki></ref></nowiki></ref>c", "ac"),
        ("a<!-- b <ref> -->c", "ac"),
        ("{{stub|a={{b|c}}}}A {{lang|fr|moulin}} {{nowrap|by [[water]]}} {{PAGENAME}}", "A moulin by water Mill"),
        ("[[File:a.jpg|thumb|A [[mill]]]][[Image:b]][[Fails:c.jpg]][[category:X]][[de:Mühle]]text", "text"),
        ("see [[:de:Mühle]] and [[New_York#History|it]], [[Star Wars: A|B]]", "see de:Mühle and it, B"),
        ("[[CSI: Miami]], [[Re:Zero]], [[MTV: Live]][[fr:Accueil]]", "CSI: Miami, Re:Zero, MTV: Live"),
        ("[http://a.org a site] [http://b.org] http://c.org", "a site  http://c.org"),
        ("* one\n** two\n# three\n: four", "- one\n- two\n- three\n four"),
        ("x<br>y<br/>z", "x\ny\nz"),
        ("1&nbsp;2 &amp; &#8364; &lt;b&gt; &nothing;", "1 2 & € <b> &nothing;"),
        ("<math>a^2</math> <code>x</code> <nowiki>[[not]]</nowiki> <pre>a</pre>", "a^2 x [[not]]\na"),
        ("__NOTOC__a __not__ b__БЕЗСЪДЪРЖАНИЕ__", "a __not__ b"),
        ("Rye ({{IPA|x}}) and ( ; ) wheat (a)", "Rye and wheat (a)"),
        ("{|\n! h\n|-\n| a || b\n|}\nafter", "after"),
        ("<gallery>\nFile:a.jpg|x\n</gallery>{{{1|x}}}y", "y"),
        ("a\n\n\n\n\nb  \nc", "a\n\nb\nc"),
        ("lead\n== A ==\ntext\n== B ==\n{{x}}\n=== C ===\n\n== D ==\n", "lead\n\nA\n\ntext"),
        ("== A ==\n=== B ===\ntext\n=== C ===\n<ref>x</ref>", "A\n\nB\n\ntext"),
        ("", ""),
        ("{{only|a|template}}", ""),
    ],
)
def test_text_is_what_people_read(source: str, text: str) -> None:
    assert wikitext_to_plain(source, "Mill", ALWAYS_LEFT_OUT | {"fails"}) == text


def test_tables_become_lines_if_they_are_asked_for() -> None:
    assert wikitext_to_plain("{|\n! h || i\n|-\n| a\n| [[b|c]]\n|-\n|\n|}", tables=True) == "h | i\na | c"


@pytest.mark.parametrize("opener", ["''", "==\n", "x\n=\n", " ", "'''''a", "\n* ", "&#"])
def test_many_openers_take_no_long_time(opener: str) -> None:
    assert cpu_seconds(lambda: wikitext_to_plain(opener * 5_000)) < 2


def test_closers_before_openers_close_nothing() -> None:
    for opener, closer in (("[[a|", "]]"), ("{{a|", "}}"), ("[http://a ", "]"), ("{|\n", "|}")):
        with pytest.raises(Unfit, match=rf"more than {OPEN_LIMIT} links, tables, templates or tags are open"):
            wikitext_to_plain(closer * 2 * OPEN_LIMIT + opener * 2 * OPEN_LIMIT)


def test_a_heading_of_many_equals_signs_is_refused_before_its_parser_needs_the_whole_stack() -> None:
    with pytest.raises(Unfit, match=rf"malformed wikitext: more than {OPEN_LIMIT} equals signs in a heading"):
        wikitext_to_plain("= " * 500_000)


def test_a_comment_that_nothing_closes_is_text_and_closed_ones_before_it_go() -> None:
    assert wikitext_to_plain("a<!-- b -->c <!-- d") == "ac <!-- d"


TAGS = ("<ref name=", "<a b=", "<a b='/>", "<b></i>", "</a ")


@pytest.mark.parametrize(
    "opener",
    [
        "<b>",
        "{|\n",
        "[[",
        "[[a|",
        "[[File:a|",
        "<!--",
        "[ftp://a ",
        "[http://a ",
        "[//a ",
        "<div class=x>",
        "{{",
        "{{{",
        "{{a|",
        *TAGS,
    ],
)
def test_openers_that_would_take_minutes_are_refused(opener: str) -> None:
    with pytest.raises(
        Unfit, match=rf"malformed wikitext: more than {OPEN_LIMIT} links, tables, templates or tags are open"
    ):
        wikitext_to_plain(opener * 20_000)
    wikitext_to_plain(opener * 100)


def test_deep_nesting_never_ends_the_process() -> None:
    assert wikitext_to_plain("{{lang|a|" * 900 + "x" + "}}" * 900).startswith("{{lang")  # the parser gives up at 40
    with pytest.raises(Unfit, match="malformed wikitext"):
        wikitext_to_plain("<b>" * 39 + "{{lang|a|" * 39 + "x" + "}}" * 39 + "</b>" * 39 + "<i>" * 2000)
