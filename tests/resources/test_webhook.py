import pytest
from hook import hooked

from gristmill.errors import StoreError
from resources.webhook import post

pytestmark = pytest.mark.slow

AT_ONCE = (0.0, 0.0)


def test_a_message_is_posted_as_json() -> None:
    with hooked() as hook:
        post(hook.address, {"text": "ein Fehler: ä"}, AT_ONCE)
        assert hook.taken == [{"text": "ein Fehler: ä"}]


def test_a_busy_webhook_is_tried_three_times_and_a_wrong_address_once() -> None:
    with hooked() as hook:
        hook.answers = [503, 429]
        post(hook.address, {"text": "a"}, AT_ONCE)
        assert (hook.asked, len(hook.taken)) == (3, 1)
        for status, asked in ((500, 3), (404, 1), (302, 1)):
            hook.answers, hook.asked = [status] * asked, 0
            with pytest.raises(StoreError, match=f"the webhook of GRISTMILL_WEBHOOK answered {status}") as told:
                post(hook.address, {"text": "a"}, AT_ONCE)
            assert hook.asked == asked
            assert "secret" not in str(told.value)


def test_nobody_who_listens_is_an_error_without_the_address() -> None:
    with hooked() as hook:
        address = hook.address
    with pytest.raises(StoreError, match=r"did not answer: .*refused") as told:
        post(address, {"text": "a"}, AT_ONCE)
    assert "secret" not in str(told.value)
