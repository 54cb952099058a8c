"""Options of recipes have the types that they are declared with. A list from YAML is as good as a tuple."""

import inspect
from datetime import date
from typing import Any

import numpy as np
import pytest

from gristmill.errors import RecipeError
from gristmill.readers.dolma import DolmaLines
from gristmill.readers.jsonl import JsonLines
from gristmill.readers.parquet import ParquetRows
from gristmill.recipes.duplicates.units import LineUnits
from gristmill.recipes.export import Export, Oscar
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.row_format import Chat, Prebuilt, Text
from gristmill.recipes.rules import Column, Rule
from gristmill.recipes.source import Folders, Hashed, Matching, RawRoot, Revision, Source
from gristmill.recipes.tagger import Score, Tagger
from gristmill.recipes.tokenizer import Tokenizer, Training

PAGES = (Stream(source="pages", version="v0"),)


@pytest.mark.parametrize(
    ("recipe", "options", "said"),
    [
        (Mix, {"draft": "no"}, "draft is 'no'; give True or False"),
        (Mix, {"validation": "0.1"}, "validation is '0.1'"),
        (Mix, {"parts": 2.5}, "parts is 2.5"),
        (Mix, {"tokenizers": "words-1"}, "tokenizers is 'words-1'"),
        (Tokenizer, {"eos": 0}, "eos is 0"),
        (Tokenizer, {"eos_style": "tidy"}, "eos_style is 'tidy'; give levanter, clean"),
        (Tokenizer, {"long_strings": "none"}, "long_strings is 'none'; give levanter, marin"),
        (LineUnits, {"normalised": "words"}, "normalised is 'words'; give '', white-space-1, words-1"),
        (Tokenizer, {"draft": "yes"}, "draft is 'yes'"),
        (Training, {"vocabulary": "300"}, "vocabulary is '300'"),
        (Training, {"special": "<|pad|>"}, "special is '<|pad|>'"),
        (Stream, {"weight": "2"}, "weight is '2'"),
        (Stream, {"rate": True}, "rate is True"),
        (Stream, {"rate": np.float64(0.5)}, r"rate is np.float64\(0.5\); give Python's own number, such as float"),
        (Mix, {"proportions": {"pages": np.float64(1)}}, "proportions is .*; give Python's own number"),
    ],
)
def test_an_option_of_another_type_is_refused(recipe: Any, options: dict[str, Any], said: str) -> None:
    required: dict[Any, dict[str, Any]] = {
        Mix: {"name": "m", "streams": PAGES},
        Tokenizer: {"name": "words-1", "file": "tokenizer.json", "sha256": "0" * 64},
        Training: {"mix": "m", "snapshots": {}},
        Stream: {"source": "pages", "version": "v0"},
        LineUnits: {},
    }
    recipe(**required[recipe])
    with pytest.raises(RecipeError, match=said.replace("|", "[|]")):
        recipe(**required[recipe], **options)


def test_a_list_is_as_good_as_a_tuple_and_a_whole_number_as_a_share() -> None:
    Mix(name="m", streams=PAGES, tokenizers=["words-1"], validation=0)  # type: ignore[arg-type]


ODD: dict[str, Any] = {
    "None": None, "True": True, "0": 0, "-1": -1,
    "1.5": 1.5, "nan": float("nan"), "inf": float("inf"), "2**70": 2**70,
    "''": "", "'x'": "x", "'a/b'": "a/b", "surrogate": "\ud800", "line": "x\n", "bytes": b"x", "()": (),
    "('x',)": ("x",),
    "['x']": ["x"], "[1]": [1], "{'x':1}": {"x": 1}, "{1:2}": {1: 2}, "{'x':{1}}": {"x": {1, 2}}, "object": object(),
    "{1}": frozenset({1}), "{'x'}": frozenset({"x"}), "function": len, "date": date(2026, 11, 22),
}  # fmt: skip

WORDS = "'' 'x' 'a/b' line"  # any string, for people, or compared with data later
NAMES = "() ('x',) ['x']"
FLAG = "True"
NAME = "'x'"

REQUIRED: dict[Any, dict[str, Any]] = {
    Source: {"name": "s", "convert": JsonLines(source="s")},
    Revision: {"version": "v1"},
    RawRoot: {"url": "s3://bucket/raw"},
    Hashed: {"count": 2},
    Folders: {},
    Matching: {"pattern": "(?P<snapshot>x)"},
    JsonLines: {"source": "s"},
    ParquetRows: {"source": "s"},
    Column: {"name": "words", "path": "length-1__words", "type": "score"},
    Rule: {"name": "short", "where": "words < 5", "because": "stubs"},
    Stream: {"source": "s", "version": "v0"},
    Mix: {"name": "m", "streams": PAGES},
    Score: {"name": "n", "meaning": "words"},
    Tagger: {"name": "t-1", "document": len},
    Training: {"mix": "m", "snapshots": {"s": ("a",)}},
    Tokenizer: {"name": "b-1", "file": "tokenizer.json", "sha256": "0" * 64},
    Export: {"name": "e", "mixes": ("m",), "format": Oscar()},
    Oscar: {},
    Text: {},
    Chat: {},
    Prebuilt: {},
    DolmaLines: {"source": "s"},
}
"""What each recipe needs; every other option has a default."""

SELECTION = {
    "columns": "()",
    "include": "()",
    "exclude": "()",
    "blocklists": NAMES,
    "seed": "0 -1",
    "edits": "()",
    "least_kept": "0",
    "transforms": "()",
    "shortest": "0",
    "least_bytes": "0",
    "keep": NAMES,
    "discard": NAMES,
    "merge": NAMES,
    "origin": FLAG,
    "bounds": "None",
    "description": WORDS,
    "held_out": "None",
}
KEYS = "'x' 'a/b' line"  # any string but an empty one
ROWS = {
    "source": WORDS, "id_key": f"None {WORDS}", "id_template": "None", "text_keys": NAMES, "text_separator": WORDS,
    **dict.fromkeys(("source_key", "created_key", "added_key", "added"), f"None {KEYS}"), "turns": "None",
    "keep": f"None {NAMES}", "leave_out": NAMES, "optional": "()",
}  # fmt: skip
CHAT = ("chat_template", "system_prompt", "chat_template_kwargs", "today")
TAKEN: dict[Any, dict[str, str]] = {
    Source: {
        "name": NAME, "convert": "function", "description": WORDS, "licence": WORDS, "terms": WORDS,
        "homepage": "''", "language": "''", "changes": WORDS, "owners": NAMES,
        "select": f"None {WORDS}", "checksums": f"None {WORDS}",
        "quarantine_limit": "0", "parameters": "{'x':1}", "revisions": "()", "adopted": "()",
        "raw": f"None {WORDS}", "watched": FLAG, "draft": FLAG, "reason": "''", "quiet": "0 1.5",
        "expected_hours": "None 1.5", "bounds": "None", "accept": "'' 'x'",
        "marker": "None 'x' line", "mounted": "None", "inventory": "None",
    },
    Revision: {**SELECTION, "version": WORDS, "carry": NAMES},  # Source compares it
    RawRoot: {
        "url": "'x' 'a/b' line", "anonymous": FLAG, "endpoint": "None ''",
        "region": "None '' 'x'", "credentials": "None"
    },
    JsonLines: ROWS,
    ParquetRows: ROWS,
    DolmaLines: {"source": WORDS},
    Column: {"name": NAME, "optional": FLAG, "value": "None"},
    Rule: {"name": NAME, "where": WORDS, "because": "'x' 'a/b' line"},  # check_rules reads `where`
    Stream: {
        "language": "''",
        **SELECTION, "source": NAME, "name": "'' 'x'", "weight": "0 -1 1.5", "repeats": "1.5",
        "most_epochs": "None 1.5", "group": "'' 'x'",
    },  # Mix compares the weights
    Mix: {
        "name": NAME, "description": WORDS, "owners": NAMES, "tokenizers": NAMES, "validation": "0",
        "sequence_length": "None",
        "token_budget": "None", "validation_key": "None", "proportions": "None", "temperature": "None 0", "draft": FLAG,
        "metadata": "{'x':1} {'x':{1}}",
    },
    Score: {
        "name": "'x' 'a/b'", "meaning": "'x' 'a/b' line", "unit": WORDS, "low": "None 0 -1 1.5",
        "high": "None 0 -1 1.5",
        "optional": FLAG, "exact": FLAG, "words": FLAG,
    },
    Tagger: {
        "document": "function", "batch": "None", "open": "None", "labels": "None ()", "models": "()",
        "parameters": "{'x':1}", "description": WORDS,
        "only": f"{NAMES} {{'x'}}", "bounds": "None", "draft": FLAG, "reason": "''",
    },
    Training: {"mix": WORDS, "special": NAMES},  # Tokenizer checks the name
    Tokenizer: {
        "eos": f"None {WORDS}", "bos": f"None {WORDS}", "training": "None", "file": WORDS, "sha256": "'x' 'a/b' line",
        "chat_template": f"None {WORDS}", "description": WORDS, "draft": FLAG, "parameters": "{'x':1}",
    },
    Export: {
        "name": NAME, "mixes": "('x',) ['x']", "description": WORDS, "owners": NAMES, "draft": FLAG, "reason": "''",
    },
    Oscar: {"languages": NAMES},
    Text: {"text_key": "'x' 'a/b' line", "pack": "None True"},
    Chat: {
        "messages_field": "'x' 'a/b' line", "row_templates": FLAG, "pack": "None True", "mask_user_turns": FLAG,
        **dict.fromkeys(CHAT, f"None {WORDS}"),
    },
    Prebuilt: {"input_ids_key": "'x' 'a/b' line", "loss_weights_key": "None 'x' 'a/b' line", "length": "None"},
}  # fmt: skip
"""The odd values that an option takes. All other values, and all values of other options, are refused."""


@pytest.mark.parametrize("recipe", REQUIRED, ids=lambda recipe: recipe.__name__)
def test_an_odd_value_is_taken_for_a_reason_or_refused_in_words(recipe: Any) -> None:
    recipe(**REQUIRED[recipe])
    for option in inspect.signature(recipe).parameters:
        taken = set()
        for odd, value in ODD.items():
            try:
                recipe(**{**REQUIRED[recipe], option: value})
                taken.add(odd)
            except RecipeError as error:
                str(error).encode()
        assert taken == set(TAKEN.get(recipe, {}).get(option, "").split()), option
