"""A client that asks for everything once and does as little as it can beside; the server's time is told, not its own.

    python -m bench.asker REQUESTS RESULT [--clients N] [--port P] [--way connect|tls|plain] [--server PID]

Each of N clients opens one connection and keeps it; once all are open, each takes the next request from a common list.
The result is one JSON object: count, wall_s, and cpu_s of the process PID (by itself: its parent) with all its threads
and children, until that rests again; connecting_cpu_s is what the connections took before.
"""

import argparse
import asyncio
import json
import os
import ssl
import time
from pathlib import Path
from urllib.parse import urlsplit

HOST = "api.openai.com"
PATH = "/v1/chat/completions"
_TICKS = os.sysconf("SC_CLK_TCK")
_OF_A_PROCESS = 2  # CPUCLOCK_SCHED, of a process and not of a thread
_READ_BYTES = 1 << 20
_REST_S, _REST_S_MAX = 0.2, 10.0
_REST_CPU_S = 0.002  # what whoever does nothing uses in that time at most

type Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def cpu_s(pid: int) -> float:
    """Processor time of a process and those below it but this one, in seconds; of those that have ended, too."""
    return sum(map(_own_cpu_s, _below(pid)))


def _own_cpu_s(pid: int) -> float:
    """That of a process, to the microsecond (clock_getcpuclockid(3)), and of the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return time.clock_gettime(~pid << 3 | _OF_A_PROCESS) + (int(fields[13]) + int(fields[14])) / _TICKS


def _below(pid: int) -> list[int]:
    """A process and all below it but this one."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for task in tasks for child in task.read_text().split()]
    return [pid, *(each for child in children if child != os.getpid() for each in _below(child))]


def rested_cpu_s(pid: int) -> float:
    """The same once it no longer grows: what a server puts off until it has answered is a cost of the answer."""
    used, until = -1.0, time.monotonic() + _REST_S_MAX
    while (now := cpu_s(pid)) - used > _REST_CPU_S and time.monotonic() < until:
        used = now
        time.sleep(_REST_S)
    return now


async def _connected(port: int, way: str, context: ssl.SSLContext) -> Connection:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=_READ_BYTES)
    if way == "connect":
        writer.write(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head, head
    if way != "plain":
        await writer.start_tls(context, server_hostname=HOST)
    return reader, writer


async def _ask(connection: Connection, waiting: list[bytes]) -> None:
    reader, writer = connection
    while waiting:
        writer.write(waiting.pop())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 200"), head
        if b"\r\ncontent-length: " in head:
            await reader.readexactly(int(head.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0]))
            continue
        while size := int(await reader.readline(), 16):
            await reader.readexactly(size + 2)
        await reader.readline()


async def asked(port: int, way: str, bodies: list[str], clients: int, server: int) -> dict[str, float]:
    """Asks for all of them; how long that took, and what it cost the process `server`."""
    head = f"POST {PATH} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\nAccept: */*\r\n"
    requests = [f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode() for body in reversed(bodies)]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without roots, which take long to read
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # what is measured is the server
    began, before = time.time(), cpu_s(server)
    connections = await asyncio.gather(*(_connected(port, way, context) for _ in range(clients)))
    open_s, connected = time.perf_counter(), cpu_s(server)
    await asyncio.gather(*(_ask(each, requests) for each in connections))
    wall_s = time.perf_counter() - open_s
    figures = {
        "count": len(bodies),
        "wall_s": wall_s,
        "cpu_s": rested_cpu_s(server) - connected,
        "connecting_cpu_s": connected - before,
        "began": began,
        "server_cpu_s": before,
    }
    for _, writer in connections:
        writer.close()
    return figures


def main() -> None:
    """Ask, and write down how long it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("requests", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--way", default="connect")
    parser.add_argument("--server", type=int, default=os.getppid())
    given = parser.parse_args()
    port = given.port or int(urlsplit(os.environ["HTTPS_PROXY"]).port or 0)
    bodies = json.loads(given.requests.read_text())
    figures = asyncio.run(asked(port, given.way, bodies, given.clients, given.server))
    given.result.write_text(json.dumps({**figures, "own_cpu_s": time.process_time()}))
    os._exit(0)  # what ending takes would be laid to the server


if __name__ == "__main__":
    main()
