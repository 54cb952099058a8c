"""A labelled set of two editions: killed before each change, or written by two at once, it is one of them and whole."""

import hashlib
import shutil
from functools import partial
from pathlib import Path

import pytest
from dying import at_once, deaths
from testkit import Mill

from gristmill.readers.delimited import DelimitedRows
from gristmill.recipes.models.labelled_set import LabelledSet
from gristmill.stages.models.labels import make_labels
from gristmill.stages.models.proof import folder_findings

pytestmark = pytest.mark.slow

Tree = dict[str, bytes]


def edition(folder: Path, *words: str) -> LabelledSet:
    """A set of these texts."""
    data = "\n".join(["class,text", *(f"{'rude' if n % 2 else 'calm'},{word}" for n, word in enumerate(words)), ""])
    file = folder / f"{words[0]}.csv"
    file.write_text(data)
    read = DelimitedRows(source="remarks", id_key=None)
    sha256 = hashlib.sha256(data.encode()).hexdigest()
    return LabelledSet(name="remarks", file=str(file), sha256=sha256, read=read, label="class")


def made(mill: Mill, labelled: LabelledSet) -> None:
    make_labels(mill.store, labelled, print)


def tree(mill: Mill) -> Tree:
    assert list(folder_findings(mill.store, "labels/remarks", print)) == []
    return {each.path: mill.store.read(each.path) for each in mill.store.list("")}


@pytest.fixture
def editions(tmp_path: Path) -> tuple[LabelledSet, LabelledSet]:
    return edition(tmp_path, "hello", "fool"), edition(tmp_path, "good day", "idiot", "welcome", "dolt")


def undisturbed(folder: Path, labelled: LabelledSet) -> Tree:
    folder.mkdir()
    made(mill := Mill(folder), labelled)
    return tree(mill)


@pytest.mark.parametrize("again", [0, 1])
def test_killed_over_another_edition_it_is_made_as_if_undisturbed(
    tmp_path: Path, editions: tuple[LabelledSet, LabelledSet], again: int
) -> None:
    """The run dies as it writes the second edition over the first. Then the first or the second is asked for."""
    expected = undisturbed(tmp_path / "whole", editions[again])
    mill, died = Mill(tmp_path / "lake"), 0

    def before() -> None:
        shutil.rmtree(mill.root, ignore_errors=True)
        mill.root.mkdir()
        made(mill, editions[0])

    for died in deaths(mill.root, lambda: made(mill, editions[1]), before):
        made(mill, editions[again])
        assert tree(mill) == expected, f"after the death before change {died}"
    assert died > 3


def test_of_two_editions_that_are_written_at_once_one_is_there_and_whole(
    tmp_path: Path, editions: tuple[LabelledSet, LabelledSet]
) -> None:
    expected = [undisturbed(tmp_path / f"whole-{number}", each) for number, each in enumerate(editions)]
    for number in range(10):
        folder = tmp_path / f"lake-{number}"
        folder.mkdir()
        mill = Mill(folder)
        at_once(folder, *(partial(made, mill, each) for each in editions))
        assert tree(mill) in expected
