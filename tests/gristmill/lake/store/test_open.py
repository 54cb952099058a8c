from pathlib import Path

import msgspec
import pytest
from testkit import Mill

from gristmill.__main__ import main
from gristmill.errors import RecipeError
from gristmill.lake.store.open import Lake, open_store


def test_a_lake_travels_as_an_address(tmp_path: Path) -> None:
    mill = Mill(tmp_path)
    lake = msgspec.json.decode(msgspec.json.encode(mill.lake), type=Lake)
    mill.store.put("a", b"1")
    assert lake.store().read("a") == b"1"


def test_a_server_address_on_which_the_client_panics_is_a_recipe_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "hunter2")
    store = open_store("s3://bucket/lake", {"endpoint": "http://127.0.0.1:99999", "region": "us-east-1"})
    for ask in (lambda: store.read("a"), lambda: list(store.list("a/")), lambda: store.put("a", b"")):
        with pytest.raises(RecipeError, match=r"^the bucket client cannot use its endpoint, .*: correct --option"):
            ask()


def test_a_lake_of_an_unknown_kind_is_a_recipe_error() -> None:
    with pytest.raises(RecipeError, match="s3://bucket/prefix"):
        open_store("gs://bucket/lake")


@pytest.mark.parametrize("url", ["s3://bucket/lake", "folder"])
@pytest.mark.parametrize("options", [{"secret_access_key": "hunter2"}, {"aws_endpoint": "http://me:hunter2@host"}])
def test_no_store_is_opened_with_a_secret(url: str, options: dict[str, str]) -> None:
    for take in (open_store, Lake):
        with pytest.raises(RecipeError) as refused:
            take(url, options)
        assert "hunter2" not in str(refused.value)


def test_a_relative_path_is_one_below_the_current_directory_and_stays_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lake = Lake("corpus")
    assert lake.url == f"{tmp_path}/corpus"
    assert main(["verify", "./corpus"]) == 2
    assert capsys.readouterr().err.startswith(f"{tmp_path}/corpus: there is no lake")
    monkeypatch.chdir("/")
    lake.store().put("a", b"1")
    assert (tmp_path / "corpus" / "a").read_bytes() == b"1"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Lake("~/corpus") == lake
    assert Lake("s3://bucket/lake").url == "s3://bucket/lake"
