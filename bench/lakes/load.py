"""How long Dagster takes to load the definitions: those of the checkout, and those of shelves of many assets.

`dagster definitions validate`, as a deployment does it: a fresh process that imports, reads the shelves and builds. For
100 sources of three versions with ten sets each, what a code server does before it answers, without its imports:
shelves, assets, repository and all jobs.
"""

import sys
from pathlib import Path

from bench.harness.cost import Cost, answer, timed
from bench.harness.row import Row
from bench.inputs.shelf import variables

SOURCES = 108  # of nine assets each
TURNS = 3
OURS_SECONDS = 3.0
MANY_SECONDS = 6.0
WIDE_SOURCES = 100  # of three versions with ten sets each
WIDE_SECONDS = 5.0

_SOURCE = """
from gristmill.recipes.source import Revision, Source
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.rules import Rule, score

MANY = Source(
    name="many-{number:03d}",
    convert=DolmaLines("many"),
    revisions=(
        Revision(
            version="v1",
            columns=(score("gopher-1__word_count", "words"),),
            exclude=(Rule("short", "words < {number}", "stubs teach nothing"),),
        ),
    ),
)
"""

_MIX = """
from gristmill.recipes.mix import Mix, Stream

MANY = Mix(
    name="many",
    streams=tuple(Stream(source=f"many-{{number:03d}}", version="v1") for number in range({count})),
    tokenizers="all",
)
"""

_WIDE = """
from gristmill.recipes.source import Revision, Source
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.rules import Rule, score

COLUMNS = tuple(score(f"wide-{{n}}__x", f"x{{n}}") for n in range(10))
RULES = (Rule("low", "x0 < {number}", "the lowest teach nothing"),)

WIDE = Source(
    name="many-{number:03d}",
    convert=DolmaLines("many"),
    revisions=tuple(Revision(version=v, columns=COLUMNS, exclude=RULES) for v in ("v1", "v2")),
)
"""

_TAGGER = """
from gristmill.recipes.tagger import Tagger

WIDE = Tagger(name="wide-{number}", document=lambda document: {{}})
"""

_LOAD = """
import json
from bench.harness.cost import measured, peak_memory
from definitions import defs
with measured() as costs:
    repository = defs().get_repository_def()
    repository.load_all_definitions()
count = len(repository.asset_graph.get_all_asset_keys())
print(json.dumps([costs[0].plain(), count, peak_memory()]))
"""

_COUNT = """
import json
from definitions import defs
graph = defs().resolve_asset_graph()
print(json.dumps(len(graph.get_all_asset_keys())))
"""


def run(work: Path, sources: int = SOURCES) -> list[Row]:
    """A row for the checkout's own shelves, and one for many; `work` is an empty folder."""
    lake = work / "lake"
    lake.mkdir()
    env = variables(work, lake) | {"GRISTMILL_SHELVES": "gristmill"}
    write_many(work / "manyshelf", sources)
    write_wide(work / "wideshelf", min(sources, WIDE_SOURCES))
    return [
        _row("definitions", env, OURS_SECONDS, work),
        _row("definitions, many", env | {"GRISTMILL_SHELVES": "gristmill,manyshelf"}, MANY_SECONDS, work),
        _wide(env | {"GRISTMILL_SHELVES": "gristmill,wideshelf"}, work),
    ]


def write_many(package: Path, count: int) -> None:
    """A shelf package of `count` sources and a mix of all of them."""
    for folder in (package, package / "sources", package / "mixes"):
        folder.mkdir()
        (folder / "__init__.py").touch()
    for number in range(count):
        (package / "sources" / f"many_{number:03d}.py").write_text(_SOURCE.format(number=number))
    (package / "mixes" / "many.py").write_text(_MIX.format(count=count))


def write_wide(package: Path, count: int) -> None:
    """A shelf package of `count` sources of three versions, ten taggers, and a mix of all sources."""
    write_many(package, count)
    for number in range(count):
        (package / "sources" / f"many_{number:03d}.py").write_text(_WIDE.format(number=number))
    (package / "taggers").mkdir()
    (package / "taggers" / "__init__.py").touch()
    for number in range(10):
        (package / "taggers" / f"wide_{number}.py").write_text(_TAGGER.format(number=number))


def _wide(env: dict[str, str], work: Path) -> Row:
    log = work / "wide.log"
    costs: list[Cost] = []
    assets, peak = 0, 0
    for _ in range(TURNS):
        timed([sys.executable, "-c", _LOAD], log, env)
        cost, assets, peak = answer(log)
        costs.append(Cost(**cost))
    best = Cost(min(cost.cpu_s for cost in costs), min(cost.wall_s for cost in costs))
    return Row(
        name="definitions, 100 x 3 x 10",
        ours=best,
        bar=f"< {WIDE_SECONDS:.0f} s wall",
        met=best.wall_s < WIDE_SECONDS,
        note=f"{assets:,} assets; peak {peak / 1e6:,.0f} MB; without imports; the best of {TURNS}",
        detail={"assets": assets, "peak": peak, "all": [cost.plain() for cost in costs]},
    )


def _row(name: str, env: dict[str, str], seconds: float, work: Path) -> Row:
    program = Path(sys.executable).with_name("dagster")
    log = work / f"{name.replace(', ', '-')}.log"
    timed([sys.executable, "-c", _COUNT], log, env)  # compiles the shelves too, as the first start after an update
    assets: int = answer(log)
    costs = [timed([program, "definitions", "validate"], log, env) for _ in range(TURNS)]
    best = Cost(min(cost.cpu_s for cost in costs), min(cost.wall_s for cost in costs))
    return Row(
        name=name,
        ours=best,
        bar=f"< {seconds:.0f} s wall",
        met=best.wall_s < seconds,
        note=f"{assets:,} assets; the best of {TURNS}",
        detail={"assets": assets, "all": [cost.plain() for cost in costs]},
    )
