"""One line of OSCAR v2: decoded, and validated against the published schema of its release.

Sources, by repository, file and commit:

- 22.01: the JSON Schema in oscar-project/documentation, `docs/schema/schema-v2.md`
  (628abae8bf13bdd1ef2d371a1a9cdcc36ea3b53f); the order of keys from oscar-project/oscar-io,
  `src/oscar_doc/types/metadata.rs` (03f751117fb99c3d06e5fb764db3de11ddaff631).
- 23.01: the layout in oscar-project/documentation, `docs/versions/oscar-2301.md`
  (076844bf43695d4dac1bf09ebc225df37565ede6); types, optional keys and order of keys from oscar-project/oscar-io,
  `src/v3/types/document.rs` (2cdecc233ffda35c2d5159afd2325920a3827bfc).

Three rules go beyond the schemas. A probability is a 32-bit float, and real ones exceed 1 by rounding: up to TOLERANCE
is accepted, and kept as it is. Labels are checked by their form (gristmill.formats.oscar.labels). There is exactly one
identification for each line of the content: lines are split at LF alone, and a final LF begins no line.
"""

import re
from functools import lru_cache
from typing import Annotated, Any, Final

import msgspec
import orjson
from msgspec import UNSET, Meta, Struct, UnsetType

from gristmill.errors import DataError, RecipeError, known_names
from gristmill.formats.oscar.labels import Schema, has_tag_form

TOLERANCE: Final = 1e-3
"""How far a probability may exceed 1. The greatest that was seen is 1.000088."""

Probability = Annotated[float, Meta(ge=0, le=1 + TOLERANCE)]


class LineError(DataError):
    """A line that is not valid.

    Attributes:
        reason: short and stable, because ledgers count refused rows by it.
        detail: more for people, such as the JSON path or the decoder's message; may be empty.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}" if detail else reason)

    def __reduce__(self) -> tuple[type["LineError"], tuple[str, str]]:
        return type(self), (self.reason, self.detail)


class Identification(Struct, gc=False):
    """A language label with its probability.

    Attributes:
        label: the label, such as `en`.
        prob: its probability, at most 1 + TOLERANCE.
    """

    label: str
    prob: Probability


class Metadata2201(Struct, gc=False, kw_only=True, omit_defaults=True):
    """The metadata of 22.01, keys in the order of the release. Absent (`UNSET`) and null are two things.

    Attributes:
        identification: the language of the document.
        annotation: its quality warnings, such as `tiny`.
        sentence_identifications: the language of each line; None for a line without one.
    """

    identification: Identification
    annotation: list[str] | UnsetType | None = UNSET
    sentence_identifications: list[Identification | None]


class Metadata2301(Struct, gc=False, kw_only=True, omit_defaults=True):
    """The metadata of 23.01, keys in the order of the release. Absent (`UNSET`) and null are two things.

    Attributes:
        identification: the language of the document.
        harmful_pp: perplexity of the document under a model of harmful text.
        tlsh: a locality-sensitive hash of the text.
        quality_warnings: such as `tiny`.
        categories: names of the blocklists that name the page's address, such as `adult`.
        sentence_identifications: the language of each line; None for a line without one.
    """

    identification: Identification
    harmful_pp: float | UnsetType | None = UNSET
    tlsh: str | UnsetType | None = UNSET
    quality_warnings: list[str] | UnsetType | None = UNSET
    categories: list[str] | UnsetType | None = UNSET
    sentence_identifications: list[Identification | None]


class Line2201(Struct, gc=False):
    """A line of 22.01. The schema requires all three keys.

    Attributes:
        content: the text.
        warc_headers: header fields of the page's WARC record, by name.
        metadata: languages and quality warnings.
    """

    content: str
    warc_headers: dict[str, str]
    metadata: Metadata2201


class Line2301(Struct, gc=False):
    """A line of 23.01.

    Attributes:
        content: the text.
        warc_headers: header fields of the page's WARC record, by name.
        metadata: languages, quality warnings and categories.
    """

    content: str
    warc_headers: dict[str, str]
    metadata: Metadata2301


Line = Line2201 | Line2301

_TYPES: Final[dict[str, type[Line]]] = {"22.01": Line2201, "23.01": Line2301}
_ABSENT: Final[dict[str, dict[str, None]]] = {
    "22.01": {"annotation": None},
    "23.01": {"harmful_pp": None, "tlsh": None, "quality_warnings": None, "categories": None},
}
_PATH = re.compile(r" - at `(\$[^`]*)`$")
_FIELD = re.compile(r"missing required field `([^`]*)`")
_is_label = lru_cache(4096)(has_tag_form)
_INDEX = re.compile(r"\[[0-9]+\]")


def check_schema(schema: str, what: str) -> None:
    """Checks that a schema is one of the two.

    Args:
        schema: its name.
        what: the recipe and the option, for messages.

    Raises:
        RecipeError: it is not; the message lists them.
    """
    if schema not in _TYPES:
        raise RecipeError(f"{what}: no schema {schema!r}; {known_names(schema, _TYPES)}")


def line_decoder(schema: Schema) -> msgspec.json.Decoder[Any]:
    """A decoder of the lines of a schema. Keys that the schema does not name are ignored."""
    return msgspec.json.Decoder(_TYPES[schema])


def new_metadata(schema: Schema, label: str, prob: float, lines: int) -> dict[str, Any]:
    """The metadata of a document that only has a language: everything else is null.

    Args:
        schema: schema of the release.
        label: language label of the document.
        prob: its probability.
        lines: number of lines of the content.
    """
    identification = {"label": label, "prob": prob}
    return {"identification": identification, **_ABSENT[schema], "sentence_identifications": [None] * lines}


def line_count(content: str) -> int:
    r"""The number of lines of a content: split at LF alone; a final LF begins no line. Empty lines count.

    >>> [line_count(text) for text in ("", "a", "a\n", "a\n\nb", "a\u2028b\r\n")]
    [0, 1, 1, 3, 1]
    """
    return content.count("\n") + (content[-1:] not in {"", "\n"})


def check_line(line: Line, labels: set[str]) -> None:
    """Checks what types do not: the forms of the labels, and the number of identifications.

    Args:
        line: the decoded line.
        labels: labels of the line that may have another form; see language_labels_of_line().

    Raises:
        LineError: "label is no language tag", or "lines and identifications differ in number".
    """
    metadata = line.metadata
    for label in labels:
        if not _is_label(label):
            places = [metadata.identification, *metadata.sentence_identifications]
            number = next(i for i, each in enumerate(places) if each is not None and each.label == label)
            path = f"sentence_identifications[{number - 1}]" if number else "identification"
            raise LineError("label is no language tag", f"{label!r:.60} at $.metadata.{path}.label")
    lines, found = line_count(line.content), len(metadata.sentence_identifications)
    if lines != found:
        raise LineError(
            "lines and identifications differ in number",
            f"{lines} lines of $.content, {found} of $.metadata.sentence_identifications",
        )


def language_labels_of_line(line: Line) -> set[str]:
    """The labels of a line: of the document and of its lines."""
    labels = {each.label for each in line.metadata.sentence_identifications if each is not None}
    labels.add(line.metadata.identification.label)
    return labels


def extra_keys(value: dict[str, Any], schema: Schema) -> list[str]:
    """The JSON paths of the keys that the schema does not name. Indexes are left out of them.

    Args:
        value: a valid line, as plain objects.
        schema: schema of the line.

    >>> metadata = {"identification": {"label": "en", "prob": 1, "model": "x"}, "sentence_identifications": [None]}
    >>> extra_keys({"content": "a", "warc_headers": {}, "metadata": metadata, "note": 1}, "22.01")
    ['$.metadata.identification.model', '$.note']
    """
    metadata = value["metadata"]
    entries = [each for each in metadata["sentence_identifications"] if each is not None]
    known = {"identification", "sentence_identifications", *_ABSENT[schema]}
    paths = {f"$.{key}" for key in value.keys() - {"content", "warc_headers", "metadata"}}
    paths |= {f"$.metadata.{key}" for key in metadata.keys() - known}
    paths |= {f"$.metadata.identification.{key}" for key in metadata["identification"].keys() - {"label", "prob"}}
    paths |= {
        f"$.metadata.sentence_identifications[].{key}" for each in entries for key in each.keys() - {"label", "prob"}
    }
    return sorted(paths)


def invalid_line_reason(line: bytes, error: Exception) -> LineError:
    """The error of a line that the decoder refused.

    Args:
        line: the line.
        error: the decoder's: a msgspec.DecodeError, UnicodeDecodeError or RecursionError.

    >>> try: _ = line_decoder("22.01").decode(b'{"content":"a","warc_headers":{}}')
    ... except msgspec.DecodeError as error: print(invalid_line_reason(b"", error))
    missing key $.metadata: Object missing required field `metadata`
    """
    if isinstance(error, RecursionError):
        return LineError("nested too deeply")
    if not isinstance(error, msgspec.ValidationError):
        return _is_not_json(line, error)
    text = str(error)
    at = _PATH.search(text)
    path = at[1] if at else "$"
    missing = _FIELD.search(text)
    if missing:
        path += f".{missing[1]}"
    what = "missing key" if missing else "wrong type at"
    if "<=" in text or ">=" in text:
        what = "probability out of range at"
    elif "out of range" in text:
        what = "number out of range at"
    if path == "$":
        return LineError("not an object", text)
    return LineError(f"{what} {_INDEX.sub('[]', path)}", text)


def _is_not_json(line: bytes, error: Exception) -> LineError:
    if not line.strip():
        return LineError("empty line")
    try:
        line.decode()
        orjson.loads(line)
    except UnicodeDecodeError as wrong:
        return LineError("not UTF-8", f"at byte {wrong.start} of the line")
    except orjson.JSONDecodeError as wrong:
        return LineError("lone surrogate" if "surrogate" in str(wrong) else "invalid JSON", str(error))
    return LineError("invalid JSON", str(error))
