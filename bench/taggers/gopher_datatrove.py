"""`gopher-1` beside datatrove's filters of Gopher's quality and repetition rules, over the same documents.

The definitions differ: datatrove divides words with spaCy, counts white space, and gives verdicts and no values. So one
statistic is compared, for which its words are made ours (bench/taggers/datatrove_gopher.py); it is the same for both.
In the row datatrove computes every statistic of every document, as we do; the note has what its default limits cost,
with which it leaves a document at the first rule that refuses it. It writes nothing, and we write all labels.
"""

from pathlib import Path

from bench.harness.cost import answer, timed
from bench.harness.environments import datatrove
from bench.harness.row import Row
from bench.taggers.corpus import megabytes
from bench.taggers.lake import TaggedLake

BAR = 80.0
SET = "gopher-1"
SCRIPT = Path(__file__).with_name("datatrove_gopher.py")


def run(work: Path) -> list[Row]:
    """The row; `work` is an empty folder."""
    lake = TaggedLake.made(work, megabytes() * 1_000_000, ["gristmill.taggers.gopher"])
    ours, step = lake.made_again([SET])
    shard = min(lake.documents.iterdir()).name
    log = work / "datatrove"
    timed([datatrove(), SCRIPT, "verify", lake.documents, lake.attributes(SET), shard], log / "verify.log")
    said = answer(log / "verify.log")
    costs = {
        which: timed([datatrove(), SCRIPT, "filter", lake.documents, work / which, which], log / f"{which}.log")
        for which in ("all", "default")
    }
    peer = costs["all"]
    return [
        Row(
            name="tagging: gopher, datatrove",
            ours=ours,
            peer=peer,
            peer_name="datatrove GopherRepetitionFilter, GopherQualityFilter",
            agree=said["compared"] > 0 and not said["different"],
            bar=f">= {BAR:g}x CPU",
            met=peer.cpu_s / ours.cpu_s >= BAR,
            note=f"{lake.size / 1e6:.0f} MB of text; one statistic compared, {said['compared']:,} documents; with its"
            f" default limits {costs['default'].cpu_s / ours.cpu_s:.1f}x; our step alone {step.cpu_s:.1f} CPU s",
            detail={"step": step.plain(), "default": costs["default"].plain(), "verified": said},
        )
    ]
