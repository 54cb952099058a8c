"""What is told of a tokenizer in the lake. With its training data: test_dry_run.py, test_make.py."""

import hashlib
import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from testkit import SNAPSHOT, Mill
from wholelake import TOKENIZER

from gristmill.errors import RecipeError
from gristmill.pipeline.tokenizers import tokenizer_state
from gristmill.recipes.tokenizer import Tokenizer, Training
from gristmill.stages.tokenization.files import OTHER_TEMPLATE, ledger_path, read_chat_template, tokenizer_path
from gristmill.stages.tokenization.training import make_tokenizer

FILE, LEDGER = tokenizer_path("tiny-1"), ledger_path("tiny-1")


def told(mill: Mill, tokenizer: Tokenizer = TOKENIZER) -> tuple[str, str]:
    """The state of a tokenizer, and the reasons."""
    found = tokenizer_state(mill.store, tokenizer)
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


@pytest.mark.parametrize("draft", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_a_folder_that_got_another_chat_template_is_taken_again_or_refused(
    whole: Mill, tmp_path: Path, *, draft: bool, inside: bool
) -> None:
    folder = whole.root / "brought" if inside else tmp_path
    folder.mkdir(exist_ok=True)
    data = whole.store.read(FILE)
    (folder / "tokenizer.json").write_bytes(data)
    (folder / "chat_template.jinja").write_text("A{{ messages }}")
    file = "lake:brought" if inside else str(folder)
    brought = Tokenizer(name="chat-1", draft=draft, file=file, sha256=hashlib.sha256(data).hexdigest())
    make_tokenizer(whole.store, brought, whole.said.append)
    assert (told(whole, brought), read_chat_template(whole.store, "chat-1")) == (("finished", ""), "A{{ messages }}")
    (folder / "chat_template.jinja").write_text("B{{ messages }}")
    with nullcontext() if draft else pytest.raises(RecipeError, match="has another chat template than the lake"):
        assert make_tokenizer(whole.store, brought, whole.said.append)[1]
    assert read_chat_template(whole.store, "chat-1") == ("B" if draft else "A") + "{{ messages }}"
    state, why = told(whole, brought)
    assert (state, OTHER_TEMPLATE in why) == (("finished", False) if draft else ("refused", True))
    assert told(whole, replace(brought, chat_template="A{{ messages }}"))[1].startswith("the recipe changed: chat_temp")
    (folder / "chat_template.jinja").write_bytes(b"\xff")
    assert told(whole, brought)[0] == "refused"
    (folder / "tokenizer.json").unlink()  # the lake has its files
    assert told(whole, brought) == ("finished", "")


@pytest.mark.parametrize("draft", [True, False])
def test_other_snapshots_in_the_recipe_are_a_change_and_those_that_a_run_chose_are_none(
    whole: Mill, *, draft: bool
) -> None:
    def naming(*snapshots: str) -> Tokenizer:
        training = Training(mix="even", snapshots={"pages": snapshots}, vocabulary=300)
        return Tokenizer(name="small-1", draft=draft, training=training)

    changed = ("changed" if draft else "refused", True)
    make_tokenizer(whole.store, naming(SNAPSHOT), whole.said.append)
    assert told(whole, naming(SNAPSHOT)) == ("finished", "")
    state, why = told(whole, naming("2025"))
    assert (state, why.startswith("the recipe changed: snapshots;")) == changed
    whole.store.delete([ledger_path("small-1")])
    chosen = {"pages": (SNAPSHOT,)}
    make_tokenizer(whole.store, naming("2025"), whole.said.append, chosen)
    for name in ("2025", SNAPSHOT):  # what the recipe named, and what it is trained on
        assert told(whole, naming(name)) == ("finished", "")
    assert told(whole, naming("2026"))[0] == changed[0]
    assert not make_tokenizer(whole.store, naming("2026"), whole.said.append, chosen)[1]
    assert told(whole, naming("2026")) == ("finished", "")  # a run chose them again
    ledger = json.loads(whole.store.read(ledger_path("small-1")))
    del ledger["declared"]  # an earlier version did not record them: a run may have chosen
    whole.store.put(ledger_path("small-1"), json.dumps(ledger).encode())
    assert told(whole, naming("2025")) == ("finished", "")
