"""Inputs that took time by the square of their size. Twice the input may take at most three times the CPU time.

Each reading also prints what a megabyte of this input costs. Below a tenth of a second nothing is compared.
"""

import gzip
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable

import pytest
from goodfiles import GOOD, tarred, zipped
from partkit import Held
from warcfile import page

from gristmill.errors import DataError
from gristmill.readers.gettext_po import translated_text
from gristmill.readers.python_metadata import distribution
from gristmill.readers.text import python_text
from gristmill.recipes.raw_object import RawObject

SIZE = 200_000
LEAST = 0.1
"""CPU seconds that are worth a comparison."""
SECONDS = 60
"""Most CPU seconds of one input."""

Make = Callable[[int], bytes]


def repeated(piece: str, before: str = "", behind: str = "") -> Make:
    return lambda size: (before + piece * (size // len(piece)) + behind).encode()


def numbered(piece: str, before: str = "", behind: str = "") -> Make:
    return lambda size: (before + "".join(piece.format(n) for n in range(size // len(piece))) + behind).encode()


def wikitext(piece: str) -> Make:
    escaped = piece.replace("&", "&amp;").replace("<", "&lt;")
    head = "<page><title>P</title><ns>0</ns><id>1</id><revision><id>9</id><text>"
    return repeated(escaped, head, "</text></revision></page>\n")


def json_row(more: Make) -> Make:
    return lambda size: b'{"id":"a","text":"b",' + more(size) + b"}\n"


def web(made: Make) -> Make:
    return lambda size: page(0, f"<html><body>{made(size).decode()}</body></html>")


HTML = ("<b>", "<a>", "<b><p>", "<table><a>", "<svg>", "<!--", "&", "<", "<select>", "<font>", "<li>a", " ", "<p>a</p>")
WIKI = (
    *(
        "[[File:",
        "[[File:a|",
        "[[a|",
        "{{a|",
        "{{{a|",
        "{|\n",
        "<ref>",
        "<ref name=a ",
        "<!--",
        "= ",
        "=a=\n",
        "''",
        "'''''",
    ),
    *(
        "[http://a ",
        "http://",
        "* \n",
        ";:\n",
        "#\n",
        "----\n",
        "<nowiki>",
        '<a b="',
        "-{",
        "__",
        "( ",
        " ",
        "\n",
        "&#",
    ),
    *("]][[a|", "}}{{a|", "[[a|{{b|]]", "<b>[[a|</b>", "{{a}}", "[[a]]", "<gallery>a\n"),
)
POSTS = ("&lt;b&gt;&lt;p&gt;", "&lt;a&gt;", "&amp;lt;", "&lt;pre&gt;", "&#10;", " ")
GUTENBERG = ("***", "*** START OF", "*** END OF", " ", "\n", "Title: a\n", "Author: b\n  c\n", "[EBook ", "Produced by")
LATEX = ("\\begin{", "\\begin{a}", "%", "\\", "{", " ", "\\begin{thebibliography}", "\\verb|")
BOOK = GOOD["gutenberg"].records[0].decode()
INPUTS: dict[str, tuple[str, Make]] = {
    **{f"wikitext {each!r}": ("wiki", wikitext(each)) for each in WIKI},
    **{f"web {each!r}": ("warc", web(repeated(each))) for each in HTML},
    **{f"html {each!r}": ("html", repeated(each, "<html><body>")) for each in HTML},
    "web attributes": ("warc", web(numbered(" a{}=b", "<p", ">x</p>"))),
    "html attributes": ("html", numbered(" a{}", "<html><body><p", ">x</p>")),
    "html quoted attributes": ("html", numbered("/=a{}='>'", "<html><body><p", ">x</p>")),
    "html attributes of an end tag": ("html", numbered(" a{}", "<html><body><p>x</p", ">x")),
    "html closers first": ("html", lambda size: b"</i>" * (size // 8) + b"<i>" * (size // 8)),
    "web closers first": ("warc", web(lambda size: b"</i>" * (size // 8) + b"<i>" * (size // 8))),
    **{
        f"xml attributes {kind}": (kind, numbered(' a{}="b"', f"<{name}", "/>"))
        for kind, name in (("wiki", "page"), ("posts", "row"), ("papers", "article"))
    },
    "xml spaces papers": ("papers", lambda size: GOOD["papers"].records[0].replace(b"</p>", b" " * size + b"a\nb</p>")),
    **{
        f"post {each}": ("posts", repeated(each, '<row Id="1" PostTypeId="1" Title="T" Body="', '"/>'))
        for each in POSTS
    },
    "csv columns": ("csv", numbered("c{},", behind="z\n")),
    "csv cells": ("csv", repeated("a,", behind="\n")),
    "csv quotes": ("csv", repeated('"', behind="\n")),
    "csv open quote": ("csv", repeated("b\n", '1,"a\n')),
    "csv empty rows": ("csv", repeated("\n")),
    **{
        f"{kind} {what}": (kind, json_row(more))
        for kind in ("lines", "dolma", "array", "oscar plain", "trees")
        for what, more in {
            "keys": numbered('"k{}":1,', behind='"z":1'),
            "digits": repeated("9", '"x":'),
            "depth": repeated("[", '"x":'),
            "deep objects": repeated('{"a":', '"x":'),
            "backslashes": repeated("\\", '"x":"'),
            "spaces": repeated(" "),
        }.items()
    },
    **{f"latex {each!r}": ("latex", json_row(repeated(each.replace("\\", "\\\\"), '"x":"', '"'))) for each in LATEX},
    **{f"book {each!r}": ("gutenberg", repeated(each, behind="\n" + BOOK)) for each in GUTENBERG},
    "header lines": ("headed", repeated(" c\n", "PEP: 1\nA: b\n", "\ntext\n")),
    "header spaces": ("headed", repeated(" ", "PEP: 1\nA: b", "c\n\ntext\n")),
    "irc": ("irc", repeated("[04:04] <")),
    "front matter": ("markdown", repeated("[", "---\na: ", "\n---\ntext\n")),
    "front matter, never closed": ("markdown", repeated("a: b\n", "---\n")),
    "spdx": ("code", repeated("SPDX-License-Identifier: MIT AND ", "# ")),
    "spaces of code": ("code", repeated(" ", behind="x")),
}  # fmt: skip


def archived(kind: str) -> Callable[[bytes], object]:
    """Reads an archive by the reader of this kind."""
    good = GOOD[kind]
    return lambda data: list(good.reader(RawObject(Held(data, 1 << 16), good.name, good.name, len(data))))


def many(kind: str, ending: str, each: int, text: str = "a") -> Make:
    """An archive of the kind with a file for each so many bytes."""
    pack = {"zip": zipped, "tar": tarred}[kind]
    mode = () if kind == "zip" else ("w",)
    return lambda size: pack(ending, *mode, **{f"d/{n}{ending}": text for n in range(size // each)})([b"x"])


PARSERS: dict[str, tuple[Callable[[bytes], object], Make]] = {
    "po continued": (translated_text, repeated('"a"\n', 'msgid "x"\nmsgstr "y"\n')),
    "po backslashes": (translated_text, repeated("\\", 'msgid "x"\nmsgstr "', "\n")),
    "po spaces": (translated_text, repeated(" ", 'msgid "x"\nmsgstr "y"', "z\n")),
    "metadata continued": (distribution, repeated("       |b\n", "Name: a\nVersion: 1\nDescription: a\n")),
    "files of a tar": (archived("texts plain tar"), many("tar", ".txt", 1024)),
    "files of a zip": (archived("texts zip"), many("zip", ".txt", 110)),
    "licences of a tar": (
        archived("code"),
        lambda size: gzip.compress(many("tar", "/LICENSE", 1024, "MIT")(size), 1, mtime=0),
    ),
    "samples of a tar": (archived("webdataset"), many("tar", ".json", 1024, '{"text":"a"}')),
    "a long name in a tar": (
        archived("texts plain tar"),
        lambda size: tarred(".txt", "w", **{f"{'a/' * (size // 2)}b.txt": "a"})([b"x"]),
    ),
    "punycode": (python_text, repeated("zz", "# coding: punycode\n#-")),
}


def cpu_seconds(name: str, size: int) -> float:
    """What reading an input costs, and it is not more than rows and DataErrors."""
    if name in PARSERS:
        parse, make = PARSERS[name]
        data = make(size)
        began = time.process_time()
        _attempt(lambda: parse(data))
        return time.process_time() - began
    kind, make = INPUTS[name]
    good = GOOD[kind]
    data = good.pack([make(size), *good.records[1:]]) if kind != "csv" else make(size)
    raw = RawObject(Held(data, 1 << 16), good.name, good.name, len(data))
    began = time.process_time()
    _attempt(lambda: list(good.reader(raw)))
    return time.process_time() - began


def _attempt(read: Callable[[], object]) -> None:
    try:
        read()
    except DataError:
        return


def _measure(name: str, answer: "multiprocessing.SimpleQueue[tuple[float, float]]") -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))  # ends this process, whatever native code it is in
    cpu_seconds(name, SIZE // 10)  # imports
    answer.put((cpu_seconds(name, SIZE), cpu_seconds(name, 2 * SIZE)))


@pytest.mark.parametrize("name", [*INPUTS, *PARSERS])
def test_twice_the_input_takes_twice_the_time(name: str) -> None:
    context = multiprocessing.get_context("fork")
    answer: multiprocessing.SimpleQueue[tuple[float, float]] = context.SimpleQueue()
    process = context.Process(target=_measure, args=(name, answer))
    process.start()
    process.join()
    assert process.exitcode == 0, f"{name}: ended by signal {-(process.exitcode or 0)}, or takes over {SECONDS} s"
    once, twice = answer.get()
    sys.stdout.write(f"{name}: {twice / (2 * SIZE / 1e6):.2f} CPU seconds a megabyte\n")
    assert twice < LEAST or twice < 3 * once, f"{name}: {once:.3f} s, of twice as much {twice:.3f} s"
