"""What the wire or the agent brought, as an envelope spells it: text, bytes that are none, or a body kept apart."""

import base64
from typing import Annotated

import msgspec

from store.core.canonical import INTEGER_MAX
from store.core.errors import Malformed

type Number = Annotated[int, msgspec.Meta(ge=-INTEGER_MAX, le=INTEGER_MAX)]
type Tallies = list[list[str | Number]]
type Hex32 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Apart(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an envelope does not spell out: bytes that are no UTF-8 (`b64`), or a commitment to a body (`body`)."""

    b64: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9_-]+$")] | None = None
    body: Hex32 | None = None

    def __post_init__(self) -> None:
        if (self.b64 is None) == (self.body is None):
            raise ValueError("either b64 or body")
        if self.b64 is not None and _spelled(_octets(self.b64)) != self.b64:
            raise ValueError("b64 in another spelling than the canonical one")


class Body(Apart, frozen=True):
    """A commitment to a body."""

    def __post_init__(self) -> None:
        if self.body is None or self.b64 is not None:
            raise ValueError("a body is named by its commitment")


type Text = str | Apart
type Pairs = list[Annotated[list[Text], msgspec.Meta(min_length=2, max_length=2)]]
type Headers = Pairs | Body


def text(raw: bytes | str) -> Text:
    """`raw` as an envelope spells it: valid UTF-8 as it is, other bytes as base64url without padding."""
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "surrogateescape")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return Apart(b64=_spelled(raw))


def text_bytes(value: Text) -> bytes:
    """The bytes that a short Text stands for. Raises Malformed for a reference to a body."""
    if isinstance(value, str):
        return value.encode()
    if value.b64 is None:
        raise Malformed("the text is a body, kept apart from its envelope")
    return _octets(value.b64)


def pairs_in(raw: bytes) -> list[tuple[bytes, bytes]]:
    """The ordered pairs that a body spells which is a list of headers. Raises Malformed."""
    try:
        spelled = msgspec.json.decode(raw, type=list[tuple[str | Apart, str | Apart]])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Malformed(f"not a list of pairs: {error}") from error
    return [(text_bytes(name), text_bytes(value)) for name, value in spelled]


def _spelled(raw: bytes) -> str:
    """Base64url without padding (RFC 4648, section 5)."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _octets(spelled: str) -> bytes:
    return base64.urlsafe_b64decode(spelled + "=" * (-len(spelled) % 4))


def plain(value: object) -> str:
    """A text as the catalogue has it, which proves nothing: none for what is no text, or has a NUL, which PostgreSQL
    takes into no text. Its run is found by its id.
    """
    return value if isinstance(value, str) and "\0" not in value else ""
