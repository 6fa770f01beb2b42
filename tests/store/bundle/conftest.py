"""Bundles of a small store: of a closed run, of several, of an open one."""

import shutil
from pathlib import Path

import pytest

from tests.store.bundle.parcel import Parcel, export
from tests.support.tape import Call, tape

SECRET = b"the words that were said in confidence"
CALLS = [
    Call(body=b'{"q":1}', answer=b'{"a":1}'),
    Call(body=b'{"q":"' + SECRET + b'"}', answer=b'{"a":2}', query=b"n=1"),
    Call(b"/rules", answer=b"[]", method=b"GET"),
]


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the runs `closed` and `other`, and `open`, whose last event no checkpoint covers."""
    base = tmp_path_factory.mktemp("recorded")
    with tape(base) as made:
        made.run(CALLS, "closed")
        made.run(CALLS, "other")
        run = made.run(CALLS[:1], "open", close=False)
        made.writer.checkpoint().result(30)
        made.note(run, b"unsealed").result(30)
        shutil.copytree(base, base / "copy")
    return base / "copy"


@pytest.fixture
def recorded(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of it for one test, which may write into it."""
    base = tmp_path_factory.mktemp("recorded")
    shutil.copytree(original, base, dirs_exist_ok=True)
    return base / "store"


@pytest.fixture(scope="session")
def raw(original: Path) -> bytes:
    """The bundle of the run `closed`."""
    return export(original / "store", "closed")


@pytest.fixture
def parcel(raw: bytes) -> Parcel:
    """It, taken apart."""
    return Parcel(raw)
