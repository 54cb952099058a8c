import pytest

from gristmill.lake.rows.document import Document
from gristmill.taggers.code import secrets
from gristmill.taggers.code.secrets import SECRETS
from gristmill.text.characters import stretches

LONG = "A1b2C3d4E5f6G7h8I9j0KlMnOpQrStUvWxYz0123456789abcdefghijABCDEFGHIJ" * 2
LETTERS = "abcdefghijKLMNOPqrstuvwxyzABCDEFGH"
KEYS = [  # put together here, so that no tool takes this file for a leak
    *("AKIA" + "QWERTY2345QWERTY", "ghp_" + LONG[:36], "github_pat_" + LONG[:22] + "_" + LONG[:59]),
    *("glpat-" + LONG[:20], "xoxb-12-34-" + LONG[:9], "hooks.slack.com/services/T0/B0/" + LONG[:9]),
    *("AIza" + LONG[:35], "sk_live_" + LONG[:24], "sk-proj-" + LONG[:40] + "T3BlbkFJ" + LONG[:40]),
    *("sk-ant-api03-" + LONG[:95], "hf_" + LETTERS, "npm_" + LONG[:36], "pypi-AgE" + LONG[:80]),
    *("SG." + LONG[:22] + "." + LONG[:43], "sq0csp-" + LONG[:43], "0123456789abcdef" * 2 + "-us12"),
    *("AccountKey=" + LONG[:86], "12345678:AA" + LONG[:33]),
]
BLOCK = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
OTHERS = [
    ("web_tokens", "eyJhbGciOiJI" + ".eyJzdWIiOiIx.SflKxwRJSM"),
    ("private_keys", BLOCK),
    ("private_keys", "-----BEGIN PGP PRIVATE KEY BLOCK-----"),
    ("private_keys", "PuTTY-User-Key-File-3: ssh-rsa\nAAAA\nPrivate-MAC: 01ab"),
]


def look(text: str) -> dict[str, list[str]]:
    labels = SECRETS.look([Document(id="a", text=text, source="s")])
    found = {name: [text[a:b] for a, b, _ in spans[0]] for name, spans in labels.items() if isinstance(spans[0], list)}
    assert labels["count"] == [float(sum(map(len, found.values())))]
    return {name: parts for name, parts in found.items() if parts}


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:6])
def test_keys_are_found_by_their_format_with_offsets_in_code_points(key: str) -> None:
    assert look(f"😀\ud800 key: {key} é\n{key}") == {"keys": [key, key]}


@pytest.mark.parametrize(("label", "secret"), OTHERS)
def test_private_keys_and_web_tokens_are_found_whole(label: str, secret: str) -> None:
    assert look(f"é {secret} x") == {label: [secret]}


def test_passwords_of_urls_and_values_that_look_random_are_found() -> None:
    assert look("postgres://ada:s3cr3t@db/x http://host:80/@x https://{user}:{password}@host") == {
        "passwords": ["s3cr3t"]
    }
    assert look(f'API_KEY = \'{LONG[:20]}\'; "auth_token": "0123456789abcdef0123"') == {
        "assigned": [LONG[:20], "0123456789abcdef0123"]
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "password = 'correcthorsebattery'",
        "token = 'aaaaaaaaaaaaaaaaaaaa1'",
        "secret: 'a1b2'",
        "T3BlbkFJ" + LONG[:30],
        ".eyJabcdef.abcdef",
        "xAKIA" + "QWERTY2345QWERTY",
    ],
)
def test_what_is_no_secret_is_left(text: str) -> None:
    assert look(text) == {}


def test_secrets_at_the_cuts_of_a_huge_text_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join((KEYS[0], BLOCK, OTHERS[0][1], KEYS[8], KEYS[1]))
    whole = look(text)
    for size in (1, 7, 50, 64):
        monkeypatch.setattr(
            secrets, "split_into_stretches", lambda text, size=size: stretches.split_into_stretches(text, size)
        )
        assert look(text) == whole
