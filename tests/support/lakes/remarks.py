"""Remarks with labels, and what is made from them: for tests of labelled sets, models and their taggers."""

import hashlib
import json
from collections.abc import Mapping

from testkit import SNAPSHOT, Mill, notes

from gristmill.execution.runner import Inline
from gristmill.pipeline.make import Maker
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.targets import read_targets
from gristmill.recipes.catalogue import Catalogue, read_catalogue

SHELVES = ("remarkshelf",)
PATH = "inputs/remarks.jsonl"
RUDE = ("you are a fool", "what a stupid liar", "shut up idiot")
CALM = ("the garden is green", "we opened the library", "she wrote a letter")


def remarks(count: int = 40) -> bytes:
    """JSON lines: half of them rude, each with a number, so that no two are equal."""
    pairs = [("rude", RUDE), ("calm", CALM)]
    rows = [{"label": label, "text": f"{texts[n % 3]} {n}"} for n in range(count // 2) for label, texts in pairs]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


SHA256 = hashlib.sha256(remarks()).hexdigest()


def catalogue() -> Catalogue:
    """The source `notes` of the test shelf, two taggers with a model each, and one without."""
    own, tests = read_catalogue(("gristmill", "remarkshelf")), read_catalogue(("gristmill", "testshelf"))
    taggers = {name: own.taggers[name] for name in ("rude-1", "listed-1")}
    models = {name: own.models[name] for name in ("rude-1", "list-1")}
    labels = {"remarks": own.labels["remarks"]}
    return Catalogue({"notes": tests.sources["notes"]}, taggers, {}, {}, labels=labels, models=models)


def run(mill: Mill, known: Catalogue, *words: str) -> tuple[Maker, dict[str, int]]:
    """One run of some targets: its maker, and the partitions that it made, each with the rows that it ground."""
    shelves = ("gristmill", "testshelf", "remarkshelf")
    planner = Planner(known, shelves, mill.lake, read_targets(known, words))
    maker = Maker(planner, mill.lake, Inline(), mill.said.append)
    return maker, {ledger.asset.rpartition("/")[2]: ledger.totals["rows"] for ledger in maker.run()}


def planned(mill: Mill, known: Catalogue, *words: str) -> Mapping[str, tuple[str, tuple[str, ...]]]:
    """The state of everything and the reasons, by the last part of the address."""
    shelves = ("gristmill", "testshelf", "remarkshelf")
    planner = Planner(known, shelves, mill.lake, read_targets(known, words))
    return {each.asset.removeprefix("sources/notes/v0/"): (each.state, each.why) for each in planner.survey_all()}


def start(mill: Mill) -> Catalogue:
    """A lake with two documents, the labelled remarks and a list of words."""
    notes(mill, "n1 what a stupid fool", "n2 the library is green")
    mill.store.put(PATH, remarks())
    mill.store.put("inputs/words.txt", b"fool\n")
    return catalogue()


__all__ = ["SNAPSHOT", "catalogue", "planned", "remarks", "run", "start"]
