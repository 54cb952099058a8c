"""Reads papers in JATS, the XML of journals and of PubMed Central.

Source: ANSI/NISO Z39.96, "JATS: Journal Article Tag Suite" (https://jats.nlm.nih.gov).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import UNSET

from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.archive import is_archive
from gristmill.readers.files.creative_commons import creative_commons
from gristmill.readers.files.raw_files import FileDocuments
from gristmill.readers.files.xml_text import BlockText
from gristmill.readers.text import Unfit, fit_text
from gristmill.readers.xml_events import XmlElement, subtrees
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
_DATES = ("epub", "pub", "ppub", "collection", "pmc-release")
_TEX = re.compile(r"\\begin\{document\}(.*?)\\end\{document\}", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class JatsArticles(FileDocuments):
    """Reads each article as one document: its title, its abstracts, and its body. Use it as the `convert` of a source.

    The raw objects are XML files, packed or not, or tar or zip archives of them. Metadata, as far as the article gives
    them, are `kind` (`paper`), `pmc`, `pubmed`, `doi`, `arxiv` and other ids as they are written, `title`, `authors`,
    `journal`, `issn`, `keywords`, `article_type`, `language`, `license` (an SPDX name), `license_url` and, in archives,
    `path`. The id is `PMC` with the number of PubMed Central; else the DOI, or the first other id. `created` is the
    date of publication, if it names a day.

    References are left out. So are reviews, replies and translations inside an article (`sub-article`, `response`):
    they are counted as `article inside an article`. Formulas are LaTeX where the article gives it, else the text of
    their MathML.

    Attributes:
        select: a pattern for the names of an archive's files; others are not read.
        floats: what is kept of figures and tables: `none`, `captions`, or `all` with the cells of tables.
        back: whether acknowledgements, appendices and notes behind the body are kept.
    """

    select: str = r"\.n?xml$"
    floats: Floats = "captions"
    back: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pattern(self.select, f"JatsArticles of source {self.source!r}: select")

    def wants(self, name: str) -> bool:
        """Whether the pattern takes the name."""
        return re.search(self.select, name) is not None

    def documents(self, file: Member, raw: RawObject) -> Iterator[Converted]:
        number = 0
        member = file.name if is_archive(raw.path) else ""
        for article in subtrees([file.raw], {"article"}, where=file.name, limit=raw.limits.row):
            where = f"{raw.name}{f' entry {member}' if member else ''} line {article.line}"
            number += 1
            raw.raw_span = RawSpan(article.start, article.end, member)
            line = file.raw[article.start : article.end]
            if article.too_large:
                yield Refused(TOO_LONG, where, line[:1024], len(line))
                continue
            try:
                yield self._article(article, member)
            except Unfit as unfit:
                yield Refused(unfit.reason, f"{where} ({unfit.detail})" if unfit.detail else where, line)
            if inner := sum(1 for name in ("sub-article", "response") for _ in article.below(name)):
                yield LeftOut("article inside an article", inner)
        if not number:
            raise Unfit("no article", "no element <article>")

    def _article(self, article: XmlElement, path: str) -> Document:
        about = article.find("front", "article-meta") or article.find("front-stub")
        if about is None:
            raise Unfit("no metadata of the article", "no element <article-meta>")
        ids = _ids(about)
        if not ids:
            raise Unfit("no id of the article", "no element <article-id>")
        text = BlockText(
            blocks=_BLOCKS,
            skipped=(*_ALWAYS_SKIPPED, *_SKIPPED[self.floats]),
            lines=("break",),
            cells=("td", "th"),
            kept=("preformat", "code"),
        )
        _keep_latex(article)
        title = about.find("title-group", "article-title")
        parts = [*([title] if title else []), *_abstracts(about), *article.elements("body")]
        back = [*article.elements("back"), *article.elements("floats-group")] if self.back else []
        created = _created(about)
        return Document(
            id=f"PMC{ids['pmc'].removeprefix('PMC')}" if "pmc" in ids else ids.get("doi", next(iter(ids.values()))),
            text=fit_text(text(*parts, *back)) + "\n",
            source=self.source,
            created=created or UNSET,
            metadata=_metadata(article, about, ids, path),
        )


def _flat(element: XmlElement | None) -> str:
    """The text of an element with single spaces; empty without one."""
    return " ".join(element.text().split()) if element is not None else ""


def _ids(about: XmlElement) -> dict[str, str]:
    """The ids of an article, by our names where we have one."""
    ids: dict[str, str] = {}
    for each in about.elements("article-id"):
        kind = each.attributes.get("pub-id-type", "other")
        if _flat(each):
            ids.setdefault(_IDS.get(kind, kind.replace("-", "_")), _flat(each))
    return ids


def _abstracts(about: XmlElement) -> list[XmlElement]:
    """The abstracts, without those that repeat one: for tables of contents, as graphics, or in other words."""
    return [each for each in about.elements("abstract") if "abstract-type" not in each.attributes] or list(
        about.elements("abstract")
    )


def _keep_latex(element: XmlElement) -> None:
    """Leaves of each formula its LaTeX, without the document around it, if the article gives it."""
    for each in element.elements():
        if each.name == "tex-math":
            tex = each.text()
            found = _TEX.search(tex)
            each.content = [(found[1] if found else tex).strip()]
        elif each.name == "alternatives" and each.find("tex-math"):
            each.content = list(each.elements("tex-math"))
        _keep_latex(each)


def _created(about: XmlElement) -> str:
    """The date of publication as RFC 3339; empty if no date names a day."""
    dates = {
        each.attributes.get("pub-type")
        or each.attributes.get("date-type")
        or each.attributes.get("publication-format"): each
        for each in about.elements("pub-date")
    }
    for kind in _DATES:
        parts = [_flat(dates[kind].find(name)) for name in ("year", "month", "day")] if kind in dates else []
        if parts and all(part.isdigit() and len(part) <= width for part, width in zip(parts, (4, 2, 2), strict=True)):
            return f"{parts[0]:0>4}-{parts[1]:0>2}-{parts[2]:0>2}T00:00:00Z"
    return ""


def _metadata(article: XmlElement, about: XmlElement, ids: dict[str, str], path: str) -> dict[str, Any]:
    """The metadata of an article; what it does not give is left out."""
    journal = article.find("front", "journal-meta")
    licences = list(about.below("license"))
    addresses = [value for each in licences for value in _addresses(each)]
    found = [creative_commons(words) for words in [*addresses, *map(_flat, licences)]]
    metadata: dict[str, Any] = {
        "kind": "paper",
        **ids,
        "title": _flat(about.find("title-group", "article-title")),
        "authors": _authors(about),
        "journal": _flat(next(journal.below("journal-title"), None)) if journal else "",
        "issn": [_flat(each) for each in journal.elements("issn")] if journal else [],
        "keywords": [_flat(each) for group in about.elements("kwd-group") for each in group.below("kwd")],
        "article_type": article.attributes.get("article-type", ""),
        "language": article.attributes.get("xml:lang", ""),
        "license": next(filter(None, found), ""),
        "license_url": next(iter(addresses), ""),
        "path": path,
    }
    return {key: value for key, value in metadata.items() if value}


def _authors(about: XmlElement) -> list[str]:
    """The names of the authors, given names first; a group under its own name."""
    names: list[str] = []
    for group in about.elements("contrib-group"):
        for each in group.elements("contrib"):
            if each.attributes.get("contrib-type", "author") != "author":
                continue
            name = each.find("name") or each.find("name-alternatives", "name")
            full = f"{_flat(name.find('given-names'))} {_flat(name.find('surname'))}" if name else ""
            names.append(full.strip() or _flat(each.find("collab")) or _flat(each.find("string-name")))
    return [name for name in names if name]


def _addresses(licence: XmlElement) -> list[str]:
    """The addresses that a licence names: its own first."""
    inner = [*licence.below("license_ref")]
    links = [each.attributes.get("xlink:href", "") for each in (licence, *licence.below("ext-link"))]
    return [address for address in (*(_flat(each) for each in inner), *links) if address]
