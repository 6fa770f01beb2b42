"""What a long-lived recorder is told, made of the options as click gives them."""

import os
from collections.abc import Sequence
from pathlib import Path

from addons.guard import UnsafeAddress, check_address
from addons.options import MIB, RecorderOptions
from proxy import pace
from proxy.agent.bases import bases_in
from proxy.agent.upstream import upstream_proxy
from proxy.border import Misuse
from proxy.options import Shared
from proxy.sessions.opening import labelled, named, places
from proxy.settings import Durability, Local, LogFormat, OnDistrust, OnStoreFailure, UnknownRun
from proxy.stores import anchoring
from proxy.stores.policy import own_rules
from store.authority import Authority
from store.core import redact
from store.core.tenant import BadTenants, Tenant, parsed
from store.reasons import reason


class Given(anchoring.Given):
    """The options as click gives them."""

    host: str
    port: int
    token: str | None
    tokens: Path | None
    reverse: Sequence[str]
    listen: Sequence[str]
    unknown_run: UnknownRun
    workflow: str | None
    labels: Sequence[str]
    durability: Durability
    on_store_failure: OnStoreFailure
    upstream_ca: Path | None
    local: Local
    allowed_hosts: Sequence[str]
    allow_metadata: bool
    passthrough: Sequence[str]
    on_distrust: OnDistrust
    max_body: int
    idle: float
    admin: str | None
    drain: float
    log_format: LogFormat
    as_json: bool


def told(given: Given, authority: Authority, shared: Shared) -> RecorderOptions:
    """Raises Misuse for what no recorder can be told."""
    tenants = _tenants(given["tokens"])
    try:
        check_address(given["host"], has_token=bool(given["token"] or tenants))
    except UnsafeAddress as error:
        raise Misuse(str(error), hint=error.hint) from error
    return RecorderOptions(
        confdir=authority.folder,
        listen_host=given["host"],
        listen_port=given["port"],
        token=given["token"],
        tenants=tenants,
        bases=bases_in(given["reverse"]),
        run_ports=tuple(_run_port(text) for text in given["listen"]),
        unknown_run=given["unknown_run"],
        workflow=named("workflow", given["workflow"]),
        labels=tuple(labelled(given["labels"]).items()),
        upstream_ca=given["upstream_ca"],
        route=upstream_proxy(os.environ).route,
        durability=given["durability"],
        on_store_failure=given["on_store_failure"],
        local=given["local"],
        allow_hosts=places(given["allowed_hosts"]) if given["allowed_hosts"] else None,
        bars_metadata=not given["allow_metadata"],
        passthrough=places(given["passthrough"]),
        on_distrust=given["on_distrust"],
        body_bytes_max=given["max_body"] * MIB,
        secrets=redact.secrets_of(os.environ),
        idle_close_s=given["idle"],
        spool_folder=shared.store,
        own_rules=own_rules(shared),
        drain_s=given["drain"],
        inline_hooks=not pace.is_plain(),
    )


def place(text: str | None) -> tuple[str, int] | None:
    """`PORT`, or `HOST:PORT`. Raises Misuse."""
    if text is None:
        return None
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port[:6]) > 65_535:
        raise Misuse(f"{text} is no place to listen", hint="--admin 9090, or --admin 0.0.0.0:9090")
    return host.strip("[]") or "127.0.0.1", int(port)


def _tenants(path: Path | None) -> tuple[Tenant, ...]:
    if path is None:
        return ()
    try:
        return parsed(path.read_text("utf-8"))
    except BadTenants as error:
        raise Misuse(f"{path}: {error}", hint=error.hint) from error
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse(f"{path} cannot be read: {reason(error)}") from error


def _run_port(text: str) -> tuple[str, int]:
    run, at, port = text.rpartition("@")
    if not at or not run or not port.isdecimal() or int(port[:6]) > 65_535:
        raise Misuse(f"{text} is no run and port", hint="--listen nightly@9010")
    return run, int(port)
