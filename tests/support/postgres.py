"""A PostgreSQL server for a test session: started on first use, on a socket and on loopback, in a folder of its own."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import quote, urlencode

import psycopg

from store.core.address import parse
from store.database.server import home

PASSWORD = "canary-secret/of@the:store"
_ACCOUNT = "postgres"  # a server does not run as root
_QUICK = ("fsync=off", "full_page_writes=off", "shared_buffers=16MB", "max_connections=40", "autovacuum=off")


def programs() -> Path | None:
    """The folder of the newest server here, if there is any, and an account that it can run as."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("postgres")
    if os.geteuid() == 0 and _ACCOUNT not in (entry.pw_name for entry in pwd.getpwall()):
        return None
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@dataclass(slots=True)
class Postgres:
    """A running server: `folder` holds its socket, `port` its loopback listener, which asks for the password."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def connect(self, schema: str = "public", user: str = _ACCOUNT) -> psycopg.Connection[tuple[object, ...]]:
        """A connection by the socket, of the superuser if nobody else is named."""
        return psycopg.connect(
            f"host={self.folder} port={self.port} user={user} dbname=postgres options=-csearch_path={schema}",
            autocommit=True,
        )

    def schema(self) -> str:
        """A new schema, in which a store can be made."""
        name = f"store{next(self._numbers)}"
        with self.connect() as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return name

    def url(self, schema: str, user: str = _ACCOUNT) -> str:
        """The URL of the store in a schema, by the socket."""
        said = {"host": str(self.folder), "port": self.port, "user": user, "options": f"-csearch_path={schema}"}
        return f"postgresql:///postgres?{urlencode(said, quote_via=quote)}"

    def store(self, base: Path, schema: str | None = None, user: str = _ACCOUNT) -> Path:
        """The home of a new store, beneath a folder; its keys lie beside it."""
        return home(parse(self.url(schema or self.schema(), user)), base / "servers")

    def far_url(self, schema: str, password: str = PASSWORD) -> str:
        """The same by loopback, with the password in it."""
        options = quote(f"-csearch_path={schema}", safe="")
        return f"postgresql://{_ACCOUNT}:{quote(password, safe='')}@127.0.0.1:{self.port}/postgres?options={options}"


@contextlib.contextmanager
def running(binaries: Path) -> Iterator[Postgres]:
    """A server that ends with the block."""
    # Beneath the system's own folder: the server's account must be able to reach it.
    folder = Path(tempfile.mkdtemp(prefix="edgetape-postgres-"))
    account = {}
    if os.geteuid() == 0:
        entry = pwd.getpwnam(_ACCOUNT)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        account = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    secret = folder / "secret"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    data = folder / "data"
    making = [binaries / "initdb", "-D", data, "-U", _ACCOUNT, "-N", "-E", "UTF8", "--locale=C", f"--pwfile={secret}"]
    making += ["--auth-local=trust", "--auth-host=scram-sha-256"]
    subprocess.run(making, check=True, stdout=subprocess.DEVNULL, cwd=folder, **account)  # type: ignore[call-overload]
    with socket.socket() as free:  # at the last moment, so that hardly anybody else is given it before the server is
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = (f"unix_socket_directories={folder}", "listen_addresses=127.0.0.1", f"port={port}", *_QUICK)
    command = [binaries / "postgres", "-D", data, *(word for option in options for word in ("-c", option))]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **account)  # type: ignore[call-overload]
    try:
        made = Postgres(folder, port, process)
        _wait(made)
        yield made
    finally:
        process.send_signal(3)  # SIGQUIT: at once
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait(made: Postgres) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            made.connect().close()
            return
        except psycopg.OperationalError:
            if made.process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
