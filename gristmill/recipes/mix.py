"""Mixing: streams of dataset versions, selected row by row. The same engine makes v1 from v0."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gristmill.errors import RecipeError
from gristmill.formats.levanter.mixture_weights import LARGEST_BLOCK, check_weights
from gristmill.lake.address import VERSION, check_name
from gristmill.lake.ledger.model import Recipe
from gristmill.recipes.row_format import Format, Text, format_of
from gristmill.recipes.selection import Selection

MIXING = 1
"""Version of the way we write selected rows; the next number rebuilds every v1 and mix."""


@dataclass(frozen=True, kw_only=True)
class Stream(Selection):
    """One dataset version with its selection, inside a mix.

    Attributes:
        source: the source.
        version: its dataset version, e.g. `v1`.
        name: of the stream; by default the source's.
        weight: in training, relative to the other streams; it changes no document.
        format: how its documents become rows of a token cache: `Text()`, `Chat(...)`, `Prebuilt(...)`, or the mapping
            that Levanter's configuration has.
    """

    source: str
    version: str
    name: str = ""
    weight: float = 1.0
    format: Format = field(default_factory=Text)

    def __post_init__(self) -> None:
        """See Selection; and the names."""
        super().__post_init__()
        object.__setattr__(self, "format", format_of(self.format))
        check_name(self.source, "source")
        check_name(self.key, "stream")
        if not VERSION.fullmatch(self.version):
            raise RecipeError(f"stream {self.key!r}: version {self.version!r} is none; they are v0, v1, ...")

    @property
    def key(self) -> str:
        """The stream's name."""
        return self.name or self.source


@dataclass(frozen=True, kw_only=True)
class Mix:
    """A recipe of streams, and the documents that it yields.

    Attributes:
        name: of the mix.
        streams: what it takes from where; a stream's slice depends on its own source alone.
        description: for people.
        owners: mail addresses or `team:name`.
        tokenizers: the tokenizers that spell it; empty: all.
        validation: share of the documents held out, drawn by a hash of (source, id).
        parts: Levanter parts of a snapshot in its token cache, at the most.
        block: sequences in which the weights must come out (Levanter's `mixture_block_size`).
        token_budget: tokens that a training is to read in all; the index tells how often each stream is read for it.
        draft: whether it may change under its name.
    """

    name: str
    streams: tuple[Stream, ...]
    description: str = ""
    owners: tuple[str, ...] = ()
    tokenizers: tuple[str, ...] = ()
    validation: float = 0.0
    parts: int = 32
    block: int = 2048
    token_budget: int | None = None
    draft: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks names.

        Raises:
            RecipeError: a name is none or stands twice, there is no stream, or a number is out of range.
        """
        check_name(self.name, "mix")
        keys = [stream.key for stream in self.streams]
        if not keys or len(set(keys)) != len(keys):
            raise RecipeError(f"mix {self.name!r}: streams need names of their own; it has {', '.join(keys) or 'none'}")
        if not 0 <= self.validation < 1:
            raise RecipeError(f"mix {self.name!r}: validation {self.validation} is no share below 1")
        if not 1 <= self.parts <= 128:
            raise RecipeError(f"mix {self.name!r}: parts {self.parts}: 1 to 128 a snapshot")
        if not 1 <= self.block <= LARGEST_BLOCK:
            raise RecipeError(f"mix {self.name!r}: block {self.block}: 1 to {LARGEST_BLOCK} sequences")
        check_weights(self.name, self.weights, self.block)

    @property
    def weights(self) -> dict[str, float]:
        """Of each stream."""
        return {stream.key: stream.weight for stream in self.streams}

    def stream(self, name: str) -> Stream:
        """The stream of a name; RecipeError lists the known ones."""
        for stream in self.streams:
            if stream.key == name:
                return stream
        known = ", ".join(stream.key for stream in self.streams)
        raise RecipeError(f"mix {self.name!r} has no stream {name!r}; it has {known}")


def selection_recipe(name: str, selection: Selection, *, draft: bool) -> Recipe:
    """What changes the rows that a selection lets pass."""
    return Recipe(name, MIXING, selection.parameters(), draft)
