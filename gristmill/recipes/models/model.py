"""What a model declares: a file that taggers read, trained here from a labelled set, or brought by its sha256."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import msgspec

from gristmill.errors import RecipeError
from gristmill.extras import Needs, needs
from gristmill.lake.address import check_name, check_numbered
from gristmill.lake.ledger.model import Recipe
from gristmill.recipes.models.overlaps import OverlapIndexing
from gristmill.recipes.option_types import check_types

TRAINING = 1
"""Version of the way we train. Raising it changes the recipe of every trained model."""

PICKLED = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".ckpt", ".dill", ".npy", ".npz")
"""Endings of files that may run code when they are loaded."""


@dataclass(frozen=True, kw_only=True)
class FastTextTraining:
    """A fastText classifier that the platform trains, on request, on a labelled set.

    Source: Joulin et al. 2016, "Bag of Tricks for Efficient Text Classification". One thread and a fixed seed, so that
    the same rows give the same bytes.

    Attributes:
        labels: name of the labelled set.
        positive: the label whose probability is measured: AUC, thresholds.
        dim: numbers in a vector.
        epochs: number of passes over the texts.
        rate: the learning rate.
        word_ngrams: longest sequence of words.
        min_count: words that occur less often are left out.
        letters: shortest and longest sequence of letters inside words; (0, 0): none.
        buckets: number of vectors that all sequences share.
        seed: seed of the first vectors.
        quantize: whether the vectors are compressed, about ten times smaller (`model.ftz`).
    """

    labels: str
    positive: str
    dim: Annotated[int, msgspec.Meta(ge=2, le=1024)] = 16
    epochs: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 5
    rate: Annotated[float, msgspec.Meta(gt=0, le=10)] = 0.5
    word_ngrams: Annotated[int, msgspec.Meta(ge=1, le=5)] = 2
    min_count: Annotated[int, msgspec.Meta(ge=1)] = 1
    letters: tuple[int, int] = (0, 0)
    buckets: Annotated[int, msgspec.Meta(ge=1000, le=10_000_000)] = 200_000
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0
    quantize: bool = False

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            RecipeError: one is of another type or out of its range.
        """
        what = f"training on labels {self.labels!r}"
        check_types(self, what)
        check_name(self.labels, "labelled set")
        shortest, longest = (*self.letters, -1, -1)[:2]
        if len(self.letters) != 2 or not (0 <= shortest <= longest <= 20) or (shortest == 0) != (longest == 0):
            raise RecipeError(f"{what}: letters is {self.letters}; give two lengths such as (3, 5), or (0, 0) for none")
        if self.buckets * self.dim > 1 << 28:
            raise RecipeError(f"{what}: buckets times dim is more than {1 << 28:,} numbers (1 GiB); lower one of them")

    @property
    def parameters(self) -> dict[str, Any]:
        """The options as JSON: everything that changes the model."""
        return {"fasttext": TRAINING, **asdict(self)}

    @property
    def file(self) -> str:
        """The name of the file that training makes."""
        return "model.ftz" if self.quantize else "model.bin"


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model or a list: a file, or a folder of files, that taggers read. It lies at `models/<name>/`.

    Give one of `training`, `overlaps` and `file` with `sha256`.

    Attributes:
        name: ends in a number.
        training: options of its training, if it is trained here; None: it is brought.
        overlaps: the evaluation sets of which an index is made here.
        file: path of a file or folder to bring instead. It is either on the machine that brings it (a relative one is
            below the current directory), or `lake:` and a path in the lake.
        sha256: sha256 of the file, in hex. Of a folder: that of each of its files that is brought, by name.
        kind: kind of a brought file: `fasttext`, `onnx` and `tokenizer` (a `tokenizer.json`) are looked at before they
            are taken; `list` is any file that is only read, such as words or URLs.
        description: description for people.
        draft: whether the model may be made anew under its name.
    """

    name: str
    training: FastTextTraining | None = None
    overlaps: OverlapIndexing | None = None
    file: str | None = None
    sha256: str | Mapping[str, str] | None = None
    kind: Literal["fasttext", "onnx", "tokenizer", "list"] = "fasttext"
    description: str = ""
    draft: bool = False

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            RecipeError: the name has no number, not exactly one of training and file is given, a sha256 is missing, or
                a file is one that may run code when it is loaded.
        """
        what = f"model {self.name!r}"
        check_types(self, what)
        check_numbered(self.name, "model")
        if [self.training, self.overlaps, self.file].count(None) != 2:
            raise RecipeError(f"{what}: give exactly one of training=, overlaps= and file= (with sha256=)")
        if self.file is not None and not self.sha256:
            raise RecipeError(f"{what}: give the sha256= of its file")
        for name in (self.file or "", *self.brought):
            if name.lower().endswith(PICKLED):
                raise RecipeError(
                    f"{what}: {name} is a pickled file, which may run any code when it is loaded; bring the model as"
                    " fastText (.bin, .ftz) or ONNX (.onnx)"
                )
            if name != self.file and ("/" in name or name.startswith(".") or name in BESIDE):
                raise RecipeError(f"{what}: {name!r} is no name of a file that can be brought; rename it")

    @property
    def brought(self) -> Mapping[str, str]:
        """The sha256 of each brought file, by its name in the lake; empty if the model is trained here."""
        if self.file is None or self.sha256 is None:
            return {}
        if isinstance(self.sha256, str):
            return {self.file.rstrip("/").rpartition("/")[2].removeprefix("lake:"): self.sha256}
        return dict(sorted(self.sha256.items()))

    @property
    def needs(self) -> Needs:
        """The packages that making it imports, each with the requirement that brings it."""
        return needs("fasttext") if self.training else {}

    @property
    def is_folder(self) -> bool:
        """Whether taggers get a folder of files, and not one file."""
        return self.file is not None and not isinstance(self.sha256, str)

    @property
    def recipe(self) -> Recipe:
        """The recipe, for the ledger: everything that changes the files."""
        if self.training is not None:
            return Recipe(self.name, 1, self.training.parameters, self.draft)
        if self.overlaps is not None:
            return Recipe(self.name, 1, self.overlaps.parameters, self.draft)
        return Recipe(self.name, 1, {"kind": self.kind, "files": dict(self.brought)}, self.draft)


BESIDE = ("ledger.json", "metrics.json", "report.html", "report.svg", "items.jsonl")
"""Names of the files that lie beside a model."""
