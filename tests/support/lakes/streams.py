"""Streams of the mix `blend`, as tests declare them."""

from dataclasses import replace
from typing import Any

from gristmill.recipes.mix import Stream
from gristmill.recipes.rules import Rule


def stream(**changes: Any) -> Stream:
    return replace(Stream(source="pages", version="v0"), **changes)


def rule(where: str, name: str = "rule") -> tuple[Rule, ...]:
    return (Rule(name, where, "for the test"),)
