"""Our taggers beside those of the Dolma toolkit over the same documents: one row for each of bench/taggers/comparisons.

Ours is the platform's step over a lake, plan to ledger, in one process; Dolma is its command with one process. Both
read the same gzip shards and write gzip attributes. Every attribute of every document is compared before a ratio is
given. Costs are those of whole processes; what the start of each takes is noted.

    python -m bench.taggers.compare gopher --mb 25
"""

import argparse
import gzip
import json
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.harness.cost import Cost, timed
from bench.harness.environments import CACHE, dolma
from bench.harness.row import Row, disagreements, table
from bench.taggers.comparison import Attributes, Comparison, by_label, comparisons
from bench.taggers.corpus import MEGABYTES, megabytes
from bench.taggers.lake import TaggedLake

EXPERIMENT = "peer"

Reader = Callable[[Attributes], Attributes]


def run(work: Path, names: Collection[str] = ()) -> list[Row]:
    """The rows of the named comparisons, or of all.

    Args:
        work: an empty folder.
        names: of comparisons; empty means all.
    """
    chosen = [each for name, each in comparisons().items() if not names or name in names]
    rows: list[Row] = []
    for size in sorted({_megabytes(each) for each in chosen}):
        these = [each for each in chosen if _megabytes(each) == size]
        modules = dict.fromkeys(module for each in these for module in each.modules)
        lake = TaggedLake.made(work / f"{size}-mb", size * 1_000_000, modules)
        rows += [_row(each, lake) for each in these]
    return rows


def _megabytes(comparison: Comparison) -> int:
    return min(megabytes(), comparison.most_mb or megabytes())


def _row(comparison: Comparison, lake: TaggedLake) -> Row:
    ours, step = lake.made_again(comparison.sets)
    peer = _dolma(comparison.peer, sorted(lake.documents.iterdir()), lake.work / "peers" / comparison.name)
    start = _dolma(comparison.peer, [_nearly_empty(lake.work)], lake.work / "peers" / f"{comparison.name}-start")
    made = [lake.attributes(name) for name in comparison.sets]
    theirs = lake.work / "peers" / comparison.name / "attributes" / EXPERIMENT
    compared, different = compare(made, theirs, comparison.ours, comparison.theirs, comparison.close)
    ratio = peer.cpu_s / ours.cpu_s
    begun = Cost(ours.cpu_s - step.cpu_s, ours.wall_s - step.wall_s)
    alone = (peer.cpu_s - start.cpu_s) / step.cpu_s
    return Row(
        name=f"tagging: {comparison.name}",
        ours=ours,
        peer=peer,
        peer_name=f"dolma tag {' '.join(comparison.peer)}",
        agree=compared > 0 and not different,
        bar=f">= {comparison.bar:g}x CPU" if comparison.bar else "none",
        met=ratio >= (comparison.bar or 0),
        note=different
        or f"{lake.size / 1e6:.0f} MB of text, {compared:,} documents; without the starts ({begun.cpu_s:.1f} and"
        f" {start.cpu_s:.1f} CPU s) {alone:.1f}x",
        detail={"size": lake.size, "start": begun.plain(), "peer_start": start.plain(), "without_start": alone},
    )


def _dolma(taggers: Collection[str], shards: Sequence[Path], folder: Path) -> Cost:
    """What `dolma tag` costs with one process. Its attributes are below `folder`, which is made."""
    documents = folder / "documents"
    documents.mkdir(parents=True)
    for shard in shards:
        (documents / shard.name).hardlink_to(shard)
    program = dolma().with_name("dolma")
    command: list[str | Path] = [program, "tag", "--documents", f"{documents}/*.gz", "--experiment", EXPERIMENT]
    return timed([*command, "--taggers", *taggers, "--processes", "1"], folder / "dolma.log")


def _nearly_empty(work: Path) -> Path:
    """A shard with one document, of one word: what `dolma tag` takes for it is its start."""
    path = work / "start.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps({"id": "1", "text": "mill", "source": "bench"}).encode() + b"\n"))
    return path


def compare(
    ours: Sequence[Path], theirs: Path, our_form: Reader = by_label, their_form: Reader = by_label, close: float = 0.0
) -> tuple[int, str]:
    """How many documents have been compared, and the first difference, if any.

    Args:
        ours: the folders of our sets, which are taken together.
        theirs: the folder of Dolma's attributes.
        our_form: brings the attributes of our row to the form that is compared.
        their_form: the same for Dolma's row.
        close: greatest difference of two scores that counts as equal.
    """
    names = sorted(path.name for path in theirs.iterdir())
    if any(sorted(path.name for path in folder.iterdir()) != names for folder in ours):
        return 0, "the shards differ"
    compared = 0
    for name in names:
        mine = _rows([folder / name for folder in ours], our_form)
        other = _rows([theirs / name], their_form)
        for row in mine:
            peer_row = next(other, None)
            if peer_row is None:
                return compared, f"{name}: more rows than the peer has"
            if not _equal(row, peer_row, close):
                return compared, f"{name}: {row} is not {peer_row}"
            compared += 1
        if next(other, None) is not None:
            return compared, f"{name}: fewer rows than the peer has"
    return compared, ""


def _rows(shards: Sequence[Path], form: Reader) -> Iterator[tuple[str, Attributes]]:
    """The id of each document, and its attributes of all shards in the form that is compared."""
    with ExitStack() as stack:
        files = [stack.enter_context(gzip.open(shard, "rb")) for shard in shards]
        for lines in zip(*files, strict=True):
            rows = [json.loads(line) for line in lines]
            merged = {key: spans for row in rows for key, spans in row["attributes"].items()}
            yield rows[0]["id"], form({key.removeprefix(f"{EXPERIMENT}__"): spans for key, spans in merged.items()})


def _equal(ours: tuple[str, Attributes], theirs: tuple[str, Attributes], close: float) -> bool:
    if ours == theirs:
        return True
    if not close or ours[0] != theirs[0] or ours[1].keys() != theirs[1].keys():
        return False
    pairs = [(ours[1][key], theirs[1][key]) for key in ours[1]]
    return all(
        len(mine) == len(other)
        and all(one[:2] == two[:2] and abs(one[2] - two[2]) <= close for one, two in zip(mine, other, strict=True))
        for mine, other in pairs
    )


def main() -> int:
    """Runs the named comparisons in `.cache/bench/compare`; the exit code is 1 where outputs differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*comparisons(), []], help="all if none is given")
    parser.add_argument("--mb", default=os.environ.get(MEGABYTES, "25"), help="millions of bytes of text (default 25)")
    arguments = parser.parse_args()
    os.environ[MEGABYTES] = arguments.mb
    work = CACHE / "compare"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    rows = run(work, arguments.names)
    print(table(rows))
    return 1 if disagreements(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
