"""A long body waits outside of memory, encrypted, and comes back whole."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest

from addons.tee import Tee
from store.core.errors import StoreUnusable
from store.core.redaction.marks import MARK
from store.spool import BLOCK_BYTES, MEMORY_BYTES_MAX, Spool
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


def test_what_was_taken_out_can_be_read_after_more_came_and_after_the_end(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.add(b"a" * MEMORY_BYTES_MAX)
    spool.add(b"and so on")
    taken = spool.taken()
    spool.add(b"b" * BLOCK_BYTES)
    spool.close()
    assert taken.content == b"".join(taken.pieces()) == b"a" * MEMORY_BYTES_MAX + b"and so on"


def test_a_tee_over_a_full_disk_still_passes_every_byte(tmp_path: Path) -> None:
    tee = Tee(0, 100 * MIB, lambda _: None, folder=tmp_path / "none")
    assert tee(b"a" * MEMORY_BYTES_MAX) == b"a" * MEMORY_BYTES_MAX
    assert isinstance(tee.failure, StoreUnusable)


def resident_mib() -> int:
    """What this process has in memory now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1]) // 1024


def peak_mib(*, anew: bool = False) -> int:
    """The most that this process had in memory, since this was last asked `anew`."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) // 1024


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["application/octet-stream", "application/json"])
async def test_bodies_of_a_hundred_megabytes_pass_and_are_recorded_without_being_held(
    tmp_path: Path, sample: Sample, kind: str
) -> None:
    piece = sample.source().randbytes(MIB)
    secret = b'{"api_key": "sk-proj-A1b2C3d4E5f6G7h8A1b2C3d4E5f6G7h8"}\n'
    if kind.endswith("json"):
        piece = (secret + piece.hex().encode())[:MIB]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = 100 * MIB if head.startswith(b"GET") else 0
        for _ in range(0 if length else 100):
            await reader.readexactly(MIB)
        fields = b"Content-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n" % (kind.encode(), length)
        writer.write(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n")
        for _ in range(100 if length else 0):
            writer.write(piece)
            await writer.drain()

    async with served(serve) as port, recording(tmp_path) as made:
        fields = (b"Content-Type: %s" % kind.encode(), b"Content-Length: %d" % (100 * MIB))
        up = get(f"http://127.0.0.1:{port}/", *fields, method=b"POST")
        grew = {}
        for way, raw, sent in (("up", up, 100), ("down", get(f"http://127.0.0.1:{port}/"), 0)):
            before = peak_mib(anew=True)
            await passed(made, raw, sent, piece)
            grew[way] = peak_mib() - before
        before = peak_mib(anew=True)
    grew["while the run was packed"] = peak_mib() - before  # once everything is closed
    first, second = made.exchanges()
    bodies = made.upload(first)[1], made.response_body(second)
    told = ", ".join(f"+{mib} MiB {way}" for way, mib in grew.items())
    sample.measured(f"100 MiB of {kind}, at most: {told}")
    for body in bodies:
        assert secret[12:40] not in body
        assert len(MARK.findall(body)) == (100 if kind.endswith("json") else 0)
        assert body.count(piece[-20:]) == 100
    assert max(grew.values()) < 64


async def passed(made: Recording, raw: bytes, mib_sent: int, piece: bytes) -> None:
    """Asks, sends so much more, and reads what comes back without keeping it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", made.recorder.port)
    writer.write(raw)
    for _ in range(mib_sent):
        writer.write(piece)
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
