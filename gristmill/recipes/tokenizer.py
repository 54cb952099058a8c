"""What a tokenizer declares: it is trained here, or imported as a Hugging Face `tokenizer.json`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec

from gristmill.errors import RecipeError
from gristmill.lake.address import check_name, check_numbered
from gristmill.lake.identity import digest_of
from gristmill.recipes.option_types import Json, check_types


class TokenizerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a tokenizer is used: everything besides its file that decides which ids a text gets.

    Attributes:
        eos: token at the end of every text, as for Tokenizer.
        bos: token at the beginning of every text, as for Tokenizer.
        eos_style: form of the end of a text, as for Tokenizer.
        long_strings: treatment of long texts, as for Tokenizer.
        specials: treatment of special strings inside a text, as for Tokenizer.
        chat_template: the template that is used: the format's, else the tokenizer's; None if the format needs none.
    """

    eos: str | None
    bos: str | None = None
    eos_style: Literal["levanter", "clean"] = "levanter"
    long_strings: Literal["levanter", "marin"] = "levanter"
    specials: Literal["tokens", "text", "refuse"] = "tokens"
    chat_template: str | None = None

    def parameters(self) -> dict[str, Any]:
        """The options in a recipe, as JSON. The chat template is recorded as its digest.

        An option that came after the first release is recorded only if it is set. So older recipes stay the same.

        >>> TokenizerOptions(eos="</s>").parameters()
        {'eos': '</s>', 'bos': None, 'eos_style': 'levanter', 'long_strings': 'levanter'}
        """
        recorded: dict[str, Any] = {
            "eos": self.eos,
            "bos": self.bos,
            "eos_style": self.eos_style,
            "long_strings": self.long_strings,
        }
        if self.specials != "tokens":
            recorded["specials"] = self.specials
        if self.chat_template is not None:
            recorded["template"] = digest_of(self.chat_template)
        return recorded


def read_tokenizer_options(parameters: Mapping[str, Any], chat_template: str | None = None) -> TokenizerOptions:
    """The options of a recipe in a ledger. It reverses `TokenizerOptions.parameters`.

    Args:
        parameters: parameters of a token cache's recipe. Those that are not options are ignored.
        chat_template: the template itself, because a recipe holds only its digest.

    >>> read_tokenizer_options({"eos": "</s>", "bos": None, "parts": 32}).eos
    '</s>'
    """
    return msgspec.structs.replace(msgspec.convert(parameters, TokenizerOptions), chat_template=chat_template)


@dataclass(frozen=True, kw_only=True)
class Training:
    """A byte-level BPE that the platform trains, on request, on named snapshots. New data never changes it.

    Attributes:
        mix: name of the mix whose documents are read.
        snapshots: names of snapshots by stream; a request may name others.
        vocabulary: number of entries, with special tokens and the 256 bytes.
        sample: share of the documents, drawn by a hash of (source, id).
        special: special tokens besides EOS and BOS, in order.
    """

    mix: str
    snapshots: Mapping[str, tuple[str, ...]]
    vocabulary: Annotated[int, msgspec.Meta(ge=1)] = 16_384
    sample: Annotated[float, msgspec.Meta(gt=0, le=1)] = 1.0
    special: tuple[str, ...] = ("<|pad|>",)

    def __post_init__(self) -> None:
        """Checks the types of the options.

        Raises:
            RecipeError: an option has a value of another type.
        """
        check_types(self, f"training on mix {self.mix!r}")


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """A tokenizer: trained here, or imported as a Hugging Face `tokenizer.json`.

    Attributes:
        name: ends in a number.
        eos: the end-of-sequence token, put at the end of every text; None: none.
        bos: the token put at the beginning of every text; None: none. (Levanter adds one whenever the tokenizer's
            configuration names it.)
        training: options of its training, if it is trained here; None: a file is imported.
        file: the `tokenizer.json` to import instead. A path on the machine that imports it (a relative one is below
            the current directory), or `lake:` and a path in the lake; of the file, or of a folder that holds it, as
            Hugging Face saves one.
        sha256: sha256 of the imported `tokenizer.json`, in hex; it is checked.
        chat_template: template for conversations. None: the template of the imported folder, from its
            `tokenizer_config.json` or `chat_template.jinja`.
        eos_style: `levanter` (the default there: text, a space and EOS as one string) or `clean` (EOS as an id).
        long_strings: `levanter`, or `marin` (long texts are cut at white space before they are encoded).
        specials: encoding of special strings inside a text. `tokens`: as special tokens, as in Levanter. `text`: like
            other words. `refuse`: a text that holds one is an error of its row (see row_format.OnTrouble).
        description: description for people.
        draft: whether the recipe may change under its name.
    """

    name: str
    eos: str | None = "<|endoftext|>"
    bos: str | None = None
    training: Training | None = None
    file: str | None = None
    sha256: str | None = None
    chat_template: str | None = None
    eos_style: Literal["levanter", "clean"] = "levanter"
    long_strings: Literal["levanter", "marin"] = "levanter"
    specials: Literal["tokens", "text", "refuse"] = "tokens"
    description: str = ""
    draft: bool = False
    parameters: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            RecipeError: the name has no number, not exactly one of training and file is given, or an option is not
                valid.
        """
        check_types(self, f"tokenizer {self.name!r}")
        check_numbered(self.name, "tokenizer")
        if (self.training is None) == (self.file is None):
            raise RecipeError(f"tokenizer {self.name!r}: give either training= or file= (with sha256=)")
        if self.file is not None and not self.sha256:
            raise RecipeError(f"tokenizer {self.name!r}: give the sha256= of its file")
        if self.training is not None:
            check_name(self.training.mix, "mix")

    def options(self, chat_template: str | None = None) -> TokenizerOptions:
        """The options that decide which ids a text gets.

        Args:
            chat_template: the template that is used, for a format that needs one.
        """
        return TokenizerOptions(
            eos=self.eos,
            bos=self.bos,
            eos_style=self.eos_style,
            long_strings=self.long_strings,
            specials=self.specials,
            chat_template=chat_template,
        )
