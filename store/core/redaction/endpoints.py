"""Endpoints whose whole purpose is to hand out credentials: of what they say, only the structure is kept.

The classes: `oauth` (token endpoints, RFC 6749 and its relatives), `sts` (temporary keys of clouds), `metadata` (the
service that a machine asks for its own identity), `vault` (secret managers).
"""

import re
from collections.abc import Sequence

from store.core.redaction import fields
from store.core.redaction.marks import MARK

_METADATA_HOSTS = frozenset(
    (
        "169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "100.100.100.200", "metadata",
        "metadata.google.internal", "metadata.goog", "metadata.azure.internal",
    )
)  # fmt: skip
_METADATA_PATH = re.compile(
    r".*(token|identity|credentials?|api/token|user-data|attributes|service-accounts/[^/]+/?$)", re.IGNORECASE
)
_STS_HOST = re.compile(
    r"sts(\.[a-z0-9-]+)*\.amazonaws\.com(\.cn)?|sts\.googleapis\.com|iamcredentials\.googleapis\.com"
    r"|(portal\.)?sso(\.[a-z0-9-]+)*\.amazonaws\.com|oidc\.[a-z0-9-]+\.amazonaws\.com|cognito-identity\..*\.amazonaws\.com"
)
_VAULT_HOST = re.compile(
    r"secretsmanager[a-z0-9.-]*\.amazonaws\.com(\.cn)?|[a-z0-9-]+\.vault\.azure\.net|secretmanager\.googleapis\.com"
    r"|api\.doppler\.com|app\.infisical\.com|[a-z0-9.-]*vault\.[a-z0-9.-]*hashicorp\.cloud|events\.1password\.com"
)
_VAULT_TARGET = re.compile(r"secretsmanager\.|AmazonSSM\.(Get|Put)Parameter|TrentService\.(Decrypt|GenerateDataKey)")
_OAUTH_HOST = re.compile(
    r"oauth2\.googleapis\.com|accounts\.google\.com|login\.microsoftonline\.(com|us)|login\.windows\.net"
)
_OAUTH_PATH = re.compile(
    r".*/(oauth|oauth2|oidc|openid|openid-connect|connect|protocol/openid-connect|auth|o|idp|sso|v\d(\.\d)?|api|as)"
    r"/(v\d(\.\d)?/)?(access_token|token|tokens|revoke|introspect|device_authorization|token\.oauth2)/?"
    r"|.*/oauth/.*token.*|/(login/oauth/)?(access_token|token)|.*/copilot_internal/v2/token",
    re.IGNORECASE,
)
_COUNTING = re.compile(r".*(count|usage|limit)[^/]*$", re.IGNORECASE)


def kind(method: str, host: str, path: bytes, headers: Sequence[tuple[bytes, bytes]]) -> str:
    """The class of an endpoint, "" for all that do other things. `host` is in lower case, without a port."""
    place = MARK.sub(b"", path).decode("latin-1")
    named = {name.lower(): value for name, value in headers}
    target = named.get(b"x-amz-target", b"").decode("latin-1")
    if host in _METADATA_HOSTS:
        return "metadata" if _METADATA_PATH.match(place) else ""
    if _STS_HOST.fullmatch(host):
        return "sts"
    if _VAULT_HOST.fullmatch(host) or _VAULT_TARGET.match(target) or b"x-vault-token" in named:
        return "vault"
    if method.upper() != "POST" or _COUNTING.match(place):
        return ""
    form = named.get(b"content-type", b"").lower().startswith(fields.FORM.encode())
    google = _OAUTH_HOST.fullmatch(host) is not None and "token" in place
    return "oauth" if google or (_OAUTH_PATH.fullmatch(place) and (form or "oauth" in place or "oidc" in place)) else ""
