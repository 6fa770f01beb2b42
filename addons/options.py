"""What a recorder is told: where it listens, whom it trusts, how it treats what it sees."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from addons.places import Places
from store.core.base import Base
from store.core.tenant import Tenant
from store.egress import Route
from store.labels.own import NO_RULES, OwnRules

MIB = 1024 * 1024

Durability = Literal["strict", "group"]
Local = Literal["pass", "record"]
OnDistrust = Literal["fail", "tunnel"]
OnStoreFailure = Literal["block", "pass"]
UnknownRun = Literal["default", "new", "refuse"]


def direct(scheme: str, host: str, port: int) -> None:
    """The Route of a recorder that needs no proxy of its own."""


def nobody(port: int) -> bool:
    """An `owns_port` where no listener belongs to the agent."""
    return False


def nothing(port: int, to_port: int) -> bool:
    """An `owns_connection` where no connection is known to be the agent's."""
    return False


@dataclass(frozen=True, slots=True)
class RecorderOptions:
    """All that a recorder is told.

    - `confdir` holds mitmproxy-ca.pem, the key and certificate of our authority (`store.authority`).
    - `upstream_ca` is a PEM file of roots that count besides the system's, the user's and certifi's.
    - `token` is what agents must send; or each of `tenants` has one, and runs of its own.
    - `run_ports` are ports of this machine whose traffic belongs to the run that is named.
    - `unknown_run` says where a request goes that names no run: to one that all of them share, to a new one for each
      trace (or else connection), or nowhere.
    - `workflow` and `labels` are those of runs that the recorder opens by itself.
    - `allow_hosts` are the only servers that may be reached; `bars_metadata` keeps agents from where clouds hand out
      credentials.
    - `own_rules` are the operator's, for what requests to hosts of their own are.
    - `bases` are servers that ports of ours stand for, for clients that use no proxy.
    - `owns_port` says whether the agent's own processes listen on a loopback port. It is called in a thread.
    - `owns_connection` says whether a connection from one port of this machine to another is held by the agent's own
      processes: then it needs no token. Java sends none. It is called in a thread.
    - `passthrough` names what is never opened. `on_distrust` says what becomes of a server at which an agent did not
      trust our authority: the agent fails, each time, or its next connections to it pass unopened.
    - `on_store_failure` says what becomes of traffic that the store does not take: it is stopped, or it passes.
    - A run that was opened for a name, or by silence, is closed after `idle_close_s`.
    - `drain_s` is how long what goes on may go on after the end was asked for; `own_ports` are further listeners of
      this process, which nobody reaches through it.
    - `whole_bytes_max` bounds the bodies of known length that are held until they are on disk, `body_bytes_max` what is
      kept of any body; a longer one passes whole and is recorded as truncated. What is kept of a long body waits in
      `spool_folder`, encrypted, until its outcome is recorded.
    - `inline_hooks`: whether mitmproxy may be quickened (`addons.quickening`).
    """

    confdir: Path
    listen_host: str = "127.0.0.1"
    listen_port: int = 0
    token: str | None = None
    tenants: tuple[Tenant, ...] = ()
    bases: tuple[Base, ...] = ()
    run_ports: tuple[tuple[str, int], ...] = ()
    unknown_run: UnknownRun = "default"
    workflow: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    own_rules: OwnRules = NO_RULES
    upstream_ca: Path | None = None
    route: Route = direct
    allow_hosts: Places | None = None
    bars_metadata: bool = False
    durability: Durability = "strict"
    on_store_failure: OnStoreFailure = "block"
    local: Local = "pass"
    passthrough: Places = field(default_factory=Places)
    on_distrust: OnDistrust = "fail"
    owns_port: Callable[[int], bool] = nobody
    owns_connection: Callable[[int, int], bool] = nothing
    secrets: tuple[str, ...] = ()
    idle_close_s: float | None = None
    run_headers: tuple[str, ...] = ("X-Edgetape-Run",)
    parent_headers: tuple[str, ...] = ("X-Edgetape-Parent-Run",)
    silence_s_max: int = 3600
    drain_s: float = 5.0
    own_ports: tuple[tuple[str, int], ...] = ()
    whole_bytes_max: int = 8 * MIB
    body_bytes_max: int = 256 * MIB
    spool_folder: Path | None = None
    inline_hooks: bool = True

    @property
    def admitted(self) -> tuple[Tenant, ...]:
        """Those who have a token; nobody needs one where there is none."""
        return (*((Tenant.of(self.token),) if self.token else ()), *self.tenants)
