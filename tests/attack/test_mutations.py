"""Every reader over good files with small damages: rows, refused rows, or an error that names the file; never another.

A damage takes the place of a word, a number, a sign, or some bytes of a record, of a packed file or of what is in it.
"""

import gzip
import random
import re
import time
from collections.abc import Callable

import pytest
from goodfiles import GOOD, Good
from partkit import Held

from gristmill.errors import DataError, RecipeError
from gristmill.formats.oscar.checksums import read_checksums
from gristmill.readers.gettext_po import translated_text
from gristmill.readers.hugging_face import data_files
from gristmill.readers.mapping.front_matter import split_front_matter
from gristmill.readers.python_metadata import distribution
from gristmill.readers.text import python_text
from gristmill.recipes.raw_object import RawObject

CPU_SECONDS = 2
"""Of each kind of file: hundreds of damaged files."""

TOKENS = re.compile(rb"[A-Za-z][A-Za-z-]*|\d+|[^\sA-Za-z0-9]")
ODD = [
    *(
        "é",
        "\u0131",
        "İ",
        "²",
        "٣",
        "Ⅻ",
        "\uff10",
        "\u2028",
        "\ufeff",
        "\U0001f600",
        "\u00a0",
        "\u0301",
        "ß",
        "\x85",
        "\x1c",
    ),
    *(
        "",
        " ",
        "-",
        "-1",
        "+1",
        "1_0",
        "0x10",
        "0",
        "00",
        "1e999",
        "nan",
        "inf",
        "1.5",
        "9" * 20,
        "9" * 400,
        "9" * 5000,
    ),
    *(
        "a" * 300,
        "\n",
        "\r",
        "\r\n",
        "\t",
        "\x00",
        "\x1b",
        "%",
        "%s",
        "%00",
        "{}",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        "&",
        ";",
    ),
    *(
        "&#0;",
        "&#xD800;",
        "&#1114112;",
        "\\u0000",
        "\\ud800",
        '"',
        "'",
        "\\",
        "/",
        "../",
        "=",
        ":",
        ",",
        "|",
        "#",
        "--",
    ),
    *(
        "null",
        "true",
        "undefined",
        "idna",
        "punycode",
        "hex",
        "rot13",
        "utf-16",
        "unicode_escape",
        "mbcs",
        "=?utf-8?q?",
    ),
    *("urn:", "http://[", "//", "sha1:", "sha1:é", "md5:=", "sha256:" + "A" * 63, "chunked", "gzip", "deflate", "br"),
]
REPLACEMENTS = [
    *(each.encode() for each in ODD),
    b"\xff",
    b"\xed\xa0\x80",
    b"\xc3",
    b"\x80",
    b"\xff\xfe",
    b"PK\x03\x04",
]


def damaged(draw: random.Random, data: bytes) -> bytes:
    """Bytes with one to three damages."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        way = draw.randrange(8)
        start = draw.randrange(len(data) + 1)
        end = min(len(data), start + draw.choice((1, 2, 8, 64)))
        if way < 4:
            token = TOKENS.search(data, start) or TOKENS.search(data)
            if token is not None:
                data = data[: token.start()] + draw.choice(REPLACEMENTS) + data[token.end() :]
        elif way == 4:
            data = data[:start] + draw.randbytes(end - start) + data[end:]
        elif way == 5:
            data = data[:start] + draw.choice(REPLACEMENTS) + data[start:]
        elif way == 6:
            data = data[:start] + data[end:]
        else:
            data = data[:end] + data[start:end] + data[end:]
    return data


def of_a_record(draw: random.Random, good: Good) -> bytes:
    records = list(good.records)
    number = draw.randrange(len(records))
    records[number] = damaged(draw, records[number])
    return good.pack(records)


def of_the_file(draw: random.Random, good: Good) -> bytes:
    return damaged(draw, good.data)


def of_what_is_packed(draw: random.Random, good: Good) -> bytes:
    data = good.data
    return gzip.compress(damaged(draw, gzip.decompress(data)), 1, mtime=0) if data[:2] == b"\x1f\x8b" else data


WAYS: list[Callable[[random.Random, Good], bytes]] = [of_a_record, of_a_record, of_the_file, of_what_is_packed]

TRANSLATED = (
    b'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n#, fuzzy\n'
    b'msgctxt "a\\x41"\nmsgid "b\\n"\n'
    b'msgid_plural "bs"\nmsgstr[0] "c\\101"\nmsgstr[1] "d"\n\nmsgid "yes"\nmsgstr "ja"\n"ja"\n#~ msgid "no"\n'
)
PARSERS: dict[str, tuple[Callable[[bytes], object], bytes]] = {
    "po": (translated_text, TRANSLATED),
    "metadata": (
        distribution,
        b"Name: Foo_Bar\nVersion: 1.0\nClassifier: A :: B\nLicense-Expression: MIT\n\nGrinds.\n",
    ),
    "python": (python_text, b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\nname = '\xe9'\n"),
    "front matter": (
        lambda raw: split_front_matter(raw.decode("utf-8", "replace")),
        b"---\nlang: en\nday: 2024-05-06\nat: 2024-05-06T07:08:09Z\ntags: [a, 0x1f, 1_000, 12:30:45, ~]\n---\na\n",
    ),
    "card": (
        lambda raw: data_files("train", card=raw.decode("utf-8", "replace")),
        b"---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: ['[a-c]*']\n---\n# Card\n",
    ),
    "checksums": (
        lambda raw: read_checksums(raw, "a_sha256.txt"),
        b"d41d8cd98f00b204e9800998ecf8427e *en_part_1.jsonl.gz\n",
    ),
}


def read(good: Good, data: bytes) -> None:
    """Reads a file whole.

    Raises:
        DataError: the file is damaged.
    """
    raw = RawObject(Held(data, 4096), good.name, good.name, len(data))
    for _ in good.reader(raw):
        pass
    raw.sha256()


@pytest.mark.parametrize("kind", GOOD)
def test_a_damage_is_a_row_a_refused_row_or_an_error_that_names_the_file(kind: str, seed: int) -> None:
    good, draw = GOOD[kind], random.Random(f"{seed} {kind}")
    stop, tried = time.process_time() + CPU_SECONDS, 0
    while time.process_time() < stop:
        data = draw.choice(WAYS if kind != "parquet" else [of_the_file])(draw, good)
        tried += 1
        try:
            read(good, data)
        except DataError as error:
            if good.name not in str(error):
                pytest.fail(f"the file is not named: {error}")
        except Exception as error:
            error.add_note(f"{kind}: damaged file {tried}, {data[:20_000]!r}")
            raise
    assert tried > 100


@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_of_foreign_fields_raises_its_own_error(name: str, seed: int) -> None:
    (parse, good), draw = PARSERS[name], random.Random(f"{seed} {name}")
    parse(good)
    for _ in range(3000):
        data = damaged(draw, good)
        try:
            parse(data)
        except (DataError, RecipeError):
            continue
        except Exception as error:
            error.add_note(f"{name}: {data!r}")
            raise
