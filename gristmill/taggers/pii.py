"""PII: e-mail addresses, phone numbers and IP addresses, as spans, in time that grows with the length of the text.

Source: the tagger `pii_regex_with_counts_fast_v2` of the Dolma toolkit 1.2.1 (github.com/allenai/dolma, commit
669f534823b08d266a8fff01f8a1c916a5a56576, `FastPiiRegex` in `python/dolma/taggers/pii.py`). The spans and `doc_count`
are equal to its own. Two things differ. Dolma's `doc_frac` also counts the span of `doc_count`, which is the whole
text: it is `share` plus 1, and -1 for the empty text. Dolma looks at no text with more than 10,000 question marks,
because its expressions may then take hours. Ours look at every text, in linear time.

What is found has the limits of that definition. A phone number is North American: three, three and four digits after
white space, with or without separators, so any ten digits are one. An IP address has version 4, and a version such as
1.2.3.4 is one. An e-mail address ends before white space, so the last word of a text is none. Its span includes the
marks and the white space around it. All three lie within one line.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import re2

from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Spans, Tagger
from gristmill.text.huge.limits import bounded

Found = list[tuple[int, int, int]]
"""Spans with the score 1."""

_SPACES = "".join(chr(code) for code in range(0x3001) if chr(code).isspace() and chr(code) != "\n")
_MARKS = ".@,?!;:)("
_NAME_MARKS = _MARKS.replace("@", "")

_HOST = re.compile(r"@(?<=[^\s@]@)[^\s@,?!;:)(]++(?=\s|[@,?!;:)(]\s)")
"""The `@` of an address and what follows it: at least one character, up to a mark or white space."""

_PHONE = re.compile(r"[^\S\n]\(?+\d{3}\)?+[-. ]*+\d{3}[-. ]?+\d{4}")
"""No part can give back what it took: what follows each part cannot begin with a character of it."""

_TWO_NUMBERS = re.compile(r"\.[0-9]{1,3}\.[0-9]{1,3}\.")
_IP = re.compile(
    r"(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)"
)  # a choice of at most three digits, so at most twelve are tried at each place


def tag(batch: Batch) -> dict[str, Any]:
    r"""The labels of a batch of documents.

    * `EMAIL_ADDRESS`, `PHONE_NUMBER`, `IP_ADDRESS`: spans, each with the score 1. Spans of two labels may overlap.
    * `doc_count`: how many spans.
    * `share`: their code points, divided by those of the text. The empty text has none.

    >>> from gristmill.lake.rows.document import Document
    >>> text = "Write to ann@example.org, call (555) 123-4567,\nping 10.0.0.1.\n"
    >>> labels = tag(Batch([Document(id="a", text=text, source="mail")]))
    >>> {name: [text[start:end] for start, end, _ in labels[name][0]] for name in labels if name.isupper()}
    {'EMAIL_ADDRESS': [' ann@example.org, '], 'PHONE_NUMBER': [' (555) 123-4567'], 'IP_ADDRESS': ['10.0.0.1']}
    >>> labels["doc_count"], labels["share"]
    ([3.0], [0.66129])
    """
    labels: dict[str, list[Any]] = {name: [] for name in (*KINDS, "doc_count", "share")}
    for number, text in enumerate(batch.texts):
        found = dict(zip(KINDS, (_emails(text, number), *numbers(text, number)), strict=True))
        for name, spans in found.items():
            labels[name].append(spans)
        labels["doc_count"].append(float(sum(map(len, found.values()))))
        size = sum(end - start for spans in found.values() for start, end, _ in spans)
        labels["share"].append(round(size / len(text), 5) if text else None)
    return labels


def _emails(text: str, number: int) -> Found:
    """The e-mail addresses whose domain has a dot."""
    found = (
        (start, end, 1)
        for start, end, name, domain in addresses(text)
        if "." in domain and (name.lstrip(_NAME_MARKS) or name[-1]) != "("
    )
    return bounded(found, "EMAIL_ADDRESS", number)


def addresses(text: str) -> Iterator[tuple[int, int, str, str]]:
    """All that looks like an e-mail address: where its span starts and ends, the name before the `@`, and the domain.

    Marks and white space before an address belong to its span, also if they have an `@`.

    Args:
        text: any text.
    """
    if "@" not in text:
        return
    hosts = _HOST.finditer(text)
    host, last = next(hosts, None), 0
    while host is not None:
        line = max(last, text.rfind("\n", last, host.start()) + 1)
        name = _name_start(text, line, host.start())
        start = line + len(text[line:name].rstrip(_MARKS + _SPACES))
        following = next(hosts, None)
        # All that lies between marks and white space alone is one address, and the last name and host count.
        while following is not None:
            further = _name_start(text, name, following.start())
            if text[name:further].strip(_MARKS + _SPACES):
                break
            host, name, following = following, further, next(hosts, None)
        domain, last = _domain(text, host)
        yield start, last, text[name : host.start()], domain
        host = following


def _name_start(text: str, line: int, at: int) -> int:
    """Where the name before the `@` begins: after white space, another `@`, or the start of the line."""
    piece = text[text.rfind("@", line, at) + 1 or line : at]
    return at - len(piece.rsplit(None, 1)[-1])


def _domain(text: str, host: re.Match[str]) -> tuple[str, int]:
    """What follows the `@` of an address, without the mark that ends it; and the end of its span."""
    end = host.end()
    domain = text[host.start() + 1 : end]
    if not text[end].isspace():
        return domain, end + 2
    if domain.endswith(".") and len(domain) > 1:
        return domain[:-1], end + 1
    two = text[end] != "\n" and text[end + 1 : end + 2].isspace()
    return domain, end + 1 + two


def numbers(text: str, number: int = 0) -> tuple[Found, Found]:
    """The phone numbers and the IP addresses of a text.

    Args:
        text: any text.
        number: index of its document among those that the tagger was given.

    Raises:
        TooManySpans: it has more than 1,000,000 of one kind.
    """
    if not _numbers().search(text.encode("utf-8", "surrogatepass")):
        return [], []
    return bounded(_phones(text), "PHONE_NUMBER", number), bounded(_ips(text), "IP_ADDRESS", number)


def _phones(text: str) -> Iterator[tuple[int, int, int]]:
    """The phone numbers. All the white space before one belongs to it."""
    last = 0
    for phone in _PHONE.finditer(text):
        line = max(last, text.rfind("\n", last, phone.start()) + 1)
        last = phone.end()
        yield line + len(text[line : phone.start()].rstrip(_SPACES)), last, 1


def _ips(text: str) -> Iterator[tuple[int, int, int]]:
    """The IP addresses, in each stretch of digits and dots that has three dots near each other."""
    last = 0
    while (hit := _TWO_NUMBERS.search(text, last)) is not None:
        start = last + len(text[last : hit.start()].rstrip("0123456789."))
        last = hit.end() + _run(text, hit.end())
        for match in _IP.finditer(text, start, last):
            yield *match.span(), 1


def _run(text: str, start: int) -> int:
    """How many digits and dots follow."""
    run = re.compile("[0-9.]*").match(text, start)
    return 0 if run is None else run.end() - start


@cache
def _numbers() -> Any:
    """Finds in the UTF-8 bytes of a text whether it may have a phone number or an IP address."""
    digit = "[" + "".join(f"\\x{{{code:x}}}" for code in range(0x110000) if chr(code).isdecimal()) + "]"
    space = "[" + "".join(f"\\x{{{ord(space):x}}}" for space in _SPACES) + "]"
    phone = rf"{space}\(?{digit}{{3}}\)?[-. ]*{digit}{{3}}[-. ]?{digit}{{4}}"
    return re2.compile(rf"{phone}|[0-9]\.[0-9]{{1,3}}\.[0-9]{{1,3}}\.[0-9]")


KINDS = ("EMAIL_ADDRESS", "PHONE_NUMBER", "IP_ADDRESS")
"""The labels of spans, in Dolma's order."""

PII = Tagger(
    name="pii-1",
    batch=tag,
    labels=(
        Spans("EMAIL_ADDRESS", "each e-mail address, with the marks and white space around it", low=1, high=1),
        Spans("PHONE_NUMBER", "each phone number of ten digits, with the white space before it", low=1, high=1),
        Spans("IP_ADDRESS", "each IP address of version 4", low=1, high=1),
        Score("doc_count", "how many spans there are", unit="spans", low=0),
        Score(
            "share",
            "code points in spans, as a share of the text; it can exceed 1, because spans may overlap",
            low=0,
            optional=True,
        ),
    ),
    parameters={"definition": "dolma 1.2.1 pii_regex_with_counts_fast_v2"},
    description="E-mail addresses, phone numbers and IP addresses, as pii_regex_with_counts_fast_v2 of Dolma.",
)
