import pytest

from gristmill.errors import RecipeError
from gristmill.lake.store.credentials import bucket_variables


def test_variables_with_a_beginning_of_their_own_are_read() -> None:
    given = {"B_AWS_ACCESS_KEY_ID": "key", "B_SECRET_ACCESS_KEY": "hunter2", "B_REGION": "eu-1"}
    read = bucket_variables("B", "here", given)
    assert (read.key, read.secret, read.token, read.region) == ("key", "hunter2", "", "eu-1")
    assert "hunter2" not in repr(read)


def test_a_missing_one_is_told() -> None:
    with pytest.raises(RecipeError, match="here has credentials='B', but neither B_AWS_SECRET_ACCESS_KEY nor"):
        bucket_variables("B", "here", {"B_ACCESS_KEY_ID": "key"})
