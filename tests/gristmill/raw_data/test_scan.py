"""A pass over raw objects: three numbers a snapshot, whatever the order, and however often it is broken off."""

import contextlib
import itertools
import os
import re
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from powers import held_to_modes
from seaweed import Seaweed
from testkit import Mill

from bench.lakes.key_server import Keys
from gristmill.errors import DataError, GristmillError, RecipeError, StoreError
from gristmill.lake.address import raw_folder
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.protocol import Entry, Store
from gristmill.lake.store.s3 import BucketStore
from gristmill.raw_data import scan as raw_pass
from gristmill.raw_data.listing import list_raw, raw_names_by_shard
from gristmill.raw_data.scan import EMPTY, RawScan, Seen, present_snapshots, scan_raw
from gristmill.raw_data.watch import Watch, dump_watch, load_watch
from gristmill.readers.jsonl import JsonLines
from gristmill.recipes.raw_object import Converted, RawObject
from gristmill.recipes.source import Everything, Folders, Hashed, Matching, OneToOne, Source, Split

TOP = "sources/pages/raw/"


def nothing(_: RawObject) -> Iterator[Converted]:
    yield from ()


PAGES = Source(name="pages", convert=nothing)


def after(count: int) -> Callable[[], bool]:
    """A time box that is over when it was asked so often."""
    asked = itertools.count(1)
    return lambda: next(asked) >= count


def ticks(store: Store, takes: Iterable[int], source: Source = PAGES) -> RawScan:
    """Looks that take so many objects each, until the pass is whole; between them the watch is text."""
    text: str | None = None
    for take in takes:
        watch = load_watch(text, source, store)
        found = watch.look(source, store, lambda: 0.0, after(take))
        if found:
            return found
        text = dump_watch(watch)
    raise AssertionError("it never became whole")


def test_a_snapshots_digest_is_a_sum_that_does_not_depend_on_the_order() -> None:
    entries = [("2024/a", Entry("a", 1, "x")), ("2024/b", Entry("b", 2, "y")), ("2024/c", Entry("c", 3, "z"))]
    found = set()
    for order in itertools.permutations(entries):
        seen = Seen()
        for name, entry in order:
            seen.add(name, entry)
        assert (seen.objects, seen.bytes) == (3, 6)
        found.add(seen.version)
    assert len(found) == 1
    assert len(found.pop()) == 32


@pytest.mark.parametrize("other", [("2024/b", 1, "x"), ("2024/a", 2, "x"), ("2024/a", 1, "y")])
def test_another_name_size_or_etag_is_another_digest(other: tuple[str, int, str]) -> None:
    one, two = Seen(), Seen()
    one.add("2024/a", Entry("", 1, "x"))
    two.add(other[0], Entry("", *other[1:]))
    assert one.version != two.version


def test_nothing_has_the_digest_of_nothing() -> None:
    assert Seen().version == EMPTY == "0" * 32


def test_a_pass_counts_snapshots_and_all_that_is_in_none(mill: Mill) -> None:
    for name in ("2023/a.jsonl", "2024/a.jsonl", "2024/b/c.jsonl", "2024/.part", "2024/readme.md", "beside", "b d/x"):
        mill.store.put(TOP + name, b"12")
    found = scan_raw(replace(PAGES, select=r"\.jsonl$"), mill.store)
    assert {key: (each.objects, each.bytes) for key, each in found.seen.items()} == {"2023": (1, 2), "2024": (2, 4)}
    assert (found.dotted.count, found.unmatched, found.loose) == (1, {".md": 1}, 1)
    assert (found.astray, list(found.invalid)) == (1, ["b d"])
    assert found.whole


def test_only_so_many_bad_names_are_kept_and_the_rest_is_counted(mill: Mill) -> None:
    for number in range(25):
        mill.store.put(f"{TOP}no snapshot {number:02d}/a", b"1")
    found = scan_raw(PAGES, mill.store)
    assert (len(found.invalid), found.astray) == (20, 25)


def test_a_rule_that_makes_too_many_snapshots_is_refused(mill: Mill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_pass, "MOST", 3)
    for number in range(4):
        mill.store.put(f"{TOP}a{number}", b"1")
    with pytest.raises(RecipeError, match="more than 3 snapshots"):
        scan_raw(replace(PAGES, partition=Matching("(?P<snapshot>.+)")), mill.store)


def test_the_marker_is_no_data_and_without_it_a_snapshot_does_not_count(mill: Mill) -> None:
    source = replace(PAGES, marker="_SUCCESS")
    for name in ("2023/a", "2024/a", "2024/_SUCCESS", "2025/_SUCCESS"):
        mill.store.put(TOP + name, b"1")
    found = present_snapshots(source, scan_raw(source, mill.store))
    assert {key: each.objects for key, each in found.items()} == {"2024": 1}
    mill.store.put(f"{TOP}2024/_SUCCESS", b"again")
    assert present_snapshots(source, scan_raw(source, mill.store)) == found
    assert source.conversion_parameters() == PAGES.conversion_parameters()


@pytest.mark.parametrize("wrong", [{"quiet": -1.0}, {"quiet": float("nan")}, {"quiet": float("inf")}, {"marker": ""}])
def test_quiet_and_marker_are_checked(wrong: dict[str, float | str]) -> None:
    with pytest.raises(RecipeError, match=next(iter(wrong))):
        replace(PAGES, **wrong)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(RecipeError, match="without folders"):
        replace(PAGES, marker="a/b")
    with pytest.raises(RecipeError, match="s3://bucket"):
        replace(PAGES, inventory="a/folder")


TREES = st.sets(
    st.tuples(st.sampled_from(["s1", "s2", "s-1", "s"]), st.sampled_from(["a", "a-b", "b", "a/x", "b/y", "c.z"])),
    max_size=16,
)


@pytest.mark.slow
@settings(max_examples=60)
@given(TREES, st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_any_ticks_over_objects_that_do_not_change_see_what_one_pass_sees(
    tree: set[tuple[str, str]], takes: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = FolderStore(folder)
        for snapshot, name in tree:
            if not any(other == snapshot and path.startswith(f"{name}/") for other, path in tree):
                store.put(f"{TOP}{snapshot}/{name}", name.encode())
        assert ticks(store, itertools.cycle(takes)).seen == scan_raw(PAGES, store).seen


@pytest.mark.parametrize("take", [1, 2, 7, 1000])
def test_ticks_see_what_one_pass_sees_on_a_real_server(seaweed: Seaweed, tmp_path: Path, take: int) -> None:
    store = seaweed.store(tmp_path.name)
    for snapshot, name in itertools.product(("s", "s-1", "s.2"), ("a", "a-b", "b/c", "b-c")):
        store.put(f"{TOP}{snapshot}/{name}", name.encode())
    assert ticks(store, itertools.repeat(take)).seen == scan_raw(PAGES, store).seen


def broken_off(store: Store, take: int) -> Watch:
    watch = Watch()
    assert watch.look(PAGES, store, lambda: 0.0, after(take)) is None
    return watch


def fill(store: Store) -> None:
    for snapshot, name in itertools.product("st", "abc"):
        store.put(f"{TOP}{snapshot}/{name}", b"1")


def test_where_the_next_object_is_gone_the_pass_begins_anew(mill: Mill) -> None:
    fill(mill.store)
    watch = broken_off(mill.store, 2)
    assert watch.under_way
    assert (watch.under_way.position, watch.under_way.ahead) == (f"{TOP}s/b", f"{TOP}s/c")
    mill.store.delete([f"{TOP}s/c"])
    assert watch.look(PAGES, mill.store, lambda: 0.0, after(2)) is None
    assert watch.void == 1
    found = watch.look(PAGES, mill.store, lambda: 0.0, lambda: False)
    assert found
    assert found.seen == scan_raw(PAGES, mill.store).seen
    assert watch.void == 0


def test_where_the_last_object_is_gone_it_goes_on(mill: Mill) -> None:
    """What was taken before it went is a change like any other: the next pass sees it."""
    fill(mill.store)
    watch = broken_off(mill.store, 2)
    mill.store.delete([f"{TOP}s/b"])
    found = watch.look(PAGES, mill.store, lambda: 0.0, lambda: False)
    assert found
    assert found.seen["s"].objects == 3
    assert scan_raw(PAGES, mill.store).seen["s"].objects == 2


def test_where_everything_behind_is_gone_the_pass_begins_anew(mill: Mill) -> None:
    fill(mill.store)
    watch = broken_off(mill.store, 3)
    mill.store.delete([f"{TOP}t/{name}" for name in "abc"])
    found = watch.look(PAGES, mill.store, lambda: 0.0, lambda: False)
    assert found
    assert {key: each.objects for key, each in found.seen.items()} == {"s": 3}


def odd(mill: Mill, name: str, kind: str) -> None:
    """Puts something into the raw folder that is no object."""
    path = mill.root / TOP / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as end, contextlib.chdir(path.parent):
            end.bind(path.name)
    elif kind == "dangling link":
        path.symlink_to("/nowhere/at/all")
    elif kind == "link to itself":
        path.symlink_to(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        os.close(os.open(os.fsencode(path.parent) + b"/caf\xe9", os.O_CREAT))


ODD = [
    ("FIFO", "b: a FIFO, not a file; remove it"),
    ("socket", "b: a socket, not a file; remove it"),
    ("device", "b: a device, not a file; remove it"),
    ("dangling link", "b: the target of this link does not exist; mount the target, or remove the link"),
    ("link to itself", "b: Too many levels of symbolic links; remove it"),
    ("name", r"caf\xe9: its name is not UTF-8; rename it"),
]


@pytest.mark.parametrize(("kind", "words"), ODD)
def test_what_is_no_file_holds_back_its_snapshot_alone_and_is_never_waited_on(
    mill: Mill, kind: str, words: str
) -> None:
    fill(mill.store)
    mill.store.delete([f"{TOP}t/b"])
    odd(mill, "t/b", kind)
    found = scan_raw(PAGES, mill.store)
    assert found.held == {"t": f"t/{words}"}
    assert list(present_snapshots(PAGES, found)) == ["s"]
    assert (found.seen["t"].objects, found.hidden) == (2, "")
    assert list(list_raw(PAGES, mill.store, "s").entries) == ["a", "b", "c"]
    with pytest.raises(GristmillError, match=re.escape(f"{TOP}t/{words}")):
        list_raw(PAGES, mill.store, "t")


def test_odd_things_that_the_source_does_not_read_hold_nothing_back(mill: Mill) -> None:
    fill(mill.store)
    odd(mill, "t/.b", "FIFO")
    odd(mill, "beside", "FIFO")
    found = scan_raw(PAGES, mill.store)
    assert (found.held, found.hidden, found.dotted.count, found.loose) == ({}, "", 1, 1)
    assert len(list_raw(PAGES, mill.store, "t").entries) == 3


@pytest.mark.parametrize(
    ("partition", "name", "held", "hidden"),
    [
        (Folders(), "u", ["u"], ""),  # the snapshot's own folder is a link
        (Folders(2), "en", [], "en: the target of this link does not exist"),  # it may hide any snapshot en.*
        (Folders(2), "en/2024", ["en.2024"], ""),
        (Everything(), "u", ["all"], ""),
    ],
)
def test_a_link_without_target_may_hide_snapshots(
    mill: Mill, partition: Folders | Everything, name: str, held: list[str], hidden: str
) -> None:
    fill(mill.store)
    odd(mill, name, "dangling link")
    found = scan_raw(replace(PAGES, partition=partition), mill.store)
    assert (list(found.held), found.hidden.partition(";")[0]) == (held, hidden)


@contextlib.contextmanager
def forbidden(folder: Path) -> Iterator[None]:
    """A folder that this process may not read, though it may be root."""
    folder.chmod(0)
    try:
        with held_to_modes():
            yield
    finally:
        folder.chmod(0o755)


def test_a_folder_that_may_not_be_read_holds_back_its_snapshot_alone(tmp_path: Path) -> None:
    store = FolderStore(str(tmp_path))
    fill(store)
    with forbidden(tmp_path / TOP / "t"):
        found = scan_raw(PAGES, store)
        with pytest.raises(StoreError, match=rf"{TOP}t/?: Permission denied \(make this folder readable"):
            list_raw(PAGES, store, "t")
    assert found.held == {"t": "t: Permission denied (make this folder readable for this user)"}
    with forbidden(tmp_path / TOP), pytest.raises(StoreError, match=r"^sources/pages/raw: Permission denied"):
        scan_raw(PAGES, store)
    elsewhere = replace(PAGES, raw=f"{tmp_path}/{TOP}")
    named = rf"^{re.escape(str(tmp_path))}/{TOP.rstrip('/')}: Permission denied"
    with forbidden(tmp_path / TOP), pytest.raises(StoreError, match=named):
        scan_raw(elsewhere, FolderStore(f"{tmp_path}/{TOP}"))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["a%b.jsonl"], "t/a%b.jsonl: shard 'a%b': each part of a shard's name is .*; rename the raw object"),
        (["a.jsonl", "a.jsonl.b", "a.jsonl.gz"], "t/a.jsonl and t/a.jsonl.gz cannot both be shards; rename one"),
        (["00.json/b.jsonl", "00.jsonl"], "t/00.json/b.jsonl and t/00.jsonl cannot both be shards; rename one"),
        (["x.jsonl", "x.jsonl.gz/b"], "t/x.jsonl and t/x.jsonl.gz/b cannot both be shards; rename one"),
        (["c/00.xxh128/d/e", "c/00"], "t/c/00 and t/c/00.xxh128/d/e cannot both be shards; rename one"),
        (["a.json/b", "b.jsonl", "ab.json/b", "a.b.jsonl", "c.xxh128"], ""),
    ],
)
@pytest.mark.parametrize("take", [1, 100])
def test_names_that_cannot_be_shards_side_by_side_hold_back_their_snapshot(
    mill: Mill, names: list[str], words: str, take: int
) -> None:
    for name in [f"s/{name}" for name in names[:1] if "%" not in name] + [f"t/{name}" for name in names]:
        mill.store.put(TOP + name, b"1")
    found = ticks(mill.store, itertools.repeat(take))
    assert list(found.held) == (["t"] if words else [])
    assert re.match(words, found.held.get("t", ""))
    if words:
        with pytest.raises(DataError, match="rename"):
            raw_names_by_shard(PAGES, list_raw(PAGES, mill.store, "t"))
    else:
        assert len(raw_names_by_shard(PAGES, list_raw(PAGES, mill.store, "t"))) == len(names)


HOSTILE = [
    "a\\b.txt",
    "d\\e/a.txt",
    "a\nb.txt",
    "a%b.txt",
    "...txt",
    "é.txt",
    " .txt",
    "a#b/c?.txt",
    "\u2028.txt",
    "~.txt",
]


@pytest.mark.parametrize(
    ("where", "partition"),
    [(TOP, Folders()), (TOP, Matching("^(?P<snapshot>s)/")), ("", Folders()), ("", Everything())],
)
@pytest.mark.parametrize("shards", [OneToOne(), Hashed(2), Split(bytes=1)])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_refused_by_the_scan_and_by_the_run_or_its_object_is_read(
    tmp_path: Path, where: str, partition: Folders | Matching | Everything, shards: OneToOne | Hashed, name: str
) -> None:
    raw = tmp_path / where
    source = replace(PAGES, convert=JsonLines(source="pages"), shards=shards, partition=partition)
    source = source if where else replace(source, raw=str(raw))
    for each in ("ok.txt", name):
        (raw / "s" / each).parent.mkdir(parents=True, exist_ok=True)
        (raw / "s" / each).write_bytes(b"12")
    store = FolderStore(str(tmp_path), foreign=not where)
    (snapshot,) = scan_raw(source, store).seen
    held = ticks(store, itertools.repeat(1), source).held
    listing = list_raw(source, store, snapshot)
    if not held:
        assert sum(map(len, raw_names_by_shard(source, listing).values())) == len(listing.entries)
        assert {store.read(entry.path) for entry in listing.entries.values()} == {b"12"}
        return
    assert re.match(rf"s/{re.escape(name)}: .*; rename the raw object$", held[snapshot])
    with pytest.raises(DataError, match=re.escape(held[snapshot])):
        raw_names_by_shard(source, listing)


@pytest.mark.parametrize("shards", [OneToOne(), Hashed(2)])
def test_a_checksum_file_that_no_store_reads_holds_back_its_snapshot(mill: Mill, shards: OneToOne | Hashed) -> None:
    source = replace(PAGES, shards=shards, checksums=r"SUMS$")
    fill(mill.store)
    (mill.root / TOP / "t" / "a\\SUMS").write_bytes(b"")
    (mill.root / TOP / "t" / ".\\SUMS").write_bytes(b"")
    found = scan_raw(source, mill.store)
    assert list(found.held) == ["t"]
    assert found.held["t"].startswith("t/a\\SUMS: a name has no backslash")
    with pytest.raises(DataError, match=re.escape(TOP + found.held["t"])):
        raw_names_by_shard(source, list_raw(source, mill.store, "t"))


def test_without_its_mount_marker_a_source_is_not_there(mill: Mill) -> None:
    source = replace(PAGES, mounted=".mounted")
    fill(mill.store)
    for read in (lambda: scan_raw(source, mill.store), lambda: list_raw(source, mill.store, "s")):
        with pytest.raises(
            StoreError, match=rf"{TOP}\.mounted: the mount marker of source 'pages' is not there: mount"
        ):
            read()
    mill.store.put(f"{TOP}.mounted", b"")
    found = scan_raw(source, mill.store)
    assert (list(found.seen), found.loose, found.dotted.count) == (["s", "t"], 0, 0)
    assert len(list_raw(source, mill.store, "s").entries) == 3
    with pytest.raises(RecipeError, match="mounted is 'MOUNTED'; give a file name that begins with"):
        replace(PAGES, mounted="MOUNTED")


class Refusing(Keys):
    """A server that gives the first page and refuses the second."""

    objects: ClassVar[int] = 2_000
    each: ClassVar[int] = 1_000

    def do_GET(self) -> None:  # noqa: N802 - the name that the base class calls
        if "continuation-token" in self.path:
            self.send_error(403)
        else:
            super().do_GET()


@pytest.mark.slow
def test_a_bucket_listing_that_fails_half_way_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        store = BucketStore("s3://bench", {"endpoint": endpoint, "region": "us-east-1"})
        with pytest.raises(StoreError, match="sources/bench/raw/"):
            scan_raw(replace(PAGES, name="bench"), store)
    finally:
        server.shutdown()
        server.server_close()


def test_folders_that_make_no_snapshot_are_told_of(mill: Mill) -> None:
    for name in ("2024/a.txt", "a b/a.txt", "x.run/a.txt"):
        mill.store.put(raw_folder("pages") + name, b"")
    found = scan_raw(mill.source(), mill.store)
    assert {key: each.objects for key, each in found.seen.items()} == {"2024": 1}
    assert sorted(found.invalid) == ["a b", "x.run"]
    assert found.astray == 2
