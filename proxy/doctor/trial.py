"""Tries clients against the probe through a recorder of its own, and says of each what became of its request."""

import asyncio
import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from addons.options import RecorderOptions
from addons.recorder import Recorder
from proxy.agent.identity import RUN_VARIABLE, Introduction, run_open
from proxy.agent.passage import Way, passage
from proxy.doctor.clients import ABSENT, CLIENTS, Client, clients_of
from proxy.doctor.probe import probing
from proxy.words import shown
from store.authority import Authority
from store.drafting.desk import Desk
from store.exchange import exchanges
from store.labels.classify import RULES
from store.ownership import ProcessTree, owns_connection
from store.reader import Reader
from store.scratch import scratch
from store.writer import Writer

DOMAIN = "probe.invalid"  # RFC 6761, section 6.4: no such name is ever found, so nothing leaves the machine
SECONDS_MAX = 120.0  # a first `go run` builds its library

type Verdict = Literal["passes", "ignores", "distrusts", "fails", "absent"]


@dataclass(frozen=True, slots=True)
class Subject:
    """A client with the program that is to run it."""

    client: Client
    path: str

    @property
    def name(self) -> str:
        """The client, and the program where it is not simply the one of that name."""
        at = Path(self.path).name
        return self.client.name if at == self.client.program else f"{self.client.name} ({self.path})"


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one client: `said` is the last line that it wrote to stderr."""

    subject: Subject
    verdict: Verdict
    said: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether it is installed, not recorded, and not known to go its own way whatever it is told."""
        own_way = self.verdict == "ignores" and not self.subject.client.obeys
        return self.verdict not in ("passes", "absent") and not own_way


def subjects(programs: Sequence[str], path: str | None) -> tuple[list[Subject], list[Client]]:
    """The clients to try, with what is on `path` and with further `programs`; and those that nothing here can run."""
    found, missing = [], []
    for client in CLIENTS:
        on_path = shutil.which(client.program, path=path)
        found += [Subject(client, on_path)] if on_path else []
        missing += [] if on_path else [client]
    found += [Subject(client, program) for program in programs for client in clients_of(program)]
    tried = {subject.client.name for subject in found}
    return found, [client for client in missing if client.name not in tried]


async def tried(
    subjects: Sequence[Subject], authority: Authority, jobs: int, told: Callable[[int, int], None]
) -> list[Finding]:
    """Tries all of them, `jobs` at once, in the environment that `edgetape record` gives; `told` gets (done, total)."""
    with scratch() as folder:
        async with probing(folder) as probe:
            token, tree = secrets.token_urlsafe(16), ProcessTree(os.getpid(), secrets.token_hex(16))
            options = RecorderOptions(
                confdir=authority.folder,
                token=token,
                upstream_ca=probe.roots,
                route=lambda scheme, host, port: probe.url,
                durability="group",
                owns_connection=lambda port, to_port: owns_connection(tree, port, to_port),
            )
            with contextlib.closing(Desk(Writer.open(folder / "store", folder / "keys"))) as desk:
                recorder = Recorder(desk, options)
                await recorder.start()
                try:
                    draft = run_open(Introduction(), ("edgetape", "doctor"), Path.cwd(), {}, RULES)
                    run = recorder.open_run(draft)
                    way = Way(recorder.port, run, token)
                    environment = passage(os.environ, way, authority, folder, {RUN_VARIABLE: run})
                    ended = await _all(subjects, environment, folder, jobs, told)
                finally:
                    await recorder.stop("normal")
            with Reader.open(folder / "store", folder / "keys") as reader:
                recorded = exchanges(reader.events(run))
                arrived = {shown(reader.text(each.request, each.facts.host)) for each in recorded}
    distrusted = set(recorder.counts.distrusted)
    return [
        Finding(subject, _verdict(_host(number), code, arrived, distrusted), said)
        for number, (subject, (code, said)) in enumerate(zip(subjects, ended, strict=True))
    ]


def _verdict(host: str, code: int | None, arrived: set[str], distrusted: set[str]) -> Verdict:
    if host in arrived:
        return "passes"
    if code == ABSENT:
        return "absent"
    if host in distrusted:
        return "distrusts"
    return "fails" if code is None else "ignores"


def _host(number: int) -> str:
    return f"client-{number}.{DOMAIN}"


async def _all(
    subjects: Sequence[Subject],
    environment: Mapping[str, str],
    folder: Path,
    jobs: int,
    told: Callable[[int, int], None],
) -> list[tuple[int | None, str]]:
    slots, done = asyncio.Semaphore(jobs), 0

    async def one(number: int, subject: Subject) -> tuple[int | None, str]:
        nonlocal done
        async with slots:
            own = folder / str(number)
            own.mkdir()
            ended = await _run(subject, _host(number), environment, own)
        done += 1
        told(done, len(subjects))
        return ended

    return await asyncio.gather(*(one(number, subject) for number, subject in enumerate(subjects)))


async def _run(subject: Subject, host: str, environment: Mapping[str, str], folder: Path) -> tuple[int | None, str]:
    """Runs one client to its end: its exit code, None when it took too long, and the last line of its stderr."""
    client = subject.client
    if client.file:
        (folder / client.file).write_text(client.source)
    places = {"{url}": f"https://{host}/", "{file}": str(folder / client.file)}
    process = await asyncio.create_subprocess_exec(
        subject.path,
        *(places.get(word, word) for word in client.words),
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(SECONDS_MAX):
            _, errors = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return None, f"it took longer than {SECONDS_MAX:.0f} s"
    lines = [line for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    return process.returncode, lines[-1].strip() if lines else ""
