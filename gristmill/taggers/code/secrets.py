"""SECRETS: keys, tokens and passwords in code and text, by the public formats of those who issue them.

Each format is documented by its issuer, or is in the plugins of detect-secrets 1.5.0 (Yelp), which Dolma's
`code_secrets_v1` runs. What is found is not the same: detect-secrets also reports every string of high entropy, public
IP addresses, and every value after a word like `password`, which on code are false for the most part. Here a value
counts only if a name like `api_key` or `password` is given it in quotes, and it looks random. Keys of more issuers are
found, private keys are spans from their first to their last line, and each occurrence is reported.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator

import re2

from gristmill.lake.rows.document import Document, Span
from gristmill.recipes.tagger import Label, Score, Spans, Tagger
from gristmill.text.characters.stretches import split_into_stretches
from gristmill.text.huge.limits import MOST_SPANS, TooManySpans, bounded

_KEYS = {
    "aws": r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}",
    "github": r"gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
    "gitlab": r"gl(?:pat|dt|ft|soat|rt|ptt)-[A-Za-z0-9_-]{20}[A-Za-z0-9_-]*",
    "slack": r"xox[abpors]-(?:[0-9]+-)+[A-Za-z0-9]+",
    "slack_hook": r"hooks\.slack\.com/services/T[A-Za-z0-9_]+/B[A-Za-z0-9_]+/[A-Za-z0-9_]+",
    "google": r"AIza[A-Za-z0-9_-]{35}",
    "stripe": r"[rs]k_live_[A-Za-z0-9]{24}[A-Za-z0-9]*",
    "anthropic": r"sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{80}[A-Za-z0-9_-]*",
    "hugging_face": r"hf_[A-Za-z]{34}",
    "npm": r"npm_[A-Za-z0-9]{36}",
    "pypi": r"pypi-AgE[A-Za-z0-9_-]{70}[A-Za-z0-9_-]*",
    "sendgrid": r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    "square": r"sq0csp-[A-Za-z0-9_-]{43}",
    "mailchimp": r"[0-9a-f]{32}-us[0-9]{1,2}",
    "azure_storage": r"AccountKey=[A-Za-z0-9+/]{86}",
    "telegram": r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
}
_OPENAI = r"T3BlbkFJ[A-Za-z0-9_-]{20}[A-Za-z0-9_-]*"  # comes after its first half, which begins with `sk-`
_JWT = r"\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+"
_URL = r"[a-z][a-z0-9+.-]{1,9}://[^\s:/?#\[\]@!$&'()*+,;=<>\x22]+:([^\s:/?#\[\]@!$&'()*+,;=<>{}%\x22]+)@[A-Za-z0-9]"
_NAME = r"(?i:secret|token|passwd|password|pwd|api_?key|access_?key|auth_?key|private_?key|credential)[A-Za-z0-9_]*"
_ASSIGNED = _NAME + r"[\x22']?\s*(?::=|=>|=|:)\s*[\x22']([A-Za-z0-9+/=_.~!@#$%^&*-]+)[\x22']"
_GROUPS = ("keys", "web_tokens", "keys", "passwords", "assigned")
# Of each pattern, what may come before its first fixed part is bounded, or cannot hold the beginning of another. So no
# text, however it is made, is read more than a few times.
_OPTIONS = re2.Options()
_OPTIONS.max_mem = 64 << 20
_ANY = re2.compile(rf"\b((?:{'|'.join(_KEYS.values())}))(?:\b|$)|({_JWT})|({_OPENAI})|{_URL}|{_ASSIGNED}", _OPTIONS)

_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[0-9]:")
_END = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: [0-9a-f]+")
_AFTER_KEY = {"-": re.compile("-----"), "P": re.compile("Private-MAC: |PuTTY-User-Key")}
"""What no key has in it: its end, or the begin of another."""
_LONGEST_KEY = 20_000
_LONGEST = 8192
"""Code points of the longest other secret."""

_FIRST_PART = 1000
_SK = re.compile(r"\bsk-[A-Za-z0-9_-]{1,200}\Z")
_HEADER = re.compile(r"\beyJ[A-Za-z0-9_-]{5,900}\Z")
_SHORTEST = 12
_BITS = 3.5
_HEX_BITS = 3.0
_HEX = re.compile("[0-9A-Fa-f]+")


def tag(document: Document) -> dict[str, Label]:
    """The secrets as spans, which mixes can replace; the spans of one label do not overlap.

    * `keys`: keys and tokens of AWS, GitHub, GitLab, Slack, Google, Stripe, OpenAI, Anthropic, Hugging Face, npm, PyPI,
      SendGrid, Square, Mailchimp, Azure storage and Telegram. AWS's documented examples, which end in `EXAMPLE`, are
      none.
    * `private_keys`: from `-----BEGIN ... PRIVATE KEY-----` to its end, or that line alone if it has no end.
    * `web_tokens`: JSON web tokens (RFC 7519) with a signature.
    * `passwords`: of URLs, as in `postgres://user:password@host`.
    * `assigned`: quoted values of names like `api_key`, if they have 12 code points or more, a digit, and an entropy of
      3.5 bits (hexadecimal digits: 3).
    * `count`: how many there are.

    >>> key = "AKIA" + "QWERTY2345QWERTY"
    >>> labels = tag(Document(id="a", text=f"id = {key}", source="code"))
    >>> labels["keys"], labels["count"]
    ([Span(start=5, end=25, score=1.0)], 1.0)
    """
    text = document.text
    found: dict[str, list[Span]] = {
        "private_keys": bounded(_private_keys(text), "private_keys"),
        **{group: [] for group in _GROUPS},
    }
    for group, start, end in _find_secrets(text):
        if not found[group] or start >= found[group][-1].end:
            if len(found[group]) == MOST_SPANS:
                raise TooManySpans(group)
            found[group].append(Span(start, end, 1.0))
    return {**found, "count": float(sum(map(len, found.values())))}


def _find_secrets(text: str) -> Iterator[tuple[str, int, int]]:
    first = 0
    for stretch in split_into_stretches(text):
        # What begins in one stretch may end in the next. RE2 takes no lone surrogate.
        part = text[first : first + len(stretch) + 2 * _LONGEST]  # with the name that it is given to
        if not part.isascii():
            part = part.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        for match in _ANY.finditer(part):
            number = next(each for each in range(1, 6) if match.start(each) >= 0)
            start, end = match.span(number)
            start = _secret_start(part, start)
            if 0 <= start < len(stretch) and _is_secret(number, part[start:end]):
                yield _GROUPS[number - 1], first + start, first + end
        first += len(stretch)


def _secret_start(text: str, start: int) -> int:
    """Where a secret begins that was found by its second part."""
    if text.startswith("T3BlbkFJ", start):
        first = _SK.search(text, max(start - _FIRST_PART, 0), start)
    elif text.startswith(".eyJ", start):
        first = _HEADER.search(text, max(start - _FIRST_PART, 0), start)
    else:
        return start
    return first.start() if first else -1


def _is_secret(number: int, value: str) -> bool:
    if len(value) > _LONGEST:
        return False
    if _GROUPS[number - 1] == "assigned":
        least = _HEX_BITS if _HEX.fullmatch(value) else _BITS
        return len(value) >= _SHORTEST and any(map(str.isdigit, value)) and _shannon_entropy(value) >= least
    return not value.endswith("EXAMPLE")


def _shannon_entropy(value: str) -> float:
    """Shannon's entropy of a string's characters, in bits a character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


def _private_keys(text: str) -> Iterator[Span]:
    at = 0
    while begin := _BEGIN.search(text, at):
        after = _AFTER_KEY[begin[0][0]].search(text, begin.end(), begin.end() + _LONGEST_KEY)
        end = _END.match(text, after.start()) if after else None
        at = end.end() if end else begin.end()
        yield Span(begin.start(), at, 1.0)


SECRETS = Tagger(
    name="code-secrets-1",
    document=tag,
    labels=(
        Spans("keys", "keys and tokens of AWS, GitHub, Slack and others, by their formats", low=1, high=1),
        Spans("private_keys", "private keys in PEM, OpenPGP or PuTTY form", low=1, high=1),
        Spans("web_tokens", "JSON web tokens", low=1, high=1),
        Spans("passwords", "passwords of URLs", low=1, high=1),
        Spans("assigned", "quoted values that look random, of names like `api_key`", low=1, high=1),
        Score("count", "how many secrets there are", unit="secrets", low=0),
    ),
    parameters={"formats": sorted(_KEYS), "bits": _BITS, "hex_bits": _HEX_BITS},
    description="Keys, tokens and passwords by their public formats.",
)
