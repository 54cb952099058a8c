"""What an export declares: mixes to write in the format of another tool, and the options of that format."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal
from warnings import warn

from msgspec import Meta

from gristmill.errors import RecipeError
from gristmill.lake.address import check_name
from gristmill.recipes.code.digest import check_same_output
from gristmill.recipes.export_formats.formats import format_of_parameters, known_formats
from gristmill.recipes.export_formats.options import ExportFormat, format_parameters
from gristmill.recipes.option_types import Json, check_option, check_types

__all__ = ["Export", "ExportFormat", "Oscar", "format_of_parameters", "format_parameters"]


@dataclass(frozen=True, kw_only=True)
class Oscar(ExportFormat):
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


@dataclass(frozen=True, kw_only=True)
class Export:
    """Mixes to write in the format of another tool.

    Attributes:
        name: name of the export.
        mixes: names of the mixes to export. Every stream of each has its own slices.
        format: the format with its options, such as `Oscar()`.
        description: description for people.
        owners: mail addresses or `team:name`.
        draft: whether the recipe may change under its name.
        same_output: whether an edit of the code of its format gives the same output, so that nothing is made again.
            Give a `reason`. Formats that ship have versions instead.
        reason: reason why the output is the same. Another edit takes another reason.

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
    same_output: bool = False
    reason: str = ""

    def check_mix(self, name: str, validation: float, tokenizers: Collection[str]) -> None:
        """Checks that a mix can be exported so.

        Args:
            name: the name of the mix.
            validation: the share of documents that it holds out.
            tokenizers: the names of the tokenizers that tokenize it.

        Raises:
            RecipeError: an option does not go with the mix.
        """
        tokenizer = self.format.tokenizer
        if tokenizer and tokenizer not in tokenizers:
            raise RecipeError(
                f"export {self.name!r}: its epoch counts tokens of {tokenizer!r}, which does not tokenize the mix"
                f" {name!r}; add it to the mix's tokenizers"
            )
        if self.format.divides and validation:
            raise RecipeError(
                f"export {self.name!r}: split_ratios and split_patterns divide the tars among splits, but mix"
                f" {name!r} holds documents out (validation={validation}); leave out one of them"
            )

    def __post_init__(self) -> None:
        """Checks names and the format.

        Raises:
            RecipeError: a name is wrong, no mix is named, a mix is named twice, or the format is no ExportFormat.
        """
        what = f"export {self.name!r}"
        if not issubclass(type(self.format), ExportFormat):
            known = ", ".join(sorted(f"{kind.__name__}(...)" for kind in known_formats().values()))
            raise RecipeError(f"{what}: format is {self.format!r}; give one of the known formats: {known}")
        check_types(self, what)
        check_option(format_parameters(self.format, release=True), Json, f"{what}: the options of its format")
        check_same_output(what, same_output=self.same_output, reason=self.reason)
        check_name(self.name, "export")
        if not self.mixes or len(set(self.mixes)) != len(self.mixes):
            named = ", ".join(self.mixes) or "none"
            raise RecipeError(f"export {self.name!r}: name at least one mix, each once; it has {named}")


def __getattr__(name: str) -> Any:
    """The table of formats as version 0.2 had it; it goes with version 0.5."""
    if name != "FORMATS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn("gristmill.recipes.export.FORMATS goes with version 0.5; see `gristmill plugins`", DeprecationWarning, 2)
    return known_formats()
