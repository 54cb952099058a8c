"""Reads papers in LaTeX from JSON lines, as it is or without comments, preamble and bibliography."""

import re
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from gristmill.lake.rows.document import Document
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.text import Unfit, fit_text
from gristmill.recipes.raw_object import RawObject, Refused

_ENVIRONMENT = re.compile(r"\\begin\{(verbatim\*?|lstlisting|minted|Verbatim|alltt|comment)\}")
_WHOLE_LINES = re.compile(r"^[ \t]*%[^\n]*(?:\n|\Z)", re.MULTILINE)
_REST_OF_LINE = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*")
_BEGIN, _END = r"\begin{document}", r"\end{document}"
_BIBLIOGRAPHY = re.compile(
    r"\\begin\{thebibliography\}.*?(?:\\end\{thebibliography\}|\Z)|^[ \t]*\\bibliography(?:style)?\{[^}\n]*\}[ \t]*\n?",
    re.DOTALL | re.MULTILINE,
)


def remove_latex_comments(text: str) -> str:
    r"""The text without LaTeX comments. Percent signs that are text, and listings, stay as they are.

    Args:
        text: LaTeX.

    >>> remove_latex_comments("50\\% of it% a note\n% a whole line\nends.")
    '50\\% of it%\nends.'
    """
    kept: list[str] = []
    unclosed: set[str] = set()
    at = 0
    for begin in _ENVIRONMENT.finditer(text):
        name = begin[1]
        if begin.start() < at or name in unclosed:
            continue
        end = text.find(f"\\end{{{name}}}", begin.end())
        if end < 0:
            unclosed.add(name)
            continue
        kept.append(_strip_latex_comments(text[at : begin.start()], is_line=text[at - 1 : at] in {"", "\n"}))
        at = end + len(f"\\end{{{name}}}")
        if name == "comment":
            at += text.startswith("\n", at)
        else:
            kept.append(text[begin.start() : at])
    kept.append(_strip_latex_comments(text[at:], is_line=text[at - 1 : at] in {"", "\n"}))
    return "".join(kept)


def _strip_latex_comments(text: str, *, is_line: bool) -> str:
    """LaTeX without environments, without its comments.

    Args:
        text: the LaTeX.
        is_line: whether it begins at the beginning of a line.
    """
    first, feed, rest = ("", "", text) if is_line else text.partition("\n")
    return _REST_OF_LINE.sub(r"\1%", first + feed + _WHOLE_LINES.sub("", rest))


def latex_document_body(text: str) -> str:
    r"""The text between `\begin{document}` and `\end{document}`; without them, the whole text.

    >>> latex_document_body("\\documentclass{a}\n\\begin{document}\nText\n\\end{document}\n")
    'Text\n'
    """
    start, end = text.find(_BEGIN), text.rfind(_END)
    start = start + len(_BEGIN) if start >= 0 else 0
    return text[start : end if end > start else len(text)].lstrip("\n")


def remove_bibliography(text: str) -> str:
    r"""The text without its list of references.

    >>> remove_bibliography("Text\n\\bibliography{mills}\n\\begin{thebibliography}{9} A \\end{thebibliography}")
    'Text\n'
    """
    return _BIBLIOGRAPHY.sub("", text)


@dataclass(frozen=True, kw_only=True)
class LatexLines(JsonLines):
    r"""Reads each line as one paper; see JsonLines for the arguments. Use it as the `convert` of a source.

    Attributes:
        comments: whether comments are kept. If not, the `%` at the end of a line stays, because it joins two lines.
        preamble: whether the text outside of `\begin{document}` and `\end{document}` is kept.
        bibliography: whether the list of references is kept.
    """

    gives_json: ClassVar[bool] = True
    row_ids = JsonLines.row_ids

    comments: bool = True
    preamble: bool = True
    bibliography: bool = True

    def document(self, row: object, raw: RawObject, number: int, line: bytes) -> Document | Refused:
        made = super().document(row, raw, number, line)
        if isinstance(made, Refused) or (self.comments and self.preamble and self.bibliography):
            return made
        text = made.text if self.comments else remove_latex_comments(made.text)
        text = text if self.preamble else latex_document_body(text)
        text = text if self.bibliography else remove_bibliography(text)
        try:
            return msgspec.structs.replace(made, text=fit_text(text))
        except Unfit as unfit:
            return Refused(unfit.reason, f"{raw.name} row {number}", line)
