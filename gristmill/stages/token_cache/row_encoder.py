"""Which maker makes a format's rows, with which tokenizer."""

from typing import Literal, NamedTuple, Protocol

from gristmill.errors import RecipeError
from gristmill.recipes.row_format import Chat, Format, Text
from gristmill.stages.token_cache.prebuilt_rows import PrebuiltRows
from gristmill.stages.token_cache.rows import RowMaker
from gristmill.stages.token_cache.text_rows import TextRows
from gristmill.stages.tokenization.encoder import Encoder
from gristmill.stages.tokenization.reference import TokenizerFacts, facts_of
from gristmill.stages.tokenization.vocabulary import Vocabulary


class Spelling(Protocol):
    """How a tokenizer is used: see Tokenizer; and the chat template that counts, if there is one."""

    @property
    def tokenizer(self) -> str: ...
    @property
    def eos(self) -> str | None: ...
    @property
    def bos(self) -> str | None: ...
    @property
    def eos_style(self) -> Literal["levanter", "clean"]: ...
    @property
    def long_strings(self) -> Literal["levanter", "marin"]: ...
    @property
    def specials(self) -> Literal["tokens", "text", "refuse"]: ...
    @property
    def template(self) -> str | None: ...


class Made(NamedTuple):
    """A maker, and the tables of its tokenizer."""

    maker: RowMaker
    vocabulary: Vocabulary


def row_maker(
    declared: Format,
    spelling: Spelling,
    tokenizer_json: bytes,
    facts: TokenizerFacts | None = None,
    *,
    reference: bool = False,
) -> Made:
    """The maker of a format's rows.

    Args:
        declared: the format.
        spelling: how the tokenizer is used.
        tokenizer_json: the bytes of `tokenizer.json`.
        facts: what the reference says of it; None: it is asked.
        reference: whether the reference engine encodes, whatever its check says of a faster one.

    Raises:
        RecipeError: the tokenizer or the template cannot be used so.
    """
    facts = facts or facts_of(tokenizer_json)
    encoder = Encoder(
        tokenizer_json,
        eos=spelling.eos,
        bos=spelling.bos,
        eos_style=spelling.eos_style,
        long_strings=spelling.long_strings,
        specials="text" if spelling.specials == "text" else "tokens",
        engine="tokenizers" if reference else "auto",
        facts=facts,
    )
    vocabulary = facts.vocabulary
    name = f"tokenizers/{spelling.tokenizer}"
    refused = encoder.special_strings if spelling.specials == "refuse" else None
    if isinstance(declared, Text):
        bos, eos = spelling.bos is not None, spelling.eos is not None
        return Made(TextRows(declared, encoder, name, bos=bos, eos=eos, refused=refused), vocabulary)
    if isinstance(declared, Chat):
        if spelling.template is None:
            raise RecipeError(f"{name}: no chat template; give the format its chat_template")
        from gristmill.stages.token_cache.chat_rows import ChatRows, Tokens  # noqa: PLC0415 - Jinja, which texts do without
        from gristmill.stages.tokenization.offsets import TokenOffsets  # noqa: PLC0415

        offsets = TokenOffsets(tokenizer_json, encoder.reference, vocabulary)
        tokens = Tokens(spelling.bos or "", spelling.eos or "", refused)
        return Made(ChatRows(declared, spelling.template, offsets, encoder, name, tokens), vocabulary)
    return Made(PrebuiltRows(declared, encoder.vocab_size), vocabulary)
