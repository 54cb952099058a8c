"""Held out: which rows of a mix go into its validation split, by a key that keeps related documents on one side."""

from dataclasses import dataclass
from typing import Any

from gristmill.errors import RecipeError
from gristmill.lake.rows.draw import VALIDATION_SEED, key_fraction
from gristmill.recipes.rules import Column

KEY_TYPES = ("VARCHAR", "BIGINT", "score")


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Holds out the rows whose key has a small hash. All rows with one key are on one side, whatever their stream.

    Args:
        share: share of the keys that are held out, above 0 and less than 1.
        key: the column with the key, such as `field("metadata.host")`. A row without it is drawn by its (source, id).

    Raises:
        RecipeError: the share is out of range, or the key is a column of another type.
    """

    share: float
    key: Column

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise RecipeError(f"validation_key: the share held out is {self.share}; give one above 0 and less than 1")
        if self.key.is_origin:
            raise RecipeError(
                f"validation_key: {self.key.path} is the same for a whole source; take a key of documents"
            )
        if self.key.type not in KEY_TYPES:
            raise RecipeError(
                f"validation_key: column {self.key.name!r} is {self.key.type}; a key is one of {', '.join(KEY_TYPES)}"
            )

    def holds(self, key: str | float) -> bool:
        """Whether the rows with this key are held out."""
        value = float(key) if self.key.type == "score" else key
        return key_fraction(value, VALIDATION_SEED) < self.share

    def parameters(self) -> dict[str, Any]:
        """All that changes the output, as JSON, for the recipe in a ledger."""
        return {"share": self.share, "key": [self.key.path, self.key.type], "seed": VALIDATION_SEED}


def read_held_out(parameters: dict[str, Any]) -> HeldOut:
    """The declaration of a recipe in a ledger. It reverses `HeldOut.parameters`, except for the name of the column.

    >>> held = HeldOut(0.01, Column("host", "metadata.host", "VARCHAR"))
    >>> read_held_out(held.parameters()).parameters() == held.parameters()
    True
    """
    path, kind = parameters["key"]
    return HeldOut(parameters["share"], Column(KEY_NAME, path, kind))


_MOST = 0.5
"""The share of held-out documents up to which nothing is remarked."""
KEY_NAME = "validation_key"
"""The name under which the key is read, so that no column of a rule has it by chance."""


def remark_on_share(mix: str, share: float) -> str:
    """A remark on a share that is valid, but that people may not mean: one above a half.

    Args:
        mix: name of the mix.
        share: share of its documents that are held out.

    Returns:
        The remark in words; empty for a share of at most a half.

    >>> remark_on_share("blend", 0.5), remark_on_share("blend", 0.99)
    ('', 'mix blend holds out most documents: validation is 0.99, the share that training does not read')
    """
    if share <= _MOST:
        return ""
    return f"mix {mix} holds out most documents: validation is {share}, the share that training does not read"
