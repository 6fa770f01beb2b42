"""A long body waits outside of memory, encrypted, and comes back whole."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest

from addons.spool import BLOCK_BYTES, MEMORY_BYTES_MAX, Spool
from addons.tee import Tee
from store.core.errors import StoreUnusable
from tests.addons.exact import Scripted
from tests.addons.raw import get, served, until
from tests.addons.recording import Recording, recording
from tests.support.sample import Sample

MIB = 1 << 20
STREAMS_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every file without a name that is made."""
    made: list[Any] = []
    plain = tempfile.TemporaryFile

    def make(**how: Any) -> Any:  # noqa: ANN401
        made.append(plain(**how))
        return made[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", make)
    return made


def test_what_is_short_makes_no_file(files: list[Any]) -> None:
    spool = Spool()
    spool.add(b"a" * (MEMORY_BYTES_MAX - 1))
    assert (spool.content, files) == (b"a" * (MEMORY_BYTES_MAX - 1), [])


def test_what_is_long_is_in_a_file_that_says_nothing_and_comes_back(tmp_path: Path, files: list[Any]) -> None:
    spool, pieces = Spool(tmp_path), [b"%063d\n" % number * 1024 for number in range(64)]
    for piece in pieces:
        spool.add(piece)
    assert spool._waiting_bytes < BLOCK_BYTES
    (file,) = files
    file.seek(0)
    written = file.read()
    assert len(written) > 3 * MIB
    assert b"000000000000" not in written
    assert list(tmp_path.iterdir()) == []
    assert spool.content == spool.content == b"".join(pieces)
    spool.add(b"and more")
    assert spool.content == b"".join(pieces) + b"and more"
    spool.close()
    spool.add(b"too late")
    assert (spool.content, file.closed) == (b"", True)


def test_a_folder_that_takes_nothing_is_a_store_that_fails(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="no room to wait in"):
        Spool(tmp_path / "none").add(b"a" * MEMORY_BYTES_MAX)


def test_a_tee_over_a_full_disk_still_passes_every_byte(tmp_path: Path) -> None:
    tee = Tee(0, 100 * MIB, lambda _: None, folder=tmp_path / "none")
    assert tee(b"a" * MEMORY_BYTES_MAX) == b"a" * MEMORY_BYTES_MAX
    assert isinstance(tee.failure, StoreUnusable)


def resident_mib() -> int:
    """What this process has in memory now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1]) // 1024


@pytest.mark.soak
async def test_bodies_of_a_hundred_megabytes_pass_without_being_held(tmp_path: Path, sample: Sample) -> None:
    held: dict[str, int] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        piece = sample.source().randbytes(MIB)
        if head.startswith(b"GET"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (100 * MIB))
            for number in range(100):
                writer.write(piece)
                await writer.drain()
                held["GET"] = resident_mib() if number < 90 else held["GET"]
        else:
            for number in range(100):
                await reader.readexactly(MIB)
                held["POST"] = resident_mib() if number < 90 else held["POST"]
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()

    async with served(serve) as port, recording(tmp_path) as made:
        up = get(f"http://127.0.0.1:{port}/", b"Content-Length: %d" % (100 * MIB), method=b"POST")
        grew = {}
        for way, raw, sent in (("POST", up, 100), ("GET", get(f"http://127.0.0.1:{port}/"), 0)):
            before = resident_mib()
            await passed(made, raw, sent)
            grew[way] = held[way] - before
        first, second = made.exchanges()
        assert len(made.upload(first)[1]) == len(made.response_body(second)) == 100 * MIB
        sample.measured(f"while 100 MiB passed: +{grew['GET']} MiB of memory down, +{grew['POST']} MiB up")
        assert max(grew.values()) < 64


async def passed(made: Recording, raw: bytes, mib_sent: int) -> None:
    """Asks, sends so much more, and reads what comes back without keeping it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", made.recorder.port)
    writer.write(raw)
    for _ in range(mib_sent):
        writer.write(bytes(MIB))
        await writer.drain()
    while await reader.read(65_536):
        pass
    writer.close()


@pytest.mark.soak
async def test_a_thousand_open_streams_take_little_memory_each(tmp_path: Path, sample: Sample) -> None:
    scripted = Scripted([STREAMS_HEAD, *[b"9\r\ndata: a\n\n\r\n"] * 3])
    opened = asyncio.Semaphore(50)
    ends = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await scripted.serve(reader, writer)
        await ends.wait()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async with served(serve) as port, recording(tmp_path, durability="group") as made:

        async def listen() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            async with opened:
                reader, writer = await asyncio.open_connection("127.0.0.1", made.recorder.port)
                writer.write(get(f"http://127.0.0.1:{port}/"))
                await reader.readuntil(b"data: a\n\n\r\n")
                return reader, writer

        sizes = []
        streams = []
        for _ in range(2):
            streams += await asyncio.gather(*(listen() for _ in range(500)))
            sizes.append(resident_mib())
        await asyncio.sleep(10)
        rest = resident_mib() - sizes[1]
        more = sizes[1] - sizes[0]
        sample.measured(f"500 more open streams, all ends in one process: +{more} MiB; in ten seconds: +{rest} MiB")
        ends.set()
        for reader, writer in streams:
            await reader.read()
            writer.close()
        await until(lambda: made.recorder.counts.exchanges == 1000)
        assert more < 300
        assert rest < 20
