"""Makes the same lakes with two checkouts, and lists every difference: `compare_lakes.py OLD NEW [LAKE]`.

The first lake is the demo's, in its offline form. The second is that of the shelf `oldshelf`: blocklists, packed text,
conversations, rows that others built, two years in turn, a packing plan, consolidated copies. Both checkouts make them
at the same address from the same raw data. Objects are compared byte by byte, but for those in OWN. Renamed counters
and reasons of RENAMED are no difference. The exit code is 1 if there is one.
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from versions import Checkout

from gristmill.lake.ledger.renamed import RENAMED

OWN = ("lake.json", ".run.json")
"""How the names of objects end that are each lake's own: its id, and notes about runs."""

DIGESTS = {"quarantine": {"sha256", "bytes"}, "table": {"sha256"}}
"""What a ledger says of objects that hold such names."""
COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "demo": [("scripts.demo", "--offline")],
    "shelf": [
        *(("oldshelf.make", *command.split()) for command in ("arrive 2024", "grind", "pack")),
        *(("oldshelf.make", *command.split()) for command in ("arrive 2025", "grind", "copy", "pack")),
    ],
}


def main(old: str, new: str, *lakes: str) -> int:
    """The exit code; all lakes, or those that are named."""
    differences = 0
    with tempfile.TemporaryDirectory() as name:
        for lake in lakes or COMMANDS:
            folders = [made(Path(root), Path(name), lake, which) for root, which in ((old, "old"), (new, "new"))]
            found = list(compared(*folders))
            differences += len(found)
            objects = sum(path.is_file() for path in folders[0].rglob("*"))
            sys.stdout.write(f"{lake}: {objects} objects, {len(found)} differences\n")
            sys.stdout.writelines(f"  {line}\n" for line in found)
    return 1 if differences else 0


def made(checkout: Path, folder: Path, lake: str, which: str) -> Path:
    """A lake by a checkout; made at an address that all share, then moved away."""
    here = folder / "lake"
    program = Checkout(checkout, folder / f"{lake}-{which}-dagster", str(here))
    for command in COMMANDS[lake]:
        program.run(*command)
    return here.rename(folder / f"{lake}-{which}")


def compared(old: Path, new: Path) -> Iterator[str]:
    """What differs, one line for each object."""
    names = [{str(path.relative_to(each)) for path in each.rglob("*") if path.is_file()} for each in (old, new)]
    yield from (f"only in the old lake: {name}" for name in sorted(names[0] - names[1]))
    yield from (f"only in the new lake: {name}" for name in sorted(names[1] - names[0]))
    for name in sorted(names[0] & names[1]):
        before, after = (old / name).read_bytes(), (new / name).read_bytes()
        if before != after and not name.endswith(OWN) and not (RENAMED and same_but_for_names(before, after)):
            at = next((n for n, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), None)
            yield f"{name}: {len(before)} and {len(after)} bytes, byte {at} differs"


def same_but_for_names(before: bytes, after: bytes) -> bool:
    """Whether two objects of JSON lines say the same, where renamed counters and reasons are one name."""
    try:
        return [renamed(row) for row in rows(before)] == [renamed(row) for row in rows(after)]
    except ValueError:  # no JSON
        return False


def rows(data: bytes) -> list[Any]:
    """The rows of JSON lines, packed or not."""
    plain = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    return [json.loads(line) for line in plain.splitlines()]


def renamed(value: Any) -> Any:
    """JSON by the new names, without the digests that follow from them."""
    if isinstance(value, dict):
        kept = {
            key: {name: inner for name, inner in each.items() if name not in DIGESTS[key]}
            if key in DIGESTS and isinstance(each, dict)
            else each
            for key, each in value.items()
        }
        return {RENAMED.get(key, key): renamed(each) for key, each in kept.items()}
    if isinstance(value, list):
        return [renamed(each) for each in value]
    return RENAMED.get(value, value) if isinstance(value, str) else value


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
