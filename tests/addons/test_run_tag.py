"""Each request goes to the run that it names, and what it says of that goes no further."""

import base64
import ssl
from pathlib import Path

import httpx

from addons.runs import run_draft
from store.core import digest
from store.core.model import RunOpen, RunSpawn
from tests.addons.raw import ask, get, intercepted, tunnelled, until
from tests.addons.recording import Recording, recording
from tests.support.provider import Provider

OURS = (b"x-edgetape-run", b"x-edgetape-parent-run", b"proxy-authorization", b"proxy-connection")


def paths(made: Recording) -> dict[str, list[object]]:
    with made.reader() as reader:
        runs = reader.runs()
    return {run.name: [exchange.facts.path for exchange in made.exchanges(run.id)] for run in runs}


def basic(user: str, password: str = "x") -> bytes:
    return b"Proxy-Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode())


async def test_a_header_names_the_run_and_is_seen_by_nobody_else(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        fields = (b"X-Edgetape-Run: one", b"Proxy-Connection: keep-alive", b"X-Kept: yes")
        await ask(made.recorder.port, get(provider.url + "/1", *fields, basic("other")))
        await ask(made.recorder.port, get(provider.url + "/2", b"x-edgetape-run: two"))
        await ask(made.recorder.port, get(provider.url + "/3", b"X-Edgetape-Run: one"))
        assert paths(made) == {"one": ["/1", "/3"], "two": ["/2"]}
        names = [name.lower() for request in provider.seen() for name, _ in request.headers]
        assert not set(names) & set(OURS)
        assert names.count(b"x-kept") == 1
        recorded = [name.lower() for name, _ in made.request_headers(made.exchanges("one")[0])]
        assert not set(recorded) & set(OURS)


async def test_the_user_name_of_the_proxy_url_names_the_run(
    tmp_path: Path, provider: Provider, tls_provider: Provider, upstream_root: Path
) -> None:
    async with recording(tmp_path, upstream_ca=upstream_root) as made:
        trust = ssl.create_default_context(cafile=str(made.authority))
        proxy = made.proxy.replace("//", "//nightly:x@")
        async with httpx.AsyncClient(timeout=30, proxy=proxy, verify=trust) as client:
            await client.get(provider.url + "/plain")
            await client.get(tls_provider.url + "/tls/1")
            await client.get(tls_provider.url + "/tls/2")
        assert paths(made) == {"nightly": ["/plain", "/tls/1", "/tls/2"]}
        seen = [name.lower() for request in (*provider.seen(), *tls_provider.seen()) for name, _ in request.headers]
        assert b"proxy-authorization" not in seen


async def test_without_a_name_all_goes_to_the_run_of_the_listener(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        await ask(made.recorder.port, get(provider.url + "/1"))
        await ask(made.recorder.port, get(provider.url + "/2", b"Proxy-Authorization: Basic !!!"))
        assert paths(made) == {"": ["/1", "/2"]}


async def test_a_run_that_was_opened_for_the_listener_is_found_by_name_and_id_and_takes_the_rest(
    tmp_path: Path, provider: Provider
) -> None:
    async with recording(tmp_path) as made:
        run = made.recorder.open_run(run_draft("mine", None))
        for number, fields in enumerate(((), (b"X-Edgetape-Run: mine",), (b"X-Edgetape-Run: " + run.encode(),))):
            await ask(made.recorder.port, get(f"{provider.url}/{number}", *fields))
        await made.recorder.close_run(run, "agent_exit", exit_code=3)
        assert paths(made) == {"mine": ["/0", "/1", "/2"]}
        with made.reader() as reader:
            info = reader.run(run)
        assert (info.reason, info.exit_code) == ("agent_exit", 3)


async def test_the_same_name_after_the_close_is_another_run(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path, idle_close_s=0.2) as made:
        await ask(made.recorder.port, get(provider.url + "/1", b"X-Edgetape-Run: again"))
        await until(lambda: made.run("again").reason == "idle")
        await ask(made.recorder.port, get(provider.url + "/2", b"X-Edgetape-Run: again"))
        with made.reader() as reader:
            runs = [run for run in reader.runs() if run.name == "again"]
        assert [[one.facts.path for one in made.exchanges(run.id)] for run in runs] == [["/2"], ["/1"]]


async def test_a_run_is_not_idle_while_something_goes_on_in_it(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path, idle_close_s=0.1) as made:
        await ask(made.recorder.port, get(provider.url + "/fault/slow-sse?n=4&ms=150", b"X-Edgetape-Run: slow"))
        assert [exchange.response and exchange.response.ended for exchange in made.exchanges("slow")] == ["complete"]
        await until(lambda: made.run("slow").reason == "idle")


async def test_other_header_names_can_be_set(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path, run_headers=("X-Run-Id", "X-Job")) as made:
        await ask(made.recorder.port, get(provider.url + "/1", b"X-Job: a"))
        await ask(made.recorder.port, get(provider.url + "/2", b"X-Run-Id: b", b"X-Job: a"))
        assert paths(made) == {"a": ["/1"], "b": ["/2"]}
        assert b"X-Job" not in provider.seen()[1].head


async def test_a_child_names_its_parent_and_the_parent_its_child(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        await ask(made.recorder.port, get(provider.url + "/p", b"X-Edgetape-Run: boss"))
        fields = (b"X-Edgetape-Run: worker", b"X-Edgetape-Parent-Run: boss")
        await ask(made.recorder.port, get(provider.url + "/c", *fields))
        assert not [name for request in provider.seen() for name, _ in request.headers if name.lower() in OURS]
        with made.reader() as reader:
            boss, worker = reader.find("boss"), reader.find("worker")
            opened = next(fact for fact in made.facts("worker") if isinstance(fact, RunOpen))
            spawned = next(fact for fact in made.facts("boss") if isinstance(fact, RunSpawn))
            assert opened.parent is not None
            assert (opened.parent.run, spawned.child) == (boss.id, worker.id)
            assert opened.parent.event_hash == reader.event_hash(boss.id, opened.parent.seq).hex()
            assert spawned.genesis == digest.genesis_prev(reader.origin, worker.id).hex()


async def test_what_comes_inside_a_connect_may_name_another_run(
    tmp_path: Path, tls_provider: Provider, upstream_root: Path
) -> None:
    async with recording(tmp_path, upstream_ca=upstream_root) as made:
        place, field = f"localhost:{tls_provider.port}", basic("outer").decode()
        async with intercepted(made.recorder.port, place, made.authority, field) as (reader, writer):
            for path, extra in (("/1", ""), ("/2", "X-Edgetape-Run: inner\r\n"), ("/3", "")):
                last = "Connection: close\r\n" if path == "/3" else ""
                writer.write(f"HEAD {path} HTTP/1.1\r\nHost: h\r\n{extra}{last}\r\n".encode())
                await reader.readuntil(b"\r\n\r\n")
        assert paths(made)["inner"] == ["/2"]
        assert paths(made)["outer"] == ["/1", "/3"]


async def test_a_name_of_other_bytes_than_utf8_is_a_name(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        await ask(made.recorder.port, get(provider.url + "/1", b"X-Edgetape-Run: caf\xe9"))
        await ask(made.recorder.port, get(provider.url + "/2", b"X-Edgetape-Run: " + b"n" * 3000))
        with made.reader() as reader:
            assert len(reader.runs()) == 2


async def test_a_connect_with_credentials_is_not_recorded_itself(tmp_path: Path, provider: Provider) -> None:
    async with recording(tmp_path) as made:
        async with tunnelled(made.recorder.port, f"127.0.0.1:{provider.port}", basic("x").decode()):
            pass
        with made.reader() as reader:
            assert reader.runs() == []
