"""The recipes that are measured with: a shelf package written into the work folder, and the variables that name it."""

import hashlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.harness.cost import ROOT, timed
from bench.harness.place import SNAPSHOT, SOURCE
from bench.inputs.corpus import write_raw

PACKAGE = "benchshelf"
EOS = "<|endoftext|>"

_SOURCE = """
from gristmill.recipes.source import Revision, Source
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.rules import Rule, score

BENCH = Source(
    name="bench",
    convert=DolmaLines("bench"),
    revisions=(
        Revision(
            version="v1",
            columns=(
                score("gopher-1__word_count", "words"),
                score("gopher-1__fraction_of_characters_in_duplicate_10grams", "repeated"),
                score("length-1__chars", "chars"),
                score("language-1__en", "english"),
            ),
            exclude=(
                Rule("too-short", "words < 20", "stubs teach nothing"),
                Rule("too-long", "chars > 1000000", "a megabyte in one document is generated"),
                Rule("repeats-itself", "repeated > 0.6", "examples pasted over and over"),
                Rule("not-english", "english < 0.01", "the readers know no other language"),
            ),
        ),
    ),
)
"""

_MIX = """
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, score

BENCH = Mix(
    name="bench",
    streams=(
        Stream(
            source="bench",
            version="v1",
            columns=(score("length-1__words", "words"), score("language-1__en", "english")),
            exclude=(Rule("few-words", "words < 30 AND coalesce(english, 0) < 0.05", "tables are no prose"),),
            rate=0.9,
        ),
    ),
    tokenizers=("bench-1",),
)
"""

_WHOLE = """
from gristmill.recipes.mix import Mix, Stream

WHOLE = Mix(name="whole", streams=(Stream(source="bench", version="v0"),), tokenizers=("bench-1",))
"""

_TOKENIZER = """
from gristmill.recipes.tokenizer import Tokenizer

BENCH = Tokenizer(name="bench-1", file={file!r}, sha256={sha256!r})
"""


def write_shelf(work: Path, tokenizer: Path | None = None) -> None:
    """Writes the package `benchshelf` below `work`: a source, two mixes, and a tokenizer if its file is given.

    The mix `bench` selects by all three sets; `whole` copies v0, for measuring what comes after.
    """
    files = {"sources/bench.py": _SOURCE}
    if tokenizer is not None:
        sha256 = hashlib.sha256(tokenizer.read_bytes()).hexdigest()
        files["tokenizers/bench_1.py"] = _TOKENIZER.format(file=str(tokenizer), sha256=sha256)
        files |= {"mixes/bench.py": _MIX, "mixes/whole.py": _WHOLE}
    for name, text in files.items():
        path = work / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for folder in (path.parent, path.parent.parent):
            (folder / "__init__.py").touch()


def variables(work: Path, lake: Path) -> dict[str, str]:
    """The environment of a program that works on a lake with the recipes of `write_shelf`."""
    home = work / "dagster" / lake.name
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists():
        shutil.copyfile(ROOT / "dagster.yaml", home / "dagster.yaml")
    return {
        "GRISTMILL_LAKE": str(lake),
        "GRISTMILL_SHELVES": f"gristmill,{PACKAGE}",
        "DAGSTER_HOME": str(home),
        "PYTHONPATH": f"{ROOT}:{work}",
    }


def raw_folder(lake: Path) -> Path:
    """Where the raw objects of the source lie."""
    return lake / "sources" / SOURCE / "raw" / SNAPSHOT


def new_lake(work: Path, shards: int, size: int) -> tuple[Path, Mapping[str, str], int]:
    """A lake with raw shards of `size` bytes of text each, its variables, and the bytes of all texts."""
    lake = work / "lake"
    total = write_raw(raw_folder(lake), shards, size)
    return lake, variables(work, lake), total


def convert(work: Path, lake: Path) -> None:
    """Converts all raw snapshots of the source with the shelf that `write_shelf` wrote, in a process of its own.

    Python imports a package of one name once, and several benches of a test process write one of this name.
    """
    command: list[str | Path] = [sys.executable, "-m", "gristmill", "make", lake, f"{SOURCE}/v0", "--workers", "1"]
    timed(command, work / "logs" / "convert.log", variables(work, lake))
