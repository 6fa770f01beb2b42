"""The fixtures over tests/support: load them with `pytest_plugins = ["tests.support.fixtures"]`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.authority import Authority, ServerCertificate, make_authority
from tests.support.processes import Running, running_module
from tests.support.provider import Options, Provider, serving

if TYPE_CHECKING:
    from tests.support.postgres import Postgres


@pytest.fixture(scope="session")
def upstream_authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A root of this test session that signs the upstream servers' certificates."""
    return make_authority(tmp_path_factory.mktemp("upstream-authority"))


@pytest.fixture(scope="session")
def upstream_certificate(upstream_authority: Authority) -> ServerCertificate:
    """A certificate for localhost and 127.0.0.1."""
    return upstream_authority.issue()


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A scripted provider over plain HTTP, on a thread of this process."""
    with serving() as server:
        yield server


@pytest.fixture
def tls_provider(upstream_certificate: ServerCertificate) -> Iterator[Provider]:
    """A scripted provider over TLS, on a thread of this process."""
    with serving(Options(tls=(upstream_certificate.certificate, upstream_certificate.key))) as server:
        yield server


@pytest.fixture
def provider_process() -> Iterator[Running]:
    """A scripted provider over plain HTTP as a process of its own."""
    with running_module("tests.support.provider") as process:
        yield process


@pytest.fixture
def tls_provider_process(upstream_certificate: ServerCertificate) -> Iterator[Running]:
    """A scripted provider over TLS as a process of its own."""
    files = (str(upstream_certificate.certificate), str(upstream_certificate.key))
    with running_module("tests.support.provider", "--tls", *files) as process:
        yield process


@pytest.fixture(scope="session")
def upstream_root(upstream_authority: Authority) -> Path:
    """The PEM file of the upstream root, as `--upstream-ca` takes it."""
    return upstream_authority.root


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for this test session."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    from tests.support import postgres as server

    binaries = server.programs()
    if binaries is None:
        pytest.skip("there is no PostgreSQL server on this machine")
    with server.running(binaries) as made:
        yield made
