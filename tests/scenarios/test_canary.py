"""No secret of an agent, wherever it puts it, is in any file of the store; and a replay with other secrets matches."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import zstandard

from store.core import canonical
from store.core.draft import commitments
from store.core.shape import members
from store.core.text import Apart
from store.reader import Reader
from tests.scenarios.canaries import canaries, spellings
from tests.scenarios.kept import kept, proven
from tests.support.command import Command
from tests.support.issuer import issued, issuing
from tests.support.processes import ROOT

AGENT = str(Path(__file__).with_name("canary_agent.py"))


def command(folder: Path, seed: str) -> Command:
    """The command with one seed's secrets in its environment."""
    secret = canaries(seed)
    return Command(folder, {"CANARY_SEED": seed, "MY_SERVICE_TOKEN": secret["environment"], "PYTHONPATH": str(ROOT)})


def files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder, and each zstd frame and gzip member in it, unpacked."""
    for path in folder.rglob("*"):
        if path.is_file():
            raw = path.read_bytes()
            yield path.name, raw
            for magic in (b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", b"\x78"):
                at = raw.find(magic)
                while at >= 0:
                    yield f"{path.name} at {at}", unpacked(raw[at : at + 1_000_000], magic)
                    at = raw.find(magic, at + 1)


def unpacked(raw: bytes, magic: bytes) -> bytes:
    """As much as can be read."""
    try:
        if magic.startswith(b"\x28"):
            return zstandard.ZstdDecompressor().decompressobj().decompress(raw)
        return zlib.decompressobj(wbits=47).decompress(raw, 1_000_000)
    except (zlib.error, zstandard.ZstdError):
        return b""


def bodies(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every body of the store as its reader gives it, and every event."""
    with Reader.open(folder, folder.parent / "keys") as reader:
        for run in reader.runs():
            for event in reader.events(run.id):
                record: dict[str, canonical.Json] = members(event.facts)
                yield f"event {event.seq}", msgspec.json.encode(record)
                for pointer, named in commitments(event.facts).items():
                    raw = reader.body(event, Apart(body=named))
                    yield f"{event.seq}{pointer}", raw
                    if raw.startswith(b"\x1f\x8b"):
                        yield f"{event.seq}{pointer} unpacked", gzip.decompress(raw)


def found(secrets: dict[str, str], folder: Path) -> list[tuple[str, str]]:
    """Which secrets are where."""
    wanted = [(name, spelled) for name, secret in secrets.items() for spelled in spellings(secret)]
    places = [*files(folder), *bodies(folder / "store")]
    assert len(places) > 50
    return sorted({(name, place) for place, raw in places for name, spelled in wanted if spelled in raw})


def test_no_secret_is_in_any_file_and_other_secrets_replay(tmp_path: Path) -> None:
    first, other = command(tmp_path, "first"), command(tmp_path, "other")
    with issuing() as url:
        secrets = canaries("first")
        recorded = first.run("record", "--", sys.executable, AGENT, url, "--api-key", secrets["argv"])
    assert recorded.code == 0, recorded.err
    assert recorded.out.strip() == "1 keys quoted"
    proven(first.store)
    secrets |= {
        "access": issued("access", secrets["form"]),
        "refresh": issued("refresh", secrets["form"]),
        "second access": issued("access", issued("refresh", secrets["form"])),
        "set-cookie": issued("cookie", secrets["form"]),
        "gzip": issued("packed", secrets["header"]),
    }
    assert found(secrets, tmp_path) == []
    seen = b"".join(each.sent + each.query + each.body for each in kept(first.store))
    assert seen.count(b"<edgetape:") > 20

    new = canaries("other")
    replayed = other.run("replay", "last", "--", sys.executable, AGENT, url, "--api-key", new["argv"])
    assert replayed.code == 0, replayed.err
    assert replayed.out.strip() == "1 keys quoted"
    assert found(secrets | new, tmp_path) == []
    scanned = first.run("scan")
    assert (scanned.code, scanned.out) == (0, ""), scanned.out
