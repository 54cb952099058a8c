"""Texts in many scripts, made from the sample data, and texts by hand that are hard for taggers.

What compares our taggers with those of other toolkits asks both about these texts: `short_texts` in CI, `all_texts` in
`make proofs`. The same sample data give the same texts, in the same order.
"""

import gzip
import hashlib
import html
import json
import re
import tarfile
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from gristmill.lake.rows.document import Document

SAMPLES = "GRISTMILL_SAMPLE_DATA"
"""The variable that names the folder of the sample data."""

LENGTH = 140
"""Code points of a short text."""

PIECES = {"udhr": 10_000, "tldr": 5_000, "stack": 2_000, "peps": 2_000, "chat": 1_500, "books": 600, "web": 700}
"""How many short texts are taken from each part of the sample data: 21,800. They are those with the lowest hashes."""

STARTS = 60
"""Texts are cut from the first pieces of each document."""

_BEYOND_LATIN = "\u0370"

_MARKUP = re.compile(r"<[^>]*>")


def edge_texts() -> list[str]:
    """Texts by hand: no text, no words, odd line ends and spaces, joined emoji, marks, repeats and long lines."""
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
    # fmt: off
    return [
        *("", " ", "\n", "\n\n\n", "\t \n \t", "\r\n\r\n", "\u3000\u2028\u2029\xa0", "\x00", "a\x00b\nc\x00", "a", "."),
        *("no paragraph at all and no end", "one.\ntwo.\n", "one.\r\ntwo.\r\nthree words here.\r\n"),
        *("lone\rreturn.\rend", "line\u2028separator.\u2029paragraph\x85next\x0bvertical\x0cform\x1cfile."),
        *("\ufeffbyte order mark.", f"{family} family {family}.\nflags \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7!"),
        *(f"{family * 40}", "e\u0301te\u0301 a\u0300 la\u0300 mer.", "Z\u0351\u036b\u0343a\u0328\u0321lgo\u0334\u0335"),
        *("\u0301\u0301 alone", "İstanbul \u0131s İİİ.\nSTRASSE ẞ ß ﬁ", "ΑΣ ΣΑΣ ς \u03c3", "Ⅻ ² ½ ٣ ४ ๕ 一 五"),
        *("\u0662\u0663\u0664-\u0665\u0666\u0667", "word " * 3_000, "x" * 20_000, "the same line.\n" * 300),
        *("a\nb\na\nb\n" * 100, "{" * 500, "}\n{\n" * 50, "\n".join("abc")),
        *("- bullet\n* bullet\n• bullet\n‣ bullet…\nplain…\n", "# # # …\n#…", "a...\nb…\nc. . .\n"),
        *("Lorem ipsum dolor sit amet.", "LOREM IPSUM", "lorem\nipsum", "This site needs JavaScript.", "javascript:"),
        *("Terms of use. Privacy policy. Cookie policy.", "if (a) { return b; }", "[1] cite [edit] [citation needed]"),
        *("https://example.org/a/b?c=d#e www.example.org http://", "Read more ...\nShare\n0 comments\nSign in\n"),
        *(f"mail {each} now" for each in ("a@b.c", "(@b.de", "a@b", "a.b@c.d.", "a@@b.c", "@", "x@y.z,", "q@r@s")),
        *("a@b.c", "a@b.c\n", "a@b.c\r\n", "<a@b.c> ", ",.;@a@b.c?! ", "@.@ a@b.c ", " a@\nb.c ", "é@ü.de \n@ß.de "),
        *(f" {each} " for each in ("(555) 123-4567", "555.123.4567", "5551234567", "555 123 45678", "(555)1234567")),
        *("555-123-4567", "\n555-123-4567", " ٠١٢ ٣٤٥ ٦٧٨٩", "  (123)  -. 456-7890123 456 7890", " 123 456\n7890"),
        *("1.2.3.4", "256.1.1.1", "1.2.3.4.5.6.7.8", "01.002.3.25555", "v1.2.3.4-5.6.7", "999.999.999.999", "1..2.3.4"),
        *("isbn 0-123456789 1.2.3.4 # 555-123-4567", "a@b.c d@e.f\tg@h.i ", "a@b.c" * 50, "1." * 50, "@" * 50),
        *(" @." * 50, "中文没有空格。日本語も。", "ไม่มีช่องว่างระหว่างคำ", "한국어 문장입니다. 두 번째!", "مرحبا؟ نعم."),
        *("हिन्दी वाक्य।", "שלום עולם."),
    ]
    # fmt: on


def short_texts(sample: Path) -> list[str]:
    """At least 20,000 texts of at most 140 code points in at least 20 scripts, and those by hand."""
    chosen: list[str] = []
    for name, count in PIECES.items():
        pieces = [piece for text in PARTS[name](sample) for piece in islice(_cut(text), STARTS)]
        pieces.sort(key=_hash)
        rare = [piece for piece in pieces if _is_beyond_latin(piece)][: count // 2]
        chosen += rare + [piece for piece in pieces if not _is_beyond_latin(piece)][: count - len(rare)]
    return edge_texts() + chosen


def all_texts(sample: Path) -> list[str]:
    """Every text of the sample data, uncut, and those by hand: about 28,000 texts of 50 MB."""
    return edge_texts() + [text for part in PARTS.values() for text in part(sample)]


def documents(texts: Iterable[str]) -> list[Document]:
    """A document for each text; its id is its number."""
    return [Document(id=str(number), text=text, source="rows") for number, text in enumerate(texts)]


def scripts(texts: Iterable[str]) -> Counter[str]:
    """How many texts have a letter of each script, by the first word of the letter's name in Unicode."""
    found: Counter[str] = Counter()
    for text in texts:
        found.update({unicodedata.name(letter, "?").split()[0] for letter in set(text) if letter.isalpha()})
    return found


def _cut(text: str) -> Iterator[str]:
    """Pieces of a text that end at line ends where there are some: short lines stay together."""
    start = 0
    while start < len(text):
        end = start + LENGTH
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        yield text[start:end]
        start = end


def _is_beyond_latin(text: str) -> bool:
    return not text.isascii() and 2 * sum(character >= _BEYOND_LATIN for character in text) > len(text)


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _udhr(sample: Path) -> Iterator[str]:
    for page in _tarred(sample / "raw/multilingual/udhr-declarations.tar.gz"):
        body = page.partition("<body>")[2]
        lines = (html.unescape(_MARKUP.sub("", line)).strip() for line in body.split("\n"))
        yield "\n".join(line for line in lines if line)


def _tldr(sample: Path) -> Iterator[str]:
    yield from _tarred(sample / "raw/multilingual/tldr-pages.tar.gz")


def _stack(sample: Path) -> Iterator[str]:
    for path in sorted((sample / "raw/stack").iterdir()):
        yield from _tarred(path)


def _peps(sample: Path) -> Iterator[str]:
    yield from _tarred(sample / "raw/peps/peps.tar.gz")


def _chat(sample: Path) -> Iterator[str]:
    yield from _tarred(sample / "raw/chat/ubuntu-irc/train-raw.tar.gz")
    for row in _rows(sample / "raw/chat/hh-rlhf/harmless-base-test.jsonl.gz"):
        yield row["chosen"]


def _books(sample: Path) -> Iterator[str]:
    for path in sorted((sample / "raw/books/gutenberg").iterdir()):
        coding = "utf-8" if path.name.endswith("-0.txt.gz") else "latin-1"
        yield gzip.decompress(path.read_bytes()).decode(coding)


def _web(sample: Path) -> Iterator[str]:
    for path in sorted((sample / "raw/oscar").rglob("*.jsonl.gz")):
        for row in _rows(path):
            yield row["content"]
    for path in sorted((sample / "dolma/cc_en_head/documents").iterdir()):
        for row in _rows(path):
            yield row["text"]
    for row in _rows(sample / "raw/forum/stack_exchange.jsonl.gz"):
        yield row["text"]


PARTS = {
    "udhr": _udhr,
    "tldr": _tldr,
    "stack": _stack,
    "peps": _peps,
    "chat": _chat,
    "books": _books,
    "web": _web,
}
"""The parts of the sample data: a declaration in 500 languages, short pages in 18, code, proposals, chat, books."""


def _tarred(path: Path) -> Iterator[str]:
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                yield file.read().decode("utf-8", errors="replace")


def _rows(path: Path) -> Iterator[dict[str, str]]:
    return map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
