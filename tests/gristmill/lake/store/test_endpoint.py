import pytest

from gristmill.errors import RecipeError
from gristmill.lake.store.endpoint import check_endpoint, check_lake_url, check_no_password, check_options, check_region


@pytest.mark.parametrize("address", ["", "http://host:9000", "host:6379", "s3://bucket/a@b", "s3://bucket/a:b/c@d"])
def test_an_address_without_a_password_passes(address: str) -> None:
    check_no_password(address, "here")


@pytest.mark.parametrize(
    "address",
    [
        "http://me:hunter2@host",
        "http://hunter2@host",
        "http://me:hun/hunter2@host",
        "me:hunter2@host:1",
        "s3://me:hunter2@bucket",
        "s3://me:hun/hunter2@bucket",
        "s3://hunter2@bucket",
        "http://me%3Ahunter2%40host",
        "s3://me%3Ahunter2%40bucket",
    ],
)
def test_a_password_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(RecipeError, match=r"^here holds a user or a password") as refused:
        check_no_password(address, "here")
    assert "hunter2" not in str(refused.value)


def test_a_folder_may_have_any_name() -> None:
    check_lake_url("me:all@home/lake", "here")


def test_a_lake_is_a_folder_or_a_bucket() -> None:
    with pytest.raises(RecipeError, match=r"^here is 'gs://bucket'; give a folder or s3://bucket/prefix"):
        check_lake_url("gs://bucket", "here")
    with pytest.raises(RecipeError, match=r"^here holds a user or a password"):
        check_lake_url("gs://me:hunter2@bucket", "here")


@pytest.mark.parametrize("endpoint", ["", "http://host", "https://host:9000/", "http://[::1]:9000/a=b"])
def test_an_endpoint_passes(endpoint: str) -> None:
    check_endpoint(endpoint, "here")


@pytest.mark.parametrize(
    "endpoint",
    [
        "hunter2:9000",
        "ftp://hunter2",
        "http://",
        "http:///path",
        "http://a b",
        "http://host/?password=hunter2",
        "http://host/#hunter2",
        "http://hunter2%20:9000",
        "http://host:hunter2",
    ],
)
def test_an_endpoint_that_is_no_url_is_refused_and_not_shown(endpoint: str) -> None:
    with pytest.raises(RecipeError, match=r"^here is no address .*; give http://host:port") as refused:
        check_endpoint(endpoint, "here")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("region", ["me:hunter2@host", "hunter2/", "hunter2 ", "hunter%32"])
def test_a_region_is_a_name_and_not_shown_otherwise(region: str) -> None:
    check_region("eu-north-1", "here")
    with pytest.raises(RecipeError, match=r"^here is no name of a region") as refused:
        check_region(region, "here")
    assert "hunter" not in str(refused.value)


def test_options_are_no_credentials() -> None:
    check_options("lake", {"endpoint": "http://host", "region": "eu-north-1", "proxy_url": "socks5://host:1"})
    for name in ("AWS_SECRET_ACCESS_KEY", "session_token", "sse_customer_key"):
        with pytest.raises(RecipeError, match=f"^lake: option {name}: credentials") as refused:
            check_options("lake", {name: "hunter2"})
        assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("region", "me:hunter2@host"),
        ("aws_default_region", "me:hunter2@host"),
        ("proxy_url", "me:hunter2@host:1"),
        ("proxy_url", "me%3Ahunter2%40host:1"),
        ("proxy_url", "http://host/?password=hunter2"),
        ("user_agent", "me:hunter2@host"),
        ("endpoint", "http://host/?password=hunter2"),
    ],
)
def test_no_option_holds_a_password(name: str, value: str) -> None:
    with pytest.raises(RecipeError, match=f"^lake: option {name} ") as refused:
        check_options("lake", {name: value})
    assert "hunter2" not in str(refused.value)
