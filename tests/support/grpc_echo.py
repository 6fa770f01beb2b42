"""A gRPC echo pair without generated code: raw bytes in, raw bytes out.

    python -m tests.support.grpc_echo serve [--port 0] [--tls CERT KEY]     prints one JSON line when ready
    python -m tests.support.grpc_echo call ADDRESS TEXT [--count N] [--tls [--ca FILE]]
                                            prints every answer on a line; without --ca the default roots count
    python -m tests.support.grpc_echo both TEXT     a server and its client in one process tree

Methods: /echo.Echo/Unary gives the message back; /echo.Echo/Stream gives it back `count` times, numbered;
/echo.Echo/Chat gives each message of a stream back as it comes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc

UNARY, STREAM, CHAT = "/echo.Echo/Unary", "/echo.Echo/Stream", "/echo.Echo/Chat"
CALL_S_MAX = 30.0


class Echo(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc ships no types
    """Answers these methods."""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> object:
        if handler_call_details.method == UNARY:
            return grpc.unary_unary_rpc_method_handler(lambda message, _context: message)
        if handler_call_details.method == STREAM:
            return grpc.unary_stream_rpc_method_handler(_repeat)
        if handler_call_details.method == CHAT:
            return grpc.stream_stream_rpc_method_handler(lambda messages, _context: messages)
        return None


def _repeat(message: bytes, _context: object) -> Iterator[bytes]:
    count, _, text = message.partition(b":")
    yield from (b"%d %s" % (number, text) for number in range(1, int(count) + 1))


def serve(port: int, tls: tuple[Path, Path] | None) -> None:
    """Serve until TERM or INT."""
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), handlers=(Echo(),))
    if tls is None:
        port = server.add_insecure_port(f"127.0.0.1:{port}")
    else:
        pair = (tls[1].read_bytes(), tls[0].read_bytes())
        port = server.add_secure_port(f"127.0.0.1:{port}", grpc.ssl_server_credentials([pair]))
    server.start()
    print(json.dumps({"port": port, "address": f"localhost:{port}", "pid": os.getpid()}), flush=True)
    signal.sigwait(ends)
    server.stop(1).wait(5)


def call(address: str, text: str, count: int = 0, tls: bool = False, ca: Path | None = None) -> list[str]:
    """Call once (count 0) or as a stream, as a client that knows nothing but its environment."""
    if not tls:
        channel = grpc.insecure_channel(address)
    else:
        roots = None if ca is None else ca.read_bytes()
        channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(roots))
    with channel:
        if count:
            answers = channel.unary_stream(STREAM)(f"{count}:{text}".encode(), timeout=CALL_S_MAX)
            return [answer.decode() for answer in answers]
        return [channel.unary_unary(UNARY)(text.encode(), timeout=CALL_S_MAX).decode()]


def both(text: str) -> list[str]:
    """Start a server as a child, call it, end it."""
    command = [sys.executable, "-m", "tests.support.grpc_echo", "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        try:
            return call(json.loads(child.stdout.readline())["address"], text)
        finally:
            child.terminate()


def main(argv: list[str] | None = None) -> None:
    """Serve, call, or do both."""
    parser = argparse.ArgumentParser(prog="tests.support.grpc_echo")
    verbs = parser.add_subparsers(dest="verb", required=True)
    server = verbs.add_parser("serve")
    server.add_argument("--port", type=int, default=0)
    server.add_argument("--tls", nargs=2, type=Path, metavar=("CERT", "KEY"))
    client = verbs.add_parser("call")
    client.add_argument("address")
    client.add_argument("text")
    client.add_argument("--count", type=int, default=0)
    client.add_argument("--tls", action="store_true")
    client.add_argument("--ca", type=Path)
    verbs.add_parser("both").add_argument("text")
    given = parser.parse_args(argv)
    if given.verb == "serve":
        serve(given.port, (given.tls[0], given.tls[1]) if given.tls else None)
    elif given.verb == "call":
        answers = call(given.address, given.text, given.count, given.tls, given.ca)
        print("\n".join(answers), flush=True)
    else:
        print("\n".join(both(given.text)), flush=True)


if __name__ == "__main__":
    main()
