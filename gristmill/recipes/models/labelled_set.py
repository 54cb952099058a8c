"""What a labelled set declares: texts with a label each, from a file or from documents of the lake."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from gristmill.errors import RecipeError
from gristmill.lake.address import check_name, check_snapshot
from gristmill.lake.ledger.model import Recipe
from gristmill.recipes.code.options import options_digest
from gristmill.recipes.option_types import check_types
from gristmill.recipes.raw_object import Converted, RawObject

LABELLING = 1
"""Version of the way we write labelled sets."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Documents of the lake that get the same label: such as those of a source that one trusts.

    Attributes:
        source: name of the source.
        snapshots: keys of the snapshots.
        version: the dataset version.
        share: share of the documents, drawn by a hash of (source, id). A smaller share is part of a larger one.
    """

    source: str
    snapshots: tuple[str, ...]
    version: str = "v0"
    share: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one is of another type, or no snapshot is named.
        """
        check_types(self, f"documents drawn from {self.source!r}")
        check_name(self.source, "source")
        for key in self.snapshots:
            check_snapshot(key)
        if not self.snapshots:
            raise RecipeError(f"documents drawn from {self.source!r}: name the snapshots")

    @property
    def parameters(self) -> dict[str, Any]:
        """The options as JSON: everything that changes what is drawn."""
        return {
            "source": self.source,
            "version": self.version,
            "snapshots": sorted(self.snapshots),
            "share": self.share,
        }


@dataclass(frozen=True, kw_only=True)
class LabelledSet:
    """Texts with a label each, to train and to measure a classifier. It lies at `labels/<name>/`.

    Give either `file` with `sha256` and `read`, or `drawn`.

    Attributes:
        name: name of the set.
        file: a file to bring: a path on the machine that brings it, or `lake:` and a path in the lake.
        sha256: sha256 of the file, in hex; it is checked.
        read: reader of the file, as Source.convert does: JsonLines, DelimitedRows or another reader. A row's `text` is
            the text of its document.
        label: the key of a document's metadata that holds its label.
        split: the key that holds its split, `train` or `held-out`; None: a hash of the text decides.
        labels: the label of each value, such as {"0": "toxic", "2": "neutral"}. Rows of other values are left out and
            counted. Empty: each value is its label.
        drawn: instead of a file, the documents of each label.
        held_out: share of the texts that only measure a model. A hash of the text draws them, so that equal texts are
            never on both sides.
        description: description for people.
    """

    name: str
    file: str | None = None
    sha256: str | None = None
    read: Callable[[RawObject], Iterator[Converted]] | None = None
    label: str = "label"
    split: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    drawn: Mapping[str, Sequence[Draw]] = field(default_factory=dict)
    held_out: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.1
    description: str = ""

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            RecipeError: the name is wrong, not exactly one of file and drawn is given, or a label is not valid.
        """
        what = f"labelled set {self.name!r}"
        check_types(self, what)
        check_name(self.name, "labelled set")
        if (self.file is None) == (not self.drawn):
            raise RecipeError(f"{what}: give either file= (with sha256= and read=) or drawn=")
        if self.file is not None and (not self.sha256 or self.read is None):
            raise RecipeError(f"{what}: give the sha256= of its file, and a reader as read=")
        names = list(dict.fromkeys([*self.labels.values(), *self.drawn]))
        for name in names:
            check_label(name, what)
        if names and len(names) < 2:
            raise RecipeError(f"{what}: all texts would have the label {names[0]!r}; a classifier needs two labels")

    @property
    def recipe(self) -> Recipe:
        """The recipe, for the ledger: everything that changes the rows."""
        parameters: dict[str, Any] = {"held_out": self.held_out}
        if self.file is None:
            drawn = sorted(self.drawn.items())
            parameters["drawn"] = {label: [each.parameters for each in places] for label, places in drawn}
        else:
            parameters |= {
                "sha256": self.sha256,
                "read": f"{type(self.read).__name__} {options_digest(self.read)}",
                "label": self.label,
                "split": self.split,
                "labels": dict(sorted(self.labels.items())),
            }
        return Recipe(self.name, LABELLING, parameters, draft=True)


def check_label(label: str, what: str) -> str:
    """Checks the name of a label, and returns it unchanged.

    Args:
        label: the name.
        what: the set or the file, for the message.

    Returns:
        The name.

    Raises:
        RecipeError: the name is empty, or has white space or a control character: fastText ends a label there.
    """
    if not label or not label.isprintable() or any(character.isspace() for character in label) or len(label) > _LONGEST:
        raise RecipeError(
            f"{what}: label {label!r:.60}: a label is 1 to {_LONGEST} characters without white space, such as toxic;"
            " give labels={value: label}"
        )
    return label


_LONGEST = 100
