"""The order of tasks: nothing comes before what it reads, however recipes lead from source to source and back."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from dedupelake import SHELVES
from hypothesis import example, given, settings
from hypothesis import strategies as st
from testkit import Mill, own_shelf

from gristmill.__main__ import main
from gristmill.errors import RecipeError
from gristmill.lake.asset_kinds import RESOLUTION
from gristmill.lake.store.open import Lake
from gristmill.pipeline.models import inputs_of_folder
from gristmill.pipeline.planner import Planner
from gristmill.pipeline.tasks import FolderTask, IndexTask, ResolutionTask, Task, TokenizerTask
from gristmill.recipes.catalogue import Catalogue
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import DocumentUnits
from gristmill.recipes.label import Score
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.models.labelled_set import Draw, LabelledSet
from gristmill.recipes.models.model import FastTextTraining, Model
from gristmill.recipes.rules import Rule, score
from gristmill.recipes.shelf import read_shelf
from gristmill.recipes.source import Revision, Source
from gristmill.recipes.tagger import Tagger
from gristmill.stages.models.ledger import model_address
from gristmill.stages.tagging.step import TaggingStep

PAGES = read_shelf("sources", Source, ("gristmill", "testshelf"))["pages"]
NAMES = ("a", "b", "c")
KEYS = ("2024", "2025")
ZZ = """
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.label import Score
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.models.labelled_set import Draw, LabelledSet
from gristmill.recipes.models.model import FastTextTraining, Model
from gristmill.recipes.rules import Rule, field
from gristmill.recipes.source import Revision, Source
from gristmill.recipes.tagger import Tagger
from gristmill.stages.models.ledger import model_address
from gristmill.stages.tagging.step import TaggingStep
SHORT = Rule("short", "length(text) < 3", "x")
V1 = Revision(version="v1", columns=(field("text"),), exclude=(SHORT,))
ZZ = Source(name="zz", convert=JsonLines(source="zz"), revisions=(V1,))
"""
BB = """
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.source import Source
BB = Source(name="bb", convert=JsonLines(source="bb"))
"""
DEDUPE = """
from gristmill.recipes.duplicates.dedupe import Dedupe
from gristmill.recipes.duplicates.units import DocumentUnits, ParagraphUnits
DEDUPE = Dedupe(name="{}", unit={}(), sources=("zz/{}", "bb/v0"))
"""
MIX = """
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.label import Score
from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.models.labelled_set import Draw, LabelledSet
from gristmill.recipes.models.model import FastTextTraining, Model
from gristmill.recipes.rules import Rule, score
MARKED = {"columns": (score("documents-1__duplicate", "twice", optional=True),)}
MARKED["exclude"] = (Rule("twice", "twice = 1", "x"),)
WHOLE = Mix(name="whole", streams=tuple(Stream(source=s, version=v, **MARKED) for s, v in (("zz", "v1"), ("bb", "v0"))))
"""


def source(name: str, reads: str, label: str = "duplicate") -> Source:
    """A source of two versions; v1 drops what a set marks, if one is named."""
    columns = (score(f"{reads}__{label}", "twice", optional=True),) if reads else ()
    rules = (Rule("twice", "twice = 1", "x"),) if reads else ()
    return replace(PAGES, name=name, revisions=(Revision(version="v1", columns=columns, exclude=rules),))


def lake(root: Path) -> Lake:
    mill = Mill(root)
    for name, key in product(NAMES, KEYS):
        mill.raw("a.jsonl.gz", [], name, key)
    return mill.lake


def check_order(tasks: Sequence[Task]) -> None:
    """Checks that each task comes after those that make what it reads."""
    made: dict[tuple[str, str], int] = {}
    read: list[tuple[int, tuple[str, str]]] = []
    for number, task in enumerate(tasks):
        if isinstance(task, ResolutionTask):
            made[RESOLUTION.at(dedupe=task.dedupe.name), ""] = number
            read += [(number, node) for node in task.fingerprints]
        elif isinstance(task, FolderTask):
            made[model_address(task.recipe), ""] = number
            read += [(number, node) for node in inputs_of_folder(task.recipe)]
        elif not isinstance(task, TokenizerTask | IndexTask):
            made |= {(each, task.snapshot): number for each in task.makes}
            read += [(number, (each, key)) for each in task.reads for key in (task.snapshot, "")]
    assert all(made.get(node, -1) < number for number, node in read)


VERSIONS = [f"{name}/{version}" for name, version in product(NAMES, ("v0", "v1"))]


@settings(deadline=None, max_examples=60)
@given(
    over=st.lists(st.lists(st.sampled_from(VERSIONS), min_size=1, max_size=3, unique_by=lambda v: v[0]), max_size=4),
    reads=st.lists(st.integers(-1, 3), min_size=3, max_size=3),
)
def test_nothing_comes_before_what_it_reads(
    tmp_path_factory: pytest.TempPathFactory, over: list[list[str]], reads: list[int]
) -> None:
    dedupes = {f"d-{n}": Dedupe(name=f"d-{n}", unit=DocumentUnits(), sources=each) for n, each in enumerate(over)}
    sources = {}
    for name, number in zip(NAMES, reads, strict=True):
        marks = f"d-{number}" in dedupes and f"{name}/v0" in dedupes[f"d-{number}"].sources
        sources[name] = source(name, f"d-{number}" if marks else "")
    catalogue = Catalogue(sources, {}, {}, {}, dedupes=dedupes)
    planner = Planner(catalogue, SHELVES, lake(tmp_path_factory.mktemp("lake")))
    try:
        tasks = list(planner.tasks())
    except RecipeError as error:
        tasks, refused = [], str(error)
    else:
        refused = ""
    assert not refused or "is made from itself" in refused
    # two versions of each snapshot; a resolution; fingerprints and labels of each snapshot
    assert not tasks or len(tasks) == len(NAMES) * len(KEYS) * 2 + sum(1 + len(each) * len(KEYS) * 2 for each in over)
    check_order(tasks)


SETS = ("plain-1", "first-1", "second-1", "third-1")
"""Three of them read a model that is trained on labels drawn from documents."""
GOOD = tuple(score(f"{name}__good", name[:-2], optional=True) for name in SETS)
ALL = Mix(
    name="all",
    streams=tuple(
        Stream(
            source=name, version="v0", columns=GOOD, exclude=(Rule("bad", "plain + first + second + third < 1", "x"),)
        )
        for name in NAMES
    ),
)
"""A mix whose streams read all sets of each v0."""


@example(
    draws=[("b/v0", "2024"), ("a/v1", "2024"), ("c/v0", "2024")], reads=[1, -1, -1]
)  # plain-1, first-1, v1, second-1
@settings(deadline=None, max_examples=200)
@given(
    draws=st.lists(st.tuples(st.sampled_from(VERSIONS), st.sampled_from(KEYS)), min_size=3, max_size=3),
    reads=st.lists(st.integers(-1, 3), min_size=3, max_size=3),
)
def test_no_document_of_a_model_comes_before_the_sets_that_chose_it(
    tmp_path_factory: pytest.TempPathFactory, draws: list[tuple[str, str]], reads: list[int]
) -> None:
    """Each v1 is chosen by one set or none. Sets of one step are made together where nothing forbids it."""
    labels, models, taggers = {}, {}, {"plain-1": tagger("plain-1")}
    for name, (drawn, key) in zip(SETS[1:], draws, strict=True):
        of, version = drawn.split("/")
        draw = Draw(source=of, version=version, snapshots=(key,))
        labels[name[:-2]] = LabelledSet(name=name[:-2], drawn={"good": (draw,), "bad": (replace(draw, version="v0"),)})
        models[name] = Model(name=name, training=FastTextTraining(labels=name[:-2], positive="good"), draft=True)
        taggers[name] = tagger(name, name)
    sources = {
        name: source(name, "" if number < 0 else SETS[number], "good")
        for name, number in zip(NAMES, reads, strict=True)
    }
    try:
        catalogue = Catalogue(sources, taggers, {"all": ALL}, {}, labels=labels, models=models)
    except RecipeError:  # a model would score the documents that it is made of
        return
    tasks = list(Planner(catalogue, SHELVES, lake(tmp_path_factory.mktemp("lake"))).tasks())
    check_order(tasks)
    made = Counter(each for task in tasks if isinstance(task, TaggingStep) for each in task.makes)
    assert set(made.values()) == {len(KEYS)}
    assert {each.rpartition("/")[2] for each in made} == set(SETS)


def tagger(name: str, *models: str) -> Tagger:
    """A tagger with a score `good`, by a model if one is named."""
    if models:
        return Tagger(name=name, open=never, models=models, labels=(Score("good", "x"),))
    return Tagger(name=name, document=never, labels=(Score("good", "x"),))


def never(given: Any) -> Any:
    """A tagger that only has a place in the order."""
    raise AssertionError(given)


def test_a_resolution_that_is_made_from_itself_is_refused(mill: Mill) -> None:
    """The marks of d-1 choose the documents of a/v1, which d-2 compares; its marks choose b/v1, which d-1 compares."""
    dedupes = {
        "d-1": Dedupe(name="d-1", unit=DocumentUnits(), sources=("a/v0", "b/v1")),
        "d-2": Dedupe(name="d-2", unit=DocumentUnits(), sources=("a/v1", "b/v0")),
    }
    for name in ("a", "b"):
        mill.raw("a.jsonl.gz", [], name)
    catalogue = Catalogue({"a": source("a", "d-1"), "b": source("b", "d-2")}, {}, {}, {}, dedupes=dedupes)
    with pytest.raises(RecipeError, match=r"d-1.* is made from itself, by the recipes of what it reads; change one"):
        list(Planner(catalogue, SHELVES, mill.lake).tasks())


def test_a_text_that_another_source_has_already_is_dropped_by_one_make(
    mill: Mill, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The paragraphs of zz/v0 come before its documents v1, and lead to bb, whose documents are compared with v1."""
    shelf = mill.root.parent
    for kind, recipe, other in (
        ("sources", ZZ, BB),
        (
            "dedupes",
            DEDUPE.format("documents-1", "DocumentUnits", "v1"),
            DEDUPE.format("words-1", "ParagraphUnits", "v0"),
        ),
        ("mixes", MIX, ""),
    ):
        own_shelf(mill, kind, recipe)
        (shelf / f"own_{kind}" / kind / ("other.py" if other else "_none.py")).write_text(other)
    monkeypatch.syspath_prepend(str(shelf))
    words = ["make", str(mill.root), "--shelves", "own_sources,own_dedupes,own_mixes"]
    mill.raw("x.jsonl.gz", [{"id": "1", "text": "a mill"}], "zz", "s")
    for key in ("t1", "t2"):
        mill.raw("x.jsonl.gz", [{"id": key, "text": f"a stone of {key}"}], "bb", key)
    assert main(words) == 0
    assert texts(mill) == {"a mill": 1, "a stone of t1": 1, "a stone of t2": 1}
    mill.raw("x.jsonl.gz", [{"id": "1", "text": "a mill"}, {"id": "2", "text": "a stone of t2"}], "zz", "s")
    assert main(words) == 0
    assert texts(mill) == {"a mill": 1, "a stone of t1": 1, "a stone of t2": 1}
    assert main(["plan", str(mill.root), *words[2:]]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(" finished")


def texts(mill: Mill) -> Counter[str]:
    """How often the mix has each text."""
    found = [each.path for each in mill.store.list("mixes/whole/documents/") if each.path.endswith(".gz")]
    return Counter(row["text"] for path in found if "/ledgers/" not in path for row in mill.rows(path))
