"""The lake that taggers are measured in: the corpus as documents of one source, and a shelf with the taggers."""

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.cost import Cost, answer, timed
from bench.harness.place import SNAPSHOT, SOURCE
from bench.inputs.shelf import PACKAGE, raw_folder, variables
from bench.taggers.corpus import write_corpus

SHARDS = 8
_SOURCE = """
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import Source

BENCH = Source(name="bench", convert=DolmaLines("bench"))
"""


@dataclass(frozen=True)
class TaggedLake:
    """A lake with documents, and what taggers make of them.

    Attributes:
        work: the folder of the bench.
        root: of the lake.
        env: variables of the programs that work on it.
        size: bytes of all texts.
    """

    work: Path
    root: Path
    env: Mapping[str, str]
    size: int

    @classmethod
    def made(
        cls,
        work: Path,
        size: int,
        modules: Iterable[str],
        written: Mapping[str, str] | None = None,
        recipes: Mapping[str, str] | None = None,
    ) -> "TaggedLake":
        """Writes corpus and shelf below `work`, and converts the documents.

        Args:
            work: an empty folder.
            size: of all texts, in bytes.
            modules: those that declare the taggers.
            written: modules of more taggers, by name: their source code.
            recipes: modules of other recipes, by path on the shelf, such as `mixes/web.py`.
        """
        files = {"sources/bench.py": _SOURCE, **(recipes or {})}
        files |= {f"taggers/{name}.py": text for name, text in (written or {}).items()}
        for module in modules:
            name = module.removeprefix("gristmill.taggers.").replace(".", "_")
            files[f"taggers/{name}.py"] = f"from {module} import *\n"
        for name, text in files.items():
            path = work / PACKAGE / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            for folder in (path.parent, path.parent.parent):
                (folder / "__init__.py").touch()
        root = work / "lake"
        total = write_corpus(raw_folder(root), size, SHARDS)
        lake = cls(work, root, variables(work, root) | {"GRISTMILL_SHELVES": PACKAGE}, total)
        lake.step("convert")
        return lake

    def step(self, words: str) -> tuple[Cost, Cost]:
        """Runs a step (bench/stages/steps.py): the cost of the whole process, and of the step without imports."""
        log = self.work / "logs" / f"{words.replace(':', '-').replace(',', '-')[:60]}.log"
        whole = timed([sys.executable, "-m", "bench.stages.steps", words], log, self.env)
        (made,) = answer(log)
        return whole, Cost(made["cpu_s"], made["wall_s"])

    def made_again(self, names: Sequence[str]) -> tuple[Cost, Cost]:
        """Makes sets in one pass, also if they are there; the costs are those of `step`."""
        for name in names:
            self.forget(name)
        return self.step(f"tag:v0:{','.join(names)}")

    def forget(self, name: str) -> None:
        """Removes a set if it is there, so that it is made again."""
        for folder in (self.version / "attributes" / name, self.version / "ledgers" / "attributes" / name):
            if folder.exists():
                shutil.rmtree(folder)

    @property
    def version(self) -> Path:
        """The folder of the version that is tagged."""
        return self.root / "sources" / SOURCE / "v0"

    @property
    def documents(self) -> Path:
        """The folder of the documents' shards."""
        return self.version / "documents" / SNAPSHOT

    def attributes(self, name: str) -> Path:
        """The folder of a set's shards."""
        return self.version / "attributes" / name / SNAPSHOT
