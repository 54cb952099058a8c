import hashlib
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import zstandard
from releasekit import write_whole
from talklake import BYTES, row, started
from testkit import SNAPSHOT, Mill
from wholelake import TOKENIZER

from gristmill.encoding.probes import PROBES
from gristmill.encoding.reference import REFERENCE_FILE, load_answers
from gristmill.errors import Conflict, DataError, RecipeError
from gristmill.lake.ledger.files import as_json
from gristmill.pipeline.tokenizers import UNSEALED, TokenizerState, tokenizer_state
from gristmill.recipes.tokenizer import Training
from gristmill.stages.tokenization.files import (
    ledger_path,
    read_reference,
    read_tokenizer,
    read_tokenizer_ledger,
    tokenizer_path,
)
from gristmill.stages.tokenization.training import make_tokenizer
from gristmill.verification.token_caches import tokenizer_findings


def test_lost_changed_and_older_facts_are_made_again_by_the_tokenizers_asset(whole: Mill) -> None:
    path = tokenizer_path(TOKENIZER.name, REFERENCE_FILE)
    before, ledger = whole.store.read(path), whole.store.read(ledger_path(TOKENIZER.name))

    def renewed() -> bool:
        _, made = make_tokenizer(whole.store, TOKENIZER, whole.said.append)
        return not made and (whole.store.read(path), whole.store.read(ledger_path(TOKENIZER.name))) == (before, ledger)

    found, _ = read_tokenizer(whole.store, TOKENIZER.name)
    whole.store.put(path, before[:-1] + b"x")
    with pytest.raises(DataError, match=r"facts\.msgpack\.zst: lost or changed; make the tokenizer once more"):
        read_reference(whole.store, found)
    assert renewed()
    whole.store.delete([path])
    assert renewed()
    bare = msgspec.structs.replace(
        found, files={name: sha for name, sha in found.files.items() if name != REFERENCE_FILE}
    )
    whole.store.put(ledger_path(TOKENIZER.name), as_json(bare))
    assert read_reference(whole.store, bare) is None
    assert renewed()
    older = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(before)) | {"probes": 1, "texts": None}
    assert load_answers(zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(older))) is None


def test_a_file_of_a_tokenizer_that_a_release_names_is_not_replaced(whole: Mill) -> None:
    """The facts were stored by another version of the probes, under the name that is now that of another one."""
    path, ledger = tokenizer_path(TOKENIZER.name, REFERENCE_FILE), ledger_path(TOKENIZER.name)
    facts = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(whole.store.read(path)))
    older = zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(facts | {"probes": 1}))
    found, _ = read_tokenizer(whole.store, TOKENIZER.name)
    digests = found.files | {REFERENCE_FILE: hashlib.sha256(older).hexdigest()}
    whole.store.put(path, older)
    whole.store.put(ledger, as_json(msgspec.structs.replace(found, files=digests).with_digest()))
    write_whole(whole)
    before = whole.tree()
    with pytest.raises(DataError, match=rf"^{path}: release first names it with other bytes than were made now"):
        make_tokenizer(whole.store, TOKENIZER, whole.said.append)
    assert whole.tree() == before
    assert (PROBES, REFERENCE_FILE) == (2, "facts.msgpack.zst")  # a higher number has another name by itself


def test_a_tokenizer_is_replaced_only_if_both_recipes_are_drafts(tmp_path: Path) -> None:
    mill = started(tmp_path / "talk", *(row(number, {}) for number in range(4)))
    slices = {"pages": (SNAPSHOT,)}
    larger = replace(BYTES, training=Training(mix="talk", snapshots=slices, vocabulary=300), draft=True)
    before = mill.tree()
    assert not make_tokenizer(mill.store, replace(BYTES, draft=True), mill.said.append)[1]
    with pytest.raises(
        RecipeError, match=r"made by another recipe: .*; a tokenizer .* declare one of the next number"
    ) as no:
        make_tokenizer(mill.store, larger, mill.said.append)
    assert "vocabulary was " in str(no.value)
    assert "eos" not in str(no.value)  # it is the same
    assert mill.tree() == before
    mill.store.delete([ledger_path(BYTES.name)])
    assert make_tokenizer(mill.store, replace(BYTES, draft=True), mill.said.append)[1]
    assert make_tokenizer(mill.store, larger, mill.said.append)[1]
    final = replace(larger, draft=False)
    draft = read_tokenizer_ledger(mill.store, BYTES.name)
    assert draft is not None
    assert tokenizer_state(mill.store, final) == TokenizerState("unsealed", (UNSEALED,))
    assert not make_tokenizer(mill.store, final, mill.said.append)[1]  # the mark is removed: it stays as it is
    sealed = msgspec.structs.replace(draft, recipe=msgspec.structs.replace(draft.recipe, draft=False))
    assert list(tokenizer_findings(mill.store, BYTES.name, mill.said.append)) == []
    mill.store.put(
        ledger_path(BYTES.name), as_json(sealed)
    )  # with the digest of the draft, as earlier versions wrote it
    assert len(list(tokenizer_findings(mill.store, BYTES.name, mill.said.append))) == 1
    assert tokenizer_state(mill.store, final) == TokenizerState("unsealed", (UNSEALED,))
    make_tokenizer(mill.store, final, mill.said.append)
    assert read_tokenizer_ledger(mill.store, BYTES.name) == sealed.with_digest()
    assert tokenizer_state(mill.store, final) == TokenizerState("finished")
    with pytest.raises(RecipeError, match="declare one of the next number"):
        make_tokenizer(mill.store, replace(BYTES, draft=True), mill.said.append)


def test_a_tokenizer_whose_run_was_killed_as_it_wrote_is_made_again_and_else_stays(tmp_path: Path) -> None:
    mill = started(tmp_path / "talk", *(row(number, {}) for number in range(4)))
    path, mark = tokenizer_path(BYTES.name), f"tokenizers/{BYTES.name}/writing.json"
    before = mill.tree()
    for torn in (False, True):
        mill.store.put(mark, b'{"token":"killed"}')
        mill.store.put(path, b"{}") if torn else None
        assert tokenizer_state(mill.store, BYTES) == TokenizerState("missing", ("a run that wrote it was killed",))
        assert mark in [each.path for each in tokenizer_findings(mill.store, BYTES.name, mill.said.append)]
        assert make_tokenizer(mill.store, BYTES, mill.said.append)[1] == torn
        assert mill.tree() == before


def test_a_tokenizer_that_another_run_has_made_meanwhile_stays(tmp_path: Path) -> None:
    mill = started(tmp_path / "talk", *(row(number, {}) for number in range(4)))
    mill.store.delete([ledger_path(BYTES.name)])

    def other(line: str) -> None:
        if "merges found" in line and mill.store.head(ledger_path(BYTES.name)) is None:
            make_tokenizer(mill.store, replace(BYTES, draft=True), mill.said.append)

    with pytest.raises(Conflict, match=r"ledger\.json: another run wrote it meanwhile"):
        make_tokenizer(mill.store, BYTES, other)
    assert tokenizer_state(mill.store, replace(BYTES, draft=True)) == TokenizerState("finished")
