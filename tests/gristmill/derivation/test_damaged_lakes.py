"""What is damaged is a finding: all else is derived again, and the last lines are there."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import dedupelake
import dedupeshelf.dedupes
import pytest
from damages import DAMAGES, damaged, objects_by_kind
from powers import held_to_modes
from testkit import Mill
from wholelake import rewrite

from gristmill.__main__ import main
from gristmill.lake.address import documents_asset, place

pytestmark = pytest.mark.slow

ORDER = "dedupe/texts-1/order.json"
VERIFY = (
    "--all",
    "--raw",
    "--reconvert",
    "1",
    "--retag",
    "1",
    "--remix",
    "1",
    "--shelves",
    "gristmill,testshelf,twice",
)
WORDS = place(documents_asset("pages", "v0"), "b")


@pytest.fixture(scope="module", autouse=True)
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The package `twice`: those recipes of the shelf of dedupes that read pages alone."""
    folder = tmp_path_factory.mktemp("shelf") / "twice" / "dedupes"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    for each in dedupeshelf.dedupes.__path__:
        for name in ("texts", "near", "confirmed"):
            shutil.copy(Path(each) / f"{name}.py", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder.parent.parent))
        yield


@pytest.fixture
def forged(mill: Mill) -> Mill:
    """Two snapshots that repeat each other, and a word that is not in the raw data."""
    dedupelake.put(mill, "a", "x", "one", "two")
    dedupelake.put(mill, "b", "y", "two", "six words")
    dedupelake.resolved(mill, "texts-1")
    rows = mill.lines(WORDS.shard("y"))
    rewrite(mill, WORDS, "y", [rows[0], rows[1].replace(b"words", b"wards")])
    return mill


def said(mill: Mill, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    capsys.readouterr()
    with held_to_modes():
        code = main(["verify", str(mill.root), *VERIFY])
    told = capsys.readouterr()
    assert code == 1, told.err
    return code, told.out.splitlines()


def swapped(file: Path) -> None:
    order = json.loads(file.read_bytes())
    order["entries"].reverse()
    file.write_text(json.dumps(order))


@pytest.mark.parametrize(
    "damage", [swapped, lambda file: file.write_bytes(b"{"), *(DAMAGES[each] for each in ("cut", "a link to itself"))]
)
def test_a_damaged_order_hides_no_forged_word(
    forged: Mill, damage: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    damage(forged.root / ORDER)
    code, lines = said(forged, capsys)
    assert code == 1
    assert [line for line in lines if f"{WORDS.shard('y')}: row 1: id 'y1': its text differs" in line]
    assert len([line for line in lines if line.startswith("WRONG") and ORDER in line]) == 1
    hidden = [line for line in lines if line.endswith("not proven, a damaged object hides what makes it")]
    assert len(hidden) == 5  # runs and marks of two snapshots, and the verdicts of their round
    share, end = lines[-2:]
    assert " of all shards were derived again from raw data (documents " in share
    assert "hash runs 0.0%" in share
    assert end.startswith("10 of 14 ledgers and raw snapshots proven, ")


@pytest.mark.parametrize("damage", ["cut"])
def test_without_all_it_is_the_last_line_but_one(forged: Mill, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    DAMAGES[damage](forged.root / ORDER)
    code = main(
        [
            "verify",
            str(forged.root),
            "--asset",
            "dedupe/texts-1/marks",
            *(word for word in VERIFY[1:] if word != "--raw"),
        ]
    )
    *_, wrong, end = capsys.readouterr().out.splitlines()
    assert (code, end) == (1, "stopped at the first finding (--all lists all)")
    assert wrong.startswith("WRONG  ")
    assert ORDER in wrong


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Mill:
    root = tmp_path_factory.mktemp("good") / "lake"
    root.mkdir()
    mill = Mill(root)
    dedupelake.put(mill, "2024", "a", "one two three", "one two three", "another text")
    dedupelake.put(mill, "2025", "b", "one two three", "a third text")
    dedupelake.resolved(mill, "near-1")
    return mill


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_object_of_any_kind_ends_nothing(good: Mill, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each damage meets another kind, and always a table, which everything downstream reads."""
    kinds = objects_by_kind(good)
    number = list(DAMAGES).index(damage)
    tables = [path for path in kinds[sorted(kinds)[number]] if path.endswith(".shards.jsonl.gz")]
    path = tables[0] if tables else kinds[sorted(kinds)[number]][0]
    with damaged(good, damage, [path]):
        code, lines = said(good, capsys)
    assert code == 1
    assert any(path in line for line in lines)
    assert lines[-1].endswith(" findings")
    assert " of all shards were derived again from raw data (" in lines[-2]
