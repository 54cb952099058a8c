"""Documents as OSCAR makes them of the WET files of Common Crawl: long lines, each identified, and a vote.

Source: oscar-project/ungoliant (06fa8caf11b0173ab911f76bb0995b7cb8f4f48f): its filters, thresholds and vote.
The model is lid.176 as for the tagger `language-1`; OSCAR's releases used the larger file of the same model.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np
from msgspec import UNSET

from gristmill.extras import Needs, extra, needs
from gristmill.formats.fasttext.lid176 import MODEL, model_bytes
from gristmill.formats.oscar.compose import text_digest
from gristmill.formats.oscar.labels import bcp47_tag
from gristmill.formats.oscar.schema import new_metadata
from gristmill.lake.rows.document import Document
from gristmill.readers.web.records import WarcRecord
from gristmill.readers.web.wet import wet_records
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import Converted, LeftOut, RawObject
from gristmill.recipes.reader import Reader

_LONG = 100  # code points
_LONG_SHARE = 0.6  # of the code points in long lines
_LINE, _DOCUMENT = 0.8, 0.6  # least probability of a line's language, and of a document's
_MULTI_LINES, _MULTI_SHARE, _MULTI_LANGUAGES = 10, 0.8, (2, 5)
_TINY, _EDGE = 5, 5
_TAGS = {"als": "gsw", "eml": "x-eml"}

Identified = tuple[str, float] | None
"""Label and probability of a line; None if no language has 0.8."""


def split_wet_lines(text: str) -> list[str]:
    r"""The lines of a text: split at LF alone, a CR before it belongs to it, and no line follows the last LF.

    >>> split_wet_lines("a\r\n\u2028b\n\nc\n")
    ['a', '\u2028b', '', 'c']
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def trim_short_edge_lines(lines: Sequence[str]) -> list[str] | str:
    """The lines from the first to the last of more than 100 code points; or why the page is left out.

    >>> trim_short_edge_lines(["menu", "x" * 101, "short", "y" * 101, "footer"])[1]
    'short'
    >>> trim_short_edge_lines(["menu"])
    'only short lines'
    """
    long = [number for number, line in enumerate(lines) if len(line) > _LONG]
    if not long:
        return "only short lines"
    part = list(lines[long[0] : long[-1] + 1])
    if sum(len(line) for line in part if len(line) >= _LONG) < _LONG_SHARE * sum(map(len, part)):
        return "mostly short lines"
    return part


def is_multilingual(lines: Sequence[Identified]) -> bool:
    """Whether lines are of several languages: 10 lines or more, over 80% of them identified, of 2 to 5 languages.

    Each language has its share or more (the number of lines by that of languages, unidentified as one), and lines
    without a language have no more than that.

    >>> is_multilingual([("en", 0.9), ("fr", 0.9)] * 5), is_multilingual([("en", 0.9)] * 10)
    (True, False)
    """
    identified = [line for line in lines if line is not None]
    if len(lines) < _MULTI_LINES or len(identified) / len(lines) <= _MULTI_SHARE:
        return False
    counts: dict[str, int] = defaultdict(int)
    for label, _ in identified:
        counts[label] += 1
    without = len(lines) - len(identified)
    least, most = _MULTI_LANGUAGES
    share = len(lines) // (len(counts) + bool(without))
    return least <= len(counts) <= most and min(counts.values()) >= share >= without


def vote_page_language(lines: Sequence[str], identified: Sequence[Identified]) -> tuple[str, float] | str:
    """The label and probability of a page, or why it is left out.

    The label with most bytes wins; of equals the first by the alphabet. Its probability is the sum of those of its
    lines, weighted by their bytes, divided by all bytes.

    Args:
        lines: the lines of the page.
        identified: label and probability of each line; None for a line without a language.

    >>> label, probability = vote_page_language(["x" * 80, "y" * 20], [("en", 0.9), None])
    >>> label, round(probability, 2)
    ('en', 0.72)
    """
    if is_multilingual(identified):
        return "multi", 0.5
    sizes: dict[str, int] = defaultdict(int)
    weights: dict[str, float] = defaultdict(float)
    total = without = 0
    for line, found in zip(lines, identified, strict=True):
        size = len(line.encode())
        total += size
        if found is None:
            without += size
        else:
            sizes[found[0]] += size
            weights[found[0]] += size * found[1]
    label = min(sizes, key=lambda each: (-sizes[each], each), default="")
    if not label or sizes[label] < without:
        return "no language"
    probability = weights[label] / total
    return (label, probability) if probability >= _DOCUMENT else "language not certain"


def quality_warnings(lines: Sequence[str], text: str) -> list[str] | None:
    """The quality warnings of a document in OSCAR's order; None without any. See the tagger `oscar-annotations-1`.

    Args:
        lines: the lines of the text.
        text: the whole text.

    >>> quality_warnings(["a"], "a")
    ['tiny', 'short_sentences']
    """
    number, edge = len(lines), len(lines) // _EDGE
    letters = sum(unicodedata.category(character)[0] in "LM" for character in text)
    found = {
        "tiny": number < _TINY,
        "short_sentences": sum(len(line) <= _LONG for line in lines) > number // 2,
        "header": _short_line_count(lines[:edge]) > edge // 2,
        "footer": _short_line_count(lines[number - edge :]) > edge // 2,
        "noisy": len(text) - letters > len(text) // 2,
    }
    return [name for name, warned in found.items() if warned] or None


def _short_line_count(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) < _LONG for line in lines)


@dataclass(frozen=True, kw_only=True)
class OscarFromWet(Reader):
    """Makes documents of WET files as OSCAR's generator does. Use it as the `convert` of a source.

    Short lines at the beginning and end of a page are removed. Each other line is identified, and the document's
    language is that of most bytes. The metadata are those of documents that are read from OSCAR, so they can be tagged
    and exported as those: `url`, `language`, `warc_headers`, `oscar` with the identifications and quality warnings.
    The id is the WARC-Record-ID.

    Counted as left out: pages with only or mostly short lines, without a language, or whose language has a probability
    below 0.6. `tlsh`, `categories` and `harmful_pp` are null: they need other models and lists.

    Attributes:
        source: name of the source.
        schema: form of the metadata and labels: of OSCAR 22.01 (`als`, `annotation`) or 23.01 (`gsw`,
            `quality_warnings`).
        added: date on which the crawl was acquired, for the documents' `added`.
    """

    needs: ClassVar[Needs] = needs("fasttext")

    source: str
    schema: Literal["22.01", "23.01"] = "22.01"
    added: str | None = None

    def __post_init__(self) -> None:
        check_types(self, f"OscarFromWet of source {self.source!r}")

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per record. See gristmill.recipes.source.Source.convert."""
        return wet_records(raw, self.source, self._oscar_document)

    def _oscar_document(self, record: WarcRecord, content: str) -> Document | LeftOut:
        lines = trim_short_edge_lines(split_wet_lines(content))
        if isinstance(lines, str):
            return LeftOut(lines)
        identified = [identify_line_language(line) for line in lines]
        found = vote_page_language(lines, identified)
        if isinstance(found, str):
            return LeftOut(found)
        text = "\n".join(lines)
        label, probability = self._language_label(found[0]), float(str(np.float32(found[1])))
        oscar = new_metadata(self.schema, label, probability, len(lines))
        oscar["annotation" if self.schema == "22.01" else "quality_warnings"] = quality_warnings(lines, text)
        oscar["sentence_identifications"] = [
            None if each is None else {"label": self._language_label(each[0]), "prob": each[1]} for each in identified
        ]
        metadata: dict[str, Any] = {
            "url": record.headers.get("warc-target-uri", ""),
            "language": bcp47_tag(label, self.schema),
            "warc_headers": record.headers,
            "oscar": oscar,
            "oscar_line": {"text_xxh3": text_digest(text)},
        }
        return Document(
            id=record.id,
            text=text,
            source=self.source,
            added=UNSET if self.added is None else self.added,
            created=record.headers.get("warc-date", UNSET),
            metadata=metadata,
        )

    def _language_label(self, label: str) -> str:
        return label if self.schema == "22.01" else _TAGS.get(label, label)


def identify_line_language(line: str) -> Identified:
    """The language of a line by lid.176, if it has a probability of 0.8; as a 32-bit float, it may be just above 1.

    >>> line = "The mill by the river grinds slowly, but it grinds exceedingly fine."
    >>> label, probability = identify_line_language(line)
    >>> label, probability > 0.8
    ('en', True)
    """
    labels, probabilities = _load_language_model().predict(line, k=1, threshold=_LINE)
    if not labels:
        return None
    return labels[0].removeprefix("__label__"), float(str(np.float32(probabilities[0])))


@cache
def _load_language_model() -> Any:
    """The model. It is loaded once per process."""
    model_bytes(MODEL)
    with extra():
        import fasttext  # noqa: PLC0415 - takes 30 ms, and only processes that identify languages need it

    return fasttext.load_model(str(MODEL))
