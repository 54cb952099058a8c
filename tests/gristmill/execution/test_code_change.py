"""Edited code under an unchanged name, as people meet it: a package of recipes, and the real commands on it."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
SOURCE = '''"""Tales."""
from gristmill.lake.rows.document import Document
from gristmill.recipes.source import Source


def convert(raw):
    """One document."""
    yield Document(id=raw.name, text=raw.read().decode().upper(), source="tales")


TALES = Source(name="tales", convert=convert, draft=True)
'''
TAGGER = '''"""Words."""
from gristmill.recipes.tagger import Tagger


def tag(document):
    """The number of words."""
    return {"words": float(len(document.text.split()))}


WORDS = Tagger(name="words-1", document=tag, only=frozenset({"tales"}))
'''
EDITED = TAGGER.replace("document.text.split()", "list(document.text.split())")
NOTE = "sources/tales/v0/ledgers/attributes/words-1/2024.run.json"


class Shop:
    """A lake of one source with two shards, and the package with its recipes."""

    def __init__(self, folder: Path) -> None:
        self.lake, self.package = folder / "lake", folder / "codeshop"
        for name in ("sources/__init__", "taggers/__init__", "__init__"):
            self.write(name, "")
        self.write("sources/tales", SOURCE)
        self.write("taggers/words", TAGGER)
        raw = self.lake / "sources" / "tales" / "raw" / "2024"
        raw.mkdir(parents=True)
        (raw / "a.txt").write_text("one two")
        (raw / "b.txt").write_text("three")
        self.environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{folder}", "PYTHONDONTWRITEBYTECODE": "1"}

    def write(self, module: str, text: str) -> None:
        file = self.package / f"{module}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def command(self, *words: str) -> tuple[int, str]:
        line = [sys.executable, "-m", "gristmill", words[0], str(self.lake), *words[1:], "--shelves", "codeshop"]
        done = subprocess.run(line, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def make(self) -> tuple[int, str]:
        return self.command("make", "tales", "--engine", "inline")

    def texts(self) -> list[str]:
        """The texts of shard a in v1."""
        (shard,) = (self.lake / "sources" / "tales" / "v1" / "documents" / "2024").glob("a*.jsonl.gz")
        return [json.loads(line)["text"] for line in gzip.decompress(shard.read_bytes()).splitlines()]

    def note(self) -> dict[str, str]:
        codes: dict[str, str] = json.loads((self.lake / NOTE).read_text())["codes"]
        return codes


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    code, said = shop.make()
    assert code == 0, said
    return shop


def test_an_edited_tagger_is_refused_until_its_author_says_that_the_output_is_the_same(shop: Shop) -> None:
    (first,) = shop.note()
    shop.write("taggers/words", TAGGER.replace("The number of", "Counts"))
    assert shop.command("plan")[0] == 0
    shop.write("taggers/words", EDITED)
    code, said = shop.command("plan")
    assert (code, said.count("refused")) == (1, 2)  # the line, and the sum
    assert "words-1 (2024): the code of codeshop.taggers.words changed since it was made" in said
    code, said = shop.make()
    assert (code, "next number" in said) == (1, True)
    assert list(shop.note()) == [first]

    agreed = EDITED.replace("only=", 'same_output=True, reason="a list of it", only=')
    shop.write("taggers/words", agreed)
    code, said = shop.command("plan")
    assert (code, said.split(maxsplit=1)[0]) == (1, "note")
    assert "changed since; the output is the same: a list of it" in said
    assert shop.make()[0] == 0
    assert sorted(shop.note().values()) == ["", "a list of it"]
    assert shop.command("plan")[0] == 0

    shop.write("taggers/words", agreed.replace("float(", "1.0 * ("))
    code, said = shop.command("plan")
    assert (code, "again after the change with the reason 'a list of it'" in said) == (1, True)
    shop.write("taggers/words", TAGGER)  # the first code is on record
    assert shop.command("plan")[0] == 0


def test_a_changed_option_is_refused_even_if_the_recipe_says_that_the_output_is_the_same(shop: Shop) -> None:
    raw = shop.lake / "sources" / "poems" / "raw" / "2024"
    raw.mkdir(parents=True)
    (raw / "a.jsonl").write_text('{"id":"1","text":"a rose","title":"a name"}\n')
    poems = """from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.source import Source

POEMS = Source(name="poems", convert=JsonLines(source="poems", text_keys=("text",)))
"""
    shop.write("sources/poems", poems)
    code, said = shop.command("make", "poems", "--engine", "inline")
    assert code == 0, said
    agreed = poems.replace(")\n", ', same_output=True, reason="as before")\n')
    shop.write("sources/poems", agreed.replace('"text"', '"title"'))
    code, said = shop.command("plan", "poems")
    assert (code, "the options of JsonLines(...) in codeshop.sources.poems changed since it was made" in said) == (
        1,
        True,
    )


def test_a_draft_is_made_again_when_its_code_changes_and_a_ledger_without_codes_is_trusted(shop: Shop) -> None:
    shop.write("sources/tales", SOURCE.replace("upper()", "lower()"))
    code, said = shop.command("plan")
    assert (code, "v0/documents (2024): 2 to grind; the code of codeshop.sources.tales changed since" in said) == (
        1,
        True,
    )
    assert shop.make()[0] == 0
    assert shop.command("plan")[0] == 0

    note = shop.lake / NOTE
    note.write_text(json.dumps({k: v for k, v in json.loads(note.read_text()).items() if k != "codes"}))
    shop.write("taggers/words", EDITED)
    assert shop.command("plan")[0] == 0


def test_shards_of_an_interrupted_run_of_other_code_are_made_again(shop: Shop) -> None:
    """A run of edited code is killed after one of two shards, and the edit is taken back: no shard of it may stay."""
    before = {path.name: path.read_bytes() for path in (shop.lake / "sources/tales/v0/documents").rglob("*.gz")}
    edited = SOURCE.replace("upper()", "lower()").replace(
        "yield", 'import os; raw.name == "b.txt" and os._exit(9)\n    yield'
    )
    shop.write("sources/tales", edited)
    code, _ = shop.make()
    assert code == 9
    after = {path.name: path.read_bytes() for path in (shop.lake / "sources/tales/v0/documents").rglob("*.gz")}
    assert {name for name in before if before[name] != after[name]} == {"a.txt.jsonl.gz"}
    shop.write("sources/tales", SOURCE)
    code, said = shop.command("plan")
    assert (code, "1 to grind" in said, "1 to keep" in said) == (1, True, True)
    assert shop.make()[0] == 0
    whole = {path.name: path.read_bytes() for path in (shop.lake / "sources/tales/v0/documents").rglob("*.gz")}
    assert whole == before


def test_without_its_note_a_source_that_is_no_draft_is_not_overwritten_by_edited_code(shop: Shop) -> None:
    final = SOURCE.replace(", draft=True", "").replace("tales", "fables")
    (shop.lake / "sources" / "tales").rename(shop.lake / "sources" / "fables")
    shop.write("sources/tales", final)
    shop.write("taggers/words", TAGGER.replace("tales", "fables"))
    ledgers = shop.lake / "sources" / "fables" / "v0" / "ledgers" / "documents"
    for path in ledgers.iterdir():
        if path.is_file():
            path.unlink()
    assert shop.command("make", "fables", "--engine", "inline")[0] == 0
    head = (ledgers / "2024.json").read_bytes()
    (ledgers / "2024.run.json").unlink()
    shop.write("sources/tales", final.replace("upper()", "lower()"))
    code, said = shop.command("make", "fables", "--engine", "inline")
    assert (code, "the same inputs give other rows" in said) == (1, True)
    assert (ledgers / "2024.json").read_bytes() == head
    shop.write("sources/tales", final)
    assert shop.command("make", "fables", "--engine", "inline")[0] == 0
    assert (ledgers / "2024.json").read_bytes() == head
    assert json.loads((ledgers / "2024.run.json").read_bytes())["codes"] != {}


@pytest.mark.slow
def test_an_edited_transform_makes_its_shards_due_if_it_is_a_draft_and_is_refused_otherwise(shop: Shop) -> None:
    transform = """from gristmill.recipes.edits.transform import Transform

LOWER = Transform(name="lower-1", document=lambda document: document.text.lower(), draft=True)
"""
    shop.write("transforms/__init__", "")
    shop.write("transforms/lower", transform)
    revised = SOURCE.replace("import Source", "import Revision, Source").replace(
        "draft=True", 'draft=True, revisions=(Revision(version="v1", transforms=("lower-1",)),)'
    )
    shop.write("sources/tales", revised)
    code, said = shop.make()
    assert code == 0, said
    assert shop.texts() == ["one two"]

    shop.write("transforms/lower", transform.replace("lower()", "title()"))
    code, said = shop.command("plan")
    assert (code, "the code of codeshop.transforms.lower changed since" in said) == (1, True)
    assert shop.make()[0] == 0
    assert shop.texts() == ["One Two"]
    assert shop.command("plan")[0] == 0

    final = transform.replace("lower()", "title()").replace(", draft=True", "")
    shop.write("transforms/lower", final)
    shop.write("sources/tales", revised.replace("draft=True, ", ""))
    assert shop.make()[0] == 0
    shop.write("transforms/lower", final.replace("title()", "upper()"))
    code, said = shop.make()
    assert (code, "Declare the change under the next number" in said) == (1, True)
    assert shop.texts() == ["One Two"]


LOOP = '''"""Fruit."""
from gristmill.recipes.tagger import Tagger

FRUIT = {}
for each in ("apple",):
    FRUIT[each] = 1


def tag(document):
    return {"words": float(sum(word in FRUIT for word in document.text.split()))}


WORDS = Tagger(name="words-1", document=tag, only=frozenset({"tales"}))
'''


def as_before(shop: Shop, version: int = -1) -> None:
    """Writes the digest of an earlier version into the note: 0 for the last, -1 for the first."""
    script = (
        "from gristmill.recipes.shelf import read_shelf; from gristmill.recipes.tagger import Tagger;"
        " from gristmill.recipes.code.digest import code_of;"
        f"print(code_of(read_shelf('taggers', Tagger, ('codeshop',))['words-1']).former[{version}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=shop.environment, capture_output=True, text=True, check=True
    )
    note = shop.lake / NOTE
    note.write_text(json.dumps({**json.loads(note.read_text()), "codes": {done.stdout.strip(): ""}}))


def test_a_loop_that_fills_a_table_is_code_and_a_ledger_of_an_earlier_version_learns_it_by_its_note_alone(
    shop: Shop,
) -> None:
    (first,) = shop.note()
    for version in (0, -1):
        as_before(shop, version)
        assert first not in shop.note()
        assert shop.command("plan")[0] == 0  # no statement counts that did not count

    shop.write("taggers/words", LOOP)
    (shop.lake / NOTE).with_name("2024.json").unlink()
    code, said = shop.make()
    assert code == 0, said
    (loop,) = shop.note()
    as_before(shop)
    sets = shop.lake / "sources/tales/v0/attributes/words-1/2024"
    before = {path.name: path.stat() for path in sets.iterdir()}
    code, said = shop.command("plan")
    assert (code, "note" in said, "more statements of codeshop.taggers.words count as its code" in said) == (
        1,
        True,
        True,
    )
    assert shop.make()[0] == 0
    assert list(shop.note()) == [loop]
    assert {path.name: path.stat() for path in sets.iterdir()} == before
    assert shop.command("plan")[0] == 0

    shop.write("taggers/words", LOOP.replace("apple", "berry"))
    code, said = shop.command("plan")
    assert (code, "the code of codeshop.taggers.words changed since it was made" in said) == (1, True)


def test_the_reason_of_one_transform_does_not_excuse_the_edit_of_another(shop: Shop) -> None:
    """Both are edited. Only the first says that its output is the same."""
    transform = """from gristmill.recipes.edits.transform import Transform

IT = Transform(name="NAME-1", document=lambda document: document.text.replace("OLD", "NEW"))
"""
    one = transform.replace("NAME", "aa").replace("OLD", "ONE").replace("NEW", "eins")
    two = transform.replace("NAME", "bb").replace("OLD", "TWO").replace("NEW", "zwei")
    shop.write("transforms/__init__", "")
    shop.write("transforms/aa", one)
    shop.write("transforms/bb", two)
    revised = SOURCE.replace("import Source", "import Revision, Source").replace(
        "draft=True", 'revisions=(Revision(version="v1", transforms=("bb-1", "aa-1")),)'
    )
    shop.write("sources/tales", revised)
    assert shop.make()[0] == 0
    assert shop.texts() == ["eins zwei"]

    agreed = one.replace("document.text", "str(document.text)").replace('"))', '"), same_output=True, reason="a str")')
    shop.write("transforms/aa", agreed)
    code, said = shop.command("plan")
    assert (code, "codeshop.transforms.aa changed since; the output is the same: aa-1: a str\n" in said) == (1, True)
    shop.write("transforms/bb", two.replace("zwei", "dos"))
    code, said = shop.make()
    assert (code, "the code of codeshop.transforms.bb changed since it was made. Declare" in said) == (1, True)

    shop.write("transforms/bb", two.replace("zwei", "dos").replace('"))', '"), draft=True)'))
    assert shop.make()[0] == 1  # what is no draft does not become one
    shop.write("transforms/bb", two)
    assert shop.make()[0] == 0
    assert shop.texts() == ["eins zwei"]
    note = shop.lake / "sources/tales/v1/ledgers/documents/2024.run.json"
    assert sorted(json.loads(note.read_bytes())["codes"].values()) == ["", "aa-1: a str"]
