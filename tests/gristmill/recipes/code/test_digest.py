"""The digest of a recipe's code: which edits change it, and which do not. Each package is new, so it is imported."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gristmill.errors import RecipeError
from gristmill.lake.ledger.code import Code
from gristmill.recipes.code.digest import check_same_output, check_worker, code_of
from gristmill.recipes.shelf import read_shelf
from gristmill.recipes.tagger import Tagger

HELPER = "LIMIT = 3\n"
TAGGER = '''"""Counts words."""
from gristmill.recipes.tagger import Tagger
from {package}._limits import LIMIT

UNUSED = 1

def tag(document):
    """The words."""
    return {{"words": float(min(LIMIT, len(document.text.split())))}}

TAGGER = Tagger(name="words-1", document=tag, description="words")
'''
_numbers = itertools.count()


class Desk:
    """Writes a package with one tagger, and gives the digest of its code."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def package(self, tagger: str = TAGGER, helper: str = HELPER) -> str:
        name = f"codemill{next(_numbers)}"
        for path, text in (("__init__", ""), ("_limits", helper), ("taggers/__init__", ""), ("taggers/words", tagger)):
            file = self.folder / name / f"{path}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.format(package=name) if text is tagger else text)
        return name

    def tagger(self, package: str) -> Tagger:
        return read_shelf("taggers", Tagger, (package,))["words-1"]

    def digest(self, tagger: str = TAGGER, helper: str = HELPER, field: str = "digest") -> str:
        """The digest, without the name of the package, which is another each time."""
        package = self.package(tagger, helper)
        script = (
            "import sys; from gristmill.recipes.shelf import read_shelf; from gristmill.recipes.tagger import Tagger;"
            " from gristmill.recipes.code.digest import code_of;"
            f"print(code_of(read_shelf('taggers', Tagger, ('mill',))['words-1']).{field})"
        )
        (self.folder / package).rename(self.folder / "mill")
        words = (self.folder / "mill" / "taggers" / "words.py").read_text().replace(package, "mill")
        (self.folder / "mill" / "taggers" / "words.py").write_text(words)
        answer = subprocess.run(
            [sys.executable, "-B", "-c", script], cwd=self.folder, check=True, capture_output=True, text=True
        )
        (self.folder / "mill").rename(self.folder / package)
        return answer.stdout.strip()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).resolve().parents[4]}:{tmp_path}")
    return Desk(tmp_path)


@pytest.mark.slow
def test_edits_that_change_no_output_change_no_digest(desk: Desk) -> None:
    plain = desk.digest()
    assert len(plain) == 64
    edited = TAGGER.replace("Counts words.", "Counts.").replace("The words.", "It.").replace("UNUSED = 1", "# 2")
    assert desk.digest(edited.replace('description="words"', 'description="more", draft=True')) == plain


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new"), [("min(", "max("), ('"words":', '"word":'), ("LIMIT, len", "2, len")])
def test_edits_of_the_function_change_the_digest(desk: Desk, old: str, new: str) -> None:
    assert desk.digest(TAGGER.replace(old, new)) != desk.digest(TAGGER)


@pytest.mark.slow
def test_a_statement_that_fills_a_table_and_binds_a_name_changes_the_digest_and_not_the_former_one(desk: Desk) -> None:
    text = TAGGER.replace("UNUSED = 1", "WORDS = {{}}\nfor each in ('a', 'b'):\n    WORDS[each] = 1").replace(
        "min(LIMIT", "min(LIMIT + len(WORDS)"
    )
    edited = text.replace("'b'", "'c'")
    assert desk.digest(text) != desk.digest(edited)
    assert desk.digest(text, field="former[-1]") == desk.digest(edited, field="former[-1]")
    assert [desk.digest(each, field="wider") for each in (text, TAGGER)] == ["True", "False"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("declared", "old", "new"),
    [
        ('Tagger(name="words-1", document=tag, description=fill("a"))', '"a"', '"b"'),
        ('made(name="words-1", document=tag, limit=1)', "limit=1", "limit=2"),
        ('made(name="words-1", document=tag, limit=1)', "+ limit", "- limit"),
    ],
)
def test_what_the_call_of_a_declaration_does_changes_the_digest_and_not_the_former_ones(
    desk: Desk, declared: str, old: str, new: str
) -> None:
    made = "Tagger(name=name, document=lambda document: {{'words': len(document.text) + limit}})"
    before = (
        "WORDS = []\ndef fill(word):\n    WORDS.append(word)\n    return 'words'\n"
        f"def made(name, document, limit): return {made}\n"
    )
    text = TAGGER.replace("UNUSED = 1\n", before).replace("min(LIMIT", "min(LIMIT + len(WORDS)")
    text = text.replace('Tagger(name="words-1", document=tag, description="words")', declared)
    edited = text.replace(old, new)
    assert edited != text
    assert desk.digest(text) != desk.digest(edited)
    assert desk.digest(text, field="former") == desk.digest(edited, field="former")
    assert desk.digest(text, field="wider") == "True"


@pytest.mark.slow
def test_the_former_digests_are_those_that_ledgers_of_0_2_have(desk: Desk) -> None:
    before = "afd96fb081e75bdff9c04cc6cec5ab0b30da8107ecb57ba0da59b1178ed67237"
    later = "3b304660155d5f95cfe5b188d2605edc15d5005050cca284eb2b2c8f1b447d7c"
    assert desk.digest(field="former") == str((later, before))
    assert desk.digest() not in {later, before}


@pytest.mark.slow
def test_a_module_that_is_imported_for_what_it_does_counts(desk: Desk) -> None:
    text = TAGGER.replace("UNUSED = 1", "from besidemill import words")
    file = desk.folder / "besidemill.py"
    file.write_text("words = 1\n")
    before = desk.digest(text)
    file.write_text("words = 2\n")
    assert desk.digest(text) != before
    file.unlink()
    used = text.replace("import words", "import words\nRULES = words")
    file.write_text("words = 1\n")
    before = desk.digest(used)
    file.write_text("words = 2\n")
    assert desk.digest(used) == before  # a table of rules in a module of its own


@pytest.mark.slow
def test_a_recipe_that_a_function_makes_counts_beside_a_call_that_looks_like_one(desk: Desk) -> None:
    """`open` is the keyword of a function in a recipe."""
    made = "def made(limit): return Tagger(name='words-1', document=lambda document: {{'words': float(limit)}})\n"
    text = TAGGER.replace("UNUSED = 1", f"{made}SHUT = dict(open=len)").partition("\nTAGGER =")[0]
    assert desk.digest(f"{text}\nTAGGER = made(3)\n") != desk.digest(f"{text}\nTAGGER = made(4)\n")


@pytest.mark.slow
def test_an_unused_name_in_an_import_changes_nothing(desk: Desk) -> None:
    helper = HELPER + "MORE = 1\n"
    assert desk.digest(TAGGER.replace("import LIMIT", "import LIMIT, MORE"), helper) == desk.digest(TAGGER, helper)


@pytest.mark.slow
def test_a_module_that_nests_too_deeply_counts_by_its_text(desk: Desk) -> None:
    deep = "LIMIT = " + " + ".join(["1"] * 2000) + "\n"
    assert desk.digest(helper=deep) == desk.digest(helper=deep) != desk.digest(helper=deep + "# more\n")


@pytest.mark.slow
def test_an_edit_of_an_imported_module_of_the_package_changes_the_digest(desk: Desk) -> None:
    assert desk.digest() != desk.digest(helper="LIMIT = 4\n")
    assert desk.digest() == desk.digest(helper="LIMIT = 3  # words\n")


@pytest.mark.slow
def test_an_edit_of_a_module_beside_the_package_changes_the_digest(desk: Desk) -> None:
    text = TAGGER.replace("from {package}._limits", "from besidemill")
    (desk.folder / "besidemill.py").write_text("LIMIT = 3\n")
    before = desk.digest(text)
    (desk.folder / "besidemill.py").write_text("LIMIT = 4\n")
    assert desk.digest(text) != before


def test_our_own_taggers_have_code_and_the_public_face_is_no_part_of_it() -> None:
    code = code_of(read_shelf("taggers", Tagger)["length-1"])
    assert (len(code.digest), code.module, code.problem) == (64, "gristmill.taggers.length", "")


def test_a_recipe_that_no_shelf_declares_has_no_known_code() -> None:
    assert code_of(Tagger(name="free-1", document=lambda document: {"a": float(len(document.text))})) == Code()


def test_a_file_that_was_edited_after_its_import_is_a_problem_and_no_digest(desk: Desk) -> None:
    package = desk.package()
    tagger = desk.tagger(package)
    before = code_of(tagger)
    assert before.problem == ""
    helper = desk.folder / package / "_limits.py"
    helper.write_text("LIMIT = 5\n")
    after = code_of(tagger)
    assert (after.digest, after.module) == ("", f"{package}.taggers.words")
    assert f"{helper} was edited after this process had imported it" in after.problem


def test_a_worker_with_other_code_is_refused() -> None:
    check_worker(Code("a", "mill.taggers.words"), "a")
    check_worker(Code("a", "mill.taggers.words"), "")
    with pytest.raises(RecipeError, match=r"mill\.taggers\.words: this worker has other code than the run"):
        check_worker(Code("b", "mill.taggers.words"), "a")
    with pytest.raises(RecipeError, match="edited"):
        check_worker(Code(problem="edited"), "a")


@pytest.mark.parametrize(("same", "reason"), [(True, ""), (False, "renamed"), (True, " ")])
def test_same_output_and_its_reason_stand_together(same: bool, reason: str) -> None:  # noqa: FBT001 - parametrized
    with pytest.raises(RecipeError, match="tagger 'a-1': give same_output=True and reason="):
        check_same_output("tagger 'a-1'", same_output=same, reason=reason)


def test_a_recipe_with_a_reason_hands_it_on(desk: Desk) -> None:
    text = TAGGER.replace("description=", 'same_output=True, reason="renamed", description=')
    assert code_of(desk.tagger(desk.package(text))).reason == "renamed"


def test_a_file_with_the_size_and_the_time_of_writing_of_before_is_edited_nevertheless(desk: Desk) -> None:
    package = desk.package()
    tagger = desk.tagger(package)
    helper = desk.folder / package / "_limits.py"
    before = helper.stat()
    helper.write_text("LIMIT = 4\n")
    os.utime(helper, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "was edited" in code_of(tagger).problem


def test_a_file_that_is_gone_is_edited(desk: Desk) -> None:
    package = desk.package()
    tagger = desk.tagger(package)
    assert code_of(tagger).problem == ""
    (desk.folder / package / "_limits.py").unlink()
    assert "_limits.py was edited" in code_of(tagger).problem
