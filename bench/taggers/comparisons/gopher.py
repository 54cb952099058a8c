"""Gopher's rules."""

from bench.taggers.comparison import Comparison

GOPHER = Comparison(
    name="gopher", modules=("gristmill.taggers.gopher",), sets=("gopher-1",), peer=("gopher_v1",), bar=25.0
)
