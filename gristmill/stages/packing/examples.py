"""Training examples of a token cache: tokens, loss weights and segments, as a trainer receives them. JAX is not needed.

Source: marin-levanter 0.2, `levanter.data.text.datasets.dataset_for_component` and
`levanter.data.text.examples.GrugLmExample.causal`. Our tests compare the examples with theirs, element by element.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from gristmill.errors import DataError
from gristmill.recipes.row_format import Chat, Format, Prebuilt
from gristmill.stages.packing.packer import Packing, pack_documents, packing_rule_of_format, refuse_misfit_plan
from gristmill.stages.packing.report import token_ids_field
from gristmill.stages.token_cache.token_stream import TokenStream

MASKS = "assistant_masks"
PADDING = -1
"""The segment number of padding: positions without a token. Their token id is 0."""


class TrainingExample(NamedTuple):
    """One training example.

    Attributes:
        tokens: (length,) int32: token ids.
        loss_weight: (length,) float32: at each position, the loss weight of predicting the next token. 0 at the last
            position.
        segment_ids: (length,) int32: a token attends only to tokens of its own segment. None: it attends to all
            tokens before it. In packed documents, the segment is the document's number in its split. In text cut as
            one stream, it is the number of document ends before the token in this example.
    """

    tokens: npt.NDArray[np.int32]
    loss_weight: npt.NDArray[np.float32]
    segment_ids: npt.NDArray[np.int32] | None


class TrainingExamples(Protocol):
    """All examples of a split. They are read from the cache when they are asked for."""

    def __len__(self) -> int:
        """Number of examples."""

    def __getitem__(self, number: int) -> TrainingExample:
        """One example.

        Args:
            number: its number, from 0.

        Raises:
            IndexError: no example has this number.
            DataError: an object of the cache that holds the example is missing or damaged.
        """


def examples_of(
    stream: TokenStream,
    form: Format,
    length: int,
    *,
    eos: int | None = None,
    packed: Packing | None = None,
    see_others: bool = False,
) -> TrainingExamples:
    """The examples of a split, with the same elements that the trainer gives to the model.

    Args:
        stream: the split, as open_split() gives it.
        form: the format of its rows.
        length: tokens of one example. Prebuilt rows have a length of their own.
        eos: the token id that ends a document. Documents that are not packed get their segments by it. None: no
            segments.
        packed: a plan that exists already, such as read_plan() gives. By default the plan is made now, from the lengths
            of all documents.
        see_others: whether tokens attend to other documents of their example (Levanter's
            `block_cross_document_attention: false`).

    Returns:
        The examples, in the order of the split: `tokens`, `loss_weight` and `segment_ids`, each of `length` elements.

    Raises:
        DataError: a document is too long and must not be cut, the plan was made by another rule or for
            other documents, or the cache has another format.
        RecipeError: the length is less than 1.
    """
    rule = packing_rule_of_format(form, length)
    if rule is None:
        ends = None if see_others else eos
        return _Rows(stream, form, ends) if isinstance(form, Prebuilt) else _Windows(stream, length, ends)
    made = packed or pack_documents(stream.lengths(*form.dtypes), rule, stream.path)
    if made.rule != rule:
        raise DataError(
            f"{stream.path}: the plan was made by {made.rule}, but the format asks for {rule}; plan it again"
        )
    refuse_misfit_plan(made, stream.rows, stream.path)
    masks = MASKS if isinstance(form, Chat) and form.mask_user_turns else None
    return _Packed(stream, made, masks, see_others=see_others)


def causal_loss_weights(
    tokens: npt.NDArray[np.int32],
    weights: npt.NDArray[np.float32] | None,
    segments: npt.NDArray[np.int32] | None,
) -> npt.NDArray[np.float32]:
    """The loss weights of an example: 0 at the last position, and 0 where the next position is padding.

    Args:
        tokens: (length,): token ids.
        weights: (length,): weights of the row's own, or None: 1 everywhere.
        segments: segment numbers, int32, shape (length,), negative for padding, or None: no padding.

    Returns:
        (length,) float32: at each position, the loss weight of predicting the next token.

    Source: marin-levanter 0.2, `levanter.data.text.examples.GrugLmExample.causal`.

    Example:
        Two tokens and two positions of padding:

        >>> causal_loss_weights(np.array([7, 8, 0, 0], np.int32), None, np.array([0, 0, -1, -1], np.int32)).tolist()
        [1.0, 0.0, 0.0, 0.0]
    """
    loss = np.ones(len(tokens), np.float32) if weights is None else weights.astype(np.float32)
    loss[-1:] = 0
    if segments is not None:
        loss[np.roll(segments, -1) < 0] = 0
    return loss


def _document_segment_numbers(tokens: npt.NDArray[np.int32], eos: int | None) -> npt.NDArray[np.int32] | None:
    """For each token, the number of document ends before it."""
    if eos is None:
        return None
    ends = np.roll(tokens == eos, 1)
    ends[:1] = False
    return np.cumsum(ends, dtype=np.int32)


def _check_example_number(number: int, count: int) -> None:
    if not 0 <= number < count:
        raise IndexError(f"example {number} of {count}: examples are numbered from 0")


class _Windows:
    """Text that is not packed: one stream, cut every `length` tokens. Tokens left over at its end are not used."""

    def __init__(self, stream: TokenStream, length: int, eos: int | None) -> None:
        self._stream, self._length, self._eos = stream, length, eos

    def __len__(self) -> int:
        return self._stream.count("input_ids") // self._length

    def __getitem__(self, number: int) -> TrainingExample:
        _check_example_number(number, len(self))
        start = number * self._length
        tokens = self._stream.read_elements("input_ids", start, start + self._length)
        return TrainingExample(
            tokens, causal_loss_weights(tokens, None, None), _document_segment_numbers(tokens, self._eos)
        )


class _Packed:
    """Whole documents, packed as a plan says."""

    def __init__(self, stream: TokenStream, packed: Packing, masks: str | None, *, see_others: bool) -> None:
        self._stream, self._plan, self._masks, self._see_others = stream, packed, masks, see_others

    def __len__(self) -> int:
        return len(self._plan)

    def __getitem__(self, number: int) -> TrainingExample:
        _check_example_number(number, len(self))
        first, count = int(self._plan.first[number]), int(self._plan.count[number])
        length = self._plan.rule.length
        tokens, bounds = self._cut_field_elements("input_ids", first, count)
        lengths = np.minimum(np.diff(bounds), length)
        segments = np.full(length, PADDING, np.int32)
        segments[: len(tokens)] = np.repeat(np.arange(first, first + count, dtype=np.int32), lengths)
        padded = np.pad(tokens, (0, length - len(tokens)))
        weights = None
        if self._masks is not None:
            masks, _ = self._cut_field_elements(self._masks, first, count)
            weights = np.roll(np.pad(masks, (0, length - len(masks))), -1).astype(np.float32)
        loss = causal_loss_weights(padded, weights, segments)
        return TrainingExample(padded, loss, None if self._see_others else segments)

    def _cut_field_elements(
        self, field: str, first: int, count: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """A field's elements of these documents, cut as the rule says, and the documents' bounds before the cut."""
        length, slice_strategy = self._plan.rule.length, self._plan.rule.slice
        bounds = self._stream.row_bounds(field, first, first + count)
        start, stop = int(bounds[0]), int(bounds[-1])
        if stop - start > length:
            if count > 1:
                raise DataError(
                    f"{self._stream.path}: documents {first} to {first + count} have {stop - start} {field}, but the"
                    f" plan puts them into an example of {length}; plan it again"
                )
            start, stop = (stop - length, stop) if slice_strategy == "right" else (start, start + length)
        return self._stream.read_elements(field, start, stop), bounds


class _Rows:
    """Prebuilt rows: each row is one example, unchanged."""

    def __init__(self, stream: TokenStream, form: Prebuilt, eos: int | None) -> None:
        self._stream, self._form, self._eos = stream, form, eos

    def __len__(self) -> int:
        return self._stream.rows

    def __getitem__(self, number: int) -> TrainingExample:
        _check_example_number(number, len(self))
        tokens = self._stream.row(token_ids_field(self._form), number)
        weights = None
        if self._form.loss_weights_key is not None:
            weights = self._stream.row(self._form.loss_weights_key, number)
            if len(weights) != len(tokens):
                raise DataError(
                    f"{self._stream.path}: row {number}: {len(tokens)} tokens, {len(weights)} loss weights; write a"
                    " weight for each token"
                )
        return TrainingExample(
            tokens, causal_loss_weights(tokens, weights, None), _document_segment_numbers(tokens, self._eos)
        )


Decode = Callable[[Sequence[int]], str]
"""A function that gives token ids as text, special tokens included."""


def show_example(example: TrainingExample, decode: Decode) -> str:
    """Prints an example for people, segment by segment.

    Text that the model learns to predict is put into ⟦ ⟧, with its weight if that is not 1. A token is learnt if the
    position before it has a loss weight.

    Args:
        example: the example.
        decode: function that gives token ids as text; for example `tokenizers.Tokenizer.decode`.

    Returns:
        The text, a heading line and a text line for each segment. Padding has a heading only.

    Example:
        >>> tokens, segments = np.array([97, 98, 99, 0], np.int32), np.array([0, 0, 0, -1], np.int32)
        >>> example = TrainingExample(tokens, causal_loss_weights(tokens, None, segments), segments)
        >>> print(show_example(example, lambda ids: bytes(ids).decode()), end="")
        --- segment 0, tokens 0 to 3
        a⟦bc⟧
        --- padding, tokens 3 to 4
    """
    lines: list[str] = []
    size = len(example.tokens)
    learnt = np.concatenate((np.zeros(1, np.float32), example.loss_weight[:-1]))[:size]
    segments = np.zeros(size, np.int32) if example.segment_ids is None else example.segment_ids
    for start, stop in _equal_value_ranges(segments):
        name = "padding, " if segments[start] < 0 else f"segment {segments[start]}, "
        lines.append(f"--- {name if example.segment_ids is not None else ''}tokens {start} to {stop}")
        if segments[start] >= 0:
            pieces = [(start + a, start + b) for a, b in _equal_value_ranges(learnt[start:stop])]
            lines.append("".join(_mark_loss_weight(decode(example.tokens[a:b].tolist()), learnt[a]) for a, b in pieces))
    return "\n".join(lines) + "\n"


def _equal_value_ranges(values: npt.NDArray[np.int32] | npt.NDArray[np.float32]) -> Iterator[tuple[int, int]]:
    """The ranges [start, stop) in which all values are equal."""
    cuts = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return ((a, b) for a, b in pairwise(cuts) if a < b)


def _mark_loss_weight(text: str, weight: np.float32) -> str:
    if not weight:
        return text
    return f"⟦{text}⟧" if weight == 1 else f"⟦{weight:g}: {text}⟧"
