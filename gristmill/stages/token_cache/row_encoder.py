"""Selects the encoder for the rows of a format."""

from gristmill.encoding.encoder import Encoder
from gristmill.encoding.reference import TokenizerReference, ask_reference
from gristmill.encoding.vocabulary import Vocabulary
from gristmill.errors import RecipeError
from gristmill.lake.address import tokenizer_asset
from gristmill.recipes.row_format import Chat, Format, Text
from gristmill.recipes.tokenizer import TokenizerOptions
from gristmill.stages.token_cache.prebuilt_rows import PrebuiltRows
from gristmill.stages.token_cache.rows import RowEncoder
from gristmill.stages.token_cache.text_rows import TextRows


def row_encoder(
    declared: Format,
    tokenizer: str,
    tokenizer_json: bytes,
    options: TokenizerOptions,
    facts: TokenizerReference | None = None,
    *,
    reference: bool = False,
) -> tuple[RowEncoder, Vocabulary]:
    """The encoder of a format's rows, and the tables of its tokenizer.

    Args:
        declared: the format.
        tokenizer: the tokenizer's name.
        tokenizer_json: the bytes of `tokenizer.json`.
        options: options of the tokenizer's recipe.
        facts: stored answers of the reference tokenizer; None: the reference is loaded and asked.
        reference: whether the reference engine encodes even if a faster engine passes its check.

    Raises:
        RecipeError: the tokenizer or the template cannot be used with these options.
    """
    facts = facts or ask_reference(tokenizer_json)
    encoder = Encoder(tokenizer_json, options, engine="tokenizers" if reference else "auto", facts=facts)
    name = tokenizer_asset(tokenizer)
    if isinstance(declared, Text):
        return TextRows(declared, encoder, name), facts.vocabulary
    if isinstance(declared, Chat):
        if options.chat_template is None:
            raise RecipeError(f"{name}: no chat template; give the format its chat_template")
        from gristmill.encoding.offsets import TokenOffsets  # noqa: PLC0415
        from gristmill.stages.token_cache.chat_rows import ChatRows  # noqa: PLC0415 - imports Jinja, which texts do not need

        offsets = TokenOffsets(tokenizer_json, encoder.reference_tokenizer, facts.vocabulary)
        return ChatRows(declared, options.chat_template, offsets, encoder, name), facts.vocabulary
    return PrebuiltRows(declared, encoder.vocab_size), facts.vocabulary
