"""Pure rooms take values and give values: no file, network, clock, randomness or terminal."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.layout.tree import ROOT, source_files

PURE_FOLDERS = ("store/core", "store/labels", "replay_server/ventures")
PURE_ROOMS = {
    *(
        f"replay_server/{room}.py"
        for room in ("normalise", "match", "order", "drift", "modes", "report", "registry", "injection", "remodel")
    ),
    *(f"audit/{room}.py" for room in ("anomalies", "reports", "pages")),
}
IMPURE_IMPORTS = {
    "aiohttp", "asyncio", "click", "http.client", "mitmproxy", "os", "pathlib", "random", "rich", "secrets",
    "shutil", "signal", "socket", "sqlite3", "sqlite_utils", "ssl", "subprocess", "sys", "tempfile",
    "threading", "time", "urllib.request", "uuid",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "__import__"}
IMPURE_METHODS = {"now", "today", "utcnow", "read_text", "read_bytes", "write_text", "write_bytes"}


def impurities(source: str) -> Iterator[str]:
    """What in a module's source is not pure."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if is_impure(name.name))
            case ast.ImportFrom(module=str(module), names=names):
                if is_impure(module):
                    yield module
                yield from (f"{module}.{name.name}" for name in names if is_impure(f"{module}.{name.name}"))
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_CALLS:
                yield f"{name}()"
            case ast.Call(func=ast.Attribute(attr=name)) if name in IMPURE_METHODS:
                yield f".{name}()"


def is_impure(module: str) -> bool:
    """Whether a dotted name is an impure module or lies in one."""
    return any(module == name or module.startswith(name + ".") for name in IMPURE_IMPORTS)


def pure_files() -> list[Path]:
    """Every file that promises to be pure."""
    return [
        path
        for path in source_files()
        if str(path) in PURE_ROOMS or str(path).startswith(tuple(f"{folder}/" for folder in PURE_FOLDERS))
    ]


def test_pure_rooms_do_nothing_to_the_world() -> None:
    rooms = pure_files()
    assert rooms
    assert {str(path): found for path in rooms if (found := list(impurities((ROOT / path).read_text())))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import socket",
        "import urllib.request",
        "from urllib import request",
        "from os import path",
        "from time import time",
        "open('x')",
        "datetime.now(UTC)",
        "folder.read_bytes()",
    ],
)
def test_an_impure_line_is_seen(source: str) -> None:
    assert list(impurities(source))


@pytest.mark.parametrize("source", ["import hashlib", "from urllib.parse import quote", "from datetime import UTC"])
def test_a_pure_line_is_let_be(source: str) -> None:
    assert not list(impurities(source))
