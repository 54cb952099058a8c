"""DolmaMix: a mix that a configuration of Dolma's mixer declares, as it was published."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gristmill.errors import GristmillError, RecipeError, known_names
from gristmill.formats.dolma.mixer_config import MixerConfig, StreamSpec, mixer_config
from gristmill.recipes.dolma.mapped_names import MappedNames
from gristmill.recipes.dolma.stream_selection import stream_selection
from gristmill.recipes.mix import Mix, Stream


@dataclass(frozen=True, kw_only=True)
class DolmaMix(Mix):
    """A mix whose streams come from a mixer configuration of the Dolma toolkit, YAML or JSON.

    Filters become rules, and `span_replacement` becomes edits, so that everything which takes a Mix takes this one.
    Each source version that a stream of the configuration reads is a stream here.

    Attributes:
        config: absolute path of the file, such as `str(Path(__file__).with_name("c4.yaml"))`.
        paths: what the names of the configuration are called in the lake. The beginning of an entry of `documents` is
            mapped to "source/version", a name of `attributes` to a set, and a key of attributes to "<set>__<label>";
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
            object.__setattr__(self, "streams", tuple(self._read(who)))
        super().__post_init__()

    @property
    def mend_of_names(self) -> str:
        """The end of an error about a name: which file has it, and where the recipe gives it another."""
        return f"; {Path(self.config).name} has the name: say in the table paths= what the lake calls it"

    def _read(self, who: str) -> list[Stream]:
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
        streams = _streams(config, names, path.name, who)
        names.check_used()
        known = {stream.key for stream in streams}
        for name in self.options:
            if name not in known:
                raise RecipeError(f"{who}: options of a stream {name!r}; {known_names(name, known)}")
        return [replace(stream, **self.options.get(stream.key, {})) for stream in streams]


def _streams(config: MixerConfig, names: MappedNames, file: str, who: str) -> list[Stream]:
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
