"""Reads XML as a stream, in bounded memory, without entities, DTDs or network.

The parser is expat. A document that declares an entity or default attributes is refused: such declarations are how a
small file unpacks into gigabytes, or reads other files. A DOCTYPE that only names a DTD is accepted, and the DTD is not
fetched. Then the named characters of HTML, such as `&alpha;`, are known; the DTDs of JATS and XHTML define the same.
"""

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from html.entities import html5
from typing import Union
from xml.parsers import expat

from gristmill.readers.text import Unfit

ELEMENT_LIMIT = 256 << 20
"""Largest element by default, in bytes."""
DEPTH_LIMIT = 256
"""Most elements inside each other by default."""
MALFORMED = "malformed xml"
"""The reason for XML that is truncated, not well-formed, or not in the encoding that it declares."""

_STEP = 64 << 10
_MARK = 4  # bytes that tell UTF-16 from other encodings
_PER_NODE = 256  # bytes for which each element and each piece of text counts besides its own
_REFERENCE = re.compile(rb"&([A-Za-z][A-Za-z0-9._-]*);")
_PREDEFINED = {b"amp", b"lt", b"gt", b"quot", b"apos"}


@dataclass(slots=True)
class XmlElement:
    """An element with all that it holds.

    Attributes:
        name: its name without a prefix: `math` of `<mml:math>`.
        attributes: values of the attributes, by their names as written: `xlink:href`.
        start: the first byte in the document, counted from 0.
        line: its first line, counted from 1.
        end: the byte after the last one.
        content: texts and elements, in order.
        too_large: whether it is above the limit. Then it has no content.
    """

    name: str
    attributes: dict[str, str]
    start: int
    line: int
    end: int = 0
    content: list[Union[str, "XmlElement"]] = field(default_factory=list)
    too_large: bool = False

    def elements(self, name: str | None = None) -> Iterator["XmlElement"]:
        """The elements directly in it, of this name if one is given."""
        for each in self.content:
            if isinstance(each, XmlElement) and name in {None, each.name}:
                yield each

    def descendants(self, name: str) -> Iterator["XmlElement"]:
        """All elements of this name at any depth in it, in order; those inside of a found one too."""
        for each in self.elements():
            if each.name == name:
                yield each
            yield from each.descendants(name)

    def find(self, *path: str) -> Union["XmlElement", None]:
        """The first element that a path of names leads to, or None.

        >>> tree = parse_xml_document([b"<a><b/><b><c>1</c></b></a>"], where="x.xml")
        >>> tree.find("b", "c") is None, [each.text() for each in tree.descendants("c")]
        (True, ['1'])
        """
        found: XmlElement | None = self
        for name in path:
            found = next(found.elements(name), None) if found is not None else None
        return found

    def text(self) -> str:
        """All text in it, at any depth."""
        return "".join(each if isinstance(each, str) else each.text() for each in self.content)


def parse_xml_document(
    pieces: Iterable[bytes], *, where: str, limit: int = ELEMENT_LIMIT, depth_limit: int = DEPTH_LIMIT
) -> XmlElement:
    """The root element of a document.

    Args:
        pieces: the document's bytes.
        where: name of the document for error messages.
        limit: largest document in bytes.
        depth_limit: largest number of elements inside each other.

    Raises:
        Unfit: "row too long", or a reason of parse_wanted_elements().
    """
    found = list(parse_wanted_elements(pieces, None, where=where, limit=limit, depth_limit=depth_limit))
    if found[0].too_large:
        raise Unfit("row too long", f"{where}: more than {limit} bytes of XML")
    return found[0]


def parse_wanted_elements(
    pieces: Iterable[bytes],
    names: Container[str] | None,
    *,
    where: str,
    limit: int = ELEMENT_LIMIT,
    depth_limit: int = DEPTH_LIMIT,
) -> Iterator[XmlElement]:
    """The elements of some names, one after the other, each with all that it holds. The rest is not kept.

    An element inside a found one is part of it, and is not yielded by itself. The encoding is that of the byte order
    mark or of the XML declaration: UTF-8, UTF-16, or any encoding of Python with one byte a character.

    Args:
        pieces: the document's bytes.
        names: names without prefixes. None: the root element.
        where: name of the document, for error messages.
        limit: largest element in bytes. A larger one is yielded without its content, and marked. Tags, comments and
            other tokens that are longer are an error.
        depth_limit: most elements inside each other.

    Raises:
        Unfit: "malformed xml", "xml declares entities", "unknown entity in xml" or "xml nested too deeply". The detail
            names the document, the line and the byte.

    >>> rows = [b"<posts><row id='1'>To <i>be</i>", b".</row><row id='2'/></posts>"]
    >>> found = parse_wanted_elements(rows, {"row"}, where="x.xml")
    >>> [(row.attributes["id"], row.text(), row.start, row.end) for row in found]
    [('1', 'To be.', 7, 38), ('2', '', 38, 51)]
    """
    parser = _Parser(names, where, limit, depth_limit)
    for piece in pieces:
        for start in range(0, len(piece), _STEP):
            parser.feed(piece[start : start + _STEP])
            yield from parser.take_complete_elements()
    parser.feed(b"", last=True)
    yield from parser.take_complete_elements()


class _Parser:
    """expat with handlers that collect the wanted elements, within limits."""

    def __init__(self, names: Container[str] | None, where: str, limit: int, depth_limit: int) -> None:
        self._names, self._where, self._limit, self._depth_limit = names, where, limit, depth_limit
        self._depth = self._size = self._fed = self._stalled = 0
        self._held, self._window, self._unit = bytearray(), b"", 1
        self._names_dtd = False
        self._stack: list[XmlElement] = []
        self._skipping: tuple[XmlElement, int] | None = None
        self._done: list[XmlElement] = []
        self._expat = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = _STEP
        parser.StartElementHandler = self._start_element
        parser.EndElementHandler = self._end_element
        parser.CharacterDataHandler = self._add_characters
        parser.CommentHandler = parser.DefaultHandlerExpand = self._handle_other_markup
        parser.ProcessingInstructionHandler = self._handle_other_markup
        parser.StartDoctypeDeclHandler = self._check_doctype
        parser.EntityDeclHandler = self._refuse_declaration
        parser.AttlistDeclHandler = self._refuse_declaration
        parser.ExternalEntityRefHandler = self._refuse_declaration
        parser.SkippedEntityHandler = self._refuse_unknown_entity

    def take_complete_elements(self) -> list[XmlElement]:
        """The elements that are complete since the last call."""
        done, self._done = self._done, []
        return done

    def feed(self, piece: bytes, *, last: bool = False) -> None:
        """Parses the next piece. A token that is not complete is read again each time, so then the pieces grow."""
        self._held += piece
        if not last and len(self._held) < max(self._stalled, _MARK):
            return
        piece, self._held = bytes(self._held), bytearray()
        if not self._fed:
            self._unit = 2 if piece.startswith((b"\xff\xfe", b"<\0")) else 1
        self._window = self._window[-_STEP:] + piece
        self._fed += len(piece)
        self._stalled += len(piece)
        try:
            self._expat.Parse(piece, last)
        except expat.ExpatError as error:
            raise self._unfit_error(MALFORMED, expat.ErrorString(error.code), error.lineno) from error
        except (ValueError, LookupError, UnicodeError) as error:  # the codec that the document declares
            raise self._unfit_error(MALFORMED, str(error)) from error
        if self._stalled > self._limit:
            raise self._unfit_error(MALFORMED, f"a tag or comment is longer than {self._limit} bytes")

    def _unfit_error(self, reason: str, detail: str, line: int | None = None) -> Unfit:
        at = max(self._expat.ErrorByteIndex, 0)
        return Unfit(reason, f"{self._where}: line {line or self._expat.CurrentLineNumber}, byte {at}: {detail}")

    def _start_element(self, tag: str, attributes: dict[str, str]) -> None:
        self._stalled = 0
        self._depth += 1
        if self._depth > self._depth_limit:
            raise self._unfit_error(
                "xml nested too deeply", f"more than {self._depth_limit} elements inside each other"
            )
        if attributes and self._names_dtd:
            self._check_references()
        if self._skipping is not None:
            return
        name = tag.rpartition(":")[2]
        if not self._stack and self._names is not None and name not in self._names:
            return
        parser = self._expat
        element = XmlElement(name, attributes, parser.CurrentByteIndex, parser.CurrentLineNumber)
        if self._stack:
            self._stack[-1].content.append(element)
        else:
            self._size = 0
        self._stack.append(element)
        size = len(name) + sum(len(key) + len(value) for key, value in attributes.items())
        self._count_held_size(size)

    def _end_element(self, _tag: str) -> None:
        self._stalled = 0
        self._depth -= 1
        if self._skipping is not None:
            root, depth = self._skipping
            if self._depth < depth:
                self._skipping = None
                self._finish_wanted_element(root)
        elif self._stack:
            element = self._stack.pop()
            if not self._stack:
                self._finish_wanted_element(element)

    def _finish_wanted_element(self, element: XmlElement) -> None:
        """Adds the end of a wanted element. expat gives the first byte of its end tag; the tag's bytes are at hand.

        Of an element that is one tag, `<a/>`, expat gives the byte after it.
        """
        at = self._expat.CurrentByteIndex
        here = max(at - self._fed + len(self._window), 0)
        before, tag = self._window[max(here - 4, 0) : here].replace(b"\0", b""), self._window[here:]
        is_one_tag = not element.content and not element.too_large and before.endswith(b"/>")
        if not is_one_tag and tag.startswith((b"</", b"<\0", b"\0<")):
            at += tag.find(b">") + self._unit
        element.end = at
        self._done.append(element)

    def _add_characters(self, text: str) -> None:
        self._stalled = 0
        if self._stack:
            self._stack[-1].content.append(text)
            self._count_held_size(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))

    def _count_held_size(self, size: int) -> None:
        self._size += size + _PER_NODE
        if self._size > self._limit + _PER_NODE:
            root = self._stack[0]
            root.too_large, root.content = True, []
            self._skipping = root, self._depth - len(self._stack) + 1
            self._stack = []

    def _handle_other_markup(self, *_: str) -> None:
        self._stalled = 0

    def _check_doctype(self, _name: str, system: str | None, _public: str | None, _subset: int) -> None:
        self._names_dtd = system is not None

    def _refuse_declaration(self, *_: object) -> int:
        raise self._unfit_error(
            "xml declares entities",
            "a declaration of an entity or of default attributes, which are never expanded; remove it",
        )

    def _refuse_unknown_entity(self, name: str, is_parameter: int) -> None:
        """A reference to an entity that only the DTD defines, which is not read."""
        if is_parameter or f"{name};" not in html5:
            raise self._unfit_error("unknown entity in xml", f"{'%' if is_parameter else '&'}{name};")
        self._add_characters(html5[f"{name};"])

    def _check_references(self) -> None:
        """Refuses a tag whose attributes refer to an entity of the DTD: expat would leave it out without a word."""
        at = max(self._expat.CurrentByteIndex - self._fed + len(self._window), 0)
        tag = self._window[at : self._window.find(b">", at)]
        if b"&" in tag:
            for name in _REFERENCE.findall(tag.replace(b"\0", b"")):
                if name not in _PREDEFINED:
                    raise self._unfit_error("unknown entity in xml", f"&{name.decode()}; in an attribute")
