"""Reads the dumps of Stack Exchange: `Posts.xml`, in which questions and answers are rows in the order of their ids.

Source: "Database schema documentation for the public data dump" (https://meta.stackexchange.com/questions/2677).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Annotated, Any, ClassVar

from msgspec import Meta

from gristmill.errors import DataError, RecipeError
from gristmill.extras import Needs, needs
from gristmill.lake.rows.document import Document
from gristmill.lake.rows.raw_spans import RawSpan
from gristmill.readers.files.creative_commons import creative_commons_licence
from gristmill.readers.files.html_text import html_text
from gristmill.readers.forum.post_index import PostIndex, PostPlace
from gristmill.readers.text import Unfit, fit_text
from gristmill.readers.xml_events import XmlElement, parse_wanted_elements, parse_xml_document
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import MOST_SEEKABLE, TOO_LONG, Converted, LeftOut, RawObject, Refused
from gristmill.recipes.reader import Reader

QUESTION, ANSWER = "1", "2"
_STEP = 1 << 20
_HEAD = 1 << 10
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_BITS = 62  # of numbers that the index takes
_TAG = re.compile(r"<([^<>]+)>|\|?([^|<>]+)\|?")

Attributes = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class StackExchangePosts(Reader):
    """Reads each question with its answers as one document. Use it as the `convert` of a source.

    A raw object is a `Posts.xml` of one site, packed or not, in the encoding that it declares. It is read
    twice: the places of its posts are sorted on disk, then each thread is read. The memory is that of one thread.

    The text is `Q: `, the title and the question, then each answer behind `A: `, the best score first. The id is
    `site/id`. Metadata are `kind` (`forum`), `url`, `title`, `tags`, `score`, `answers` (id, score, creation date, and
    whether it was accepted), `authors` (names or numbers of users), and `license` of all posts together.

    Posts of other kinds are left out and counted. An answer without its question is refused, with the id of its thread.
    Only a question without answers has a place in the raw object for `trace`: a thread lies in several rows.

    Attributes:
        source: name of the source, which is the source of every document.
        site: such as `math.stackexchange.com`. None: the folder of the file.
        least_score: answers of a lower score are left out and counted; None: all are kept.
        unanswered: whether questions without an answer are kept; else they are left out and counted.
        most: largest file in unpacked bytes. Its copy needs so much room on the disk of a worker.
    """

    needs: ClassVar[Needs] = needs("resiliparse")

    source: str
    site: str | None = None
    least_score: int | None = None
    unanswered: bool = True
    most: Annotated[int, Meta(ge=1)] = MOST_SEEKABLE

    def __post_init__(self) -> None:
        check_types(self, f"StackExchangePosts of source {self.source!r}")

    def __call__(self, raw: RawObject) -> Iterator[Converted]:
        """Yields the threads of a site. See gristmill.recipes.source.Source.convert."""
        site = self.site or raw.path.rpartition("/")[0].rpartition("/")[2]
        if not site:
            raise RecipeError(
                f"StackExchangePosts of source {self.source!r}: {raw.path} is not in a folder; give the option site"
            )
        with raw.open(seekable=True, unpack=True, most=self.most) as file, PostIndex() as index:
            declared = _xml_declaration(file)
            yield from self._index_posts(file, raw, index)
            for places in index.posts_by_thread():
                yield from self._convert_thread(places, file, raw, site, declared)

    def _index_posts(self, file: IO[bytes], raw: RawObject, index: PostIndex) -> Iterator[Converted]:
        """Adds all questions and answers to the index; other rows are yielded."""
        others = 0
        try:
            for row in parse_wanted_elements(
                iter(lambda: file.read(_STEP), b""), _BELOW_ROOT, where=raw.path, limit=raw.limits.row
            ):
                kind = row.attributes.get("PostTypeId")
                if row.too_large:
                    where = f"{raw.name} line {row.line}, byte {row.start}"
                    yield Refused(TOO_LONG, where, b"", row.end - row.start, offset=row.start)
                elif row.name != "row":
                    yield _refused("unknown element", raw, row, f"<{row.name:.80}>, not <row>")
                elif kind not in {QUESTION, ANSWER}:
                    others += 1
                else:
                    place = _post_place(row, kind)
                    if place is None:
                        yield _refused("malformed post", raw, row, "Id, ParentId or Score is no whole number")
                    else:
                        index.add(place)
        except Unfit as unfit:
            raise DataError(f"{unfit.detail} ({unfit.reason}); acquire it again") from unfit
        if others:
            yield LeftOut("other kind of post", others)

    def _convert_thread(
        self, places: list[PostPlace], file: IO[bytes], raw: RawObject, site: str, declared: bytes
    ) -> Iterator[Converted]:
        first = places[0]
        if first.post != first.thread:
            for place in places:
                yield _refused_post("answer without its question", raw, place, file, site)
            return
        posts: list[tuple[PostPlace, Attributes]] = []
        seen: set[int] = set()
        low = 0
        for place in places:
            if place.post in seen:
                yield _refused_post("post id twice", raw, place, file, site)
            elif posts and self.least_score is not None and place.score < self.least_score:
                low += 1
            else:
                seen.add(place.post)
                posts.append(
                    (place, parse_xml_document([declared, _read_post_bytes(file, place)], where=raw.path).attributes)
                )
        if low:
            yield LeftOut("answer of a low score", low)
        if len(posts) == 1 and not self.unanswered:
            yield LeftOut("question without an answer")
            return
        try:
            document = self._thread_document(posts, site)
        except Unfit as unfit:
            yield _refused_post(unfit.reason, raw, first, file, site, unfit.detail)
            return
        if len(places) == 1:  # else it lies in several rows, and one of them would be told for all
            raw.raw_span = RawSpan(first.start, first.end)
        yield document

    def _thread_document(self, posts: list[tuple[PostPlace, Attributes]], site: str) -> Document:
        (place, question), *answers = posts
        title = question.get("Title", "").strip()
        bodies = [html_text(post.get("Body", "")) for _, post in posts]
        if not title and not bodies[0]:
            raise Unfit("empty text", "a question without title and body")
        parts = [f"Q: {title}\n\n{bodies[0]}".strip(), *(f"A: {body}" for body in bodies[1:])]
        authors = [post.get("OwnerDisplayName") or post.get("OwnerUserId", "") for _, post in posts]
        licences = {creative_commons_licence(post.get("ContentLicense", "")) for _, post in posts} - {""}
        metadata: dict[str, Any] = {
            "kind": "forum",
            "url": f"https://{site}/questions/{place.post}",
            "title": title,
            "tags": [angled or piped for angled, piped in _TAG.findall(question.get("Tags", ""))],
            "score": place.score,
            "answers": [
                {
                    "id": at.post,
                    "score": at.score,
                    "created": _post_time(answer),
                    "accepted": str(at.post) == question.get("AcceptedAnswerId"),
                }
                for at, answer in answers
            ],
            "authors": list(dict.fromkeys(filter(None, authors))),
            "license": " AND ".join(sorted(licences)) or "NOASSERTION",
        }
        text = fit_text("\n\n".join(parts)) + "\n"
        return Document(
            id=f"{site}/{place.post}", text=text, source=self.source, created=_post_time(question), metadata=metadata
        )


class _AllBut:
    """All names but those of the root of a dump."""

    def __contains__(self, name: object) -> bool:
        return name != "posts"


_BELOW_ROOT = _AllBut()


def _post_place(row: XmlElement, kind: str) -> PostPlace | None:
    """Where a question or an answer is; None if its numbers are not valid."""
    try:
        post, score = int(row.attributes["Id"]), int(row.attributes.get("Score", "0"))
        thread = post if kind == QUESTION else int(row.attributes["ParentId"])
    except (KeyError, ValueError):
        return None
    if (thread == post and kind == ANSWER) or max(post, thread, abs(score)).bit_length() > _BITS:
        return None
    return PostPlace(thread, post, score, row.start, row.end)


def _post_time(post: Attributes) -> str | None:
    """When a post was written. Dumps write UTC without saying so."""
    created = post.get("CreationDate")
    return f"{created}Z" if created and created[-1:].isdigit() else created


def _xml_declaration(file: IO[bytes]) -> bytes:
    """The byte order mark and the XML declaration, which say in which encoding each post is read again."""
    head = file.read(_HEAD)
    file.seek(0)
    mark = next((each for each in _MARKS if head.startswith(each)), b"")
    wide = head[len(mark) :].startswith((b"<\0", b"\0<"))
    unit = 2 if wide else 1
    for at in range(len(mark), len(head), unit):
        two = head[at : at + 2 * unit].replace(b"\0", b"")
        if two == b"?>":
            return head[: at + 2 * unit] if head[len(mark) :].replace(b"\0", b"").startswith(b"<?xml") else mark
    return mark


def _read_post_bytes(file: IO[bytes], place: PostPlace) -> bytes:
    file.seek(place.start)
    return file.read(place.end - place.start)


def _refused_post(
    reason: str, raw: RawObject, place: PostPlace, file: IO[bytes], site: str, detail: str = ""
) -> Refused:
    where = f"{raw.name} post {place.post}, byte {place.start}{f' ({detail})' if detail else ''}"
    return Refused(reason, where, _read_post_bytes(file, place), id=f"{site}/{place.thread}", offset=place.start)


def _refused(reason: str, raw: RawObject, row: XmlElement, detail: str) -> Refused:
    values = " ".join(f'{name}="{value:.80}"' for name, value in row.attributes.items())
    return Refused(
        reason, f"{raw.name} line {row.line}, byte {row.start} ({detail})", values.encode(), offset=row.start
    )
