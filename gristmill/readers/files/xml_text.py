"""Readable text from XML elements: blocks become paragraphs, everything else flows within its paragraph."""

import re
from collections.abc import Collection

from gristmill.readers.xml_events import XmlElement

_SPACES = re.compile(r"[ \t\r\n]+")


class BlockText:
    """Turns elements into paragraphs.

    Args:
        blocks: elements that are a paragraph of their own, or hold such.
        skipped: elements that are left out with all that they hold.
        lines: elements that end a line, such as `br`.
        cells: elements with a tab behind them, such as cells of a table's row.
        kept: elements whose white space is kept, such as `pre`.
    """

    def __init__(
        self,
        *,
        blocks: Collection[str],
        skipped: Collection[str] = (),
        lines: Collection[str] = (),
        cells: Collection[str] = (),
        kept: Collection[str] = (),
    ) -> None:
        self._blocks, self._skipped, self._lines = frozenset(blocks), frozenset(skipped), frozenset(lines)
        self._cells, self._kept = frozenset(cells), frozenset(kept)

    def __call__(self, *elements: XmlElement) -> str:
        """The text of elements, with an empty line between paragraphs.

        Args:
            elements: each is a block of its own.
        """
        paragraphs: list[list[str]] = [[]]
        for element in elements:
            paragraphs.append([])
            self._add_element_text(element, paragraphs, in_kept=False)
            paragraphs.append([])
        texts = ("".join(pieces) for pieces in paragraphs)
        return "\n\n".join(text for text in map(_trim_paragraph_lines, texts) if text.strip())

    def _add_element_text(self, element: XmlElement, paragraphs: list[list[str]], *, in_kept: bool) -> None:
        in_kept = in_kept or element.name in self._kept
        for each in element.content:
            if isinstance(each, str):
                paragraphs[-1].append(each if in_kept else _SPACES.sub(" ", each))
            elif each.name in self._lines:
                paragraphs[-1].append("\n")
            elif each.name not in self._skipped:
                is_block = each.name in self._blocks or each.name in self._kept
                if is_block:
                    paragraphs.append([])
                self._add_element_text(each, paragraphs, in_kept=in_kept)
                if is_block:
                    paragraphs.append([])
                elif each.name in self._cells:
                    paragraphs[-1].append("\t")


def _trim_paragraph_lines(text: str) -> str:
    """A paragraph without spaces at the ends of its lines; two spaces that met become one."""
    if "\n" not in text:
        return re.sub(" {2,}", " ", text).strip()
    return re.sub(r"(?<![ \t])[ \t]+\n", "\n", text).strip("\n").rstrip()
