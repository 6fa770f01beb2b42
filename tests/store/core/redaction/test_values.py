"""The value behind a credential's name is found in JSON at any depth, in code and in header lines, and taken whole."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.redact import Redactor

# Half a surrogate pair is no text; a scheme before a secret stays.
secrets = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda each: (
        each.strip() == each
        and "edgetape" not in each
        and not each.lower().startswith(("basic", "bearer", "digest", "token", "apikey", "aws4"))
    )
)


def nested(value: object, depth: int) -> object:
    for _ in range(depth):
        value = {"x": json.dumps(value)}
    return value


@given(secret=secrets, depth=st.integers(0, 3), spaces=st.booleans(), ascii_only=st.booleans())
@pytest.mark.parametrize("name", ["api_key", "apiKey", "client_secret", "password", "access_token", "DB-PASSWORD"])
def test_a_member_s_value_is_taken_whole_at_any_depth(
    name: str, secret: str, depth: int, spaces: bool, ascii_only: bool
) -> None:
    separators = (", ", ": ") if spaces else (",", ":")
    told = {"before": 1, name: secret, "after": "stays"}
    text = json.dumps(nested(told, depth), separators=separators, ensure_ascii=ascii_only)
    redacted = Redactor().body(text.encode())
    expected = json.dumps(
        nested({**told, name: "<edgetape:field:1>"}, depth), separators=separators, ensure_ascii=ascii_only
    )
    assert redacted.content.decode() == expected


def test_a_value_that_does_not_end_is_taken_to_the_end() -> None:
    assert Redactor().body(b'{"password": "cut o').content == b'{"password": "<edgetape:field:1>'


@pytest.mark.parametrize(
    "text, secret",
    [
        ("OPENAI_API_KEY=aB3dE6gH9jK2mN5pQ8", "aB3dE6gH9jK2mN5pQ8"),
        ('password = "hunter2hunter2"', "hunter2hunter2"),
        ("'secret_key': 'zY9xW8vU7tS6rQ5p'", "zY9xW8vU7tS6rQ5p"),
        ("aws_secret_access_key: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        ("Authorization: Bearer aB3dE6gH9jK2mN5pQ8", "aB3dE6gH9jK2mN5pQ8"),
        ("curl -H 'X-Api-Key: aB3dE6gH9jK2mN5pQ8'", "aB3dE6gH9jK2mN5pQ8"),
        ("Cookie: sid=aB3dE6gH9jK2mN5pQ8; theme=dark", "aB3dE6gH9jK2mN5pQ8"),
        ("set token bearer aB3dE6gH9jK2mN5pQ8 now", "aB3dE6gH9jK2mN5pQ8"),
    ],
)
@pytest.mark.parametrize("shape", ["%s", "a\n%s\nb", '{"out": %s}'])
def test_a_literal_in_code_is_taken_out(text: str, secret: str, shape: str) -> None:
    spelled = json.dumps(f"$ cat x\n{text}\n") if "{" in shape else text
    raw = (shape % spelled).encode()
    assert secret.encode() in raw
    assert secret.encode() not in Redactor().body(raw).content


@pytest.mark.parametrize(
    "text",
    [
        'api_key=os.environ["OPENAI_API_KEY"]',
        "api_key = settings.openai_api_key",
        "token = tokenizer.encode(text)",
        "def login(password: str, token: Token) -> None:",
        "Authorization: Bearer ${TOKEN}",
        '{"token": " Hello", "logprob": -0.1, "bytes": [32]}',
        '{"max_tokens": 4096, "next_page_token": "Cg0KBGFiYzEyMzQ1Njc4OTA", "key": "jurisdiction"}',
        '{"required": ["password"], "properties": {"api_key": {"type": "string"}}}',
        '{"signature": "EqoBCkgIARABGAIiQL8mvX2z9Q7yH4kT", "encrypted_content": "gAAAAABo5aB3dE6gH9jK2mN5pQ8"}',
        '{"prompt_cache_key": "f47ac10b-58cc-4372-a567-0e02b2c3d479", "primary_key": "aB3dE6gH9jK2mN5pQ8sT1v"}',
        "the password is kept in a vault; ask for the key: nobody has it",
        '{"api_key": null, "password": ""}',
    ],
)
def test_what_is_no_literal_secret_stays(text: str) -> None:
    for raw in (text.encode(), json.dumps({"text": text}).encode()):
        assert Redactor().body(raw).content == raw
