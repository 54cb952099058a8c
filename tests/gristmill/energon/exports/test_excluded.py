from dataclasses import replace
from pathlib import Path

import pytest
from energonlake import INDEX, close, excluded, export, found, indexed, records, start

from gristmill.energon.recipes.exports import EnergonWebdataset
from gristmill.errors import DataError

TEXT = EnergonWebdataset(parts={"txt": "text"})


def test_a_recipe_excludes_tars_and_samples_that_are_there(tmp_path: Path) -> None:
    mill = start(tmp_path / "lake")
    export(mill, TEXT)
    one, other = (part.folder.removeprefix("exports/blend/energon/") for part in records(mill).values())
    tar, digest = f"{one}train-00000.tar", other.rstrip("/").rpartition("-")[2]
    sample = f"{other}train-00000.tar/{digest}-000009"
    declared = replace(TEXT, exclude=(tar, sample))
    close(mill, declared)
    assert sorted(excluded(mill)) == sorted([f"../../{tar}", f"../../{sample}"])
    assert [(tar, number) for tar, _, number in indexed(mill)] == [(1, number) for number in range(9)]
    assert found(mill, f"{INDEX}/ledger.json") == []
    with pytest.raises(DataError, match="the release has no such tar"):
        close(mill, replace(TEXT, exclude=("pages/2024/part-1/train-00000.tar",)))
    with pytest.raises(DataError, match="this tar has no such sample"):
        close(mill, replace(TEXT, exclude=(sample + "9",)))
