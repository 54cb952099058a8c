"""fastText classifiers: how a text becomes the line that they are trained on and asked for, and a tagger of them.

Source: Joulin et al. 2016, "Bag of Tricks for Efficient Text Classification".
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gristmill.errors import RecipeError
from gristmill.extras import extra, needs
from gristmill.formats.fasttext.layout import check_fasttext
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Tagger

PREFIX = "__label__"
CODE_POINTS = 65_536
"""Of each text only so many code points are read: time and memory grow with the text's length."""
LINES = 1
"""Version of line_of()."""


def line_of(text: str) -> str:
    r"""The line of a text for fastText. A text can neither end its line nor name a label.

    fastText takes a word that begins with `__label__` as a label, and the word `</s>` as the end of the line.

    >>> line_of("once\nupon __label__rude </s> a time")
    'once upon label rude <s> a time'
    """
    line = text[:CODE_POINTS].replace("\n", " ").replace("\0", " ")
    line = line.replace(PREFIX, "label ").replace("</s>", "<s>")
    if line.isascii():
        return line
    return line.encode("utf-8", "replace").decode("utf-8")  # UTF-8 cannot encode a lone surrogate


def load_classifier(path: Path, what: str) -> Any:
    """A fastText classifier, after all sizes in its file were compared with its length.

    Args:
        path: the file.
        what: its name, for messages.

    Raises:
        RecipeError: it is no valid fastText classifier.
    """
    check_fasttext(path.read_bytes(), what)
    with extra():
        import fasttext  # noqa: PLC0415 - an extra

    return fasttext.load_model(str(path))


def probabilities(model: Any, texts: Sequence[str]) -> list[dict[str, float]]:
    """The probability of each label, by text. A text without words that the model knows has those of no words.

    Args:
        model: model from load_classifier().
        texts: any number.
    """
    if not texts:
        return []
    labels, scores = model.predict([line_of(text) for text in texts], k=-1)
    return [
        {label.removeprefix(PREFIX): min(max(float(score), 0.0), 1.0) for label, score in zip(*each, strict=True)}
        for each in zip(labels, scores, strict=True)
    ]


def fasttext_tagger(
    name: str,
    model: str,
    labels: Sequence[str],
    *,
    description: str = "",
    draft: bool = False,
    only: Sequence[str] = (),
) -> Tagger:
    """A tagger that gives each document the probabilities of a fastText classifier.

    Args:
        name: name of the tagger; ends in a number.
        model: name of the model.
        labels: the labels of the model whose probability is written.
        description: description for people.
        draft: whether the tagger is a draft, as for Tagger.
        only: names of the only sources that get it, as for Tagger.

    Returns:
        The tagger, with a Score for each label.
    """

    def open_model(files: Mapping[str, Path]) -> Callable[[Batch], Mapping[str, Any]]:
        opened = load_classifier(files[model], f"model {model!r}")
        known = [label.removeprefix(PREFIX) for label in opened.get_labels()]
        unknown = [label for label in labels if label not in known]
        if unknown:
            raise RecipeError(
                f"tagger {name!r}: model {model!r} has no label {unknown[0]!r}; it has {', '.join(known)}"
            )

        def look(batch: Batch) -> Mapping[str, Any]:
            rows = probabilities(opened, batch.texts)
            return {label: [row.get(label, 0.0) for row in rows] for label in labels}

        return look

    return Tagger(
        name=name,
        models=(model,),
        open=open_model,
        labels=tuple(Score(label, f"probability of {label}, by {model}", low=0, high=1) for label in labels),
        parameters={"labels": list(labels), "lines": LINES, "code_points": CODE_POINTS},
        description=description or f"The probabilities of {', '.join(labels)}, by the model {model}.",
        draft=draft,
        only=tuple(only),
        needs=needs("fasttext"),
    )
