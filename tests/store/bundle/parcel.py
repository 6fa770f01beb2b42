"""A bundle taken apart, changed, and put together again: by somebody who has every tool but not the key."""

import io
import json
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from store.bundle import container, manifest, verifier
from store.bundle.container import Member
from store.bundle.export import excerpt
from store.bundle.packing import Report, members
from store.bundle.proof import verify_bundle
from store.core import digest
from store.core.checkpoint import VerifierKey
from store.verify import Terms, Verdict
from store.verify.verdict import EXIT_INVALID

REPORT = Report(b"<!doctype html>\n", b"{}\n")

type Record = dict[str, object]


def export(folder: Path, *words: str, proofs: bool = False, bodies: bool = True, size: int | None = None) -> bytes:
    """The bytes of a bundle."""
    with excerpt(folder, folder.parent / "keys", words, size) as taken:
        return b"".join(container.pack(members(taken, REPORT, proofs=proofs, bodies=bodies)))


def judge(path: Path, pin: str | None = None) -> tuple[int, list[tuple[str, int | None]], str]:
    """Exit status, (code, seq) of each finding, and the verdict's line, as the stand-alone verifier has them."""
    out = verifier.Outcome()
    said = io.StringIO()
    arguments = [str(path), *(["--pin", pin] if pin else [])]
    with redirect_stdout(said), redirect_stderr(io.StringIO()):
        code = verifier.main(arguments, out, verifier.Outcome())
    return code, sorted({(found, seq) for found, _, seq, _ in out.findings}, key=str), said.getvalue().splitlines()[-1]


def found(verdict: Verdict) -> list[tuple[str, int | None]]:
    """(code, seq) of each finding."""
    return sorted({(each.code, each.seq) for each in verdict.findings}, key=str)


class Parcel:
    """The members of a bundle, in their order."""

    def __init__(self, raw: bytes) -> None:
        self.members = {name: bytes(content) for name, content in container.unpack(raw)}

    def lines(self, name: str) -> list[bytes]:
        """The lines of a member."""
        return self.members[name].split(b"\n")[:-1]

    def put_lines(self, name: str, lines: Sequence[bytes]) -> None:
        """Replaces them."""
        self.members[name] = b"".join(line + b"\n" for line in lines)

    def edit(self, name: str, number: int, change: Callable[[Record], object]) -> None:
        """Changes one record of a member of lines."""
        lines = self.lines(name)
        record = json.loads(lines[number])
        change(record)
        lines[number] = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        self.put_lines(name, lines)

    def seal(self) -> None:
        """Makes the manifest fit the members, which anybody can."""
        said = json.loads(self.members[manifest.NAME])
        said["members"] = {
            name: {"bytes": len(content), "sha256": manifest.sealed(content).sha256}
            for name, content in self.members.items()
            if name != manifest.NAME
        }
        self.members[manifest.NAME] = (json.dumps(said, indent=1, sort_keys=True) + "\n").encode()

    def rehash(self) -> None:
        """Makes the kept hashes fit the events, which anybody can."""
        hashes = [digest.event_hash(line).hex().encode() for line in self.lines(manifest.EVENTS)]
        self.put_lines(manifest.HASHES, hashes)

    def raw(self) -> bytes:
        """The file."""
        return b"".join(container.pack([Member.of(name, content) for name, content in self.members.items()]))

    def write(self, path: Path) -> Path:
        """The file, written."""
        path.write_bytes(self.raw())
        return path


def both(path: Path, pin: str | None = None) -> tuple[int, list[tuple[str, int | None]]]:
    """What the program finds, after seeing that the stand-alone verifier comes to the same verdict."""
    verdict = verify_bundle(path, Terms(None if pin is None else VerifierKey.parse(pin)))
    code, _, line = judge(path, pin)
    assert code == verdict.exit_code
    assert line == verdict.line or code == EXIT_INVALID
    return code, found(verdict)
