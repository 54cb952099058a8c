"""Lengths in characters and bytes. Dolma's third tagger counts words of its own kind: it is measured, not compared."""

from bench.taggers.comparison import Comparison, renamed

LENGTHS = Comparison(
    name="lengths",
    modules=("gristmill.taggers.length",),
    sets=("length-1",),
    peer=("char_length_v1", "bytes_length_v1", "whitespace_tokenizer_v1"),
    bar=10.0,
    ours=renamed({"length-1__chars": "characters", "length-1__bytes": "bytes"}),
    theirs=renamed({"char_length_v1__length": "characters", "bytes_length_v1__bytes": "bytes"}),
)
