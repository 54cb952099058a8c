import pytest

from gristmill.errors import RecipeError
from gristmill.lake.store.endpoint import check_endpoint, check_lake_url, check_no_password, check_options


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


@pytest.mark.parametrize("endpoint", ["", "http://host", "https://host:9000/", "http://[::1]:9000/a?b=c"])
def test_an_endpoint_passes(endpoint: str) -> None:
    check_endpoint(endpoint, "here")


@pytest.mark.parametrize("endpoint", ["host:9000", "ftp://host", "http://", "http:///path", "http://a b"])
def test_an_endpoint_that_is_no_url_is_refused(endpoint: str) -> None:
    with pytest.raises(RecipeError, match=r"^here is .*; give http://host:port"):
        check_endpoint(endpoint, "here")


def test_options_are_no_credentials() -> None:
    check_options("lake", {"endpoint": "http://host", "region": "eu-north-1"})
    for name in ("AWS_SECRET_ACCESS_KEY", "session_token", "sse_customer_key"):
        with pytest.raises(RecipeError, match=f"^lake: option {name}: credentials") as refused:
            check_options("lake", {name: "hunter2"})
        assert "hunter2" not in str(refused.value)
