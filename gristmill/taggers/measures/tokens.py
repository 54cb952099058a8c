"""How many tokens each document has, by a tokenizer of one's own."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gristmill.encoding.encoder import Encoder
from gristmill.errors import DataError, RecipeError
from gristmill.recipes.batch import Batch
from gristmill.recipes.tagger import Score, Tagger
from gristmill.recipes.tokenizer import TokenizerOptions


def token_count(
    name: str, *, model: str, description: str = "", draft: bool = False, only: Sequence[str] = ()
) -> Tagger:
    """A tagger that counts the tokens of each document.

    A count is the number of ids that `tokenizers.Tokenizer.encode(text, add_special_tokens=False)` gives. So BOS and
    EOS are not counted, and a special string inside a text is one token. A lone surrogate is read as `?`. The fast
    engine counts if it gives the same ids as `tokenizers` for this tokenizer (gristmill/encoding/encoder.py).

    Args:
        name: name of the tagger, such as `tokens-gpt2-1`.
        model: name of the model whose file is the `tokenizer.json`: a Model with kind="tokenizer".
        description: description for people.
        draft: whether the tagger is a draft, as for Tagger.
        only: names of the only sources that get it, as for Tagger.
    """
    return Tagger(
        name=name,
        models=(model,),
        open=open_counter,
        labels=(Score("tokens", "number of tokens, without BOS and EOS", unit="tokens", low=0),),
        parameters={"special_strings": "tokens"},
        description=description or f"The number of tokens, by the tokenizer of the model `{model}`.",
        draft=draft,
        only=tuple(only),
    )


def open_counter(files: Mapping[str, Path]) -> Callable[[Batch], Mapping[str, Any]]:
    """Opens a tokenizer.

    Args:
        files: the path of its `tokenizer.json`, by the model's name.

    Returns:
        A function from a batch to its labels.

    Raises:
        RecipeError: the file is no tokenizer.json, or its settings would give a text other ids each time.
    """
    ((model, path),) = files.items()
    try:
        encoder = Encoder(path.read_bytes(), TokenizerOptions(eos=None))
    except RecipeError as error:
        raise RecipeError(f"model {model!r}: {error}") from error

    def tag(batch: Batch) -> dict[str, Any]:
        try:
            _, lengths = encoder.encode_bare(batch.texts)
        except DataError:
            _, lengths = encoder.encode_bare([text.encode("utf-8", "replace").decode() for text in batch.texts])
        return {"tokens": lengths}

    return tag


TOKENS = token_count("tokens-1", model="tokens-1")
