"""Folders of small tars, and what a command says about them."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path


def write_tar(path: Path, members: Mapping[str, bytes] | list[tuple[str, bytes]]) -> Path:
    """A tar with these files, in this order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, data in members.items() if isinstance(members, Mapping) else members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def write_shards(folder: Path, shards: int = 4, samples: int = 3) -> list[Path]:
    """Shards `shards/0.tar` and so on; sample 1 of shard 0 has the key `0-1`, and the parts txt and json."""
    return [
        write_tar(
            folder / "shards" / f"{shard}.tar",
            {
                f"{shard}-{sample}.{part}": f'{{"n": {sample}}}'.encode()
                for sample in range(samples)
                for part in ("txt", "json")
            },
        )
        for shard in range(shards)
    ]


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
