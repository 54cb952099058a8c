"""Real OSCAR there and back: 28 documents of 22.01 become documents, a mix, an export and a release again."""

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from testkit import Mill

from gristmill.lake.address import export_index, mix_asset, place
from gristmill.lake.ledger.files import read_ledger
from gristmill.recipes.export import Export, Oscar
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.shelf import find_recipe
from gristmill.recipes.source import Source
from gristmill.stages.conversion.step import ConversionStep
from gristmill.stages.export.index import index_export
from gristmill.stages.export.release import read_release
from gristmill.stages.export.step import ExportStep
from gristmill.stages.mixing.step import stream_step
from gristmill.verification.audit import audit_ledger, ledger_paths_to_audit

PACKAGES = ("gristmill", "sampleshelf")
SNAPSHOT = "2021-09"
DATA = os.environ.get("GRISTMILL_SAMPLE_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="GRISTMILL_SAMPLE_DATA is not set")


def mix_of(rate: float = 1.0) -> Mix:
    return Mix(name="blend", streams=(Stream(source="oscar-2201", version="v0", rate=rate),))


def release(mill: Mill, mix: Mix, declared: Oscar) -> Path:
    """Makes the mix, its export and its release; the release's folder."""
    source = find_recipe("sources", Source, PACKAGES, "oscar-2201")
    mill.make(ConversionStep(source, SNAPSHOT, PACKAGES))
    [stream] = mix.streams
    mill.make(stream_step(mix, stream.key, SNAPSHOT, PACKAGES))
    export = Export(name="oscar", mixes=(mix.name,), format=declared)
    mill.make(ExportStep(mix, stream.key, export, SNAPSHOT, PACKAGES))
    index_export(mill.store, mix, export, {stream.key: source}, {stream.key: [SNAPSHOT]})
    found = read_release(mill.store, export_index(mix.name, export.name))
    assert found is not None
    return mill.root / found.folder


def originals(language: str) -> list[bytes]:
    """The real lines of a language, in their order."""
    folder = Path(DATA or "") / "raw" / "oscar" / SNAPSHOT / language
    files = sorted(folder.glob("*.jsonl.gz"))
    return [line for file in files for line in gzip.decompress(file.read_bytes()).splitlines(keepends=True)]


@pytest.mark.parametrize(
    ("most", "english"), [(1 << 30, ["en.jsonl.gz"]), (1, ["en_part_1.jsonl.gz", "en_part_2.jsonl.gz"])]
)
def test_real_documents_come_back_byte_for_byte(tmp_path: Path, most: int, english: list[str]) -> None:
    mill = Mill(tmp_path)
    folder = release(mill, mix_of(), Oscar(part_bytes=most))
    files = {"en": english, "fr": ["fr.jsonl.gz"], "zh": ["zh.jsonl.gz"]}
    assert sorted(each.name for each in folder.iterdir()) == sorted(files)
    sha256sum = shutil.which("sha256sum")
    assert sha256sum
    for language, names in files.items():
        there = folder / language
        assert sorted(each.name for each in there.iterdir()) == sorted([*names, f"{language}_sha256.txt"])
        lines = b"".join(gzip.decompress((there / name).read_bytes()) for name in names).splitlines(keepends=True)
        assert lines == originals(language)
        command = [sha256sum, "-c", "--strict", f"{language}_sha256.txt"]
        done = subprocess.run(command, cwd=there, capture_output=True, check=False)
        assert (done.returncode, done.stdout.decode()) == (0, "".join(f"{name}: OK\n" for name in names))
    for path in ledger_paths_to_audit(mill.store):
        assert audit_ledger(mill.store, path, mill.said.append) == []


def test_a_mix_that_drops_documents_keeps_the_lines_of_the_others(tmp_path: Path) -> None:
    mill = Mill(tmp_path)
    folder = release(mill, mix_of(0.5), Oscar())
    head, _ = read_ledger(mill.store, place(mix_asset("blend", "oscar-2201"), SNAPSHOT))
    packed = [name.read_bytes() for name in folder.glob("*/*.jsonl.gz")]
    kept = [line for data in packed for line in gzip.decompress(data).splitlines(keepends=True)]
    assert 0 < len(kept) == head.totals["rows"] < 28
    assert set(kept) < {line for language in ("en", "fr", "zh") for line in originals(language)}
