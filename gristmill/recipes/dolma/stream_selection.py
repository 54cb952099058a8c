"""What a stream of Dolma's mixer selects and changes, as the options of a stream of a mix."""

import re
from collections.abc import Sequence
from typing import Any

from gristmill.errors import RecipeError
from gristmill.formats.dolma.mixer_config import ReplacementSpec, StreamSpec
from gristmill.formats.dolma.path_parser import parse_path
from gristmill.formats.dolma.path_steps import FieldStep
from gristmill.recipes.dolma.jq_sql import jq_rule_name, jq_sql
from gristmill.recipes.dolma.mapped_names import LakeColumns, MappedNames
from gristmill.recipes.dolma.path_sql import ATTRIBUTES, path_sql, quoted, rule_name
from gristmill.recipes.edits.edit import WHITE_SPACE, Edit
from gristmill.recipes.rules import Rule

_JQ_LABEL = re.compile(r"\.attributes\??(?:\.([A-Za-z_]\w*)|\[\"([^\"\\]+)\"\])\??")


def stream_selection(spec: StreamSpec, names: MappedNames, config: str) -> dict[str, Any]:
    """The options of Stream that select and change rows as a stream of the mixer does.

    Args:
        spec: the stream of the configuration.
        names: the table of names.
        config: name of the configuration, for the reasons of rules.

    Raises:
        RecipeError: an expression or an option has no meaning in a lake.
    """
    columns = LakeColumns(names, spec.attributes)
    options = _rules(spec, columns, config)
    options["edits"] = tuple(edit for each in spec.span_replacement for edit in _edits(each, names, spec))
    options["overlaps"] = "first" if options["edits"] else "union"
    if options["edits"]:  # short texts are dropped after the edits
        options["least_bytes"] = spec.output.min_text_length
    elif spec.output.min_text_length:
        options["exclude"] = (*options["exclude"], _too_short(spec, columns))
    discarded = spec.output.discard_fields
    if ATTRIBUTES not in discarded and spec.attributes:
        if spec.span_replacement:
            raise RecipeError(
                "span_replacement changes texts, and discard_fields lacks 'attributes': rows would carry spans of the"
                " old text; discard them"
            )
        options["merge"] = tuple(sorted({names.set(name) for name in spec.attributes}))
    options["discard"] = tuple(sorted(discarded))
    return {**options, "columns": columns.columns}


def _rules(spec: StreamSpec, columns: LakeColumns, config: str) -> dict[str, Any]:
    """The rules of a filter: one for all of `include`, of which one must match, and one for each of `exclude`."""
    taken: set[str] = set()
    found: dict[str, tuple[Rule, ...]] = {}
    include = [(text, _condition(text, spec, columns)) for text in spec.filter.include]
    if include:
        together = include[0][1] if len(include) == 1 else " OR ".join(f"({sql})" for _, sql in include)
        because = f"filter.include of {config}"
        name = _free(_named(include[0][0], spec) if len(include) == 1 else "include", "include", taken)
        found["include"] = (Rule(name, together, because),)
    exclude = []
    for text in spec.filter.exclude:
        sql = _condition(text, spec, columns)
        exclude.append(Rule(_free(_named(text, spec), "exclude", taken), sql, f"filter.exclude of {config}"))
    return {"include": (), **found, "exclude": tuple(exclude)}


def _condition(text: str, spec: StreamSpec, columns: LakeColumns) -> str:
    if spec.filter.syntax == "jq":
        return jq_sql(text, columns)
    return path_sql(text, columns)


def _named(text: str, spec: StreamSpec) -> str | None:
    return rule_name(text) if spec.filter.syntax == "jsonpath" else jq_rule_name(text)


def _free(name: str | None, kind: str, taken: set[str]) -> str:
    """The name, or one with a number behind it if it is taken; without a name, one by its kind."""
    plain, number = name or kind, 1
    found = plain
    while found in taken:
        number += 1
        found = f"{plain}-{number}"
    taken.add(found)
    return found


def _edits(spec: ReplacementSpec, names: MappedNames, stream: StreamSpec) -> Sequence[Edit]:
    """The edits of one entry of `span_replacement`: one, or one for each set that may have the key."""
    if spec.replacement.startswith("$") or "{}" in spec.replacement:
        raise RecipeError(
            f"span_replacement: the replacement {spec.replacement!r} depends on the row; in a lake, write the text"
        )
    key = _label(spec)
    if key is None:
        raise RecipeError(
            f"span_replacement: {spec.span!r} is not of the form $.attributes.<key>, which an edit of a lake needs"
        )
    labels = names.labels(key, stream.attributes)
    if not labels:
        raise RecipeError(f"span_replacement: it reads {key!r}, but the stream names no attributes")
    return [
        Edit(spans=label, replacement=spec.replacement, least=spec.min_score, below=spec.max_score, optional=True)
        for label in labels
    ]


def _label(spec: ReplacementSpec) -> str | None:
    if spec.syntax == "jq":
        found = _JQ_LABEL.fullmatch(spec.span.strip())
        return (found[1] or found[2]) if found else None
    match parse_path(spec.span).steps:
        case (FieldStep(first), FieldStep(key)) if first == ATTRIBUTES:
            return key
    return None


def _too_short(spec: StreamSpec, columns: LakeColumns) -> Rule:
    least = spec.output.min_text_length
    text = columns.field("text", "VARCHAR")
    return Rule(
        "text-too-short", f"strlen(trim({text}, {quoted(WHITE_SPACE)})) < {least}", f"min_text_length is {least}"
    )
