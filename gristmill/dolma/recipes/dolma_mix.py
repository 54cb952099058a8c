"""DolmaMix: a mix that a configuration of Dolma's mixer declares, as it was published."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gristmill.dolma.formats.mixer_config import MixerConfig, ReplacementSpec, StreamSpec, mixer_config
from gristmill.dolma.formats.path_parser import parse_path
from gristmill.dolma.formats.path_steps import FieldStep
from gristmill.dolma.recipes.jq_sql import jq_filter_to_sql, jq_rule_name
from gristmill.dolma.recipes.mapped_names import LakeColumns, MappedNames
from gristmill.dolma.recipes.path_sql import ATTRIBUTES, json_path_to_sql, quote_literal, rule_name
from gristmill.errors import GristmillError, RecipeError, known_names
from gristmill.recipes.edits.edit import WHITE_SPACE, Edit
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule

_JQ_LABEL = re.compile(r"\.attributes\??(?:\.([A-Za-z_]\w*)|\[\"([^\"\\]+)\"\])\??")


@dataclass(frozen=True, kw_only=True)
class DolmaMix(Mix):
    """A mix whose streams come from a mixer configuration of the Dolma toolkit, YAML or JSON.

    Filters become rules, and `span_replacement` becomes edits, so that everything which takes a Mix takes this one.
    Each source version that a stream of the configuration reads is a stream here.

    Attributes:
        config: absolute path of the file, such as `str(Path(__file__).with_name("c4.yaml"))`.
        paths: names in the lake of the names of the configuration. The beginning of an entry of `documents` is mapped
            to "source/version", a name of `attributes` to a set, and a key of attributes to "<set>__<label>";
            with "__" at both ends, the beginning of keys to the beginning of labels. Sets and keys that it lacks keep
            their names.
        options: further options of streams, by the stream's name, such as `{"c4": {"blocklists": ("takedowns",)}}`.
        streams: made from the configuration.

    Raises:
        RecipeError: the configuration is wrong, has something that has no meaning in a lake, or does not fit `paths`.
    """

    config: str
    paths: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    streams: tuple[Stream, ...] = ()

    def __post_init__(self) -> None:
        """Reads the configuration, unless this is a copy of a mix that has read it."""
        who = f"mix {self.name!r}"
        if not self.streams:
            if not Path(self.config).is_absolute():
                raise RecipeError(
                    f"{who}: config is {self.config!r}; give an absolute path, such as"
                    f" str(Path(__file__).with_name({Path(self.config).name!r}))"
                )
            object.__setattr__(self, "streams", tuple(self._read_streams(who)))
        super().__post_init__()

    @property
    def mend_of_names(self) -> str:
        """The end of an error about a name: which file has it, and where the recipe gives it another."""
        return f"; {Path(self.config).name} has the name: say in the table paths= what the lake calls it"

    def _read_streams(self, who: str) -> list[Stream]:
        path = Path(self.config)
        try:
            config = mixer_config(path.read_bytes(), path.name, {})
        except OSError as error:
            raise RecipeError(f"{who}: {self.config}: {error.strerror}; correct config=") from error
        except GristmillError as error:
            raise RecipeError(f"{who}: {error}") from error
        if config.dryrun:
            raise RecipeError(f"{who}: {path.name}: dryrun is true, and a mix is made; remove it")
        names = MappedNames(self.paths, who)
        streams = _streams_of_versions(config, names, path.name, who)
        names.check_used()
        known = {stream.key for stream in streams}
        for name in self.options:
            if name not in known:
                raise RecipeError(f"{who}: options of a stream {name!r}; {known_names(name, known)}")
        return [replace(stream, **self.options.get(stream.key, {})) for stream in streams]


def _streams_of_versions(config: MixerConfig, names: MappedNames, file: str, who: str) -> list[Stream]:
    """A stream for each source version that a stream of the configuration reads."""
    found: list[Stream] = []
    for spec in config.streams:
        versions = list(dict.fromkeys(names.version(pattern) for pattern in spec.documents))
        where = f"{who}: {file}: stream {spec.name!r}"
        try:
            options = stream_selection(spec, names, file)
            found += [
                Stream(source=source, version=version, name=_stream_name(spec, source, version, versions), **options)
                for source, version in versions
            ]
        except RecipeError as error:
            raise RecipeError(f"{where}: {error}") from error
    return found


def _stream_name(spec: StreamSpec, source: str, version: str, versions: list[tuple[str, str]]) -> str:
    """The name of the configuration's stream; with those of source and version where one stream gives several."""
    parts = [spec.name]
    if len(versions) > 1:
        parts.append(source)
    if sum(source == each for each, _ in versions) > 1:
        parts.append(version)
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")


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
    options = _filter_rules(spec, columns, config)
    options["edits"] = tuple(edit for each in spec.span_replacement for edit in _replacement_edits(each, names, spec))
    options["overlaps"] = "first" if options["edits"] else "union"
    if options["edits"]:  # short texts are dropped after the edits
        options["least_bytes"] = spec.output.min_text_length
    elif spec.output.min_text_length:
        options["exclude"] = (*options["exclude"], _minimum_length(spec, columns))
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


def _filter_rules(spec: StreamSpec, columns: LakeColumns, config: str) -> dict[str, Any]:
    """The rules of a filter: one for all of `include`, of which one must match, and one for each of `exclude`."""
    taken: set[str] = set()
    found: dict[str, tuple[Rule, ...]] = {}
    include = [(text, _expression_as_sql(text, spec, columns)) for text in spec.filter.include]
    if include:
        together = include[0][1] if len(include) == 1 else " OR ".join(f"({sql})" for _, sql in include)
        because = f"filter.include of {config}"
        name = _unused_name(_configured_name(include[0][0], spec) if len(include) == 1 else "include", "include", taken)
        found["include"] = (Rule(name, together, because),)
    exclude = []
    for text in spec.filter.exclude:
        sql = _expression_as_sql(text, spec, columns)
        exclude.append(
            Rule(_unused_name(_configured_name(text, spec), "exclude", taken), sql, f"filter.exclude of {config}")
        )
    return {"include": (), **found, "exclude": tuple(exclude)}


def _expression_as_sql(text: str, spec: StreamSpec, columns: LakeColumns) -> str:
    if spec.filter.syntax == "jq":
        return jq_filter_to_sql(text, columns)
    return json_path_to_sql(text, columns)


def _configured_name(text: str, spec: StreamSpec) -> str | None:
    return rule_name(text) if spec.filter.syntax == "jsonpath" else jq_rule_name(text)


def _unused_name(name: str | None, kind: str, taken: set[str]) -> str:
    """The name, or one with a number behind it if it is taken; without a name, one by its kind."""
    plain, number = name or kind, 1
    found = plain
    while found in taken:
        number += 1
        found = f"{plain}-{number}"
    taken.add(found)
    return found


def _replacement_edits(spec: ReplacementSpec, names: MappedNames, stream: StreamSpec) -> Sequence[Edit]:
    """The edits of one entry of `span_replacement`: one, or one for each set that may have the key."""
    if spec.replacement.startswith("$") or "{}" in spec.replacement:
        raise RecipeError(
            f"span_replacement: the replacement {spec.replacement!r} depends on the row; in a lake, write the text"
        )
    key = _sampled_label(spec)
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


def _sampled_label(spec: ReplacementSpec) -> str | None:
    if spec.syntax == "jq":
        found = _JQ_LABEL.fullmatch(spec.span.strip())
        return (found[1] or found[2]) if found else None
    match parse_path(spec.span).steps:
        case (FieldStep(first), FieldStep(key)) if first == ATTRIBUTES:
            return key
    return None


def _minimum_length(spec: StreamSpec, columns: LakeColumns) -> Rule:
    least = spec.output.min_text_length
    text = columns.field("text", "VARCHAR")
    return Rule(
        "text-too-short", f"strlen(trim({text}, {quote_literal(WHITE_SPACE)})) < {least}", f"min_text_length is {least}"
    )
