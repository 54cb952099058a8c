"""The tasks of a plan: a step, or something without partitions that is made by itself."""

from dataclasses import dataclass

from gristmill.execution.step import Step
from gristmill.pipeline.indexes import MixIndexes
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.models.model import Model
from gristmill.recipes.tokenizer import Tokenizer


@dataclass(frozen=True)
class TokenizerTask:
    """A tokenizer.

    Attributes:
        tokenizer: the recipe.
        needed: whether a token cache that is asked for needs it.
        named: whether a person asked for it by name.
    """

    tokenizer: Tokenizer
    needed: bool
    named: bool


@dataclass(frozen=True)
class FolderTask:
    """A labelled set or a model.

    Attributes:
        recipe: the recipe.
        needed: whether a tagger needs it.
        named: whether a person asked for it by name.
    """

    recipe: LabelledSet | Model
    needed: bool
    named: bool


@dataclass(frozen=True)
class IndexTask:
    """The index of a mix, of a token cache or of an export."""

    indexes: MixIndexes
    address: str


@dataclass(frozen=True)
class ResolutionTask:
    """The resolution of a dedupe recipe.

    Attributes:
        dedupe: the recipe.
        editions: names of its `replace` sources.
        fingerprints: the partitions that it compares, as far as their snapshots are known.
        scores: the partitions whose score chooses what a cluster keeps.
    """

    dedupe: Dedupe
    editions: frozenset[str]
    fingerprints: tuple[tuple[str, str], ...]
    scores: tuple[tuple[str, str], ...] = ()


Task = Step | TokenizerTask | FolderTask | IndexTask | ResolutionTask
"""What a planner yields, in the order in which it must be done."""
