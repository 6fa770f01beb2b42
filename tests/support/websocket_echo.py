"""A WebSocket echo pair: each message comes back with `echo: ` before it.

python -m tests.support.websocket_echo serve [--port 0] [--tls CERT KEY]    prints one JSON line when ready
python -m tests.support.websocket_echo call URL TEXT [TEXT...]              prints every answer on a line
python -m tests.support.websocket_echo both TEXT [TEXT...]   a server and its client in one process tree
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as listen


async def _echo(connection: ServerConnection) -> None:
    async for message in connection:
        if isinstance(message, str):
            await connection.send(f"echo: {message}")
        else:
            await connection.send(b"echo: " + message)


async def serve(port: int, tls: tuple[Path, Path] | None) -> None:
    """Serve until TERM or INT."""
    context = None
    if tls is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*tls)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with listen(_echo, "127.0.0.1", port, ssl=context) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        url = f"{'ws' if tls is None else 'wss'}://localhost:{port}/"
        print(json.dumps({"port": port, "url": url, "pid": os.getpid()}), flush=True)
        await ended.wait()


async def call(url: str, texts: Sequence[str]) -> list[str]:
    """Send each text and await its answer, through whatever proxy the environment names."""
    answers: list[str] = []
    async with connect(url) as connection:
        for text in texts:
            await connection.send(text)
            answers.append(str(await connection.recv()))
    return answers


def both(texts: Sequence[str]) -> list[str]:
    """Start a server as a child on a port that the system chooses, call it, end it."""
    command = [sys.executable, "-m", "tests.support.websocket_echo", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        try:
            return asyncio.run(call(json.loads(child.stdout.readline())["url"], texts))
        finally:
            child.terminate()


def main(argv: list[str] | None = None) -> None:
    """Serve, call, or do both."""
    parser = argparse.ArgumentParser(prog="tests.support.websocket_echo")
    verbs = parser.add_subparsers(dest="verb", required=True)
    server = verbs.add_parser("serve")
    server.add_argument("--port", type=int, default=0)
    server.add_argument("--tls", nargs=2, type=Path, metavar=("CERT", "KEY"))
    client = verbs.add_parser("call")
    client.add_argument("url")
    client.add_argument("texts", nargs="+")
    verbs.add_parser("both").add_argument("texts", nargs="+")
    given = parser.parse_args(argv)
    if given.verb == "serve":
        asyncio.run(serve(given.port, (given.tls[0], given.tls[1]) if given.tls else None))
    elif given.verb == "call":
        print("\n".join(asyncio.run(call(given.url, given.texts))), flush=True)
    else:
        print("\n".join(both(given.texts)), flush=True)


if __name__ == "__main__":
    main()
