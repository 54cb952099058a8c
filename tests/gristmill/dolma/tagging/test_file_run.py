from pathlib import Path

import pytest

from gristmill.dolma.tagging.attribute_folder import AttributeFolder
from gristmill.dolma.tagging.file_run import FilePlan, hold_folder_claims
from gristmill.dolma.tagging.inputs import Inputs
from gristmill.dolma.tagging.paths import tagged_files
from gristmill.dolma.tagging.records import MANIFEST, FileRecord, RecordedUpload, open_output_folder
from gristmill.dolma.tagging.run_claim import RUNS
from gristmill.errors import DataError


def folders(home: Path) -> list[AttributeFolder]:
    """Two folders of outputs, each for the same file of documents."""
    if not (home / "documents").exists():
        (home / "documents").mkdir()
        (home / "documents/a.jsonl").write_text("{}\n")
    found = []
    for name in ("one", "two"):
        files, _ = tagged_files([f"{home}/documents/*"], [str(home / name)], {})
        folder = AttributeFolder(str(home / name), "gristmill dolma tag", "e", {"t": "1"}, "r", files)
        found.append(folder.looked_up({}, Inputs(files, []), force=False))
    return found


def claims(home: Path) -> int:
    return len(list(home.glob(f"*/{RUNS}/*")))


def write(folder: AttributeFolder) -> None:
    (file,) = folder.files
    record = FileRecord(file.url, file.version, folder.recipe_of_file(file.name))
    upload = RecordedUpload(open_output_folder(folder.root, {}), file.name, record, foreign=False)
    upload.write(b"{}")
    upload.publish("0" * 64)


def test_folders_are_concluded_after_the_work(tmp_path: Path) -> None:
    with hold_folder_claims(folders(tmp_path), {}) as begun:
        assert claims(tmp_path) == 2
        for folder in begun:
            write(folder)
    assert claims(tmp_path) == 0
    assert len(list(tmp_path.glob(f"*/{MANIFEST}"))) == 2
    assert FilePlan(folders=folders(tmp_path), missed=()).done_count == 2


def test_after_an_error_no_claim_and_no_manifest_is_left_and_what_was_written_is_done(tmp_path: Path) -> None:
    def work() -> None:
        with hold_folder_claims(folders(tmp_path), {}) as begun:
            write(begun[0])
            raise DataError("a row")

    with pytest.raises(DataError, match="a row"):
        work()
    assert claims(tmp_path) == 0
    assert not list(tmp_path.glob(f"*/{MANIFEST}"))
    assert FilePlan(folders=folders(tmp_path), missed=()).done_count == 1
