import gzip
import json
from pathlib import Path

import pytest
from exported import EXPORT, HERE, export, export_of, mix_of, records, start, step_of
from testkit import SHELVES, SNAPSHOT, Mill, make_documents

from gristmill.errors import RecipeError
from gristmill.lake.address import place
from gristmill.lake.ledger.files import read_ledger
from gristmill.lake.rows.draw import VALIDATION_SEED, draw_fraction
from gristmill.recipes.export import Export, Oscar
from gristmill.stages.export.oscar import OTHER_LANGUAGE
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.step import stream_step


def texts(mill: Mill, path: str) -> list[str]:
    return [json.loads(line)["content"] for line in gzip.decompress(mill.store.read(path)).splitlines()]


def test_a_part_has_a_file_for_each_language_with_the_documents_in_their_order(exported: Mill) -> None:
    head, parts = read_ledger(exported.store, HERE)
    assert [(part.name, part.rows) for part in parts] == [("a", 10), ("b", 10)]
    assert (head.totals["rows"], head.totals["rows not from OSCAR"]) == (20, 20)
    record = records(exported)["a"]
    assert sorted(record.files) == ["en.jsonl.gz", "fr.jsonl.gz"]
    documents = make_documents(10)
    assert texts(exported, record.folder + "en.jsonl.gz") == [row["text"] for row in documents[::2]]
    assert texts(exported, record.folder + "fr.jsonl.gz") == [row["text"] for row in documents[1::2]]
    assert (record.line(0), record.line(3)) == (("en.jsonl.gz", 0), ("fr.jsonl.gz", 1))


def test_a_changed_shard_of_the_mix_rewrites_its_part_only_and_no_part_is_changed(exported: Mill) -> None:
    before = {entry.path: entry.etag for entry in exported.store.list(HERE.folder)}
    exported.raw("b.jsonl.gz", make_documents(11, start=10))
    exported.convert()
    exported.make(stream_step(mix_of(), "pages", SNAPSHOT, SHELVES))
    export(exported)
    assert exported.ground == ["b"]
    after = {entry.path: entry.etag for entry in exported.store.list(HERE.folder)}
    assert before.items() <= after.items()
    assert len(after) == len(before) + 3
    export(exported)
    assert exported.ground == []


def test_equal_lakes_have_equal_bytes(tmp_path: Path) -> None:
    one, other = start(tmp_path / "one", shards=3), start(tmp_path / "other", shards=3)
    export(one)
    export(other)
    assert one.tree() == other.tree()


def test_options_of_the_release_alone_make_no_part_again(exported: Mill) -> None:
    export(exported, declared=Oscar(part_bytes=1))
    assert exported.ground == []


def test_another_recipe_under_the_same_name_is_refused_unless_it_is_a_draft(exported: Mill) -> None:
    with pytest.raises(RecipeError, match="schema"):
        export(exported, declared=Oscar(schema="23.01"))


def test_a_draft_may_change(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    for declared in (Oscar(schema="22.01"), Oscar(schema="23.01")):
        draft = Export(name="oscar", mixes=("blend",), format=declared, draft=True)
        mill.make(ExportStep(mix_of(), "pages", draft, SNAPSHOT, SHELVES))
        assert mill.ground == ["a", "b"]


def test_languages_that_the_recipe_does_not_name_are_counted(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    head = export(mill, declared=Oscar(languages=("en",)))
    assert (head.totals["rows"], head.dropped) == (10, {OTHER_LANGUAGE: 10})
    record = records(mill)["b"]
    assert (list(record.files), record.line(1), record.documents) == (["en.jsonl.gz"], None, 10)


def test_a_shard_of_which_nothing_is_exported_has_a_part_too(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    export(mill, declared=Oscar(languages=("nl",)))
    assert {name: list(record.objects) for name, record in records(mill).items()} == {
        name: [record.folder + "part.json"] for name, record in records(mill).items()
    }


def test_documents_that_the_mix_holds_out_are_in_files_of_their_own(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    export(mill, mix_of(validation=0.4))
    held = {
        row["text"] + row["id"]
        for row in make_documents(20)
        if draw_fraction(("pages", row["id"]), VALIDATION_SEED) < 0.4
    }
    assert 0 < len(held) < 20
    rows = dict.fromkeys(("train", "validation"), 0)
    for record in records(mill).values():
        for name, file in record.files.items():
            rows[name.partition("/")[0]] += file.facts.rows
    assert rows == {"train": 20 - len(held), "validation": len(held)}


def test_documents_whose_text_was_edited_are_counted(tmp_path: Path) -> None:
    mill = Mill(tmp_path)
    new, edited = make_documents(2)
    edited["metadata"] = {
        "warc_headers": {},
        "oscar": {"identification": {"label": "de", "prob": 0.9}, "sentence_identifications": [None]},
        "oscar_line": {"text_xxh3": "0" * 16},
    }
    mill.raw("a.jsonl.gz", [new, edited])
    mill.convert()
    mill.make(stream_step(mix_of(), "pages", SNAPSHOT, SHELVES))
    head = export(mill)
    assert (head.totals["edited rows"], head.totals["rows not from OSCAR"]) == (1, 1)
    assert list(records(mill)["a"].files) == ["de.jsonl.gz", "en.jsonl.gz"]


def test_a_document_with_another_key_oscar_is_exported_as_new(tmp_path: Path) -> None:
    mill = Mill(tmp_path)
    good, other = make_documents(2)
    other["metadata"] = {"oscar": {"won": 3}}
    mill.raw("a.jsonl.gz", [good, other])
    mill.convert()
    mill.make(stream_step(mix_of(), "pages", SNAPSHOT, SHELVES))
    export(mill)
    paths = [entry.path for entry in mill.store.list(f"{EXPORT}/") if entry.path.endswith(".jsonl.gz")]
    lines = [line for path in paths for line in gzip.decompress(mill.store.read(path)).splitlines()]
    assert len(lines) == 2
    assert b"won" not in b"".join(lines)


def test_code_version_is_that_of_the_recipe() -> None:
    step = step_of()
    assert step.code_version(EXPORT) != step_of(declared=Oscar(schema="23.01")).code_version(EXPORT)
    assert step.code_version(EXPORT) == step_of(declared=Oscar(part_bytes=7)).code_version(EXPORT)
    assert step.reads == ("mixes/blend/documents/pages",)
    assert export_of().format == Oscar()
    assert place(step.makes[0], SNAPSHOT) == HERE
