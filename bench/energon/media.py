"""Media metadata of a plain folder and of a tar: our `prepare-media` beside that of the real tool, by endings of names.

Start-up and imports are not counted; processes that are started are. The rows are compared before the times are.
"""

import io
import shutil
import sqlite3
import sys
import tarfile
import wave
from pathlib import Path

from PIL import Image

from bench.energon.indexing import REAL, ROUNDS, measured
from bench.harness.cost import ROOT, Cost
from bench.harness.environments import energon
from bench.harness.row import Row

FILES = 3000
"""Of ten files six are JPEG, two PNG, one WAV and one text."""


def run(work: Path, files: int = FILES) -> list[Row]:
    """Two rows; `work` is an empty folder."""
    contents = _contents()
    folder = work / "folder" / "ours"
    folder.mkdir(parents=True)
    for number in range(files):
        ending, data = contents[number % len(contents)]
        (folder / f"{number:06}.{ending}").write_bytes(data)
    tars = work / "tars" / "ours"
    tars.mkdir(parents=True)
    with tarfile.open(tars / "0.tar", "w") as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, path.name)
    measured([sys.executable, "-m", "bench.energon.our_media", "prepare", tars], ROOT)
    return [_row("a folder", folder.parent, files), _row("a tar", tars.parent, files)]


def _contents() -> list[tuple[str, bytes]]:
    """Ten small files: photos of 320 x 240, drawings of 128 x 128, half a second of sound, text."""
    photo = Image.linear_gradient("L").resize((320, 240)).convert("RGB")
    sound = io.BytesIO()
    with wave.open(sound, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(bytes(16_000))
    images = [("jpg", photo, "JPEG")] * 6 + [("png", photo.resize((128, 128)), "PNG")] * 2
    found = []
    for ending, image, kind in images:
        out = io.BytesIO()
        image.save(out, kind)
        found.append((ending, out.getvalue()))
    return [*found, ("wav", sound.getvalue()), ("txt", b"A caption.")]


def _row(name: str, work: Path, files: int) -> Row:
    shutil.copytree(work / "ours", work / "real")
    theirs = _best([energon(), REAL, "media", work / "real"], work / "real")
    ours = _best([sys.executable, "-m", "bench.energon.our_media", "media", work / "ours"], work / "ours")
    found = _rows(work / "ours")
    return Row(
        name=f"media metadata of {files:,} files in {name}",
        ours=ours,
        peer=theirs,
        peer_name="energon 7.4.1",
        bar="no more CPU",
        met=ours.cpu_s <= theirs.cpu_s,
        agree=len(found) == files * 9 // 10 and found == _rows(work / "real"),
        note=f"{len(found) / ours.cpu_s:,.0f} media per CPU second",
    )


def _best(command: list[str | Path], folder: Path) -> Cost:
    """The best of several runs. Each begins with the index as it was."""
    index = folder / ".nv-meta" / "index.sqlite"
    before = index.read_bytes() if index.exists() else None
    costs = []
    for _ in range(ROUNDS):
        if before is None:
            index.unlink(missing_ok=True)
        else:
            index.write_bytes(before)
        costs.append(measured(command, ROOT)[0])
    return min(costs, key=lambda cost: cost.cpu_s)


def _rows(folder: Path) -> list[tuple[str, str, str]]:
    db = sqlite3.connect(folder / ".nv-meta" / "index.sqlite")
    rows = db.execute("SELECT entry_key, metadata_type, metadata_json FROM media_metadata ORDER BY 1").fetchall()
    db.close()
    return rows
