"""What is told of a tokenizer in the lake. With its training data: test_dry_run.py, test_make.py."""

import hashlib
from dataclasses import replace
from pathlib import Path

from testkit import Mill
from wholelake import TOKENIZER

from gristmill.pipeline.tokenizers import look_at
from gristmill.recipes.tokenizer import Tokenizer
from gristmill.stages.tokenization.files import ledger_path, tokenizer_path

FILE, LEDGER = tokenizer_path("tiny-1"), ledger_path("tiny-1")


def told(mill: Mill, tokenizer: Tokenizer = TOKENIZER) -> tuple[str, str]:
    """The state of a tokenizer, and the reasons."""
    found = look_at(mill.store, tokenizer)
    return found.state, "; ".join(found.why)


def test_what_is_lost_is_told_apart_from_what_was_never_made(whole: Mill) -> None:
    assert told(whole) == ("finished", "")
    assert told(whole, replace(TOKENIZER, name="tiny-2")) == ("missing", "never made")
    ledger, file = whole.store.read(LEDGER), whole.store.read(FILE)
    whole.store.delete([LEDGER])
    state, why = told(whole)
    assert (state, why.partition(":")[0]) == ("missing", f"{LEDGER} is not there, although tokenizer.json is")
    whole.store.put(LEDGER, ledger[:-9])
    state, why = told(whole)
    assert (state, why.startswith(f"{LEDGER}: "), "remove it and make the tokenizer" in why) == ("wrong", True, True)
    whole.store.put(LEDGER, ledger)
    whole.store.delete([FILE])
    state, why = told(whole)
    assert (state, why.partition(";")[0]) == ("wrong", f"{FILE}: lost, although {LEDGER} is there")
    whole.store.put(FILE, file + b" ")
    assert told(whole)[0] == "wrong"


def test_a_file_to_import_is_looked_at_before_it_is_needed(whole: Mill, tmp_path: Path) -> None:
    data = whole.store.read(FILE)
    path = tmp_path / "tokenizer.json"
    brought = Tokenizer(name="other-1", file=str(path), sha256=hashlib.sha256(data).hexdigest())
    assert told(whole, brought) == ("refused", f"tokenizer 'other-1': no file {path}; mend file= of the recipe")
    path.write_bytes(data)
    assert told(whole, brought) == ("missing", "never made")
    path.write_bytes(data + b" ")
    state, why = told(whole, brought)
    assert (state, f"{path} has sha256 " in why) == ("refused", True)
