"""Names that tell that a value is a credential: of headers, variables, query and form fields, and members of JSON.

Rules kept here:
- The value of a request header is kept only where its name is known to be harmless.
- A name either says for sure that its value is secret (`api_key`), or only that it may be (`token`): then the value
  must look random, too. What providers call `signature`, `data` or `encrypted_content` is neither.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from store.core.redaction.likeness import is_learnable

ALLOWED = frozenset(
    (
        "accept", "accept-charset", "accept-encoding", "accept-language", "anthropic-beta",
        "anthropic-dangerous-direct-browser-access", "anthropic-version", "api-version", "baggage", "cache-control",
        "connection", "content-disposition", "content-encoding", "content-language", "content-length",
        "content-location", "content-md5", "content-range", "content-type", "date", "dnt", "expect", "host",
        "http-referer", "idempotency-key", "if-match", "if-modified-since", "if-none-match", "if-range",
        "if-unmodified-since", "keep-alive", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version",
        "mcp-session-id", "notion-version", "openai-beta", "openai-organization", "openai-project", "openai-version",
        "origin", "originator", "pragma", "prefer", "priority", "range", "referer", "retry-after", "sec-gpc",
        "sec-websocket-extensions", "sec-websocket-key", "sec-websocket-protocol", "sec-websocket-version",
        "stripe-version", "te", "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade",
        "upgrade-insecure-requests", "user-agent", "vary", "via", "warning", "x-amz-content-sha256", "x-amz-date",
        "x-amz-target", "x-amzn-bedrock-accept", "x-amzn-bedrock-content-type", "x-api-version", "x-app",
        "x-client-name", "x-client-request-id", "x-client-version", "x-correlation-id", "x-github-api-version",
        "x-goog-api-client", "x-goog-api-version", "x-goog-request-params", "x-goog-user-project",
        "x-http-method-override", "x-idempotency-key", "x-initiator", "x-request-id", "x-requested-with",
        "x-service-name", "x-title", "x-trace-id",
    )
)  # fmt: skip
ALLOWED_BEGINNINGS = (
    "sec-fetch-",
    "sec-ch-",
    "x-stainless-",
    "amz-sdk-",
    "x-b3-",
    "x-datadog-",
    "grpc-",
    "x-ms-client-",
    "x-goog-upload-",
    "x-openrouter-",
)

_CREDENTIAL = re.compile(
    r"(^|[-_.])(authorization|cookies?|credentials?|passw(or)?d|passphrase|secrets?|signature|tokens?|api[-_]?key|apikey"
    r"|access[-_]?key|subscription[-_]key|auth[-_]?key|key|jwt|assertion)($|[-_.])",
    re.IGNORECASE,
)
_HARMLESS = frozenset(
    (
        "idempotency-key", "x-idempotency-key", "sec-websocket-key", "surrogate-key", "max_tokens", "token_type",
        "www-authenticate", "proxy-authenticate", "signature-input", "accept-signature", "x-cache-key",
    )
)  # fmt: skip
_COUNT = re.compile(rb"\s*[\d.,:TZ/ +-]*\s*|true|false", re.IGNORECASE)

_QUERY = re.compile(
    rb"(x-)?(goog-)?(api[-_]?key|apikey|key|subscription-key|(access|refresh|id|auth|session|security)?[-_]?token|sig"
    rb"|signature|password|passwd|pwd|client[-_]?secret|secret|auth|authorization|assertion|client[-_]assertion|jwt"
    rb"|code[-_]verifier|awsaccesskeyid|x-amz-(signature|credential|security-token)|x-goog-(signature|credential))",
    re.IGNORECASE,
)
_QUERY_MAYBE = re.compile(
    rb"code|state|ticket|nonce|ak|skey|hash|hmac|se?cret[-_]\w+|\w*[-_](key|token|secret)", re.IGNORECASE
)

_SURE = re.compile(
    rb"(?:.*[_.-])?(?:(?:x_?)?api_?keys?|apikey|(?:client|consumer|app|webhook|shared|signing|oauth|api|bot)?_?secret"
    rb"|(?:access|refresh|id|auth|session|security|bearer|bot|api|oauth|personal_access|github|csrf|xsrf|device)_?token"
    rb"|(?:secret|private|signing|encryption|account|subscription|master|service|secret_?access)_?key"
    rb"|passw(?:or)?d|passwd|pwd|passphrase|(?:proxy_?)?authorization|x_?auth|(?:set_?)?cookies?|client_?assertion"
    rb"|connection_?string|secret_?string|secret_?binary|code_?verifier|x_amz_security_token|x_goog_api_key)"
)
_MAYBE = re.compile(rb"(?:.*[_.-])?\w{0,24}(?:key|token|secret|credentials?|jwt|assertion)(?:_?(?:value|id))?")
# `next_token` and the like lead through pages; `token` in log probabilities is a word. Neither proves anything.
_NEVER = re.compile(
    rb".*(?:page|next|continuation|cursor|sync|cancellation)_?token|.*(?:idempotency|cache|primary|foreign|sort|partition"
    rb"|public|surrogate|dedup\w*|object|storage|s3)_?key|.*tokeni[sz]er.*|prompt_cache_key|encrypted_content|.*_key_id"
)


def is_allowed(name: str) -> bool:
    """Whether the value of a request header of this name (lower case) may be kept."""
    return name in ALLOWED or name.startswith(ALLOWED_BEGINNINGS)


def is_credential_name(name: str) -> bool:
    """Whether a header or an environment variable of this name carries a credential."""
    lower = name.lower()
    return lower not in _HARMLESS and "ratelimit" not in lower.replace("-", "") and bool(_CREDENTIAL.search(name))


def is_count(value: bytes) -> bool:
    """Whether a value only counts or dates: `x-ratelimit-remaining-tokens: 4000` is no token."""
    return _COUNT.fullmatch(value) is not None


def is_credential_field(name: bytes) -> bool:
    """Whether the query or form field of this name, as it is spelled in a URL, carries a credential."""
    return _QUERY.fullmatch(unquote_to_bytes(name)) is not None


def may_be_credential_field(name: bytes) -> bool:
    """Whether it does where its value looks random."""
    return _QUERY_MAYBE.fullmatch(unquote_to_bytes(name)) is not None


@lru_cache(1024)
def member(name: bytes) -> str:
    """What the name of a JSON member, or of a variable, says of its value: "sure", "maybe" or "" for nothing."""
    plain = name.lower().replace(b"-", b"_").strip(b"_. ")
    if _NEVER.fullmatch(plain):
        return ""
    if _SURE.fullmatch(plain):
        return "sure"
    return "maybe" if _MAYBE.fullmatch(plain) else ""


def credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment whose names say that they carry a credential."""
    return {name: value for name, value in environment.items() if value and is_credential_name(name)}


def octets(value: str) -> bytes:
    """A variable's value as the system has it."""
    return value.encode("utf-8", "surrogateescape")


_USERINFO = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@:]*:([^\s/?#@]+)@")


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Every value of an environment that is a credential: by its variable's name, or as a URL's password."""

    def found() -> Iterator[str]:
        for name, value in credentials(environment).items():
            if value.strip().lower() not in name.lower():  # POSTGRES_PASSWORD=postgres: the word is everywhere
                yield value.strip()
        for value in environment.values():
            yield from (word for word in _USERINFO.findall(value) if is_learnable(octets(word)))

    return tuple(dict.fromkeys(found()))
