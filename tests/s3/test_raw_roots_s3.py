"""Raw data on one S3 server, the lake on another: other credentials, or none, and no secret in the lake."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from seaweed import BUCKET, KEY, REGION, SECRET, Seaweed
from testkit import make_documents, packed

from gristmill.__main__ import main
from gristmill.lake.store.s3 import BucketStore
from gristmill.recipes import catalogue

OTHER_KEY, OTHER_SECRET = "key-of-the-other", "secret-of-the-other"
PUBLIC = """{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*",
"Action": ["s3:GetObject", "s3:ListBucket"], "Resource": ["arn:aws:s3:::corpus", "arn:aws:s3:::corpus/*"]}]}"""
RECIPE = """
from gristmill.readers.dolma import DolmaLines
from gristmill.recipes.source import RawRoot, Source

TALES = Source(name="tales", convert=DolmaLines("tales"), raw=RawRoot("s3://corpus/texts", {options}))
"""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seaweed]:
    """A server with other credentials, two raw objects, and a bucket that everybody may read."""
    server = Seaweed(tmp_path_factory.mktemp("other") / "data", OTHER_KEY, OTHER_SECRET)
    keys = {"aws_access_key_id": OTHER_KEY, "aws_secret_access_key": OTHER_SECRET}
    client = boto3.client("s3", endpoint_url=server.endpoint, region_name=REGION, **keys)
    for number, name in enumerate("ab"):
        data = packed(make_documents(10, start=10 * number, source="tales"))
        client.put_object(Bucket=BUCKET, Key=f"texts/2024/{name}.jsonl.gz", Body=data)
    client.put_bucket_policy(Bucket=BUCKET, Policy=PUBLIC)
    yield server
    server.close()


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(near: BucketStore, seaweed: Seaweed, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command over the lake: its exit code, and all that it says."""

    def command(name: str, *arguments: str) -> tuple[int, str]:
        code = main([name, near.url, *arguments, "--shelves", "talehill", "--option", f"endpoint={seaweed.endpoint}"])
        said = capsys.readouterr()
        return code, said.out + said.err

    return command


def declare(folder: Path, options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package `talehill` whose source has its raw data on the other server."""
    shelf = folder / "talehill" / "sources"
    shelf.mkdir(parents=True)
    for empty in (shelf, shelf.parent):
        (empty / "__init__.py").write_bytes(b"")
    (shelf / "tales.py").write_text(RECIPE.format(options=options))
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.startswith("talehill")]:
        monkeypatch.delitem(sys.modules, name)
    catalogue._read_once.cache_clear()  # noqa: SLF001 - a module is another one now


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", ['credentials="OTHER"', 'anonymous=True, endpoint="{endpoint}", region="us-east-1"']
)
def test_raw_data_of_another_server_are_made_traced_and_verified(
    other: Seaweed, near: BucketStore, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    declare(tmp_path, options.format(endpoint=other.endpoint), monkeypatch)
    monkeypatch.setenv("OTHER_AWS_ACCESS_KEY_ID", OTHER_KEY)
    monkeypatch.setenv("OTHER_SECRET_ACCESS_KEY", OTHER_SECRET)
    monkeypatch.setenv("OTHER_ENDPOINT_URL", other.endpoint)
    said = [run("plan"), run("make", "tales", "--workers", "2"), run("plan"), run("verify", "--raw", "--all")]
    assert [code for code, _ in said] == [1, 0, 0, 0], said
    assert "2 to grind" in said[0][1]
    traced = run("trace", "tales", "doc-00013")
    assert traced[0] == 0
    assert "s3://corpus/texts/2024/b.jsonl.gz" in traced[1]
    words = "".join(text for _, text in [*said, traced]).encode()
    for data in [words, *(near.read(entry.path) for entry in near.list(""))]:
        assert not any(secret.encode() in data for secret in (OTHER_KEY, OTHER_SECRET, KEY, SECRET))


def test_wrong_and_missing_credentials_name_their_variables_and_are_not_shown(
    other: Seaweed, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(tmp_path, 'credentials="OTHER"', monkeypatch)
    code, words = run("plan")
    assert code == 1
    assert "source 'tales': raw has credentials='OTHER', but neither OTHER_AWS_ACCESS_KEY_ID nor OTHER_ACC" in words
    monkeypatch.setenv("OTHER_ACCESS_KEY_ID", OTHER_KEY)
    monkeypatch.setenv("OTHER_SECRET_ACCESS_KEY", f"not-{OTHER_SECRET}")
    monkeypatch.setenv("OTHER_ENDPOINT_URL", other.endpoint)
    code, words = run("plan")
    assert "the bucket refused our credentials (403 SignatureDoesNotMatch): give the environment of each" in words
    assert "OTHER_SECRET_ACCESS_KEY (a role's" in words
    assert OTHER_SECRET not in words
    assert OTHER_KEY not in words
