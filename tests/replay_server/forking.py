"""Recordings to be forked, forks of them that go live, and requests to one, for the tests of this wing."""

import socket
from collections.abc import Sequence
from pathlib import Path

from replay_server.injection import Edit, Injection
from replay_server.plan import ForkPlan
from replay_server.registry import Registry
from replay_server.report import Report
from replay_server.server import LiveOptions, ReplayOptions, ReplayServer
from store.core.model import RunOpen
from store.core.redact import Redactor
from store.egress import Unreached
from store.exchange import Exchange, exchanges
from store.reader import Reader
from tests.replay_server.recording import Place, Recording
from tests.replay_server.wires import dial

SECRET = "sk-proj-" + "a1B2" * 12
ROWS = Injection(edits=(Edit("", [1]),))


async def reach(scheme: str, host: str, port: int) -> socket.socket:
    try:
        connection = socket.create_connection((host, port), 5)
    except OSError as error:
        raise Unreached("connect", f"{host} cannot be reached") from error
    connection.setblocking(False)
    return connection


def forking(
    step: int, *rules: str, models: Sequence[tuple[str, int]] = (), root: Path | None = None, live_step: bool = False
) -> ReplayOptions:
    roots = root.read_bytes() if root else b""
    registry = Registry.of(rules).with_models(models)
    injection = Injection() if live_step else ROWS
    plan = ForkPlan(step, registry, injection, live_step)
    return ReplayOptions(live=LiveOptions(plan, reach, roots), secrets=(SECRET,), redactor=Redactor([SECRET]))


async def ask(server: ReplayServer, method: str, url: str, body: bytes = b"", *fields: str) -> bytes:
    wire = await dial(server)
    head = [f"{method} {url} HTTP/1.1", "Host: x", "Connection: close", *fields]
    if body:
        head += ["Content-Type: application/json", "Accept: application/json", f"Content-Length: {len(body)}"]
    wire.send("\r\n".join([*head, "", ""]).encode() + body)
    await wire.end()
    return wire.received


def of_run(place: Place, run: str) -> tuple[RunOpen, list[Exchange], Reader]:
    reader = Reader.open(place.store, place.keys)
    events = list(reader.events(run))
    opened = events[0].facts
    assert isinstance(opened, RunOpen)
    return opened, exchanges(events), reader


def record_two(place: Place, url: str) -> str:
    def tell(recording: Recording) -> None:
        recording.get(f"{url}/rows", b"[]")
        recording.get(f"{url}/other", b'"recorded"')

    return place.record(tell)


async def finished(server: ReplayServer) -> Report:
    return await server.stop(0, confined=True)
