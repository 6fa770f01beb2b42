"""Puts checkpoints where the store's operator cannot take them back, and holds two of them against each other.

docs/format.md, sections 6 and 7.
"""

import contextlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from store import database, log
from store.core import checkpoint, proof
from store.core.checkpoint import Checkpoint, VerifierKey
from store.core.errors import EdgetapeError, StoreUnusable
from store.core.keyring import Keyring
from store.founding import keyring

_GIT_TIMEOUT_S = 60

type Relation = Literal["same", "extends", "rolled back", "forked"]


class AnchorFailed(EdgetapeError):
    """A checkpoint could not be put where it was to be kept."""


class ForeignNote(EdgetapeError):
    """A note that no key of the store has rightly signed, or of another log: it says nothing about this one."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a second checkpoint stands to a first one; `code` is that of section 7, `path` what proves it."""

    relation: Relation
    code: str | None
    sentence: str
    path: tuple[bytes, ...] = ()


def newest(folder: Path) -> tuple[Checkpoint, bytes]:
    """The newest checkpoint of a store, and its signed note. Raises StoreUnusable."""
    with contextlib.closing(database.open_for_reading(folder)) as connection, database.explained(folder):
        note = log.newest_checkpoint(connection)
    if note is None:
        raise StoreUnusable(f"nothing is signed in the store at {database.shown(folder)}", hint="edgetape checkpoint")
    return checkpoint.parse(note).checkpoint, note


def file_name(stated: Checkpoint) -> str:
    """`<the origin's last part>-<size>.checkpoint`: sorts by size, and keeps the logs of one folder apart."""
    return f"{stated.origin.rpartition('/')[2]}-{stated.size:012}.checkpoint"


def export_to_folder(folder: Path, stated: Checkpoint, note: bytes) -> Path:
    """Lays a note into a folder that is there; one that lies there already is never changed. Raises AnchorFailed."""
    path = folder / file_name(stated)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        with os.fdopen(descriptor, "wb") as file:
            file.write(note)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        if path.read_bytes() != note:
            raise AnchorFailed(
                f"{path} holds another checkpoint of the same size", hint="compare both: edgetape checkpoint compare"
            ) from None
    except OSError as error:
        raise AnchorFailed(f"the checkpoint cannot be laid into {folder}: {error.strerror}") from error
    return path


def export_to_git(repository: Path, stated: Checkpoint, note: bytes) -> Path:
    """Commits a note into the work tree of a git repository, and nothing else of it. Raises AnchorFailed."""
    if _git(repository, "rev-parse", "--is-inside-work-tree").strip() != "true":
        raise AnchorFailed(f"{repository} is no work tree of a git repository", hint="clone it, and name the clone")
    path = export_to_folder(repository, stated, note)
    _git(repository, "add", "--", path.name)
    if _git(repository, "status", "--porcelain", "--", path.name):
        subject = f"checkpoint {stated.size} of {stated.origin}"
        _git(repository, "commit", "--quiet", "-m", subject, "--", path.name)
    return path


def compare(folder: Path, first: bytes, second: bytes, pin: VerifierKey | None = None) -> Comparison:
    """Holds two notes of the store's log against each other, proved from the store's own tree.

    Raises Malformed, ForeignNote, StoreUnusable.
    """
    with contextlib.closing(database.open_for_reading(folder)) as connection, database.explained(folder):
        connection.execute("BEGIN")
        keys = keyring(connection)
        if keys is None:
            raise database.without_log(folder, "record a run first")
        if pin is not None and keys.term(pin) is None:
            raise ForeignNote(f"V431: the pinned key {pin.label} is none of the store's")
        one, other = (_stated(note, keys) for note in (first, second))
        if one.size == other.size:
            return _same_size(one, other)
        low, high = sorted((one, other), key=lambda each: each.size)
        if high.size > log.size(connection):
            return Comparison("rolled back", "V501", f"the store's log is shorter than {high.size} leaves")
        path = tuple(log.consistency(connection, low.size, high.size))
    if not proof.is_extension(low.size, low.root, high.size, high.root, path):
        return Comparison("forked", "V502", "no proof from the store leads from the one to the other", path)
    if other is high:
        return Comparison("extends", None, f"{high.size - low.size} leaves were added, none was changed", path)
    return Comparison("rolled back", "V501", f"the second has {high.size - low.size} leaves fewer", path)


def _same_size(one: Checkpoint, other: Checkpoint) -> Comparison:
    if one.root == other.root:
        return Comparison("same", None, f"both are over the same {one.size} leaves")
    return Comparison("forked", "V502", f"the same {one.size} leaves have two roots: the log was shown in two forms")


def _stated(note: bytes, keys: Keyring) -> Checkpoint:
    signed = checkpoint.parse(note)
    stated = signed.checkpoint
    if stated.origin != keys.origin:
        raise ForeignNote(f"V404: a checkpoint of the log {stated.origin}, this store's is {keys.origin}")
    wrong = keys.judge(signed)
    if wrong is not None:
        raise ForeignNote(f"{wrong[0]}: the checkpoint over {stated.size} leaves {wrong[1]}")
    return stated


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repository), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AnchorFailed(f"git cannot be run: {error}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise AnchorFailed(f"git {arguments[0]} failed in {repository}: {said[-1] if said else 'it says nothing'}")
    return done.stdout
