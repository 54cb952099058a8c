"""Decontamination: an index of evaluation sets as a model, and a tagger that marks what texts have of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from gristmill.errors import RecipeError
from gristmill.lake.rows.label_values import is_label_name
from gristmill.recipes.batch import Batch
from gristmill.recipes.label import Spans
from gristmill.recipes.models.labelled_set import Draw
from gristmill.recipes.option_types import check_types
from gristmill.recipes.tagger import OVERLAPS, Tagger
from gristmill.text.overlaps.finder import label_of_lines, overlaps
from gristmill.text.overlaps.index import OverlapIndex

INDEXING = 1
"""Version of the way an index is made, and of what is found by it."""
NORMALISATION = "words-1"


@dataclass(frozen=True, kw_only=True)
class OverlapIndexing:
    """An index of the n-grams and the lines of evaluation sets. Their documents are sources of the lake.

    Attributes:
        sets: the documents of each evaluation set, by its name. Each document is an item.
        length: words of an n-gram. Words are those of the normalisation `words-1`: lower case, without punctuation.
        least: words of the shortest line that is compared as a whole.
    """

    sets: Mapping[str, Sequence[Draw]]
    length: Annotated[int, msgspec.Meta(ge=2, le=100)] = 13
    least: Annotated[int, msgspec.Meta(ge=1)] = 5

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one is of another type, a set has no documents, or its name is no name of a label.
        """
        what = "an index of evaluation sets"
        check_types(self, what)
        if not self.sets or not all(self.sets.values()):
            raise RecipeError(f"{what}: give sets= each with its documents, such as {{'quiz': (Draw(...),)}}")
        labels = [label for name in self.sets for label in (name, label_of_lines(name))]
        for name in labels:
            if not is_label_name(name) or name.endswith("*") or labels.count(name) > 1:
                raise RecipeError(f"{what}: {name!r} is no name of a label of its own; give a name such as quiz")

    @property
    def draws(self) -> Sequence[Draw]:
        """The documents of all sets."""
        return [draw for draws in self.sets.values() for draw in draws]

    @property
    def parameters(self) -> dict[str, Any]:
        """The options as JSON: everything that changes the index."""
        return {
            "overlaps": INDEXING,
            "normalisation": NORMALISATION,
            "length": self.length,
            "least": self.least,
            "sets": {name: [draw.parameters for draw in draws] for name, draws in self.sets.items()},
        }


def overlap_tagger(
    name: str,
    model: str,
    sets: Sequence[str],
    *,
    description: str = "",
    draft: bool = False,
    only: Sequence[str] = (),
) -> Tagger:
    """A tagger that marks the parts of texts that are in evaluation sets.

    Args:
        name: name of the tagger; ends in a number.
        model: name of the model with `overlaps=`.
        sets: names of evaluation sets of the model.
        description: description for people.
        draft: whether the tagger is a draft, as for Tagger.
        only: names of the only sources that get it, as for Tagger.

    Returns:
        The tagger, with two labels of spans for each set: `<set>` for n-grams, `<set>_lines` for whole lines. The score
        of a span is the number of its item: the line of `items.jsonl` beside the model, counted from 1.
    """
    return Tagger(
        name=name,
        models=(model,),
        open=lambda files: _open_overlap_index(name, model, sets, files[model]),
        labels=[spans for each in sets for spans in _overlap_label_declarations(each, model)],
        parameters={"sets": list(sets), OVERLAPS: INDEXING},
        description=description or f"The parts of texts that are in {', '.join(sets)}, by the model {model}.",
        draft=draft,
        only=tuple(only),
    )


def _overlap_label_declarations(name: str, model: str) -> tuple[Spans, Spans]:
    """The two labels of an evaluation set."""
    said = f"of {name}; the score is the item's line in items.jsonl of {model}"
    return (
        Spans(name, f"n-grams {said}", unit="item", low=1, exact=True),
        Spans(label_of_lines(name), f"whole lines {said}", unit="item", low=1, exact=True),
    )


def _open_overlap_index(name: str, model: str, sets: Sequence[str], path: Path) -> Callable[[Batch], Mapping[str, Any]]:
    index = OverlapIndex.from_bytes(path.read_bytes(), f"model {model!r}")
    unknown = [each for each in sets if each not in index.ngrams]
    if unknown:
        raise RecipeError(
            f"tagger {name!r}: model {model!r} has no set {unknown[0]!r}; it has {', '.join(index.ngrams)}"
        )
    labels = [label for each in sets for label in (each, label_of_lines(each))]

    def look(batch: Batch) -> Mapping[str, Any]:
        found = overlaps(index, batch.texts)
        return {label: found[label] for label in labels}

    return look
