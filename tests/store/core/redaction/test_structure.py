"""Of endpoints that hand out credentials only the structure is kept, and what clients must be able to read."""

import json

import pytest

from store.core.redact import Content, Redactor

FORM = ((b"Content-Type", b"application/x-www-form-urlencoded"),)
JSON = ((b"Content-Type", b"application/json"),)


@pytest.mark.parametrize(
    "method, host, path, headers, kind",
    [
        ("POST", "auth.example", b"/oauth2/token", FORM, "oauth"),
        ("POST", "oauth2.googleapis.com", b"/token", FORM, "oauth"),
        ("POST", "login.microsoftonline.com", b"/tenant/oauth2/v2.0/token", FORM, "oauth"),
        ("POST", "console.anthropic.com", b"/v1/oauth/token", JSON, "oauth"),
        ("POST", "auth.openai.com", b"/oauth/token", JSON, "oauth"),
        ("POST", "keycloak.example", b"/realms/x/protocol/openid-connect/token", FORM, "oauth"),
        ("POST", "sts.eu-west-1.amazonaws.com", b"/", FORM, "sts"),
        ("GET", "169.254.169.254", b"/latest/meta-data/iam/security-credentials/role", (), "metadata"),
        ("PUT", "169.254.169.254", b"/latest/api/token", (), "metadata"),
        ("GET", "metadata.google.internal", b"/computeMetadata/v1/instance/service-accounts/x/token", (), "metadata"),
        ("GET", "169.254.169.254", b"/latest/meta-data/instance-type", (), ""),
        ("POST", "secretsmanager.us-east-1.amazonaws.com", b"/", JSON, "vault"),
        ("GET", "corp.vault.azure.net", b"/secrets/db", (), "vault"),
        ("GET", "vault.internal", b"/v1/secret/data/x", ((b"X-Vault-Token", b"hvs.x"),), "vault"),
        ("POST", "api.openai.com", b"/v1/chat/completions", JSON, ""),
        ("POST", "api.anthropic.com", b"/v1/messages/count_tokens", JSON, ""),
        ("POST", "api.example", b"/api/token", JSON, ""),
        ("GET", "api.github.com", b"/repos/x/y", (), ""),
    ],
)
def test_an_endpoint_is_known_by_host_and_path(
    method: str, host: str, path: bytes, headers: tuple[tuple[bytes, bytes], ...], kind: str
) -> None:
    assert Redactor.endpoint(method, host, path, headers) == kind


def test_every_string_of_a_token_answer_is_taken_out_but_what_clients_must_read() -> None:
    answer = {
        "access_token": "abc", "refresh_token": "def", "token_type": "Bearer", "expires_in": 3599,
        "account": {"uuid": "x-1", "email": "someone@example.com"}, "ext_expires_in": "3599",
    }  # fmt: skip
    redacted = Redactor().body(json.dumps(answer).encode(), Content(b"application/json", "", "oauth"))
    kept = json.loads(redacted.content)
    assert (kept["token_type"], kept["expires_in"], kept["ext_expires_in"]) == ("Bearer", 3599, "3599")
    taken = [kept["access_token"], kept["refresh_token"], *kept["account"].values()]
    assert taken == [f"<edgetape:oauth:{number}>" for number in (1, 2, 3, 4)]


def test_a_token_request_keeps_its_grant() -> None:
    raw = b"grant_type=client_credentials&client_id=app&client_secret=s3cr3t&code=123456"
    redacted = Redactor().body(raw, Content(FORM[0][1], "", "oauth"))
    assert redacted.content == (
        b"grant_type=client_credentials&client_id=<edgetape:oauth:1>&client_secret=<edgetape:oauth:2>"
        b"&code=<edgetape:oauth:3>"
    )


def test_temporary_keys_in_xml_keep_their_times() -> None:
    raw = (
        b"<R><AccessKeyId>ASIAIOSFODNN7EXAMPLE</AccessKeyId><SecretAccessKey>wJalrXUtnFEMI</SecretAccessKey>"
        b"<Expiration>2026-11-29T10:00:00Z</Expiration></R>"
    )
    redacted = Redactor().body(raw, Content(b"text/xml", "", "sts"))
    assert redacted.content == (
        b"<R><AccessKeyId><edgetape:sts:1></AccessKeyId><SecretAccessKey><edgetape:sts:2></SecretAccessKey>"
        b"<Expiration>2026-11-29T10:00:00Z</Expiration></R>"
    )


@pytest.mark.parametrize(
    "raw, content",
    [
        (b"my-role", b"my-role"),
        (b"AQAEAGk3b0dJc2VjcmV0dG9rZW4wMTIzNDU2Nzg5QUJDREVGR0g9PQ==", b"<edgetape:metadata:1>"),
        (b"", b""),
    ],
)
def test_a_plain_answer_of_the_metadata_service_stays_where_it_is_a_name(raw: bytes, content: bytes) -> None:
    assert Redactor().body(raw, Content(b"text/plain", "", "metadata")).content == content
