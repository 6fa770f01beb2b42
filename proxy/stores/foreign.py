"""Files that other tools recorded, found on disk and taken into the store one by one."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proxy.border import Misuse
from proxy.progress import progress
from proxy.talk import Talk
from proxy.words import count, printable
from store.core import redact
from store.core.errors import EdgetapeError, StoreUnusable
from store.foreign import sniff
from store.foreign.document import FILE_BYTES_MAX
from store.foreign.intake import File, take_in
from store.foreign.recording import NotForeign, Recording
from store.writer import Writer

MANIFEST = "manifest.json"
_BESIDE = ("checkpoint", "events.ndjson", "log.ndjson", "proofs")  # one of them is in every bundle, even a damaged one
SUFFIXES = (".har", ".yaml", ".yml", ".json", ".gz", ".flow", ".flows", ".mitm", ".dump")
_FILES_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Taken:
    """One file that is in the store now."""

    file: Path
    run: str
    recording: Recording

    def say(self, talk: Talk) -> None:
        """What came of it, and what could not be carried over."""
        origin, number = self.recording.origin, len(self.recording.exchanges)
        tool = printable(origin.tool, one_line=True)
        name = printable(str(self.file), one_line=True)
        talk.say(f"edgetape: {name} ({origin.kind}, {tool}): {count(number, 'exchange')}, run {self.run}")
        for sentence in self.recording.sentences():
            talk.say(f"  {sentence}")

    def record(self) -> dict[str, object]:
        """As --json prints it."""
        origin = self.recording.origin
        return {
            "file": str(self.file),
            "kind": origin.kind,
            "tool": origin.tool,
            "run": self.run,
            "exchanges": len(self.recording.exchanges),
            "lost": self.recording.sentences(),
        }


class Refused(EdgetapeError):
    """A file that could not be taken in, and why."""

    def __init__(self, file: Path, error: EdgetapeError) -> None:
        super().__init__(f"{file}: {error}", hint=error.hint)
        self.file = file

    def record(self) -> dict[str, object]:
        """As --json prints it."""
        return {"file": str(self.file), "error": str(self)}


def is_bundle(place: Path) -> bool:
    """Whether a file or folder is a bundle, by what is in it. Raises Misuse where nothing is there."""
    if place.is_dir():
        return (place / MANIFEST).is_file() and any((place / name).exists() for name in _BESIDE)
    try:
        with place.open("rb") as file:
            return sniff.kind(file.read(512)) == "bundle"
    except OSError as error:
        raise Misuse(f"{place} cannot be read: {error.strerror}") from error


def import_all(talk: Talk, place: Path, writer: Writer) -> Iterator[Taken | Refused]:
    """Takes in a file, or every fitting file of a folder, each a run of its own. Raises Misuse, StoreUnusable."""
    files = _files(place) if place.is_dir() else [place]
    base = place if place.is_dir() else place.parent
    if not files:
        raise Misuse(f"{place} has no file that could be imported", hint=f"looked for {', '.join(SUFFIXES)}")
    with progress(talk, "importing", wanted=len(files) > 1) as told:
        for number, file in enumerate(files, start=1):
            try:
                yield _taken(file, file.relative_to(base), writer)
            except StoreUnusable:
                raise
            except EdgetapeError as error:
                yield Refused(file, error)
            if told is not None:
                told(number, len(files))


def _files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(base) / name for name in sorted(names) if name.endswith(SUFFIXES)]
        if len(found) > _FILES_MAX:
            raise Misuse(f"{folder} has more than {_FILES_MAX:,} files", hint="import its folders one by one")
    return found


def _taken(file: Path, inside: Path, writer: Writer) -> Taken:
    try:
        if file.stat().st_size > FILE_BYTES_MAX:
            raise NotForeign(f"longer than {FILE_BYTES_MAX // 1024**2} MiB")
        content = file.read_bytes()
    except OSError as error:
        raise NotForeign(f"it cannot be read: {error.strerror}") from error
    recording = _read(content)
    name = str(inside).removesuffix(".gz").removesuffix(inside.with_suffix("").suffix if inside.suffix == ".gz" else "")
    run = name.removesuffix(Path(name).suffix)
    redactor = redact.Redactor(redact.secrets_of(os.environ))
    return Taken(file, take_in(writer, File(run, inside.name, content), recording, redactor), recording)


def _read(content: bytes) -> Recording:
    if sniff.kind(content[:512]) == "flows":
        from addons import flowfile  # mitmproxy takes a second: no other kind should wait for it

        return flowfile.recording(content)
    return sniff.read(content)
