"""Reads papers in JATS, the XML of journals and of PubMed Central.

Source: ANSI/NISO Z39.96, "JATS: Journal Article Tag Suite" (https://jats.nlm.nih.gov).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import UNSET

from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.archive import is_archive
from gristmill.readers.files.creative_commons import creative_commons_licence
from gristmill.readers.files.raw_files import FileDocuments
from gristmill.readers.files.xml_text import BlockText
from gristmill.readers.mapping.fields import beside
from gristmill.readers.text import Unfit, fit_text
from gristmill.readers.xml_events import XmlElement, parse_wanted_elements
from gristmill.readers.zip_archive import Member
from gristmill.recipes.option_types import check_pattern
from gristmill.recipes.raw_object import TOO_LONG, Converted, LeftOut, RawObject, Refused

Floats = Literal["none", "captions", "all"]

_BLOCKS = (
    "p", "sec", "title", "abstract", "list", "list-item", "def-list", "def-item", "term", "def", "disp-quote",
    "disp-formula", "boxed-text", "verse-group", "verse-line", "speech", "statement", "fig", "table-wrap", "caption",
    "table", "tr", "fn", "preformat", "attrib", "ack", "app", "glossary", "supplementary-material",
)  # fmt: skip
_ALWAYS_SKIPPED = ("label", "ref-list", "graphic", "inline-graphic", "media", "object-id", "permissions", "sec-meta")
_FLOATS = ("fig", "fig-group", "table-wrap", "table-wrap-group", "supplementary-material")
_SKIPPED: dict[str, tuple[str, ...]] = {"none": _FLOATS, "captions": ("table", "table-wrap-foot"), "all": ()}
_IDS = {
    "pmc": "pmc", "pmcid": "pmc", "pmcaid": "pmc", "pmid": "pubmed", "doi": "doi", "arxiv": "arxiv",
    "publisher-id": "publisher_id", "manuscript": "manuscript",
}  # fmt: skip
_DATES = ("epub", "pub", "electronic", "ppub", "print", "collection", "pmc-release")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FLOATS_GROUPS = ("floats-group", "floats-wrap")
"""Figures and tables behind the article. `floats-wrap` is the name of JATS's forerunner."""
_TEX = re.compile(r"\\begin\{document\}(.*?)\\end\{document\}", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class JatsArticles(FileDocuments):
    """Reads each article as one document: its title, its abstract, and its body. Use it as the `convert` of a source.

    The raw objects are XML files, packed or not, or tar or zip archives of them. Metadata, as far as the article gives
    them, are `kind` (`paper`), `pmc`, `pubmed`, `doi`, `arxiv` and other ids as they are written, `title`, `subtitle`,
    `translated_titles` (by language), `authors`, `journal`, `issn`, `keywords`, `article_type`, `language`, `license`
    (an SPDX name), `license_url` and, in archives, `path`. The id is `PMC` with the number of PubMed Central; else the
    DOI, or the first other id. `created` is the date of publication, if it names a day; a day that no calendar has is
    counted as `impossible date`, and the next date is taken. An article is refused if the kind of one of its ids is the
    name of another field, such as `title`.

    References are left out. So are reviews, replies and translations inside an article (`sub-article`, `response`):
    they are counted as `article inside an article`. Abstracts in other words, such as teasers, are counted as `abstract
    in other words`, and those in other languages as `translated abstract`. Formulas are LaTeX where the article gives
    it, else the text of their MathML.

    Attributes:
        select: a pattern for the names of an archive's files; others are not read.
        floats: choice of the parts of figures and tables: `none`, `captions`, or `all` with the cells of tables. They
            stand where the article has them: in the body, or in a group behind it.
        back: whether acknowledgements, appendices and notes behind the body are kept.
        translations: whether translated titles and abstracts are part of the text.
    """

    select: str = r"\.n?xml$"
    floats: Floats = "captions"
    back: bool = False
    translations: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pattern(self.select, f"JatsArticles of source {self.source!r}: select")

    def wants(self, name: str) -> bool:
        """Whether the pattern takes the name."""
        return re.search(self.select, name) is not None

    def documents(self, file: Member, raw: RawObject) -> Iterator[Converted]:
        number = 0
        member = file.name if is_archive(raw.path) else ""
        for article in parse_wanted_elements([file.raw], {"article"}, where=file.name, limit=raw.limits.row):
            where = f"{raw.name}{f' entry {member}' if member else ''} line {article.line}"
            number += 1
            raw.raw_span = RawSpan(article.start, article.end, member)
            line = file.raw[article.start : article.end]
            if article.too_large:
                yield Refused(TOO_LONG, where, line[:1024], len(line))
                continue
            try:
                yield self._convert_article(article, member, raw)
            except Unfit as unfit:
                where = f"{where} ({unfit.detail})" if unfit.detail else where
                yield Refused(
                    unfit.reason,
                    where,
                    line,
                    id=_document_id(_article_ids(about) if (about := _article_meta_element(article)) else {}),
                )
            if inner := sum(1 for name in ("sub-article", "response") for _ in article.descendants(name)):
                yield LeftOut("article inside an article", inner)
        if not number:
            raise Unfit("no article", "no element <article>")

    def _convert_article(self, article: XmlElement, path: str, raw: RawObject) -> Document:
        about = _article_meta_element(article)
        if about is None:
            raise Unfit("no metadata of the article", "no element <article-meta>")
        ids = _article_ids(about)
        if not ids:
            raise Unfit("no id of the article", "no element <article-id>")
        text = BlockText(
            blocks=_BLOCKS,
            skipped=(*_ALWAYS_SKIPPED, *_SKIPPED[self.floats]),
            lines=("break",),
            cells=("td", "th"),
            kept=("preformat", "code"),
        )
        _reduce_formulas_to_latex(article)
        floats = [each for name in _FLOATS_GROUPS for each in article.elements(name)]
        back = [*article.elements("back")] if self.back else []
        front = [*self._title_elements(about), *self._abstract_elements(about, raw)]
        created = _publication_date(about, raw)
        return Document(
            id=_document_id(ids),
            text=fit_text(text(*front, *article.elements("body"), *floats, *back)) + "\n",
            source=self.source,
            created=created or UNSET,
            metadata=_article_metadata(article, about, ids, path),
        )

    def _title_elements(self, about: XmlElement) -> Iterator[XmlElement]:
        """The title, the subtitles, and the translations of both if they are wanted."""
        for group in about.elements("title-group"):
            for name in ("article-title", "subtitle"):
                yield from group.elements(name)
            for translated in group.elements("trans-title-group") if self.translations else ():
                yield from translated.elements()
            yield from group.elements("trans-title") if self.translations else ()

    def _abstract_elements(self, about: XmlElement, raw: RawObject) -> list[XmlElement]:
        """The abstract; without one, the abstracts for tables of contents, as graphics, or in other words."""
        given, translated = list(about.elements("abstract")), list(about.elements("trans-abstract"))
        plain = [each for each in given if "abstract-type" not in each.attributes]
        if plain and len(plain) < len(given):
            raw.count("abstract in other words", len(given) - len(plain))
        if translated and not self.translations:
            raw.count("translated abstract", len(translated))
        return (plain or given) + (translated if self.translations else [])


def _single_spaced_text(element: XmlElement | None) -> str:
    """The text of an element with single spaces; empty without one."""
    return " ".join(element.text().split()) if element is not None else ""


def _article_ids(about: XmlElement) -> dict[str, str]:
    """The ids of an article, by our names where we have one."""
    ids: dict[str, str] = {}
    for each in about.elements("article-id"):
        kind = each.attributes.get("pub-id-type", "other")
        if _single_spaced_text(each):
            ids.setdefault(_IDS.get(kind, kind.replace("-", "_")), _single_spaced_text(each))
    return ids


def _reduce_formulas_to_latex(element: XmlElement) -> None:
    """Leaves of each formula its LaTeX, without the document around it, if the article gives it."""
    for each in element.elements():
        if each.name == "tex-math":
            tex = each.text()
            found = _TEX.search(tex)
            each.content = [(found[1] if found else tex).strip()]
        elif each.name == "alternatives" and each.find("tex-math"):
            each.content = list(each.elements("tex-math"))
        _reduce_formulas_to_latex(each)


def _publication_date(about: XmlElement, raw: RawObject) -> str:
    """The date of publication as RFC 3339; empty if no date names a day."""
    dates = {
        each.attributes.get("pub-type")
        or each.attributes.get("date-type")
        or each.attributes.get("publication-format"): each
        for each in about.elements("pub-date")
    }
    for kind in _DATES:
        year, month, day = (
            _single_spaced_text(dates[kind].find(name)) if kind in dates else "" for name in ("year", "month", "day")
        )
        if not (year and month and day):
            continue
        made = _date_of_elements(year, month, day)
        if made:
            return made
        raw.count("impossible date")
    return ""


def _date_of_elements(year: str, month: str, day: str) -> str:
    """A day as RFC 3339; empty if no calendar has it.

    >>> _date_of_elements("2019", "Sept.", "8"), _date_of_elements("2019", "february", "29")
    ('2019-09-08T00:00:00Z', '')
    >>> _date_of_elements("2020", "2", "29")
    '2020-02-29T00:00:00Z'
    """
    named = [number for number, name in enumerate(_MONTHS, start=1) if month.lower().startswith(name)]
    if not (year.isascii() and year.isdigit() and day.isascii() and day.isdigit()):
        return ""
    if not named and not (month.isascii() and month.isdigit()):
        return ""
    try:
        made = datetime(int(year), named[0] if named else int(month), int(day), tzinfo=UTC)
    except (ValueError, OverflowError):
        return ""
    return f"{made.date().isoformat()}T00:00:00Z"


def _article_meta_element(article: XmlElement) -> XmlElement | None:
    """What an article says about itself."""
    return article.find("front", "article-meta") or article.find("front-stub")


def _document_id(ids: dict[str, str]) -> str:
    """The id of an article's document; empty if the article has none."""
    return f"PMC{ids['pmc'].removeprefix('PMC')}" if "pmc" in ids else ids.get("doi", next(iter(ids.values()), ""))


def _article_metadata(article: XmlElement, about: XmlElement, ids: dict[str, str], path: str) -> dict[str, Any]:
    """The metadata of an article; what it does not give is left out."""
    journal, titles = article.find("front", "journal-meta"), about.find("title-group")
    licences = list(about.descendants("license"))
    addresses = [value for each in licences for value in _licence_addresses(each)]
    found = [creative_commons_licence(words) for words in [*addresses, *map(_single_spaced_text, licences)]]
    metadata: dict[str, Any] = {
        "title": _single_spaced_text(about.find("title-group", "article-title")),
        "subtitle": ": ".join(_single_spaced_text(each) for each in titles.elements("subtitle")) if titles else "",
        "translated_titles": _translated_titles(titles) if titles else {},
        "authors": _author_names(about),
        "journal": _single_spaced_text(next(journal.descendants("journal-title"), None)) if journal else "",
        "issn": [_single_spaced_text(each) for each in journal.elements("issn")] if journal else [],
        "keywords": [
            _single_spaced_text(each) for group in about.elements("kwd-group") for each in group.descendants("kwd")
        ],
        "article_type": article.attributes.get("article-type", ""),
        "language": article.attributes.get("xml:lang", ""),
        "license": next(filter(None, found), ""),
        "license_url": next(iter(addresses), ""),
        "path": path,
    }
    return beside(beside({"kind": "paper"}, ids), {key: value for key, value in metadata.items() if value})


def _translated_titles(titles: XmlElement) -> dict[str, str]:
    """The translated titles by their languages. Without a language the key is `und`."""
    found: dict[str, str] = {}
    for group in titles.elements("trans-title-group"):
        language = group.attributes.get("xml:lang", "")
        for each in group.elements("trans-title"):
            found.setdefault(each.attributes.get("xml:lang") or language or "und", _single_spaced_text(each))
    for each in titles.elements("trans-title"):
        found.setdefault(each.attributes.get("xml:lang", "und"), _single_spaced_text(each))
    return found


def _author_names(about: XmlElement) -> list[str]:
    """The names of the authors, given names first; a group under its own name."""
    names: list[str] = []
    for group in about.elements("contrib-group"):
        for each in group.elements("contrib"):
            if each.attributes.get("contrib-type", "author") != "author":
                continue
            name = each.find("name") or each.find("name-alternatives", "name")
            full = (
                f"{_single_spaced_text(name.find('given-names'))} {_single_spaced_text(name.find('surname'))}"
                if name
                else ""
            )
            names.append(
                full.strip()
                or _single_spaced_text(each.find("collab"))
                or _single_spaced_text(each.find("string-name"))
            )
    return [name for name in names if name]


def _licence_addresses(licence: XmlElement) -> list[str]:
    """The addresses that a licence names: its own first."""
    inner = [*licence.descendants("license_ref")]
    links = [each.attributes.get("xlink:href", "") for each in (licence, *licence.descendants("ext-link"))]
    return [address for address in (*(_single_spaced_text(each) for each in inner), *links) if address]
