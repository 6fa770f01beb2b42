"""The first redaction: no secret comes out, its number tells it from others, and what is harmless stays."""

from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from store.core.redact import Redacted, Redactor, credentials, is_credential_name, secrets_of, stored

SECRET = b"sk-canary-7f3a9d"
MARKED = b"<edgetape:"

# A secret that is part of what every mark spells would stand in the mark itself.
secrets = st.binary(min_size=8, max_size=40).filter(lambda raw: raw not in b"<edgetape:environment:1234567890>")
header_safe = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=";=&%+"), min_size=8, max_size=40
).filter(lambda each: each not in "<edgetape:proxy-authorization:environment:1234567890>")
pieces = st.lists(st.binary(max_size=12), min_size=1, max_size=5)


@given(secret=header_safe, other=header_safe)
@pytest.mark.parametrize(
    "name, shape",
    [
        (b"Authorization", b"Bearer %s"),
        (b"authorization", b"%s"),
        (b"AUTHORIZATION", b"Basic   %s"),
        (b"Proxy-Authorization", b"Digest %s"),
        (b"Cookie", b"session=%s"),
        (b"Cookie", b"%s"),
        (b"X-Api-Key", b"%s"),
        (b"x-goog-api-key", b"%s"),
        (b"api-key", b"%s"),
        (b"X-Amz-Security-Token", b"%s"),
        (b"X-Auth-Token", b"%s"),
        (b"ocp-apim-subscription-key", b"%s"),
    ],
)
def test_a_credential_header_gives_no_secret_away(name: bytes, shape: bytes, secret: str, other: str) -> None:
    assume(secret != other)
    redactor = Redactor()
    first, again, second = (redactor.header(name, shape % each.encode()) for each in (secret, secret, other))
    assert secret.encode() not in first.content
    assert first.content == again.content != second.content
    assert first.content.endswith(b":1>")
    assert second.content.endswith(b":2>")
    assert not first.exact
    assert first.wire_bytes == len(shape % secret.encode())


@given(secret=header_safe)
@pytest.mark.parametrize(
    "shape", [b"sid=%s", b"sid=%s; Path=/; HttpOnly", b"%s", b"%s; Secure", b"=%s", b"a=b=%s; Max-Age=5"]
)
def test_a_cookie_that_is_set_gives_no_secret_away(shape: bytes, secret: str) -> None:
    redacted = Redactor().header(b"Set-Cookie", shape % secret.encode(), response=True)
    assert secret.encode() not in redacted.content
    assert redacted.content.endswith(shape.partition(b"%s")[2])
    assert dict(redacted.marks)["cookie"] == 1


@given(secret=secrets.filter(lambda raw: b"&" not in raw), before=pieces)
@pytest.mark.parametrize(
    "name",
    [
        b"key",
        b"api_key",
        b"API-KEY",
        b"access_token",
        b"token",
        b"sig",
        b"X-Amz-Signature",
        b"client_secret",
        b"api%5Fkey",
        b"%6Bey",
    ],
)
def test_a_credential_in_a_query_is_not_given_away(name: bytes, secret: bytes, before: list[bytes]) -> None:
    harmless = [b"q=" + each.replace(b"&", b"") for each in before]
    raw = b"&".join([*harmless, name + b"=" + secret, b"page=2"])
    redacted = Redactor().query(raw)
    assert redacted.content == b"&".join([*harmless, name + b"=<edgetape:query:1>", b"page=2"])
    assert redacted.marks == (("query", 1),)


@given(known=st.lists(header_safe, min_size=1, max_size=4, unique=True), pick=st.integers(0, 3), around=pieces)
def test_a_secret_of_the_environment_comes_out_of_nowhere(known: list[str], pick: int, around: list[bytes]) -> None:
    secret = known[pick % len(known)].encode()
    redactor = Redactor(known=iter(known))
    raw = secret.join(around) + secret
    for redacted in (
        redactor.plain(raw),
        redactor.header(b"X-Debug", raw),
        redactor.header(b"X-Echo", raw, response=True),
        redactor.header(b"Set-Cookie", b"a=b; Comment=" + secret, response=True),
        redactor.query(b"q=" + quote(secret.decode(), safe="").encode()),
        redactor.query(b"q=" + secret),
    ):
        assert secret not in redacted.content
        assert MARKED in redacted.content
        assert not redacted.exact


def test_a_secret_that_begins_with_another_leaves_no_end_behind() -> None:
    redactor = Redactor(known=["abcdefgh", "abcdefgh-and-more"])
    assert redactor.plain(b"abcdefgh-and-more abcdefgh").content == b"<edgetape:environment:1> <edgetape:environment:2>"


def test_a_secret_that_stands_in_a_mark_does_not_spoil_it() -> None:
    redactor = Redactor(known=["first-secret", "environment"])
    assert redactor.plain(b"first-secret").content == b"<edgetape:environment:1>"


def test_a_secret_that_is_no_text_is_found_as_bytes() -> None:
    raw = b"caf\xe9-secret"
    redactor = Redactor(known=[raw.decode("utf-8", "surrogateescape")])
    assert redactor.plain(b"<" + raw + b">").content == b"<<edgetape:environment:1>>"
    assert redactor.plain(raw.decode("utf-8", "surrogateescape")).content == b"<edgetape:environment:1>"


def test_short_values_are_no_secrets() -> None:
    assert Redactor(known=["1", "true", "seven77"]).plain(b"1 true seven77").exact


def test_secrets_are_numbered_by_class_in_the_order_in_which_they_come() -> None:
    redactor = Redactor()
    marks = [
        redactor.header(b"x-api-key", b"one").content,
        redactor.header(b"authorization", b"Bearer one").content,
        redactor.header(b"x-api-key", b"two").content,
        redactor.header(b"other-token", b"one").content,
        redactor.query(b"key=one&token=two&key=one").content,
    ]
    assert marks == [
        b"<edgetape:key:1>",
        b"Bearer <edgetape:authorization:1>",
        b"<edgetape:key:2>",
        b"<edgetape:key:1>",
        b"key=<edgetape:query:1>&token=<edgetape:query:2>&key=<edgetape:query:1>",
    ]


HARMLESS = [
    "accept",
    "content-type",
    "user-agent",
    "idempotency-key",
    "sec-websocket-key",
    "x-request-id",
    "keep-alive",
]
UNKNOWN = ["x-monkey", "author", "surrogate-key", "x-keyboard", "x-ratelimit-remaining", "server"]


@pytest.mark.parametrize("name", HARMLESS)
@given(value=st.binary(max_size=15))
def test_a_header_that_is_known_to_be_harmless_stays_byte_for_byte(name: str, value: bytes) -> None:
    for response in (False, True):
        assert Redactor().header(name.encode(), value, response=response) == Redacted(value, len(value))


@pytest.mark.parametrize("name", UNKNOWN)
@given(value=st.binary(min_size=1, max_size=15))
def test_an_unknown_header_stays_in_an_answer_and_not_in_a_request(name: str, value: bytes) -> None:
    assert Redactor().header(name.encode(), value, response=True) == Redacted(value, len(value))
    assert Redactor().header(name.encode(), value).content == b"<edgetape:header:1>"


@given(
    names=st.lists(st.sampled_from((b"q", b"page", b"keyword", b"monkey", b"")), max_size=5),
    value=st.binary(max_size=9),
)
def test_a_harmless_query_stays_byte_for_byte(names: list[bytes], value: bytes) -> None:
    raw = b"&".join(name + b"=" + value.replace(b"&", b"") for name in names) + b"&&=&x"
    assert Redactor().query(raw) == Redacted(raw, len(raw))


@given(raw=st.binary(max_size=200))
def test_bytes_without_a_secret_stay_as_they_are(raw: bytes) -> None:
    assert Redactor(known=["not-in-there-at-all"]).plain(raw) == stored(raw) == Redactor().body(raw)


def test_credential_variables_are_told_by_their_names() -> None:
    environment = {
        "OPENAI_API_KEY": "a",
        "GITHUB_TOKEN": "b",
        "DB_PASSWORD": "c",
        "AWS_SECRET_ACCESS_KEY": "d",
        "EMPTY_TOKEN": "",
        "PATH": "/bin",
        "KEYBOARD": "qwerty",
    }
    assert sorted(credentials(environment).values()) == ["a", "b", "c", "d"]
    assert not is_credential_name("Idempotency-Key")


def test_secrets_of_an_environment_are_values_and_passwords_in_urls_but_no_words_that_are_everywhere() -> None:
    environment = {
        "OPENAI_API_KEY": "a-key\n",
        "POSTGRES_PASSWORD": "postgres",
        "DATABASE_URL": "postgres://app:pass-4711-word@db/x",
        "CACHE_URL": "redis://:default@cache/0",
        "PATH": "/bin",
    }
    assert secrets_of(environment) == ("a-key", "pass-4711-word")


def test_a_key_in_the_subprotocol_of_a_websocket_is_taken_out() -> None:
    offered = b"realtime, openai-insecure-api-key.sk-proj-aB3dE6gH9jK2mN5pQ8sT1vW4, openai-beta.realtime-v1"
    kept = Redactor().header(b"Sec-WebSocket-Protocol", offered).content
    assert kept == b"realtime, openai-insecure-api-key.<edgetape:openai:1>, openai-beta.realtime-v1"
