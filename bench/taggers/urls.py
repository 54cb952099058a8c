"""A URL list of a million entries: how many URLs a CPU second looks up, and the memory of the process.

Nine tenths of the entries are hosts, one tenth pages. A twentieth of the URLs are on the list. The list is read by the
tagger as a team's would be; the figure leaves out the time in which it is read.
"""

import json
import random
import resource
import sys
import time
from pathlib import Path

from bench.harness.cost import answer, timed
from bench.harness.row import Row
from gristmill.lake.rows.document import Document
from gristmill.recipes.batch import Batch

ENTRIES = 1_000_000
URLS = 200_000
TOGETHER = 4_000
"""Documents of a batch."""

LEAST = 300_000
MOST = 300_000_000
SEED = 17


def run(work: Path) -> list[Row]:
    """The row; `work` is an empty folder."""
    path = work / "list.txt"
    listed = write_list(path)
    log = work / "urls.log"
    cost = timed([sys.executable, "-m", "bench.taggers.urls", path], log)
    (said,) = answer(log)
    rate = URLS / said["seconds"]
    return [
        Row(
            name="url list",
            ours=cost,
            agree=said["found"] == listed,
            bar=f">= {LEAST:,} URLs a CPU second, < {MOST // 10**6} MB",
            met=rate >= LEAST and said["peak"] < MOST,
            note=f"{rate:,.0f} URLs a CPU second, {said['peak'] / 1e6:.0f} MB, list read in {said['opened']:.1f} s",
            detail={"entries": ENTRIES, **said},
        )
    ]


def write_list(path: Path) -> int:
    """Writes the list, and gives how many of the URLs of `urls` are on it."""
    with path.open("w") as file:
        for number in range(ENTRIES):
            file.write(f"{host(number)}\n" if number % 10 else f"http://{host(number)}/a/{number}\n")
    return sum(is_listed(number) for number in range(URLS))


def host(number: int) -> str:
    """The host of an entry; numbers from ENTRIES on are on no list."""
    draw = random.Random(number * SEED)  # noqa: S311 - the same list at each run
    letters = "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(5, 16)))
    return f"{letters}{number:x}.{draw.choice(('com', 'org', 'net', 'de', 'co.uk', 'com.br'))}"


def is_listed(number: int) -> bool:
    """Whether the URL of this number is on the list: each twentieth."""
    return number % 20 == 0


def url(number: int) -> str:
    """A URL as crawls have them."""
    if not is_listed(number):
        return f"https://www.{host(ENTRIES + number)}/some/{number}/path-to/page_{number}.html?utm={number}"
    entry = number // 20
    return f"http://www.{host(entry)}/a/{entry}/page.html"


def main(path: Path) -> None:
    """Opens the list and looks up all URLs; prints what it cost."""
    from gristmill.taggers.lists.urls import open_url_lists  # noqa: PLC0415 - a part of what is measured

    documents = [Document(id=str(n), text="", source="s", metadata={"url": url(n)}) for n in range(URLS)]
    began = time.process_time()
    tag = open_url_lists({"list-1": path})
    opened = time.process_time()
    found = sum(int(tag(Batch.of(documents[at : at + TOGETHER]))["listed"].sum()) for at in range(0, URLS, TOGETHER))
    seconds = time.process_time() - opened
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"found": found, "seconds": seconds, "opened": opened - began, "peak": peak}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
