import pytest

from gristmill.lake.store.s3_retry import GaveUp, Trouble, patiently, read_trouble, store_error


@pytest.mark.parametrize(
    ("trouble", "passing", "doubtful", "lost_race"),
    [
        (Trouble("", 503, "SlowDown"), True, True, False),
        (Trouble("", 500), True, True, False),
        (Trouble("", 429), True, False, False),
        (Trouble("", 408), True, False, False),
        (Trouble("", 400, "RequestTimeout"), True, False, False),
        (Trouble("", broken=True), True, True, False),
        (Trouble("", 404, "NoSuchKey"), False, False, False),
        (Trouble("", 403, "AccessDenied"), False, False, False),
        (Trouble("", 412, "PreconditionFailed"), False, False, True),
        (Trouble("", 409, "ConditionalRequestConflict"), False, False, True),
        (Trouble("", 409, "BucketAlreadyExists"), False, False, False),
    ],
)
def test_what_passes_what_is_in_doubt_and_what_is_lost_are_told_apart(
    trouble: Trouble, *, passing: bool, doubtful: bool, lost_race: bool
) -> None:
    assert (trouble.passing, trouble.doubtful, trouble.lost_race) == (passing, doubtful, lost_race)


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        (
            "Server returned status code: 403 Forbidden: <Error><Code>AccessDenied</Code><Key>hush</Key></Error>",
            Trouble("403 AccessDenied", 403, "AccessDenied"),
        ),
        ("status code: 500", Trouble("500", 500)),
        ("HTTP error: connection reset\nmore", Trouble("HTTP error: connection reset", broken=True)),
        ("asked http://169.254.169.254/latest/api/token", Trouble("it found no credentials", 401)),
        ("something else", Trouble("something else")),
        ("", Trouble("OSError")),
    ],
)
def test_an_error_is_read_from_its_text_and_an_answers_body_is_never_shown(text: str, trouble: Trouble) -> None:
    assert read_trouble(OSError(text)) == trouble


@pytest.mark.parametrize(
    ("trouble", "mend"),
    [
        (Trouble("403 AccessDenied", 403), "the bucket refused our credentials"),
        (Trouble("404 NoSuchBucket", 404, "NoSuchBucket"), "there is no such bucket"),
        (Trouble("404 NoSuchKey", 404, "NoSuchKey"), "no such object in s3://corpus"),
        (Trouble("object with invalid path: a//b"), "rename or remove it"),
        (Trouble("500", 500), "s3://corpus can be reached"),
    ],
)
def test_each_kind_of_trouble_says_its_own_mend(trouble: Trouble, mend: str) -> None:
    error = str(store_error("a/b", "s3://corpus", trouble))
    assert error.startswith("a/b: ")
    assert mend in error


def attempts(*troubles: Trouble) -> tuple[list[Trouble], object]:
    """What happens at each attempt: these troubles, then success."""
    left = list(troubles)

    def attempt() -> str:
        if left:
            raise OSError(0)
        return "done"

    def read(_: Exception) -> Trouble:
        return left.pop(0)

    try:
        return left, patiently(attempt, read)
    except GaveUp as error:
        return left, error


def test_what_passes_is_tried_again_and_doubt_is_remembered() -> None:
    assert attempts() == ([], ("done", False))
    assert attempts(Trouble("", 429)) == ([], ("done", False))
    assert attempts(Trouble("", 500), Trouble("", 429)) == ([], ("done", True))


def test_what_does_not_pass_is_given_up_at_once_with_the_last_trouble() -> None:
    refused, never = Trouble("refused", 403), Trouble("never asked", 500)
    left, error = attempts(Trouble("", 503), refused, never)
    assert isinstance(error, GaveUp)
    assert (left, error.trouble, error.doubtful) == ([never], refused, True)


def test_an_error_that_is_no_trouble_of_a_clients_is_raised_as_it_is() -> None:
    def attempt() -> None:
        raise KeyError("ours")

    def read(error: Exception) -> Trouble:
        raise error

    with pytest.raises(KeyError, match="ours"):
        patiently(attempt, read)
