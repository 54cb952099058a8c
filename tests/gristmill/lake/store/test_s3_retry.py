import pytest

from gristmill.lake.store import s3_retry
from gristmill.lake.store.s3_retry import GaveUp, Problem, read_problem, store_error, with_retries


@pytest.mark.parametrize(
    ("trouble", "passing", "doubtful", "lost_race"),
    [
        (Problem("", 503, "SlowDown"), True, True, False),
        (Problem("", 500), True, True, False),
        (Problem("", 429), True, False, False),
        (Problem("", 408), True, False, False),
        (Problem("", 400, "RequestTimeout"), True, False, False),
        (Problem("", broken=True), True, True, False),
        (Problem("", 404, "NoSuchKey"), False, False, False),
        (Problem("", 403, "AccessDenied"), False, False, False),
        (Problem("", 412, "PreconditionFailed"), False, False, True),
        (Problem("", 409, "ConditionalRequestConflict"), False, False, True),
        (Problem("", 409, "BucketAlreadyExists"), False, False, False),
    ],
)
def test_what_passes_what_is_in_doubt_and_what_is_lost_are_told_apart(
    trouble: Problem, *, passing: bool, doubtful: bool, lost_race: bool
) -> None:
    assert (trouble.is_passing, trouble.may_have_succeeded, trouble.lost_race) == (passing, doubtful, lost_race)


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        (
            "Server returned status code: 403 Forbidden: <Error><Code>AccessDenied</Code><Key>hush</Key></Error>",
            Problem("403 AccessDenied", 403, "AccessDenied"),
        ),
        ("status code: 500", Problem("500", 500)),
        ("HTTP error: connection reset\nmore", Problem("HTTP error: connection reset", broken=True)),
        (
            "Generic S3 error: Got invalid list response: x",
            Problem("Generic S3 error: Got invalid list response: x", broken=True),
        ),
        ("asked http://169.254.169.254/latest/api/token", Problem("it found no credentials", 401)),
        ("something else", Problem("something else")),
        ("", Problem("OSError")),
    ],
)
def test_an_error_is_read_from_its_text_and_an_answers_body_is_never_shown(text: str, trouble: Problem) -> None:
    assert read_problem(OSError(text)) == trouble


@pytest.mark.parametrize(
    ("trouble", "mend"),
    [
        (Problem("403 AccessDenied", 403), "the bucket refused our credentials"),
        (Problem("404 NoSuchBucket", 404, "NoSuchBucket"), "there is no such bucket"),
        (Problem("404 NoSuchKey", 404, "NoSuchKey"), "no such object in s3://corpus"),
        (Problem("object with invalid path: a//b"), "rename or remove it"),
        (Problem("500", 500), "s3://corpus can be reached"),
        (Problem("500", 500), "written (a bucket over its quota is read-only)"),
        (Problem("403 RequestTimeTooSkewed", 403, "RequestTimeTooSkewed"), "the clock of this machine is wrong"),
    ],
)
def test_each_kind_of_trouble_says_its_own_mend(trouble: Problem, mend: str) -> None:
    error = str(store_error("a/b", "s3://corpus", trouble))
    assert error.startswith("a/b: ")
    assert mend in error


def attempts(*troubles: Problem) -> tuple[list[Problem], object]:
    """What happens at each attempt: these troubles, then success."""
    left = list(troubles)

    def attempt() -> str:
        if left:
            raise OSError(0)
        return "done"

    def read(_: Exception) -> Problem:
        return left.pop(0)

    try:
        return left, with_retries(attempt, read)
    except GaveUp as error:
        return left, error


def test_what_passes_is_tried_again_and_doubt_is_remembered() -> None:
    assert attempts() == ([], ("done", False))
    assert attempts(Problem("", 429)) == ([], ("done", False))
    assert attempts(Problem("", 500), Problem("", 429)) == ([], ("done", True))


def test_what_does_not_pass_is_given_up_at_once_with_the_last_trouble() -> None:
    refused, never = Problem("refused", 403), Problem("never asked", 500)
    left, error = attempts(Problem("", 503), refused, never)
    assert isinstance(error, GaveUp)
    assert (left, error.trouble, error.doubtful) == ([never], refused, True)


def test_an_error_that_is_no_trouble_of_a_clients_is_raised_as_it_is() -> None:
    def attempt() -> None:
        raise KeyError("ours")

    def read(error: Exception) -> Problem:
        raise error

    with pytest.raises(KeyError, match="ours"):
        with_retries(attempt, read)


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_retry, "PATIENCE", 0.0)
    busy = Problem("", 503)
    left, error = attempts(busy, busy)
    assert isinstance(error, GaveUp)
    assert left == [busy]
