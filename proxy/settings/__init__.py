"""The one table of settings: name, default, help and environment variable of every option."""

from collections.abc import Iterable, Mapping
from typing import Literal

from proxy.settings import keeping, reading, recording, replaying, shared
from proxy.settings.setting import Default, Setting

__all__ = ["NO_TOKEN", "PROXY_PORT", "SHARED", "TABLE", "Default", "Setting"]

Children = Literal["recorded", "live"]
Color = Literal["auto", "always", "never"]
Durability = Literal["strict", "group"]
Local = Literal["pass", "record"]
LogFormat = Literal["text", "json"]
OnDistrust = Literal["fail", "tunnel"]
OnDrift = Literal["stop", "serve"]
OnMiss = Literal["fail", "live", "record"]
OnStoreFailure = Literal["block", "pass"]
Order = Literal["causal", "strict", "any"]
UnknownRun = Literal["default", "new", "refuse"]

NO_TOKEN = "x"  # stands where a password must stand, for a recorder that asks for none
PROXY_PORT = 8484

SHARED = shared.ROWS


def _together(rows: Iterable[Setting]) -> Mapping[str, Setting]:
    table: dict[str, Setting] = {}
    for row in rows:
        assert row.name not in table, f"two rows are called {row.name}: verbs would share the later one's default"
        table[row.name] = row
    return table


TABLE = _together(
    (
        Setting("json", "Print JSON on stdout.", flag=True, member="as_json"),
        *recording.ROWS,
        *reading.ROWS,
        *keeping.ROWS,
        *replaying.ROWS,
    )
)
