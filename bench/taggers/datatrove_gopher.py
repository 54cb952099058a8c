"""Runs in the environment of datatrove: its filters of Gopher's rules over a folder of documents.

    python datatrove_gopher.py filter FOLDER OUT all|default
    python datatrove_gopher.py verify FOLDER ATTRIBUTES SHARD

`filter` runs its two filters with one task. `all` sets limits that no document passes, so that every statistic of every
document is computed, as ours are; with `default` the first rule that refuses a document ends the work on it.
`verify` tells whether the share of words with a letter is ours, the one statistic that both define alike but for the
words: for this, its splitter is `str.split`. The filter keeps a document at a limit below our share, and refuses it at
one above.
"""

import gzip
import json
import sys
import warnings
from importlib import import_module
from typing import Any

FAR = 1e9
CLOSE = 1e-5
_SHARE = "gopher-1__fraction_of_words_with_alpha_character"
_SIZES = {"top_n_grams": (2, 3, 4), "dup_n_grams": (5, 6, 7, 8, 9, 10)}


def filters(which: str) -> list[Any]:
    """The two filters."""
    quality = import_module("datatrove.pipeline.filters.gopher_quality_filter").GopherQualityFilter
    repetition = import_module("datatrove.pipeline.filters.gopher_repetition_filter").GopherRepetitionFilter
    if which == "default":
        return [repetition(), quality()]
    least = dict.fromkeys(("min_doc_words", "min_avg_word_length", "max_non_alpha_words_ratio", "min_stop_words"), -1)
    most = ("max_doc_words", "max_avg_word_length", "max_symbol_word_ratio", "max_bullet_lines_ratio")
    lines = ("dup_line_frac", "dup_para_frac", "dup_line_char_frac", "dup_para_char_frac")
    grams = {name: tuple((n, FAR) for n in sizes) for name, sizes in _SIZES.items()}
    return [
        repetition(**dict.fromkeys(lines, FAR), **grams),
        quality(**least, **dict.fromkeys(most, FAR), max_ellipsis_lines_ratio=FAR),
    ]


def run(folder: str, out: str, which: str) -> None:
    """Filters the documents of a folder, and writes none."""
    reader = import_module("datatrove.pipeline.readers").JsonlReader(folder, glob_pattern="*.gz")
    executor = import_module("datatrove.executor.local").LocalPipelineExecutor
    executor(pipeline=[reader, *filters(which)], tasks=1, logging_dir=f"{out}/logs").run()


def verify(folder: str, attributes: str, shard: str) -> None:
    """Prints how many documents of a shard were compared, and how many differ."""
    warnings.simplefilter("ignore")  # it takes the mean of no word
    module: Any = import_module("datatrove.pipeline.filters.gopher_quality_filter")
    document: Any = import_module("datatrove.data").Document
    module.split_into_words = lambda text, _: text.split()
    judge = module.GopherQualityFilter(*[None] * 9)
    compared = different = 0
    with gzip.open(f"{folder}/{shard}", "rt") as rows, gzip.open(f"{attributes}/{shard}", "rt") as labels:
        for row, label in zip(rows, labels, strict=True):
            share = json.loads(label)["attributes"][_SHARE][0][2]
            one = document(text=json.loads(row)["text"], id="row")
            judge.max_non_alpha_words_ratio, judge.min_stop_words = share - CLOSE, None
            kept = judge.filter(one) is True
            judge.max_non_alpha_words_ratio = share + CLOSE
            compared += 1
            different += not (kept and judge.filter(one) == (False, "gopher_below_alpha_threshold"))
    print(json.dumps({"compared": compared, "different": different}))


if __name__ == "__main__":
    {"filter": run, "verify": verify}[sys.argv[1]](*sys.argv[2:])
