"""The one table of settings: name, default, help and environment variable of every option."""

from collections.abc import Mapping
from typing import Literal

from proxy.settings import keeping, reading, recording, replaying, shared
from proxy.settings.setting import Default, Setting

__all__ = ["NO_TOKEN", "PROXY_PORT", "SHARED", "TABLE", "Default", "Setting"]

Color = Literal["auto", "always", "never"]
Durability = Literal["strict", "group"]
Local = Literal["pass", "record"]
OnDistrust = Literal["fail", "tunnel"]
OnDrift = Literal["stop", "serve"]
OnMiss = Literal["fail"]
OnStoreFailure = Literal["block", "pass"]
Order = Literal["causal", "strict", "any"]

NO_TOKEN = "x"  # stands where a password must stand, for a recorder that asks for none
PROXY_PORT = 8484

SHARED = shared.ROWS
TABLE: Mapping[str, Setting] = {
    row.name: row
    for row in (
        Setting("json", "Print JSON on stdout.", flag=True, member="as_json"),
        *recording.ROWS,
        *reading.ROWS,
        *keeping.ROWS,
        *replaying.ROWS,
    )
}
