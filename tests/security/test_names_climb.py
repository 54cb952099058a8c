"""Names that would climb out of the lake, or out of their folder, are refused wherever they come from."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from testkit import Mill, make_documents

from gristmill.errors import DataError, RecipeError, StoreError
from gristmill.lake.address import check_name, check_shard, check_snapshot
from gristmill.lake.store.folder import FolderStore
from gristmill.lake.store.open import open_store

if TYPE_CHECKING:
    from gristmill.lake.store.protocol import Store

CLIMBERS = ["..", "../up", "a/../../up", "a/..", "/etc/passwd", "a//b", "./a", "a/.", "a\x00b", "a\\..\\b", ""]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file beside the lake."""
    file = tmp_path / "up"
    file.write_text("beside the lake")
    return file


@pytest.mark.parametrize("name", CLIMBERS)
def test_no_verb_of_a_folder_takes_a_climbing_name(lake: FolderStore, secret: Path, name: str) -> None:
    before = sorted(secret.parent.rglob("*"))
    for verb in (
        lambda: lake.read(name),
        lambda: lake.read_tagged(name),
        lambda: lake.read_range(name, 0, 1),
        lambda: list(lake.stream(name)),
        lambda: lake.head(name),
        lambda: lake.put(name, b"x"),
        lambda: lake.put_if(name, b"x", None),
        lambda: lake.upload(name),
        lambda: lake.delete([name]),
    ):
        with pytest.raises(StoreError):
            verb()
    assert secret.read_text() == "beside the lake"
    assert sorted(secret.parent.rglob("*")) == before


@pytest.mark.parametrize("name", [name for name in CLIMBERS if name])
def test_no_verb_of_a_bucket_takes_a_climbing_name(name: str) -> None:
    store: Store = open_store("s3://nowhere/lake", {"endpoint": "http://127.0.0.1:9", "region": "us-east-1"})
    for verb in (lambda: store.read(name), lambda: store.put(name, b"x"), lambda: store.delete([name])):
        with pytest.raises(StoreError, match="is not the path of an object"):
            verb()


@contextmanager
def bucket_with(key: str) -> Iterator[str]:
    """The endpoint of a bucket that holds one object, of a name that no S3 server of ours would take."""
    listing = (
        f"<ListBucketResult><Name>lakes</Name><KeyCount>1</KeyCount><IsTruncated>false</IsTruncated><Contents>"
        f"<Key>{key}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified><ETag>e</ETag><Size>1</Size>"
        f"</Contents></ListBucketResult>"
    ).encode()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(listing)))
            self.end_headers()
            self.wfile.write(listing)

        def log_message(self, *words: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a//b", "../c", "./d"])
def test_a_listing_with_such_a_name_says_whom_to_rename(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anyone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
    with bucket_with(f"lake/raw/{name}") as endpoint:
        options = {"endpoint": endpoint, "region": "us-east-1", "allow_http": "true"}
        with pytest.raises(StoreError, match=f"raw/{name}.*rename or remove it") as refused:
            list(open_store("s3://lakes/lake", options).list("raw/"))
        assert "anything" not in str(refused.value)


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "a..b", "", ".hidden", "a\x00", "a" * 101, "ä", "x.receipts"])
def test_a_climbing_snapshot_is_refused(name: str) -> None:
    with pytest.raises(DataError):
        check_snapshot(name)


@pytest.mark.parametrize("name", ["..", "../x", "a/../x", "a//b", ".hidden", "a/.b", "a\x00", "a\\b", "a\n", "con:"])
def test_a_climbing_shard_is_refused(name: str) -> None:
    with pytest.raises(DataError):
        check_shard(name)


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "A", "a b", "index", "raw", ""])
def test_a_climbing_recipe_is_refused(name: str) -> None:
    with pytest.raises(RecipeError):
        check_name(name, "source")


def test_documents_may_have_climbing_ids_which_stay_data(mill: Mill, secret: Path) -> None:
    rows = make_documents(2)
    rows[0]["id"] = "../../../up"
    mill.raw("a.jsonl.gz", rows)
    mill.convert()
    assert mill.ids(mill.documents(), "a") == ["../../../up", "doc-00001"]
    assert secret.read_text() == "beside the lake"


def test_a_row_that_looks_like_code_is_text(mill: Mill) -> None:
    text = "__import__('os').system('touch ran') ${jndi:ldap://x} {{ 7 * 7 }} !!python/object/apply:os.system"
    mill.raw("a.jsonl.gz", [{**make_documents(1)[0], "text": text}])
    mill.convert()
    assert mill.rows(mill.documents().shard("a"))[0]["text"] == text


def test_nesting_a_hundred_thousand_deep_is_no_crash(mill: Mill) -> None:
    def deep(depth: int) -> bytes:
        return b'{"id":"x","text":"t","source":"pages","metadata":' + b'{"a":' * depth + b"1" + b"}" * (depth + 1)

    mill.raw("a.jsonl.gz", [deep(100_000), *make_documents(20)])
    with pytest.raises(DataError, match=r"600051 of \d+ bytes refused.*nested too deeply: 1"):
        mill.convert()
    mill.raw("a.jsonl.gz", [deep(10_000), *make_documents(20)])
    mill.convert()
    table = mill.table(mill.documents())
    assert (table["a"].rows, sum(table["a"].dropped.values())) == (20, 1)
