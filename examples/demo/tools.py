"""The demo's tool: a real Datasette over a small compliance database, by HTTPS, as a process.

It prints one JSON line when it is ready and ends on TERM:

    python -m examples.demo.tools --folder build/demo/tools [--port 0]

The database knows requirements of GB and none of GB-SCT. The authority that signs the server's certificate is
made anew in the folder; the JSON line names its root. Exit code 3: Datasette is missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from examples.demo.tables import REQUIREMENTS, TOPICS
from tests.support.authority import make_authority

READY_S_MAX = 60.0
NOT_INSTALLED = 3
SCHEMA = """
create table topics (topic text primary key, guidance text not null);
create table requirements (
    id integer primary key, jurisdiction text not null, topic text not null, rule text not null,
    severity text not null
);
"""


def write_database(place: Path) -> Path:
    """Write the compliance database anew; the file's name is the database's name in Datasette's addresses."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    with sqlite3.connect(place) as database:
        database.executescript(SCHEMA)
        database.executemany("insert into topics values (?, ?)", TOPICS)
        columns = "(jurisdiction, topic, rule, severity)"
        database.executemany(f"insert into requirements {columns} values (?, ?, ?, ?)", REQUIREMENTS)
    database.close()
    return place


def free_port() -> int:
    """A port that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(folder: Path, port: int) -> tuple[subprocess.Popen[bytes], str, Path]:
    """Start Datasette and wait until it answers: its process, its address, the root to trust."""
    authority = make_authority(folder / "authority")
    leaf = authority.issue()
    database = write_database(folder / "compliance.db")
    address = f"https://127.0.0.1:{port}"
    process = subprocess.Popen(
        [
            *(
                sys.executable,
                "-m",
                "datasette",
                "serve",
                str(database),
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
            ),
            *("--ssl-keyfile", str(leaf.key), "--ssl-certfile", str(leaf.certificate)),
        ],
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    _wait(process, address, authority.root)
    return process, address, authority.root


def _wait(process: subprocess.Popen[bytes], address: str, root: Path) -> None:
    """Wait for the first answer; raises TimeoutError when none comes or the process ends."""
    trust = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=str(root)))
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), trust)
    until = time.monotonic() + READY_S_MAX
    while process.poll() is None and time.monotonic() < until:
        try:
            opener.open(f"{address}/compliance/topics.json", timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    process.kill()
    raise TimeoutError("Datasette did not answer")


def main(argv: list[str] | None = None) -> int:
    """Serve until TERM or INT."""
    parser = argparse.ArgumentParser(prog="examples.demo.tools", description="A compliance database, served.")
    parser.add_argument("--folder", type=Path, required=True, help="where database and certificates are to lie")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args(argv)
    if importlib.util.find_spec("datasette") is None:
        print("the compliance database cannot be served here: no module named datasette", file=sys.stderr)
        return NOT_INSTALLED
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    process, url, root = start(given.folder.resolve(), given.port or free_port())
    print(json.dumps({"url": url, "ca": str(root), "pid": os.getpid()}), flush=True)
    signal.sigwait(ends)
    process.kill()
    process.wait(10)
    return 0


if __name__ == "__main__":
    sys.exit(main())
