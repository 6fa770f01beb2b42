"""Programs in the agent's environment, against the small intercepting proxy: what they say, and what it saw."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proxy.agent.clients import write_client_files
from proxy.agent.environment import agent_environment
from store.authority import Authority
from store.trust import write_bundle
from tests.proxy.agent.intercept import intercepting


@dataclass(frozen=True, slots=True)
class Fetched:
    """How a program ended: what it said, and the request lines that the proxy got, in any order."""

    out: str
    err: str
    heads: frozenset[str]


def fetching(folder: Path, command: Sequence[str], given: Mapping[str, str] | None = None) -> Fetched:
    """Runs a program to its end; `given` is the environment that the user has besides PATH and HOME."""
    base = {"PATH": os.environ["PATH"], "HOME": str(folder), **(given or {})}
    authority = Authority.open_or_create(folder / "authority")
    bundle = folder / "bundle.pem"
    write_bundle(bundle, authority.certificate_pem, base)
    files = write_client_files(folder / "files", bundle, base)
    with intercepting(authority) as proxy:
        environment = agent_environment(base, proxy.url, authority.certificate_path, bundle, files)
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=90, check=False
        )
    return Fetched(done.stdout, done.stderr, frozenset(proxy.heads))
