"""Tokens by licence and by language, as the sources and streams of a mix declare them."""

from collections.abc import Mapping, Sequence

import msgspec

from gristmill.recipes.mix import Stream
from gristmill.recipes.source import Source

NOT_DECLARED = "not declared"
"""The licence or language of a source whose recipe declares none."""


class DeclaredTokens(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of a mix. Both are empty if no recipe declares any.

    Attributes:
        licences: tokens by the licence of the source, the most first.
        languages: tokens by the language of the stream or its source, the most first.
    """

    licences: dict[str, int] = {}
    languages: dict[str, int] = {}

    @property
    def lines(self) -> list[str]:
        """The shares in words, for people; no line for what is not declared at all.

        >>> DeclaredTokens({"CC0-1.0": 750, "MIT": 250}).lines
        ['tokens by licence: 75.0% CC0-1.0, 25.0% MIT']
        """
        named = {"licence": self.licences, "language": self.languages}
        return [f"tokens by {what}: {_shares_in_words(counts)}" for what, counts in named.items() if counts]


def declared_tokens(
    streams: Sequence[Stream], sources: Mapping[str, Source], tokens: Mapping[str, int]
) -> DeclaredTokens:
    """The tokens of streams by licence and by language.

    Args:
        streams: streams of the mix.
        sources: the source of each stream, by the stream's key.
        tokens: number of tokens of each stream, by the stream's key; a missing one counts as 0.
    """
    licences = {each.key: sources[each.key].licence for each in streams}
    languages = {each.key: each.language or sources[each.key].language for each in streams}
    return DeclaredTokens(_tokens_by_declaration(licences, tokens), _tokens_by_declaration(languages, tokens))


def _tokens_by_declaration(declared: Mapping[str, str], tokens: Mapping[str, int]) -> dict[str, int]:
    """Tokens by what is declared, the most first, then by name; empty if nothing is declared."""
    if not any(declared.values()):
        return {}
    sums: dict[str, int] = {}
    for stream, name in declared.items():
        sums[name or NOT_DECLARED] = sums.get(name or NOT_DECLARED, 0) + tokens.get(stream, 0)
    return dict(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))


def _shares_in_words(counts: Mapping[str, int]) -> str:
    whole = sum(counts.values()) or 1
    return ", ".join(f"{100 * count / whole:.1f}% {name}" for name, count in counts.items())
