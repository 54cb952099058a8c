"""An export over S3: the same bytes as in a folder, and a plan that finds nothing to do."""

from pathlib import Path

import energonlake
import exported
import pytest
from seaweed import Seaweed
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.energon.preparing.lint import LintOptions
from gristmill.energon.preparing.metadataset.check import check_metadataset
from gristmill.energon.preparing.metadataset.leaves import open_metadataset
from gristmill.energon.recipes.exports import EnergonJsonl, EnergonWebdataset
from gristmill.recipes.export import ExportFormat
from gristmill.stages.mixing.step import stream_step
from gristmill.verification.audit import audit_ledger


def exports(mill: Mill) -> dict[str, bytes]:
    return {path: data for path, data in mill.tree().items() if path.startswith("exports/")}


@pytest.mark.slow
def test_a_bucket_and_a_folder_have_the_same_export(seaweed: Seaweed, tmp_path: Path) -> None:
    remote = Mill(tmp_path, seaweed.url("export"), seaweed.options)
    remote.raw_shards(2)
    remote.convert()
    remote.make(stream_step(exported.mix_of(), "pages", SNAPSHOT, SHELVES))
    exported.export(remote)
    exported.close(remote)
    assert exported.why(remote) == ()
    local = exported.start(tmp_path / "local")
    exported.export(local)
    exported.close(local)
    assert exports(remote) == exports(local)


@pytest.mark.slow
@pytest.mark.parametrize(
    "declared",
    [EnergonJsonl(file_bytes=1_000_000), EnergonWebdataset(parts={"txt": "text"})],
    ids=lambda each: each.type,
)
def test_a_bucket_and_a_folder_have_the_same_export_to_energon(
    seaweed: Seaweed, tmp_path: Path, declared: ExportFormat
) -> None:
    remote = Mill(tmp_path, seaweed.url(declared.type), seaweed.options)
    remote.raw_shards(2)
    for mill in (energonlake.mixed(remote), energonlake.start(tmp_path / "local")):
        energonlake.export(mill, declared)
        energonlake.close(mill, declared)
        assert energonlake.why(mill, declared) == ()
        assert audit_ledger(mill.store, f"{energonlake.INDEX}/ledger.json", print) == []
    metadataset = open_metadataset(f"{remote.lake.url}/{energonlake.INDEX}", seaweed.options)
    assert metadataset is not None
    checked = check_metadataset(metadataset, LintOptions(), lambda _: None)
    assert (checked.datasets, checked.samples, checked.flaws) == (1, 20, [])
    assert exports(remote) == exports(mill)
