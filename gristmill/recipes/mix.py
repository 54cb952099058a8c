"""What a mix declares: streams, each a selection of the rows of one dataset version.

The same selections make version v1 of a source from v0 (gristmill/recipes/source.py, Revision).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from msgspec import Meta

from gristmill.errors import RecipeError, known_names
from gristmill.formats.levanter.mixture_weights import LARGEST_BLOCK, check_weights
from gristmill.lake.address import VERSION, check_name
from gristmill.lake.ledger.model import Recipe
from gristmill.recipes.mixture.block_reading import read_in_blocks
from gristmill.recipes.mixture.held_out import HeldOut
from gristmill.recipes.mixture.languages import check_language
from gristmill.recipes.mixture.token_shares import Portion, Reading, Sequences, reading_from_weights, solve_reading
from gristmill.recipes.option_types import check_types
from gristmill.recipes.row_format import Chat, Format, Prebuilt, Text, format_from_mapping
from gristmill.recipes.rules import Column
from gristmill.recipes.selection import Selection

MIXING = 1
"""Version of the way we write selected rows. Raising it rebuilds every revision and every mix."""

_ROUNDING = 1e-6
"""How far the sum of proportions may be from 1, such as of three times 0.3333333."""

ALL: Literal["all"] = "all"
"""In `Mix.tokenizers`: all tokenizers of all shelves."""


@dataclass(frozen=True, kw_only=True)
class Stream(Selection):
    """One dataset version and its selection, as a part of a mix.

    Attributes:
        source: name of the source.
        version: its dataset version, such as `v1`.
        name: name of the stream; by default the name of the source.
        weight: weight in training, relative to the other streams. It changes no document.
        repeats: number of times that training reads the stream, relative to the others: 2.0 is twice, 0.5 is half of
            it. Inside a group it is relative to the group's other streams. It changes no document.
        most_epochs: largest number of times that training may read the stream. A budget that needs more is an error.
        group: name of a group of streams, such as those of one language, whose share `Mix.proportions` or
            `Mix.temperature` sets; by default the stream is a group of its own.
        language: language of its documents, a tag of BCP 47 such as `en`, for counts of tokens; by default that of the
            source. It changes no document, unless a rule reads `origin("language")`.
        format: encoding of documents as rows of a token cache: `Text()`, `Chat(...)`, `Prebuilt(...)`, or a mapping as
            in Levanter's configuration.
    """

    source: str
    version: str
    name: str = ""
    weight: float = 1.0
    repeats: Annotated[float, Meta(gt=0)] = 1.0
    most_epochs: Annotated[float, Meta(gt=0)] | None = None
    group: str = ""
    language: str = ""
    format: Format = field(default_factory=Text)

    def __post_init__(self) -> None:
        """Checks the selection (see Selection), the format and the names.

        Raises:
            RecipeError: one of them is wrong.
        """
        object.__setattr__(self, "format", format_from_mapping(self.format))
        super().__post_init__()
        check_name(self.source, "source")
        check_name(self.key, "stream")
        if self.group:
            check_name(self.group, "group")
        check_language(self.language, self._title_for_messages)
        if not VERSION.fullmatch(self.version):
            raise RecipeError(f"stream {self.key!r}: version {self.version!r} is not valid; give v0, v1, ...")
        if self.changes_text and not isinstance(self.format, Text):
            kind, made_from = ("chat", "its turns") if isinstance(self.format, Chat) else ("prebuilt", "its tokens")
            raise RecipeError(
                f"stream {self.key!r}: the text of a {kind} row is rendered from {made_from}, so edits= and transforms="
                " are not allowed; change such rows in the source"
            )

    @property
    def _title_for_messages(self) -> str:
        return f"stream {self.name or self.source!r}"

    @property
    def _bounded_options(self) -> tuple[str, ...]:
        return ("rows", "bytes", "tokens", "dropped", "removed")

    @property
    def key(self) -> str:
        """The stream's name: `name`, or else the name of the source."""
        return self.name or self.source


@dataclass(frozen=True, kw_only=True)
class Mix:
    """A recipe of streams. Its documents go into training.

    Attributes:
        name: name of the mix.
        streams: the streams. A slice of a stream depends on its own source only.
        description: description for people.
        owners: mail addresses or `team:name`.
        tokenizers: names of the tokenizers that tokenize it, as a tuple; `()` means none. The word "all" means all
            tokenizers of all shelves: then a new tokenizer makes a new token cache of this mix due.
        validation: share of the documents held out, drawn by a hash of (source, id); at least 0, less than 1.
        validation_key: the key by which documents are held out in place of (source, id), such as
            `field("metadata.host")` or `score("near-1__cluster")`. Documents with one key are on one side, in all
            streams. A document without the key is drawn by its (source, id), and counted.
        parts: largest number of Levanter parts per snapshot in its token cache, 1 to 128.
        block: number of sequences per block in which the weights are exact (Levanter's `mixture_block_size`).
        sequence_length: number of tokens of a training sequence, as the trainer's configuration has it. If documents
            are packed into sequences, shares and budgets of tokens depend on it. It changes no document.
        token_budget: number of tokens that a training reads. The index of a token cache tells how often that reads each
            stream.
        proportions: share of the tokens that training reads, by stream or group of streams; they add up to 1.
        temperature: shares of the streams or groups follow from their tokens, raised to this power: 1 keeps the natural
            shares, 0 makes all equal, 0.3 is common for languages.
        draft: whether the recipe may change under its name.
        metadata: further values for people; it changes nothing.
    """

    name: str
    streams: tuple[Stream, ...]
    description: str = ""
    owners: tuple[str, ...] = ()
    tokenizers: tuple[str, ...] | Literal["all"] = ()
    validation: float = 0.0
    validation_key: Column | None = None
    parts: int = 32
    block: int = 2048
    sequence_length: Annotated[int, Meta(ge=1)] | None = None
    token_budget: Annotated[int, Meta(ge=1)] | None = None
    proportions: Mapping[str, float] | None = None
    temperature: Annotated[float, Meta(ge=0, le=1)] | None = None
    draft: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks names and numbers.

        Raises:
            RecipeError: a name is wrong or used twice, there is no stream, or a number is out of range.
        """
        if isinstance(self.tokenizers, str) and self.tokenizers != ALL:
            raise RecipeError(
                f"mix {self.name!r}: tokenizers is {self.tokenizers!r}; give a tuple of names, such as"
                f" ({self.tokenizers!r},), or {ALL!r} for all of them; () means none"
            )
        check_types(self, f"mix {self.name!r}")
        check_name(self.name, "mix")
        keys = [stream.key for stream in self.streams]
        if not keys or len(set(keys)) != len(keys):
            raise RecipeError(f"mix {self.name!r}: each stream needs its own name; it has {', '.join(keys) or 'none'}")
        if not 0 <= self.validation < 1:
            raise RecipeError(f"mix {self.name!r}: validation is {self.validation}; give a share from 0 to less than 1")
        if not 1 <= self.parts <= 128:
            raise RecipeError(f"mix {self.name!r}: parts is {self.parts}; give 1 to 128 per snapshot")
        if not 1 <= self.block <= LARGEST_BLOCK:
            raise RecipeError(f"mix {self.name!r}: block is {self.block}; give 1 to {LARGEST_BLOCK} sequences")
        check_weights(self.name, self.weights, self.block)
        self._check_shares()
        self._check_length()
        if self.validation_key is not None and not self.validation:
            raise RecipeError(f"mix {self.name!r}: it has a validation_key, but holds nothing out; give validation too")
        # Each stream gets the declaration, because its slices decide which rows are held out.
        streams = (s if s.held_out == self.held_out else replace(s, held_out=self.held_out) for s in self.streams)
        object.__setattr__(self, "streams", tuple(streams))

    @property
    def held_out(self) -> HeldOut | None:
        """The rule that holds documents out by a key; None without one."""
        return HeldOut(self.validation, self.validation_key) if self.validation_key else None

    def _check_shares(self) -> None:
        """Checks what is declared about shares of tokens.

        Raises:
            RecipeError: two declarations contradict each other, or the proportions are not those of the groups.
        """
        who = f"mix {self.name!r}"
        if self.by_tokens and any(stream.weight != 1 for stream in self.streams):
            raise RecipeError(
                f"{who}: weights are shares of sequences, and proportions, temperature and repeats are shares of"
                " tokens; give only one of them"
            )
        if self.proportions is None:
            return
        if self.temperature is not None:
            raise RecipeError(f"{who}: it has proportions and a temperature; leave out one of them")
        groups = {stream.group or stream.key for stream in self.streams}
        if self.proportions.keys() != groups:
            raise RecipeError(
                f"{who}: it has proportions of {', '.join(sorted(self.proportions)) or 'nothing'}; give one to each of"
                f" {', '.join(sorted(groups))}"
            )
        if min(self.proportions.values()) <= 0 or abs(math.fsum(self.proportions.values()) - 1) > _ROUNDING:
            raise RecipeError(f"{who}: proportions are {dict(self.proportions)}; give shares above 0 that add up to 1")

    def _check_length(self) -> None:
        """Checks that the length of a sequence is known where shares or budgets depend on it.

        Raises:
            RecipeError: it is not, or prebuilt rows have another length.
        """
        who = f"mix {self.name!r}"
        if self.packed_streams and self.solves_token_shares and self.sequence_length is None:
            raise RecipeError(
                f"{who}: the documents of {', '.join(self.packed_streams)} are packed into sequences and cut there, so"
                " token_budget, proportions, temperature and repeats depend on the length of a sequence; give the mix"
                " sequence_length=4096, or the length that the trainer has"
            )
        for stream in self.streams:
            rows = stream.format.length if isinstance(stream.format, Prebuilt) else None
            if None not in (rows, self.sequence_length) and rows != self.sequence_length:
                raise RecipeError(
                    f"{who}: sequence_length is {self.sequence_length}, and the prebuilt rows of {stream.key!r} have"
                    f" {rows} tokens: a trainer stops at them; give both the same length"
                )

    @property
    def mend_of_names(self) -> str:
        """The end of an error about the name of a set or label; empty if the recipe itself has the names."""
        return ""

    @property
    def by_tokens(self) -> bool:
        """Whether the streams' shares in training depend on their numbers of tokens."""
        repeated = any(stream.repeats != 1 for stream in self.streams)
        return self.proportions is not None or self.temperature is not None or repeated

    @property
    def solves_token_shares(self) -> bool:
        """Whether something is solved from the tokens of the streams: shares, or a budget."""
        return self.by_tokens or self.token_budget is not None

    @property
    def packed_streams(self) -> list[str]:
        """The streams of which sequences may have padding, and documents may be cut."""
        return [stream.key for stream in self.streams if stream.format.packs]

    def reading(
        self, tokens: Mapping[str, int], sequences: Mapping[str, Sequences] | None = None, *, in_blocks: bool = True
    ) -> Reading:
        """The reading of the streams in training: shares, rates and epochs.

        The numbers are of the declared shares, or of those that whole sequences give: see read_in_blocks().

        Args:
            tokens: number of tokens of the training split of each stream, by name. A stream that is missing is left
                out.
            sequences: sequences of the training split of each stream, at the mix's sequence length.
                None: whole documents are read, as from an export, or the sequences are not known yet and taken as full.
            in_blocks: whether the trainer reads whole sequences in blocks; Energon does not.

        Raises:
            RecipeError: a stream's share is too small to appear in a block of sequences.
        """
        portions = self._stream_portions
        if self.packed_streams and self.sequence_length is None and not self.solves_token_shares:
            solved = reading_from_weights(portions, tokens)
        else:
            solved = solve_reading(
                portions,
                tokens,
                proportions=self.proportions,
                temperature=self.temperature,
                budget=self.token_budget,
                sequences=sequences,
                length=self.sequence_length,
            )
        if not any(solved.weights.values()):
            return solved
        check_weights(self.name, weights := self.train_weights(solved), self.block)
        if not in_blocks:
            return solved
        return read_in_blocks(solved, weights, portions, tokens, sequences, block=self.block, budget=self.token_budget)

    @property
    def _stream_portions(self) -> list[Portion]:
        return [Portion(s.key, s.group or s.key, s.weight, s.repeats, s.most_epochs) for s in self.streams]

    def bounding_streams(self, reading: Reading) -> list[str]:
        """The streams that bound a reading without a budget: with more tokens, they would be read too often.

        Args:
            reading: result of `reading`.

        Returns:
            Their names; none if there is a budget, or if all streams are read as often as they may be.
        """
        most = {each.name: each.most for each in self._stream_portions}
        used = {each.stream: (each.epochs or 0.0) / most[each.stream] for each in reading.streams}
        bounding = [name for name, share in used.items() if share and share > max(used.values()) * (1 - _ROUNDING)]
        return bounding if self.token_budget is None and len(bounding) < len(used) else []

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each stream, by name.

        >>> streams = (Stream(source="letters", version="v1", weight=2.0), Stream(source="diary", version="v0"))
        >>> Mix(name="blend", streams=streams).weights
        {'letters': 2.0, 'diary': 1.0}
        """
        return {stream.key: stream.weight for stream in self.streams}

    def train_weights(self, reading: Reading) -> dict[str, float]:
        """The weight of each stream in the trainer's configuration: as declared, or as solved if tokens decide.

        Before the first slice, there is nothing to solve: all streams have the same weight. Later one without tokens or
        sequences has the weight 0, because a trainer would stop at it.

        Args:
            reading: result of `reading`.
        """
        if not any(reading.weights.values()):
            return self.weights
        empty = {each.stream: 0.0 for each in reading.streams if not each.tokens or each.sequences == 0}
        return reading.weights if self.by_tokens else self.weights | empty

    def stream(self, name: str) -> Stream:
        """The stream of this name.

        Raises:
            RecipeError: the name is unknown; the message lists the names, the near ones first.
        """
        for stream in self.streams:
            if stream.key == name:
                return stream
        raise RecipeError(
            f"mix {self.name!r} has no stream {name!r}; {known_names(name, [s.key for s in self.streams])}"
        )


def recipe_of_selection(name: str, selection: Selection, *, draft: bool) -> Recipe:
    """The recipe, for a ledger, of documents that a selection keeps.

    Args:
        name: name of the asset's recipe.
        selection: the selection. Its parameters are what is recorded and compared.
        draft: whether the recipe may change under its name.
    """
    return Recipe(name, MIXING, selection.parameters(), draft)
