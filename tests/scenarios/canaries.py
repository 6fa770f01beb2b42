"""The secrets of the canary scenario, by the place where the agent puts them."""

import base64
import hashlib
from collections.abc import Iterator
from urllib.parse import quote

PLACES = (
    "form", "cookie", "query", "odd-header", "json", "nested", "deeper", "userinfo", "header", "part", "environment",
    "argv",
)  # fmt: skip


def canaries(seed: str) -> dict[str, str]:
    """A secret for each place; those of two seeds have nothing in common."""
    places = (*PLACES, "shape", "path")
    drawn = {place: hashlib.sha256(f"{seed}\n{place}".encode()).hexdigest()[:32] for place in places}
    digits = str(int(drawn["path"], 16))[:10]
    return {
        **drawn,
        "shape": f"sk-ant-api03-{drawn['shape']}",
        "path": f"{digits}:AA{drawn['path']}x",
    }


def spellings(secret: str) -> Iterator[bytes]:
    """A secret as it may stand in a file; made here by other means than the rules that take it out."""
    raw = secret.encode()
    yield from (raw, raw.upper(), raw[::-1], raw.hex().encode(), raw.hex().upper().encode(), quote(secret).encode())
    yield from (raw[:16], raw[-16:])
    for offset in range(3):
        packed = base64.b64encode(b"?" * offset + raw + b"?" * (3 - (offset + len(raw)) % 3))
        yield packed[4:-4]
    yield raw.decode().encode("utf-16-le")
