"""What an export declares: mixes to write in the format of another tool, and the options of that format."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from gristmill.errors import RecipeError
from gristmill.lake.address import check_name
from gristmill.recipes.export_formats.energon import EnergonJsonl, EnergonWebdataset
from gristmill.recipes.option_types import check_types


@dataclass(frozen=True, kw_only=True)
class Oscar:
    """OSCAR, schema v2: JSON lines in gzip, a folder for each language, with a file of checksums.

    Attributes:
        schema: the published schema for documents that did not come from OSCAR: `22.01` or `23.01`. Those that did come
            back as they were.
        languages: only documents of these languages, in OSCAR's spelling, such as `en`. Others are counted as refused.
            Empty: all.
        part_bytes: most bytes of unpacked lines in one file of the release. A language with more is written as
            `<language>_part_1.jsonl.gz` and so on. Files are cut between members of gzip, of about 1 MiB of lines.
    """

    type: ClassVar[str] = "oscar"
    release_only: ClassVar[frozenset[str]] = frozenset({"part_bytes"})

    schema: Literal["22.01", "23.01"] = "22.01"
    languages: tuple[str, ...] = ()
    part_bytes: Annotated[int, Meta(ge=1)] = 1 << 30

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one of them is wrong.
        """
        check_types(self, "Oscar")


ExportFormat = Oscar | EnergonJsonl | EnergonWebdataset
"""The declaration of a format: a frozen dataclass. `type` is its name. `release_only` names the options that change
only the release, and so no part of a slice."""

FORMATS: Mapping[str, type[ExportFormat]] = {kind.type: kind for kind in (Oscar, EnergonJsonl, EnergonWebdataset)}
"""The formats that the export stage writes, by name."""


def format_parameters(declared: ExportFormat, *, release: bool = False) -> dict[str, Any]:
    """A format as JSON values.

    Args:
        declared: the format.
        release: also the options that change only the release.

    >>> format_parameters(Oscar(languages=("en",)))
    {'languages': ['en'], 'schema': '22.01', 'type': 'oscar'}
    """
    options = {each.name: getattr(declared, each.name) for each in fields(declared)}
    kept = {name: value for name, value in options.items() if release or name not in declared.release_only}
    values = {name: _as_json(value) for name, value in kept.items()}
    return dict(sorted({"type": declared.type, **values}.items()))


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(sorted(value.items()))
    return list(value) if isinstance(value, tuple) else value


def format_of_parameters(parameters: Mapping[str, Any]) -> ExportFormat:
    """The format that format_parameters() made JSON of. Options that are not recorded have their defaults.

    Raises:
        RecipeError: no format has this name or these options.
    """
    options: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in parameters.items() if key != "type"
    }
    kind = FORMATS.get(str(parameters.get("type")))
    if kind is None or not options.keys() <= {each.name for each in fields(kind)}:
        raise RecipeError(f"no format of exports has the options {dict(parameters)}; known formats: {_known()}")
    return kind(**options)


def _known() -> str:
    return ", ".join(f"{kind.__name__}(...)" for _, kind in sorted(FORMATS.items()))


@dataclass(frozen=True, kw_only=True)
class Export:
    """Mixes to write in the format of another tool.

    Attributes:
        name: name of the export.
        mixes: names of the mixes to export. Every stream of each has its own slices.
        format: the format with its options, such as `Oscar()`.
        description: for people.
        owners: mail addresses or `team:name`.
        draft: whether the recipe may change under its name.

    >>> Export(name="release", mixes=("blend",), format="oscar")
    Traceback (most recent call last):
        ...
    gristmill.errors.RecipeError: export 'release': format is 'oscar'; give one of the known formats: \
EnergonJsonl(...), EnergonWebdataset(...), Oscar(...)
    """

    name: str
    mixes: tuple[str, ...]
    format: ExportFormat
    description: str = ""
    owners: tuple[str, ...] = ()
    draft: bool = False

    @property
    def tokenizer(self) -> str:
        """The tokenizer whose token caches the index reads; empty if it reads none."""
        return "" if isinstance(self.format, Oscar) else self.format.tokenizer

    @property
    def needs(self) -> Mapping[str, str]:
        """The modules that writing the format imports, beside those of Gristmill; each with the package to install."""
        media = isinstance(self.format, EnergonWebdataset) and self.format.media_metadata
        return dict.fromkeys(("PIL", "av", "filetype"), "gristmill[media]") if media else {}

    @property
    def divides(self) -> bool:
        """Whether the format divides its files among splits, so that the mix must not hold documents out."""
        declared = self.format
        return isinstance(declared, EnergonWebdataset) and bool(declared.split_ratios or declared.split_patterns)

    def check_mix(self, name: str, validation: float, tokenizers: Collection[str]) -> None:
        """Checks that a mix can be exported so.

        Args:
            name: the name of the mix.
            validation: the share of documents that it holds out.
            tokenizers: the names of the tokenizers that tokenize it.

        Raises:
            RecipeError: an option does not go with the mix.
        """
        if self.tokenizer and self.tokenizer not in tokenizers:
            raise RecipeError(
                f"export {self.name!r}: its epoch counts tokens of {self.tokenizer!r}, which does not tokenize the mix"
                f" {name!r}; add it to the mix's tokenizers"
            )
        if self.divides and validation:
            raise RecipeError(
                f"export {self.name!r}: split_ratios and split_patterns divide the tars among splits, but mix"
                f" {name!r} holds documents out (validation={validation}); leave out one of them"
            )

    def __post_init__(self) -> None:
        """Checks names and the format.

        Raises:
            RecipeError: a name is wrong, no mix is named, a mix is named twice, or the format is not known.
        """
        if type(self.format) not in FORMATS.values():
            raise RecipeError(
                f"export {self.name!r}: format is {self.format!r}; give one of the known formats: {_known()}"
            )
        check_types(self, f"export {self.name!r}")
        check_name(self.name, "export")
        if not self.mixes or len(set(self.mixes)) != len(self.mixes):
            named = ", ".join(self.mixes) or "none"
            raise RecipeError(f"export {self.name!r}: name at least one mix, each once; it has {named}")
