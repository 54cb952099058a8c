"""Reads the pages of a MediaWiki dump: `pages-articles.xml.bz2` and its like (export format 0.3 to 0.11)."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from urllib.parse import quote

from msgspec import UNSET

from gristmill.errors import DataError
from gristmill.extras import Needs, needs
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.parts.pages import PartPages
from gristmill.readers.parts.units import cut_by
from gristmill.readers.text import Unfit, fit_text
from gristmill.readers.wiki.dump_file import plain_pieces
from gristmill.readers.wiki.interlanguage import ALWAYS_LEFT_OUT
from gristmill.readers.xml_events import XmlElement, parse_wanted_elements
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import TOO_LONG, Converted, LeftOut, RawObject, Refused
from gristmill.recipes.reader import Reader

OTHER_SHA1 = "other sha1 than stated"
"""The counter, or the reason, for pages whose text has another SHA-1 than the dump states."""
_SHA1 = re.compile(r"[0-9a-z]{1,31}")
_WITHOUT_TEXT = frozenset({"-2", "6", "14"})
"""Keys of the namespaces whose links are not text: media, files, categories."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_WIKI = re.compile(r"([a-z_]{2,20}?)(?:wiki|wiktionary|wikibooks|wikinews|wikiquote|wikisource|wikiversity|wikivoyage)")
_NO_LANGUAGES = frozenset(
    {"commons", "meta", "species", "wikidata", "mediawiki", "incubator", "sources", "simple", "test"}
)
_RANGES = ((-2, 15), (90, 149), (200, 219), (250, 275), (420, 499), (600, 619), (710, 711), (828, 829), (1198, 1199))
_SPACES = {str(key) for first, last in (*_RANGES, (2300, 2303), (2600, 2601)) for key in range(first, last + 1)}
"""Keys of the namespaces of MediaWiki and its extensions. Ledgers count others under one name."""
_MODELS = {
    "css", "flow-board", "GeoJSON", "javascript", "json", "MassMessageListContent", "proofread-index", "proofread-page",
    "sanitized-css", "Scribunto", "text", "wikibase-item", "wikibase-lexeme", "wikibase-property",
}  # fmt: skip
"""Content models of MediaWiki and its extensions. Ledgers count others under one name."""
_SHOWN = 4 << 10
_REDIRECT = re.compile(
    r"\s*#\s*(?:REDIRECT|REDIRECTION|WEITERLEITUNG|REDIRECCIÓN|REDIRECIONAMENTO|RINVIA|DOORVERWIJZING|OMDIRIGERING"
    r"|OHJAUS|UUDELLEENOHJAUS|PATRZ|PRZEKIERUJ|PŘESMĚRUJ|ÁTIRÁNYÍTÁS|YÖNLENDİRME|ALIH|REDIRECTEAZA|PREUSMJERI"
    r"|ΑΝΑΚΑΤΕΥΘΥΝΣΗ|ПЕРЕНАПРАВЛЕНИЕ|ПЕРЕНАПР|ПЕРЕНАПРАВЛЕННЯ|ПРЕНАСОЧВАНЕ|ВИЖ|ПРЕУСМЕРИ|הפניה|تحويل"
    r"|تغییر[_ ]مسیر|重定向|転送|リダイレクト|넘겨주기)\s*:?\s*\[\[([^\[\]|#\n]+)[^\[\]\n]*\]\]",
    re.IGNORECASE,
)
"""The beginning of a redirect in dumps that do not mark them (export format 0.3), in common languages."""
_CANONICAL = {
    "media": "-2", "special": "-1", "talk": "1", "user": "2", "user talk": "3", "project": "4", "project talk": "5",
    "wikipedia": "4", "wikipedia talk": "5", "file": "6", "file talk": "7", "image": "6", "image talk": "7",
    "mediawiki": "8", "mediawiki talk": "9", "template": "10", "template talk": "11", "help": "12", "help talk": "13",
    "category": "14", "category talk": "15", "portal": "100", "portal talk": "101",
}  # fmt: skip
"""Keys of the English namespaces, for dumps that do not list theirs."""


@dataclass(frozen=True, slots=True)
class Site:
    """What a dump says about its wiki.

    Attributes:
        name: name of its database, such as `enwiki`.
        base: the beginning of its pages' addresses.
        left_out: its own names, in lower case, of the namespaces whose links are not text.
    """

    name: str = ""
    base: str = ""
    left_out: frozenset[str] = ALWAYS_LEFT_OUT
    keys: Mapping[str, str] = field(default_factory=lambda: _CANONICAL)

    @property
    def language(self) -> str:
        """The language of its name, as a tag; empty if the name does not tell.

        >>> Site(name="zh_min_nanwiki").language, Site(name="commonswiki").language
        ('zh-min-nan', '')
        """
        match = _WIKI.fullmatch(self.name)
        return match[1].replace("_", "-") if match and match[1] not in _NO_LANGUAGES else ""

    def namespace_of_title(self, title: str) -> str:
        """The key of a title's namespace, by its prefix.

        >>> Site().namespace_of_title("User talk:Ann"), Site().namespace_of_title("CSI: Miami")
        ('3', '0')
        """
        prefix, colon, _ = title.partition(":")
        return self.keys.get(prefix.replace("_", " ").strip().lower(), "0") if colon else "0"

    def url(self, title: str) -> str:
        """The address of a page; empty if the dump does not tell.

        >>> Site(base="https://en.wikipedia.org/wiki/").url("Rye bread")
        'https://en.wikipedia.org/wiki/Rye_bread'
        """
        return self.base + quote(title.replace(" ", "_"), safe="/:(),;@!*'~") if self.base else ""


def site_of_info(info: XmlElement) -> Site:
    """The wiki that a `siteinfo` describes."""
    base = _child_text(info, "base")
    namespaces = info.find("namespaces")
    named = list(namespaces.elements("namespace")) if namespaces is not None else []
    keys = {each.text().strip().lower(): each.attributes.get("key", "0") for each in named}
    own = {name for name, key in keys.items() if name and key in _WITHOUT_TEXT}
    return Site(_child_text(info, "dbname"), base[: base.rfind("/") + 1], ALWAYS_LEFT_OUT | own, keys or _CANONICAL)


@dataclass(frozen=True, kw_only=True)
class MediaWikiPages(Reader):
    """Reads dumps of MediaWiki: bzip2, gzip, zstd or plain, in UTF-8 or UTF-16. Use it as the `convert` of a source.

    The id is the page's id; `created` is the time of its revision. Metadata: `title`, `namespace`, `revision`, `url`,
    `wiki` (the name of the database), `language` (of the wiki's name), and `redirect` for redirects that are kept. Who
    wrote the revision is left out.

    Counted as left out: pages of other namespaces, redirects, pages that are not wikitext, deleted texts, pages without
    a text, and revisions that are not the newest, if a page has several. Refused: pages without an id, or that cannot
    be parsed.

    The SHA-1 that the dump states for a text is compared with the text. In some real dumps many differ: in that of
    ltgwiki a third. So pages that differ are kept and counted as `other sha1 than stated`, unless the recipe refuses
    them. Nothing is compared where the dump states no SHA-1, or has no text.

    Old dumps (export format 0.3) do not tell namespaces and redirects. Then the prefix of the title gives the
    namespace, and a page whose text begins with `#REDIRECT [[` is a redirect.

    Attributes:
        source: name of the source.
        namespaces: keys of the namespaces whose pages are read; 0 has the articles.
        redirects: choice about redirects: leave them out, or keep them. Kept ones have their title as text.
        tables: whether tables become lines. By default they are left out.
        ids: `page`: the page's id alone, for a source of one wiki; `wiki`: with the wiki's name, as `enwiki:12`. Then a
            dump that does not name its wiki (`dbname`) is an error.
        wrong_sha1: choice about pages whose text has another SHA-1 than the dump states: count them, or refuse them.
        page_limit: longest wikitext of a page in code points.
        added: date on which the dump was acquired, for the documents' `added`.
    """

    needs: ClassVar[Needs] = needs("mwparserfromhell")

    source: str
    namespaces: tuple[int, ...] = (0,)
    redirects: Literal["leave out", "keep"] = "leave out"
    tables: bool = False
    ids: Literal["page", "wiki"] = "page"
    wrong_sha1: Literal["count", "refuse"] = "count"
    page_limit: int = 8 << 20
    added: str | None = None

    def __post_init__(self) -> None:
        check_types(self, f"MediaWikiPages of source {self.source!r}")

    def cut_by(self, name: str) -> str:
        """The units at which a dump of this name is cut, such as `lines`; empty if it is never cut. See Split."""
        return cut_by(name)

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields one result per page, and one for its older revisions. See gristmill.recipes.source.Source.convert.

        Raises:
            DataError: the dump is truncated or damaged, is no XML of a dump, or does not name its wiki for the ids.
        """
        site, number = Site(), -1
        part = PartPages(raw, raw.part) if raw.part else None
        pieces = part.pieces() if part else plain_pieces(raw)
        for element in parse_wanted_elements(pieces, {"page", "siteinfo"}, where=raw.path, limit=raw.limits.row):
            if part:
                element.start, element.end = element.start + part.shift, element.end + part.shift
            if element.name == "siteinfo":
                site = site_of_info(element)
                continue
            number += 1
            raw.raw_span = RawSpan(element.start, element.end)
            where = f"{raw.name} row {number} (bytes {element.start}-{element.end} unpacked, line {element.line})"
            older = sum(1 for _ in element.elements("revision")) - 1
            if older > 0:
                yield LeftOut("older revision", older, self._page_id(element, site, raw), self.source)
                raw.raw_span = RawSpan(element.start, element.end)
            yield self._convert_page(element, site, where, number, raw)
        if number < 0 and not part:
            raise Unfit("no pages", f"{raw.path} holds no page of a MediaWiki dump; take another reader or dump")

    def _convert_page(self, page: XmlElement, site: Site, where: str, number: int, raw: RawObject) -> Converted:
        size = page.end - page.start
        if page.too_large:
            return Refused(TOO_LONG, where, b"", size, row=number, offset=page.start)
        title, key = _child_text(page, "title"), _child_text(page, "id")
        space, revision = _child_text(page, "ns") or site.namespace_of_title(title), _newest_revision(page)
        source = "".join(each.text() for each in revision.elements("text")) if revision is not None else ""
        redirect = _redirect_target(page, source)
        reason, name = self._why_not(space, redirect, revision), self._page_id(page, site, raw)
        if reason or revision is None:
            return LeftOut(reason, id=name, source=self.source)
        try:
            self._check_sha1(revision, source, raw)
            text = title if redirect is not None and key else self._page_plain_text(page, source, site)
        except Unfit as unfit:
            detail = f"{where}: {title}" + (f": {unfit.detail}" if unfit.detail else "")
            head = source[:_SHOWN].encode("utf-8", "surrogatepass")[:_SHOWN]
            return Refused(unfit.reason, detail, head, size, row=number, id=name, offset=page.start)
        if not text:
            return LeftOut("page without text", id=name, source=self.source)
        facts = {"id": name, "namespace": int(space), "redirect": redirect or ""}
        return self._page_document(page, revision, site, text, facts)

    def _page_id(self, page: XmlElement, site: Site, raw: RawObject) -> str:
        """The id of a page's document; empty if the page has none."""
        key = _child_text(page, "id")
        if self.ids == "page" or not key:
            return key
        if not site.name:
            raise DataError(
                f"{raw.path}: it does not name its wiki (no dbname in siteinfo), so ids of the form wiki:page cannot be"
                f' made; take ids="page" in MediaWikiPages of source {self.source!r}'
            )
        return f"{site.name}:{key}"

    def _check_sha1(self, revision: XmlElement, source: str, raw: RawObject) -> None:
        if _is_intact(revision, source):
            return
        if self.wrong_sha1 == "refuse":
            raise Unfit(OTHER_SHA1, "the text was changed, or its checksum is of another text")
        raw.count(OTHER_SHA1)

    def _page_plain_text(self, page: XmlElement, source: str, site: Site) -> str:
        if not _child_text(page, "id"):
            raise Unfit("no page id")
        if len(source) > self.page_limit:
            raise Unfit(TOO_LONG, f"{len(source)} code points of wikitext, but page_limit is {self.page_limit}")
        title = _child_text(page, "title")
        from gristmill.readers.wiki.wikitext import wikitext_to_plain  # noqa: PLC0415 - it needs an extra

        text = wikitext_to_plain(source, title, site.left_out, tables=self.tables)
        return fit_text(text) if text else ""

    def _why_not(self, space: str, redirect: str | None, revision: XmlElement | None) -> str:
        """The reason to leave a page out; empty if it is wanted."""
        if space not in {str(each) for each in self.namespaces}:
            return f"namespace {space}" if space in _SPACES else "another namespace"
        if redirect is not None and self.redirects == "leave out":
            return "redirect"
        if revision is None:
            return "page without a revision"
        model = _child_text(revision, "model")
        if model not in {"", "wikitext"}:
            return f"content model {model}" if model in _MODELS else "another content model"
        text = revision.find("text")
        return "deleted text" if text is not None and "deleted" in text.attributes else ""

    def _page_document(
        self, page: XmlElement, revision: XmlElement, site: Site, text: str, facts: dict[str, Any]
    ) -> Document:
        title, time = _child_text(page, "title"), _child_text(revision, "timestamp")
        metadata: dict[str, Any] = {"title": title, "namespace": facts["namespace"]}
        found = {
            "revision": _child_text(revision, "id"),
            "url": site.url(title),
            "wiki": site.name,
            "language": site.language,
            "redirect": facts["redirect"],
        }
        metadata |= {name: value for name, value in found.items() if value}
        return Document(
            id=facts["id"],
            text=text,
            source=self.source,
            added=UNSET if self.added is None else self.added,
            created=f"{time[:-1]}.000Z" if _TIME.fullmatch(time) else UNSET,
            metadata=metadata,
        )


def _newest_revision(page: XmlElement) -> XmlElement | None:
    """The revision with the latest time; of equal ones, the last."""
    newest, latest = None, ""
    for revision in page.elements("revision"):
        time = _child_text(revision, "timestamp")
        time = time if _TIME.fullmatch(time) else ""
        if newest is None or time >= latest:
            newest, latest = revision, time
    return newest


def _is_intact(revision: XmlElement, source: str) -> bool:
    """Whether a revision's text has the SHA-1 that the dump states, in base 36; also if nothing can be compared.

    The checksum of a revision is that of its text only if the text is all of its content. Other content stands in
    elements `content`; then the text may state its own checksum.
    """
    text = revision.find("text")
    own = text.attributes.get("sha1", "") if text is not None else ""
    stated = own or (_child_text(revision, "sha1") if revision.find("content") is None else "")
    if not stated or not source:
        return True
    digest = hashlib.sha1(source.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    return _SHA1.fullmatch(stated) is not None and int(stated, 36) == int(digest, 16)


def _redirect_target(page: XmlElement, source: str) -> str | None:
    """Where a redirect leads; empty if that is not told, None if the page is no redirect."""
    marked, told = page.find("redirect"), _REDIRECT.match(source)
    title = marked.attributes.get("title", "") if marked is not None else ""
    target = title or (told[1].replace("_", " ").strip() if told else "")
    return target if marked is not None or told else None


def _child_text(element: XmlElement, name: str) -> str:
    found = element.find(name)
    return found.text().strip() if found is not None else ""
