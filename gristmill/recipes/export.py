"""What an export declares: mixes to write in the format of another tool."""

from dataclasses import dataclass

from gristmill.errors import RecipeError
from gristmill.lake.address import check_name

FORMATS: frozenset[str] = frozenset()
"""The formats that a stage can write. There is none yet."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """Mixes to write in the format of another tool.

    No format exists yet. A declared export is planned, verified, traced and shown in Dagster like every other asset.
    But no stage can make it yet.

    Attributes:
        name: name of the export.
        mixes: names of the mixes to export. Every stream of each has its own slices.
        format: name of the format, such as `energon`.
        description: for people.
        owners: mail addresses or `team:name`.
    """

    name: str
    mixes: tuple[str, ...]
    format: str
    description: str = ""
    owners: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks names.

        Raises:
            RecipeError: a name is not valid, no mix is named, or a mix is named twice.
        """
        check_name(self.name, "export")
        check_name(self.format, f"export {self.name!r}: format")
        if not self.mixes or len(set(self.mixes)) != len(self.mixes):
            named = ", ".join(self.mixes) or "none"
            raise RecipeError(f"export {self.name!r}: name at least one mix, each once; it has {named}")

    def check_format(self) -> None:
        """Checks that a stage can write the format. Callers that make the export call this first.

        Raises:
            RecipeError: no stage writes the format.
        """
        if self.format not in FORMATS:
            known = ", ".join(sorted(FORMATS)) or "none"
            raise RecipeError(f"export {self.name!r}: no format {self.format!r} yet; known: {known}")
