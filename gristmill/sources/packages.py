"""Python packages as published: code, documentation, and translations into about a hundred languages.

A raw object is a wheel, or the METADATA file of an installed distribution. A file in `requirements/` pins each
edition, and `python -m gristmill acquire` downloads it.
"""

import posixpath
import re
from collections.abc import Iterator

from gristmill.errors import DataError
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.gettext_po import translated_text
from gristmill.readers.python_metadata import UNKNOWN_LICENCE, Distribution, distribution
from gristmill.readers.text import Unfit, fit_text, plain_text, python_text
from gristmill.readers.zip_archive import ENTRY_LIMIT, TOTAL_LIMIT, Member, members
from gristmill.recipes.raw_object import RawObject, Refused
from gristmill.recipes.rules import Rule, field, score
from gristmill.recipes.source import Hashed, Revision, Source

# We read these in the licence files of the wheels of requirements/. METADATA alone says for example just "BSD".
LICENCES = {
    "awscli": "Apache-2.0",
    "attrs": "MIT",
    "dateparser": "BSD-3-Clause",
    "django": "BSD-3-Clause",
    "faker": "MIT",
    "pydantic": "MIT",
    "rich": "MIT",
    "sphinx": "BSD-2-Clause",
}
KINDS = {".py": "code", ".rst": "prose", ".md": "prose", ".txt": "prose", ".po": "translation"}
_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")
_VERSIONED = re.compile(r"^[^/]+\.(dist-info|data)/")
_LOCALE = re.compile(r"(?:^|/)locales?/([A-Za-z]{2,3}(?:[-_@][A-Za-z0-9]+)*)/")


def convert(raw: RawObject) -> Iterator[Document | Refused]:
    """The documents of one wheel: its description, and its files of the kinds that hold text.

    Files of other kinds (compiled translations, images, scripts, styles, web pages) are not documents and are not
    counted. The same holds for the wheel's own records and licence files. Ids are `<package>/<path in the wheel>`, for
    the description `<package>/dist-info/METADATA`. They are the same in every release.

    Raises:
        DataError: the wheel is truncated or damaged, or has no METADATA that can be read.
    """
    data = raw.read(raw.size)  # a wheel is no row: its entries have limits of their own
    if not raw.name.endswith(".whl"):
        raw.raw_span = RawSpan(0, len(data))
        yield _description(data, raw.name)
        return
    release = _release(data, raw.name)
    for member in members(data, name=raw.name, accept=_is_text):
        raw.raw_span = RawSpan(0, len(member.raw), member.name)
        yield _document(release, member, f"{raw.name}: {member.name}")


def _description(metadata: bytes, where: str) -> Document | Refused:
    """The only document of a METADATA file outside a wheel."""
    try:
        release = distribution(metadata)
    except Unfit as unfit:
        return Refused(reason=unfit.reason, where=where, raw=metadata)
    return _document(release, Member("x.dist-info/METADATA", metadata), where)


def _release(wheel: bytes, name: str) -> Distribution:
    """The release of a wheel, from its METADATA."""
    entries = list(members(wheel, name=name, accept=lambda path: _METADATA.fullmatch(path) is not None))
    if len(entries) != 1 or entries[0].refused:
        raise DataError(f"{name}: a wheel has one METADATA, this has {len(entries)}; acquire it again")
    try:
        return distribution(entries[0].raw)
    except Unfit as unfit:
        raise DataError(f"{name}: {entries[0].name}: {unfit}; acquire it again") from unfit


def _kind(path: str) -> str:
    """The kind of a wheel's entry: `readme`, `code`, `prose` or `translation`; empty if it is not a document."""
    if _METADATA.fullmatch(path):
        return "readme"
    versioned = _VERSIONED.match(path)
    if versioned and versioned[1] == "dist-info":
        return ""
    return KINDS.get(posixpath.splitext(path)[1].lower(), "")


def _is_text(path: str) -> bool:
    return bool(_kind(path))


def _document(release: Distribution, member: Member, where: str) -> Document | Refused:
    """A document from one file of a release, or why it was refused."""
    if member.refused:
        return Refused(reason=member.refused, where=where, raw=member.raw)
    kind = _kind(member.name)
    try:
        text = _text(kind, member.raw)
    except Unfit as unfit:
        return Refused(reason=unfit.reason, where=where, raw=member.raw)
    path = _VERSIONED.sub(r"\1/", member.name)
    stated = release.licence != UNKNOWN_LICENCE
    metadata = {
        "kind": kind,
        "license": release.licence if stated else LICENCES.get(release.name, UNKNOWN_LICENCE),
        "package": release.name,
        "path": path,
        "version": release.version,
    }
    if kind == "code":
        metadata["programming_language"] = "Python"
    if kind == "translation" and (locale := _LOCALE.search(path)):
        metadata["locale"] = locale[1]
    return Document(id=f"{release.name}/{path}", text=text, source="packages", metadata=metadata)


def _text(kind: str, raw: bytes) -> str:
    """The text of a file of this kind."""
    match kind:
        case "code":
            return python_text(raw)
        case "translation":
            return translated_text(raw)
        case "readme":
            return fit_text(distribution(raw).description)
        case _:
            return plain_text(raw)


PACKAGES = Source(
    name="packages",
    description="Code, documentation and translations out of published Python packages, an edition a year",
    licence="Apache-2.0 AND BSD-2-Clause AND BSD-3-Clause AND MIT",
    owners=("team:corpus",),
    convert=convert,
    shards=Hashed(24),  # so many that two large wheels are rarely in the same shard
    select=r"\.whl$|\.dist-info/METADATA$",
    snapshots="replace",
    quarantine_limit=0.3,  # of the bytes too: Django has large files of languages without translations
    parameters={
        "convert": 1,  # take the next number when the same wheel gives other documents
        "entry_limit": ENTRY_LIMIT,
        "kinds": KINDS,
        "licences": LICENCES,
        "total_limit": TOTAL_LIMIT,
    },
    revisions=(
        Revision(
            version="v1",
            description="With a licence that is known, without stubs, tables and texts that repeat themselves",
            columns=(
                field("metadata.kind"),
                field("metadata.license"),
                score("gopher-1__word_count", "words"),
                score("gopher-1__fraction_of_words_with_alpha_character", "with_letters"),
                score("gopher-1__fraction_of_characters_in_duplicate_10grams", "repeated"),
            ),
            include=(Rule("licence-known", "license <> 'NOASSERTION'", "what nobody licensed cannot be trained on"),),
            exclude=(
                Rule("too-short", "words < CASE kind WHEN 'translation' THEN 5 ELSE 20 END", "stubs teach nothing"),
                Rule("table", "with_letters < 0.4 AND kind <> 'translation'", "tables of numbers are no language"),
                Rule("repeats-itself", "repeated > 0.6", "generated lists, and examples pasted over and over"),
            ),
        ),
    ),
)
