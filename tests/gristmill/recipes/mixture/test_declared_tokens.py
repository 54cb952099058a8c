"""Tokens by licence and by language, with what is not declared."""

from dataclasses import replace

from testkit import Mill

from gristmill.recipes.mix import Stream
from gristmill.recipes.mixture.declared_tokens import DeclaredTokens, declared_tokens

TOKENS = {"web": 600, "code": 300, "old": 100}
STREAMS = tuple(Stream(source=name, version="v0") for name in TOKENS)


def test_tokens_are_added_up_by_what_source_or_stream_declares(mill: Mill) -> None:
    bare = mill.source()
    sources = dict.fromkeys(TOKENS, bare) | {"code": replace(bare, licence="MIT"), "web": replace(bare, language="en")}
    french = (*STREAMS[:2], replace(STREAMS[2], language="fr"))
    assert declared_tokens(french, sources, TOKENS) == DeclaredTokens(
        {"not declared": 700, "MIT": 300}, {"en": 600, "not declared": 300, "fr": 100}
    )


def test_nothing_is_said_where_nothing_is_declared(mill: Mill) -> None:
    found = declared_tokens(STREAMS, dict.fromkeys(TOKENS, mill.source()), TOKENS)
    assert found == DeclaredTokens()
    assert found.lines == []
