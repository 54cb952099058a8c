"""Lengths and words between white space, beside Dolma's. Its whitespace_tokenizer_v1 counts words of its own kind.

That tagger's counts are therefore measured and not compared; the row of `lengths` compares them with `lengths-1`.
"""

from bench.taggers.comparison import Comparison, renamed

LENGTH = Comparison(
    name="length",
    modules=("gristmill.taggers.length",),
    sets=("length-1",),
    peer=("char_length_v1", "bytes_length_v1", "whitespace_tokenizer_v1"),
    bar=10.0,
    ours=renamed({"length-1__chars": "characters", "length-1__bytes": "bytes"}),
    theirs=renamed({"char_length_v1__length": "characters", "bytes_length_v1__bytes": "bytes"}),
)
