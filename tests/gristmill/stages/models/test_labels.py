"""A labelled set holds each text on one side only, and counts what it leaves out."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from testkit import SNAPSHOT, Mill, lines, make_documents, notes

from gristmill.errors import Conflict, DataError, RecipeError, Superseded
from gristmill.lake.ledger.folders.whole_folder import is_being_written
from gristmill.lake.store.disk.old_file import OldFile
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Entry
from gristmill.pipeline.models import model_state
from gristmill.readers.delimited import DelimitedRows
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.models.labelled_set import Draw, LabelledSet
from gristmill.stages.models.labels import LISTED, make_labels, read_labels, why_due
from gristmill.stages.models.ledger import write_folder
from gristmill.stages.models.proof import folder_findings


def brought(folder: Path, data: bytes, **options: object) -> LabelledSet:
    (folder / "remarks.csv").write_bytes(data)
    given = {"read": DelimitedRows(source="remarks", id_key=None), "label": "class", **options}
    sha256 = hashlib.sha256(data).hexdigest()
    return LabelledSet(name="remarks", file=str(folder / "remarks.csv"), sha256=sha256, **given)  # type: ignore[arg-type]


def rows(mill: Mill) -> list[tuple[str, str, str]]:
    return [(row.split, row.label, row.text) for row in read_labels(mill.store, "remarks")[1]]


def test_values_become_labels_and_what_is_left_out_is_counted(mill: Mill, tmp_path: Path) -> None:
    rows_of_file = [
        "0,train,fool",
        "2,held-out,hello",
        "0,train,hello",
        "0,train,fool",
        "1,train,hm",
        "2,train, ",
        ",train,x",
    ]
    data = "\n".join(["class,part,text", *rows_of_file, ""]).encode()
    labelled = brought(tmp_path, data, labels={"0": "rude", "2": "calm"}, split="part")
    ledger, made = make_labels(mill.store, labelled, mill.said.append)
    assert made
    assert rows(mill) == [("train", "rude", "fool"), ("held-out", "calm", "hello")]
    assert ledger.facts["left out"] == {
        "class is none of labels=": 2,
        "empty text": 1,
        "in both splits, so it does not train": 1,
        "the same text and label once more": 1,
    }
    assert make_labels(mill.store, labelled, mill.said.append) == (ledger, False)


@pytest.mark.parametrize("order", [("train", "held-out"), ("held-out", "train")])
def test_a_text_in_both_splits_is_held_out_in_either_order(mill: Mill, tmp_path: Path, order: tuple[str, str]) -> None:
    both = "".join(f"0,{split},hello\n" for split in order)
    labelled = brought(tmp_path, f"class,part,text\n{both}1,train,fool\n".encode(), split="part")
    ledger, _ = make_labels(mill.store, labelled, mill.said.append)
    assert rows(mill) == [("held-out", "0", "hello"), ("train", "1", "fool")]
    assert ledger.facts["left out"] == {"in both splits, so it does not train": 1}


def test_a_hash_of_the_text_decides_the_split(mill: Mill, tmp_path: Path) -> None:
    data = b"class,text\n" + b"".join(b"%d,remark %d\n" % (n % 2, n // 2) for n in range(400))
    make_labels(mill.store, brought(tmp_path, data, held_out=0.25), mill.said.append)
    split = {text: part for part, _, text in rows(mill)}
    assert [part == split[text] for part, _, text in rows(mill)] == [True] * 400
    assert 30 <= sum(part == "held-out" for part in split.values()) <= 70


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"class,text\n0,a\n0,b\n", "all texts have the label '0'"),
        (b"class,text\n", "there is no labelled text"),
        (b"class,text\na b,x\nc,y\n", "without white space"),
        (b"class,text,part\na,x,test\nc,y,train\n", "has the split 'test'"),
    ],
)
def test_what_no_classifier_can_learn_from_is_refused(mill: Mill, tmp_path: Path, data: bytes, match: str) -> None:
    labelled = brought(tmp_path, data, split="part" if b"part" in data else None)
    with pytest.raises((DataError, RecipeError), match=match):
        make_labels(mill.store, labelled, mill.said.append)
    assert list(mill.store.list("labels/")) == []


def test_another_file_than_the_recipe_s_is_refused(mill: Mill, tmp_path: Path) -> None:
    labelled = brought(tmp_path, b"class,text\n0,a\n1,b\n")
    (tmp_path / "remarks.csv").write_bytes(b"class,text\n0,a\n1,c\n")
    with pytest.raises(RecipeError, match=r"has sha256 .*, the recipe says"):
        make_labels(mill.store, labelled, mill.said.append)
    (tmp_path / "remarks.csv").unlink()
    with pytest.raises(RecipeError, match="no file"):
        make_labels(mill.store, labelled, mill.said.append)


def test_documents_of_trusted_sources_are_drawn_by_a_hash_of_their_ids(mill: Mill) -> None:
    mill.raw("a.jsonl.gz", make_documents(100))
    notes(mill, "n1 a fine note", "n2 another")
    mill.convert()
    mill.convert("notes")
    draw = {"good": (Draw(source="notes", snapshots=(SNAPSHOT,)),)}

    def drawn(share: float) -> set[str]:
        web = (Draw(source="pages", snapshots=(SNAPSHOT,), share=share),)
        labelled = LabelledSet(name="remarks", drawn={**draw, "web": web})
        ledger, _ = make_labels(mill.store, labelled, mill.said.append)
        assert {asset for asset, *_ in ledger.inputs} == {"sources/notes/v0/documents", "sources/pages/v0/documents"}
        assert ("n1", "notes", "good") in {(r.id, r.source, r.label) for r in read_labels(mill.store, "remarks")[1]}
        return {row.text for row in read_labels(mill.store, "remarks")[1] if row.label == "web"}

    assert drawn(0.02) <= drawn(1.0)  # texts of pages are alike: five of them
    assert len(drawn(1.0)) == 5


def test_rows_of_dolma_s_form_are_read_too(mill: Mill, tmp_path: Path) -> None:
    data = b'{"class":1,"text":"fool","id":"a"}\n{"class":2,"text":"hello","id":"b"}\n'
    make_labels(mill.store, brought(tmp_path, data, read=JsonLines(source="remarks")), mill.said.append)
    assert sorted(label for _, label, _ in rows(mill)) == ["1", "2"]


def test_a_document_that_a_blocklist_names_leaves_the_set(mill: Mill, tmp_path: Path) -> None:
    labelled = brought(tmp_path, b"class,text\n0,secret of Ann\n1,hello\n0,fool\n", held_out=0.001)
    ledger, _ = make_labels(mill.store, labelled, mill.said.append)
    (taken,) = [row for row in read_labels(mill.store, "remarks")[1] if "Ann" in row.text]
    entry = {"source": "remarks", "id": taken.id, "reason": "takedown"}
    mill.store.put("blocklists/takedowns.jsonl", json.dumps(entry).encode() + b"\n")
    assert why_due(mill.store, labelled, ledger) == "it has a text of a document that a blocklist names"
    again, made = make_labels(mill.store, labelled, mill.said.append)
    assert made
    assert again.facts["left out"] == {"on a blocklist": 1}
    assert b"Ann" not in mill.store.read("labels/remarks/rows.jsonl")
    assert make_labels(mill.store, labelled, mill.said.append) == (again, False)


def listed(mill: Mill, *ids: str) -> None:
    entries = (json.dumps({"source": "remarks", "id": each, "reason": "x"}) for each in ids)
    mill.store.put("blocklists/takedowns.jsonl", "".join(f"{each}\n" for each in entries).encode())


def three(folder: Path) -> LabelledSet:
    """The texts a, b and c."""
    rows = [{"id": "a", "class": 0, "text": "fool"}, {"id": "b", "class": 1, "text": "hello"}]
    return brought(folder, lines([*rows, {"id": "c", "class": 1, "text": "hm"}]), read=JsonLines(source="remarks"))


def test_a_document_that_no_blocklist_names_any_more_comes_back(mill: Mill, tmp_path: Path) -> None:
    labelled = three(tmp_path)
    listed(mill, "b", "other")
    ledger, _ = make_labels(mill.store, labelled, mill.said.append)
    assert (rows(mill), len(ledger.facts[LISTED])) == ([("train", "0", "fool"), ("train", "1", "hm")], 1)
    listed(mill, "b", "more")  # what the set never had, comes and goes
    assert model_state(mill.store, labelled).state == "finished"
    assert make_labels(mill.store, labelled, mill.said.append) == (ledger, False)
    listed(mill)
    found = model_state(mill.store, labelled)
    assert (found.state, found.why[0].partition(";")[0]) == (
        "changed",
        "it left out a document that no blocklist names any more",
    )
    again, made = make_labels(mill.store, labelled, mill.said.append)
    assert (made, len(rows(mill)), again.facts["left out"]) == (True, 3, {})
    assert model_state(mill.store, labelled).state == "finished"


def test_a_set_of_an_older_version_that_left_documents_out_is_made_once_more(mill: Mill, tmp_path: Path) -> None:
    labelled = three(tmp_path)
    listed(mill, "b")
    new, _ = make_labels(mill.store, labelled, mill.said.append)
    facts = {name: value for name, value in new.facts.items() if name != LISTED}
    files = {"rows.jsonl": mill.store.read("labels/remarks/rows.jsonl")}
    old = write_folder(mill.store, new.asset, new.recipe, new.inputs, files, new.opened, facts, old=new)
    assert why_due(mill.store, labelled, old).endswith("its ledger does not say which")
    assert make_labels(mill.store, labelled, mill.said.append) == (new, True)
    assert make_labels(mill.store, labelled, mill.said.append) == (new, False)


READ = """
import json
from gristmill.lake.rows.document import Document
from gristmill.readers.jsonl import raw_lines
from gristmill.recipes.models.labelled_set import LabelledSet

def read(raw):
    for _, line in raw_lines(raw):
        row = json.loads(line)
        label = "good" if row["stars"] >= 3 else "bad"
        yield Document(id=row["id"], text=row["text"], source="own", metadata={"label": label})

OWN = LabelledSet(name="own", file="lake:inputs/own.jsonl", sha256="SHA256", read=read, description="own")
"""
RUN = """
import sys
from gristmill.lake.store.open import open_store
from gristmill.pipeline.models import model_state
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.recipes.shelf import read_shelf
from gristmill.stages.models.labels import make_labels, read_labels

store, own = open_store(sys.argv[1]), read_shelf("labels", LabelledSet, ("ownmill",))["own"]
state, why = model_state(store, own)
_, made = make_labels(store, own, lambda line: None)
print(state, *(each.partition(";")[0] for each in why), made, *(row.label for row in read_labels(store, "own")[1]))
"""


@pytest.mark.slow
def test_a_set_is_made_again_if_the_code_of_its_own_read_changed(mill: Mill, tmp_path: Path) -> None:
    """Three texts of 1, 3 and 5 stars. Each edit is read by a new process."""
    data = b"".join(b'{"id":"%d","text":"text %d","stars":%d}\n' % (n, n, n) for n in (1, 3, 5))
    mill.store.put("inputs/own.jsonl", data)
    read = READ.replace("SHA256", hashlib.sha256(data).hexdigest())
    shelf = tmp_path / "ownmill" / "labels"
    shelf.mkdir(parents=True)
    for folder in (shelf.parent, shelf):
        (folder / "__init__.py").touch()

    def run(text: str) -> str:
        (shelf / "own.py").write_text(text)
        path = f"{Path(__file__).resolve().parents[4]}:{tmp_path}"
        command = [sys.executable, "-B", "-c", RUN, str(mill.root)]
        answer = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True, stdout=subprocess.PIPE)
        return answer.stdout.decode().strip()

    assert run(read) == "missing never made True bad good good"
    assert run(read.replace('description="own"', "")) == "finished False bad good good"
    changed = "changed the code of ownmill.labels.own changed since it was made"
    assert run(read.replace(">= 3", ">= 4")) == f"{changed} True bad bad good"
    new = read_labels(mill.store, "own")[0]
    files = {"rows.jsonl": mill.store.read("labels/own/rows.jsonl")}
    write_folder(mill.store, new.asset, new.recipe, new.inputs, files, new.opened, {"rows": 3}, old=new)
    assert run(read) == "finished False bad bad good"  # older versions recorded no code


def test_texts_with_two_labels_are_told(mill: Mill, tmp_path: Path) -> None:
    labelled = brought(tmp_path, b"class,text\n0,fool\n1,hello\n1,fool\n")
    ledger, _ = make_labels(mill.store, labelled, mill.said.append)
    assert ledger.facts["rows with another label of the same text"] == 1
    assert "1 rows have the text of another row, and another label" in mill.said[-1]


class InTurn(FolderStore):
    """A lake in which another run acts right before this one writes the first object of a name."""

    def __init__(self, url: str, name: str, act: Callable[[], object]) -> None:
        super().__init__(url)
        self._name, self._act = name, act

    def put_if(self, path: str, data: bytes, etag: str | None, like: OldFile | None = None) -> Entry:
        self._run(path)
        return super().put_if(path, data, etag, like)

    def put(self, path: str, data: bytes) -> Entry:
        self._run(path)
        return super().put(path, data)

    def _run(self, path: str) -> None:
        if path.endswith(self._name):
            act, self._act = self._act, lambda: None
            act()


@pytest.mark.parametrize("name", ["rows.jsonl", "ledger.json"])
def test_of_two_runs_at_once_the_newer_writes_the_whole_set_and_the_older_stops(
    mill: Mill, tmp_path: Path, name: str
) -> None:
    """Both have other rows of one name, as two drafts have. The older stops before its first, or before its ledger."""
    first, second = b"class,text\nrude,fool\ncalm,hello\n", b"class,text\nrude,idiot\ncalm,good day\n"
    newer, older = brought(tmp_path, second), brought(tmp_path, first)

    def newer_run() -> None:
        (tmp_path / "remarks.csv").write_bytes(second)
        make_labels(mill.store, newer, mill.said.append)

    with pytest.raises(Superseded, match="labels/remarks: a newer run has taken it over"):
        make_labels(InTurn(mill.store.url, name, newer_run), older, mill.said.append)
    assert [text for _, _, text in rows(mill)] == ["idiot", "good day"]
    assert list(folder_findings(mill.store, "labels/remarks", mill.said.append)) == []
    assert not make_labels(mill.store, newer, mill.said.append)[1]


def test_who_was_overtaken_while_it_worked_changes_nothing(mill: Mill, tmp_path: Path) -> None:
    first, second = b"class,text\nrude,fool\ncalm,hello\n", b"class,text\nrude,idiot\ncalm,good day\n"
    newer, older = brought(tmp_path, second), brought(tmp_path, first)

    def newer_run() -> None:
        (tmp_path / "remarks.csv").write_bytes(second)
        make_labels(mill.store, newer, mill.said.append)

    with pytest.raises(Conflict, match=r"labels/remarks/ledger\.json: another run wrote it meanwhile"):
        make_labels(InTurn(mill.store.url, "writing.json", newer_run), older, mill.said.append)
    assert [text for _, _, text in rows(mill)] == ["idiot", "good day"]
    assert not is_being_written(mill.store, "labels/remarks")


def test_a_set_whose_run_was_killed_as_it_wrote_is_made_again(mill: Mill, tmp_path: Path) -> None:
    labelled = brought(tmp_path, b"class,text\nrude,fool\ncalm,hello\n")
    ledger, _ = make_labels(mill.store, labelled, mill.said.append)
    mill.store.put("labels/remarks/writing.json", b'{"token":"killed"}')
    assert model_state(mill.store, labelled).state == "missing"
    assert [each.path for each in folder_findings(mill.store, ledger.asset, mill.said.append)] == [
        "labels/remarks/writing.json"
    ]
    assert make_labels(mill.store, labelled, mill.said.append) == (ledger, False)  # it was killed before, or at the end
    assert model_state(mill.store, labelled).state == "finished"
    mill.store.put("labels/remarks/writing.json", b'{"token":"killed"}')
    mill.store.put("labels/remarks/rows.jsonl", b"{}")
    assert make_labels(mill.store, labelled, mill.said.append) == (ledger, True)
    assert list(folder_findings(mill.store, ledger.asset, mill.said.append)) == []
