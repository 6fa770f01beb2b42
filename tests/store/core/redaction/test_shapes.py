"""Keys and tokens of known shapes are found whole wherever they stand; what only resembles them stays."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.redact import Redactor
from store.core.redaction.shapes import INNERS, SHAPES

A = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
TOKENS = {
    "openai": [f"sk-proj-{A}{A}", f"sk-{A}{A}", "sk-svcacct-" + A],
    "anthropic": [f"sk-ant-api03-{A}-{A}_AA", f"sk-ant-oat01-{A}{A}", f"sk-ant-ort01-{A}{A}"],
    "openrouter": ["sk-or-v1-" + "0a1b2c3d" * 8],
    "groq": ["gsk_" + A + A],
    "xai": ["xai-" + A * 3],
    "langsmith": ["lsv2_pt_" + "0a1b2c3d" * 4 + "_0a1b2c3d4e", "ls__" + "0a1b2c3d" * 4],
    "langfuse": ["sk-lf-0a1b2c3d-0a1b-4c3d-8a1b-0a1b2c3d4e5f", "pk-lf-0a1b2c3d-0a1b-4c3d-8a1b-0a1b2c3d4e5f"],
    "replicate": ["r8_" + A + "0123456789"],
    "tavily": ["tvly-dev-" + A],
    "huggingface": ["hf_" + A + "0123456"],
    "google": ["AIza" + A + "01234567", f"ya29.a0{A}-{A}_{A}", "GOCSPX-" + A],
    "github": ["ghp_" + A + "012345678", "ghs_" + A + "012345678", f"github_pat_11{A}_{A}{A}"],
    "aws": ["AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"],
    "slack": [f"xoxb-123456789012-123456789012-{A}", f"xoxp-1-2-3-{A}"],
    "stripe": ["sk_live_" + A, "rk_test_" + A, "whsec_" + A],
    "jwt": ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"],
    "gitlab": ["glpat-" + A],
    "sendgrid": [f"SG.{A[:22]}.{A}{A[:16]}"],
    "telegram": ["123456789:AA" + A + "0123456"],
    "twilio": ["SK" + "0a1b2c3d" * 4],
    "npm": ["npm_" + A + "012345678"],
    "pypi": ["pypi-AgEIcHlwaS5vcmc" + A * 2],
    "digitalocean": ["dop_v1_" + "0a1b2c3d" * 8],
    "databricks": ["dapi" + "0a1b2c3d" * 4],
    "terraform": ["aB3dE6gH9jK2mN.atlasv1." + A * 3],
    "azure": ["aB38Q~" + A + "01234567"],
    "mailchimp": ["0a1b2c3d" * 4 + "-us20"],
    "vault": ["hvs." + A],
    "discord": ["MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde." + A + "x"],
}
AROUND = [
    ("", ""),
    ('{"text": "', '"}'),
    ("export KEY=", "\n"),
    ('{"text": "first line\\n', '\\nnext"}'),
    ("q=%20", "&n=1"),
    ('{"text": "\\u003d', '"}'),
    ("see (", "), and"),
    ("x" * 40 + " ", " " + "y" * 40),
]


@pytest.mark.parametrize("before, after", AROUND)
@pytest.mark.parametrize("kind, token", [(kind, token) for kind, tokens in TOKENS.items() for token in tokens])
def test_a_token_is_found_whole_wherever_it_stands(kind: str, token: str, before: str, after: str) -> None:
    redacted = Redactor().body((before + token + after).encode())
    mark = f"<edgetape:{kind}:1>"
    assert redacted.content.decode() in (before + mark + after, before.replace("KEY=", "KEY=") + mark + after)


@given(place=st.integers(0, 70_000), token=st.sampled_from([each for tokens in TOKENS.values() for each in tokens]))
def test_a_token_is_found_at_the_border_of_windows_too(place: int, token: str) -> None:
    text = b"word " * (place // 5)
    assert token.encode() not in Redactor().body(text + token.encode() + b" " + text[:100]).content


@pytest.mark.parametrize(
    "text",
    [
        "sk-toggleable__content-fallback sk-estimator-doc-link fitted sk-parallel-item",
        "task-oriented-dialogue-systems-are-fun disk-encryption-at-rest-for-everyone",
        "/usr/lib/python3/dist-packages/some_long_module_name/another_one.py",
        "call_abc123DEF456ghi789JKL012 toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL",
        "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
        "018f6b1c-7a3e-7cc0-98ab-0123456789ab f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "req_011CSHoEeqs5C35K2UUqR7Fy gpt-4o-mini-2024-07-18 claude-sonnet-4-5-20250929",
        "patchwork-2024-12-01 key-value-store-with-many-words SKELETON_KEY_OF_THE_HOUSE_IS_LOST",
        "live_migration_of_a_virtual_machine_between_hosts test_that_what_only_resembles_a_token_stays_here",
        "API-ABCDEFGHIJKLMNOPQRSTUVWXYZ EAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "test_9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 ext_module.core.acc_level",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_what_only_resembles_a_token_stays(text: str) -> None:
    raw = f'{{"text": "{text}"}}'.encode()
    assert Redactor().body(raw).content == raw


@given(raw=st.binary(min_size=300, max_size=3000))
def test_long_base64_is_no_token(raw: bytes) -> None:
    import base64

    for encoded in (base64.b64encode(raw), base64.urlsafe_b64encode(raw)):
        body = b'{"data": "' + encoded + b'", "signature": "' + encoded + b'"}'
        assert Redactor().body(body).content == body


def test_every_shape_is_a_regular_expression_with_heads() -> None:
    for shape in SHAPES:
        re.compile(shape.rest)
        assert shape.heads.split()
        assert re.fullmatch(r"[a-z-]+", shape.kind)
    for inner in INNERS:
        assert re.compile(inner.whole).groups == 0
