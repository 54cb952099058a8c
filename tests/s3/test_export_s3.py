"""An export over S3: the same bytes as in a folder, and a plan that finds nothing to do."""

from pathlib import Path

import exported
from seaweed import Seaweed
from testkit import SHELVES, SNAPSHOT, Mill

from gristmill.stages.mixing.step import stream_step


def exports(mill: Mill) -> dict[str, bytes]:
    return {path: data for path, data in mill.tree().items() if path.startswith("exports/")}


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
