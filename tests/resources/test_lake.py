import pytest

from gristmill.environment import read_environment
from resources.lake import LakeResource, lake_resource


@pytest.mark.parametrize(("given", "delay"), [({}, 5), ({"GRISTMILL_RETRY_DELAY": "7"}, 7)])
def test_a_lake_that_did_not_answer_has_five_seconds_or_what_is_given(given: dict[str, str], delay: int) -> None:
    assert lake_resource(read_environment(given)).retry_delay == delay


def test_options_that_are_not_given_are_left_out() -> None:
    assert LakeResource(url="lake").lake().options == {}
    resource = LakeResource(url="s3://bucket/lake", endpoint="http://127.0.0.1:1", shelves=["gristmill", "ours"])
    assert resource.lake().options == {"endpoint": "http://127.0.0.1:1"}
    assert resource.packages == ("gristmill", "ours")


def test_a_bucket_is_reached_as_the_environment_says_and_a_folder_by_its_path() -> None:
    bucket = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_REGION": "eu-north-1"}
    found = lake_resource(read_environment({"GRISTMILL_LAKE": "s3://bucket/lake", **bucket}))
    assert (found.url, found.endpoint, found.region) == ("s3://bucket/lake", "http://127.0.0.1:1", "eu-north-1")
    assert lake_resource(read_environment({"GRISTMILL_LAKE": "/data/lake"})).lake().url == "/data/lake"
