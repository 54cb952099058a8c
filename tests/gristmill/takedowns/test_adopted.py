"""Adopted files stay where others have made them: a search names these files, and an erasure tells what is left."""

from pathlib import Path

from adoptions import adopt, document, write_rows
from testkit import SHELVES, Mill

from gristmill.recipes.adopted.dataset import Adopted
from gristmill.takedowns.erasing.erasure_plan import plan_erasure
from gristmill.takedowns.finder import Finder
from gristmill.takedowns.wanted import Wanted
from gristmill.tracing.raw import Shelves


def test_places_in_adopted_files_name_these_files(mill: Mill, tmp_path: Path) -> None:
    ids = ["a", "b", "c"]
    documents = write_rows(tmp_path / "d/documents/0.json.gz", map(document, ids))
    labels = write_rows(tmp_path / "d/attributes/q/0.json.gz", ({"id": each, "attributes": {}} for each in ids))
    adopt(mill, Adopted(name="dolma", root=str(tmp_path / "d"), sets=("q",)))
    wanted, shelves = Wanted({("web", "b"): ""}), Shelves(SHELVES, {})
    search = Finder(mill.store, wanted, shelves).run()
    assert [each.where for each in search.found if each.area != "raw"] == [f"{documents}: row 1", f"{labels}: row 1"]
    left = plan_erasure(mill.store, wanted, search, shelves).impossible
    assert [(each.where, each.why.partition(":")[0]) for each in left][1:] == [(f"{labels}: row 1", "adopted")]
