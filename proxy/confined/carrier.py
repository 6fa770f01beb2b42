"""Carries connections to the server that keeps the store out of a confinement: by a process that stays outside.

It listens on a socket in a folder of its own, which is reached without a network, and opens the connection to the
server as the store's URL asks for it, with TLS or without. It ends when the last process ends that `carry` returned in.
"""

import asyncio
import contextlib
import functools
import os
import shutil
import signal
import socket
import ssl
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from proxy.confined.bridge import carry_one_way
from store.core.address import Server

_SSL_REQUEST = bytes.fromhex("0000000804d2162f")  # PostgreSQL's protocol, section 55.2.10: may this go on in TLS?
_IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)  # who needs it ends first
_OWN_ROOTS = Path("~/.postgresql/root.crt")


def carry(known: Server) -> Path:
    """The folder of a socket that leads to the server. Call it before anything else: it forks."""
    folder = Path(tempfile.mkdtemp(prefix="edgetape-way-"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / f".s.PGSQL.{known.place[1]}"))
    listener.listen()
    ours, theirs = os.pipe()  # nothing is written: our end is closed when we are gone, and not inherited by an agent
    sys.stdout.flush()
    sys.stderr.flush()
    if os.fork() == 0:
        try:
            os.close(theirs)
            _stay(known, listener, ours)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(0)  # whatever happens, this child must not go on as if it were us
    listener.close()
    os.close(ours)
    return folder


def _stay(known: Server, listener: socket.socket, lifeline: int) -> None:
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)  # who reads what we print waits for us alone
    asyncio.run(_serve(known, listener, lifeline))


async def _serve(known: Server, listener: socket.socket, lifeline: int) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(lifeline, ended.set)
    async with await asyncio.start_unix_server(functools.partial(_carry, known), sock=listener):
        await ended.wait()


async def _carry(known: Server, near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
    """Carries one accepted connection; where the server is not reached it is closed."""
    with contextlib.closing(near_out), contextlib.suppress(OSError, EOFError):
        far, far_out = await reached(known)
        with contextlib.closing(far_out):
            await asyncio.gather(carry_one_way(near, far_out), carry_one_way(far, near_out))


async def reached(known: Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to a server, in TLS where its URL, or the server, wants that. Raises OSError (ssl.SSLError),
    EOFError.
    """
    said = dict(parse_qsl(urlsplit(known.url).query))
    host, port, _, _ = known.place
    far, far_out = await asyncio.open_connection(said.get("hostaddr", host), port)
    mode = said.get("sslmode", os.environ.get("PGSSLMODE", "prefer"))
    try:
        if mode not in {"disable", "allow"}:
            far_out.write(_SSL_REQUEST)
            if await far.readexactly(1) == b"S":
                await far_out.start_tls(_context(mode, said), server_hostname=host)
            elif mode != "prefer":
                raise ConnectionError("the server speaks no TLS")
    except BaseException:
        far_out.close()
        raise
    return far, far_out


def _context(mode: str, said: Mapping[str, str]) -> ssl.SSLContext:
    """As libpq has it: `require` verifies where there are roots, `verify-ca` whoever the certificate is of."""
    roots = Path(said.get("sslrootcert", _OWN_ROOTS)).expanduser()
    verified = mode.startswith("verify") or (mode == "require" and roots.is_file())
    own = None if said.get("sslrootcert") == "system" or not verified else str(roots)
    context = ssl.create_default_context(cafile=own)
    context.check_hostname = mode == "verify-full"
    context.verify_mode = ssl.CERT_REQUIRED if verified else ssl.CERT_NONE
    if "sslcert" in said:
        context.load_cert_chain(said["sslcert"], said.get("sslkey"))
    return context
