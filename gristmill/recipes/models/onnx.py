"""ONNX text classifiers, such as transformers: a tagger of a model that is brought with its tokenizer.

The package onnxruntime runs them, on one core: the extra `models`. Each document is run alone: in a batch, padding and
other texts would change the last digits of its scores.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from gristmill.errors import DataError, RecipeError, is_failure
from gristmill.extras import extra, needs
from gristmill.recipes.batch import Batch
from gristmill.recipes.models.onnx_file import check_onnx
from gristmill.recipes.tagger import Score, Tagger

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
"""Names of the files in the folder of a model."""
CODE_POINTS = 65_536
"""Of each text only so many code points are read."""
DIGITS = 5
SCORING = 1
"""Version of the way a text gets its scores."""
_FIXED = {"onnx": SCORING, "code_points": CODE_POINTS, "digits": DIGITS}

Output = Literal["softmax", "sigmoid", "number"]
Logits = NDArray[np.float64]

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TYPES: Mapping[str, type[np.signedinteger[Any]]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


def onnx_tagger(
    name: str,
    model: str,
    labels: Sequence[str],
    *,
    output: Output = "softmax",
    max_tokens: int = 512,
    description: str = "",
    draft: bool = False,
    only: Sequence[str] = (),
) -> Tagger:
    """A tagger that gives each document the scores of an ONNX text classifier.

    Args:
        name: name of the tagger; ends in a number.
        model: name of the model, which was brought as a folder with `model.onnx` and `tokenizer.json`.
        labels: the name of each number that the model gives, in its order.
        output: form of the model's numbers in the result: `softmax` (probabilities of labels that exclude each other),
            `sigmoid` (a probability for each label), or `number` (they stay as they are, as for a regression).
        max_tokens: a text is cut to so many tokens, with those that the tokenizer adds.
        description: description for people.
        draft: whether the tagger is a draft, as for Tagger.
        only: names of the only sources that get it, as for Tagger.

    Returns:
        The tagger, with a Score for each label. A text without tokens has none.

    Raises:
        RecipeError: there is no label, or fewer than one token.
    """
    if not labels or max_tokens < 1:
        raise RecipeError(f"tagger {name!r}: give labels= one name or more, and max_tokens= a number from 1")
    low, high, meaning = (None, None, "number") if output == "number" else (0.0, 1.0, "probability")

    return Tagger(
        name=name,
        models=(model,),
        open=lambda files: open_classifier(model, files[model], labels, output, max_tokens),
        labels=tuple(
            Score(each, f"{meaning} of {each}, by {model}", low=low, high=high, optional=True) for each in labels
        ),
        parameters={"labels": list(labels), "output": output, "max_tokens": max_tokens, **_FIXED},
        description=description or f"The scores of {', '.join(labels)}, by the model {model}.",
        draft=draft,
        only=tuple(only),
        needs=needs("onnxruntime"),
    )


def open_classifier(
    model: str, folder: Path, labels: Sequence[str], output: Output, max_tokens: int
) -> Callable[[Batch], Mapping[str, Any]]:
    """Opens a classifier: see onnx_tagger.

    Args:
        model: its name, for messages.
        folder: folder with MODEL and TOKENIZER.
        labels: names of the model's outputs, as in onnx_tagger.
        output: form of the model's numbers in the result, as in onnx_tagger.
        max_tokens: largest number of tokens of a text, as in onnx_tagger.

    Returns:
        A function from a batch to its labels.

    Raises:
        RecipeError: see OnnxClassifier.
    """
    classifier = OnnxClassifier(model, folder, max_tokens)

    def look(batch: Batch) -> Mapping[str, Any]:
        rows = [classifier.logits(text, len(labels)) for text in batch.texts]
        scores = [None if row is None else _rounded_scores(row, output).tolist() for row in rows]
        return {label: [row and row[place] for row in scores] for place, label in enumerate(labels)}

    return look


class OnnxClassifier:
    """A classifier and its tokenizer, opened.

    Args:
        model: its name, for messages.
        folder: folder with MODEL and TOKENIZER.
        max_tokens: largest number of tokens of a text, as in onnx_tagger.

    Raises:
        RecipeError: a file is missing or damaged, the package onnxruntime is missing, or the model takes other inputs
            than tokens.
    """

    def __init__(self, model: str, folder: Path, max_tokens: int) -> None:
        self._what = what = f"model {model!r}"
        for file in (MODEL, TOKENIZER):
            if not (folder / file).is_file():
                raise RecipeError(f"{what}: has no file {file}; bring a folder with {MODEL} and {TOKENIZER}")
        check_onnx((folder / MODEL).read_bytes(), [each.name for each in folder.iterdir()], f"{what}: {MODEL}")
        self._tokenizer = _open_tokenizer(folder / TOKENIZER, what, max_tokens)
        self._session = _open_session(folder / MODEL, what)
        self._inputs = {each.name: _TYPES.get(each.type) for each in self._session.get_inputs()}
        unknown = [name for name, kind in self._inputs.items() if name not in _INPUTS or kind is None]
        if unknown or "input_ids" not in self._inputs:
            raise RecipeError(
                f"{what}: takes {', '.join(self._inputs) or 'nothing'}; a classifier of texts takes input_ids, and may"
                " take attention_mask and token_type_ids, as whole numbers"
            )
        outputs = [each.name for each in self._session.get_outputs()]
        if "logits" not in outputs and len(outputs) != 1:
            raise RecipeError(f"{what}: gives {', '.join(outputs)}; one of them must have the name logits")
        self._output = "logits" if "logits" in outputs else outputs[0]

    def logits(self, text: str, count: int) -> Logits | None:
        """The numbers that the model gives a text, shape (count,); None for a text without tokens.

        Args:
            text: any text. A lone surrogate is read as `?`.
            count: expected number of outputs.

        Raises:
            DataError: the model gives another number of them, or cannot be run for so many tokens.
        """
        cut = text[:CODE_POINTS]
        coded = self._tokenizer.encode(cut if cut.isascii() else cut.encode("utf-8", "replace").decode())
        if not coded.ids:
            return None
        given = {"input_ids": coded.ids, "attention_mask": coded.attention_mask, "token_type_ids": coded.type_ids}
        feed = {name: np.array([given[name]], kind) for name, kind in self._inputs.items()}
        try:
            (found,) = self._session.run([self._output], feed)
        except Exception as error:
            raise DataError(f"{self._what}: cannot be run for {len(coded.ids)} tokens ({error})") from error
        row = np.asarray(found, np.float64).ravel()
        if len(row) != count:
            raise DataError(f"{self._what}: gives {len(row)} numbers for a text, but labels= names {count}")
        return row


def _rounded_scores(logits: Logits, output: Output) -> Logits:
    """The scores of one text. They are rounded, because processors differ in the last digits."""
    scores = logits
    if output == "softmax":
        powers = np.exp(logits - logits.max())
        scores = powers / powers.sum()
    elif output == "sigmoid":
        scores = 1.0 / (1.0 + np.exp(-np.clip(logits, -700, 700)))
    return np.round(scores, DIGITS)


def _open_tokenizer(path: Path, what: str, max_tokens: int) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_buffer(path.read_bytes())
    except BaseException as error:  # `tokenizers` panics for some files
        if not is_failure(error):
            raise
        raise RecipeError(f"{what}: {path.name} cannot be loaded: {error}") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def _open_session(path: Path, what: str) -> Any:
    with extra():
        import onnxruntime  # noqa: PLC0415 - an extra
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4  # errors come as exceptions
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise RecipeError(f"{what}: {path.name} cannot be loaded: {error}; get it again from its origin") from error
