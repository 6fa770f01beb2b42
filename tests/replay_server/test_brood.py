"""Child runs in a live mode: each a run of its own under the new one, answered from the recorded child or let go on."""

import json

import pytest

from replay_server.opening import CHILD
from replay_server.server import ReplayOptions
from replay_server.ventures.choice import Children
from store.core.model import RunOpen, RunSpawn
from store.reader import Reader
from tests.replay_server.forking import ask, finished, forking
from tests.replay_server.recording import Place, Recording, chat, completion, encode
from tests.scenarios.kept import proven
from tests.support.provider import Provider

RED = "X-Edgetape-Run: red"


def record(place: Place, provider: Provider) -> str:
    def tell(recording: Recording) -> None:
        recording.get(f"{provider.url}/rows", b"[]")
        child = recording.child("red")
        child.post(f"{provider.url}/v1/chat/completions", chat(("user", "q"), model="m"), completion("recorded"))
        child.close()

    return place.record(tell)


def options(provider: Provider, children: Children) -> ReplayOptions:
    made = forking(1, models=[("127.0.0.1", provider.port)])
    assert made.live is not None
    live = made.live.__class__(made.live.plan, made.live.dial, made.live.roots, children=children)
    return ReplayOptions(live=live, redactor=made.redactor)


def children_of(place: Place, run: str) -> list[tuple[str, int]]:
    """The labels of the child runs, and how many events each has."""
    with Reader.open(place.store, place.keys) as reader:
        spawned = [event.facts.child for event in reader.events(run) if isinstance(event.facts, RunSpawn)]
        found = []
        for child in spawned:
            opened = reader.event(child, 0)
            assert isinstance(opened.facts, RunOpen)
            assert opened.facts.parent is not None
            assert (opened.facts.parent.run, opened.facts.mode, opened.facts.labels) == (run, "fork", [[CHILD, "red"]])
            found.append((str(reader.run(child).reason), reader.run(child).steps))
        return found


@pytest.mark.parametrize("children", ["recorded", "live"])
async def test_a_child_is_recorded_under_the_new_run(place: Place, provider: Provider, children: Children) -> None:
    async with place.replaying(record(place, provider), options(provider, children)) as server:
        await ask(server, "GET", f"{provider.url}/rows")
        asked = encode(chat(("user", "q"), model="m"))
        answered = await ask(server, "POST", f"{provider.url}/v1/chat/completions", asked, RED)
        report = await finished(server)
    assert (b"recorded" in answered, len(provider.seen())) == ((True, 0) if children == "recorded" else (False, 1))
    assert report.exit_code == 0, report.text()
    fork = report.document["fork"]
    assert isinstance(fork, dict)
    assert (list(fork["children"]), fork["missing_children"]) == (["red"], [])  # type: ignore[arg-type]
    assert children_of(place, server.run) == [("agent_exit", 1)]
    proven(place.store)


async def test_a_child_that_asks_for_something_else_is_refused_unless_children_are_live(
    place: Place, provider: Provider
) -> None:
    run, asked = record(place, provider), encode(chat(("user", "else"), model="m"))
    async with place.replaying(run, options(provider, "recorded")) as server:
        await ask(server, "GET", f"{provider.url}/rows")
        held = await ask(server, "POST", f"{provider.url}/v1/chat/completions", asked, RED)
        assert (await finished(server)).exit_code == 43
    assert "--children live lets it go on" in json.loads(held.partition(b"\r\n\r\n")[2])["detail"]
    assert provider.seen() == ()


async def test_a_child_that_was_not_recorded_is_opened_where_children_are_live(
    place: Place, provider: Provider
) -> None:
    async with place.replaying(record(place, provider), options(provider, "live")) as server:
        await ask(server, "GET", f"{provider.url}/rows")
        await ask(server, "POST", "http://edgetape.internal/v1/runs", b"{}")
        spawned = await ask(server, "POST", "http://edgetape.internal/v1/runs", b"{}")
        said = json.loads(spawned.partition(b"\r\n\r\n")[2])
        await ask(server, "GET", "http://edgetape.internal/v1/uuid", b"", said["header"])
        await finished(server)
    with Reader.open(place.store, place.keys) as reader:
        (child,) = [event.facts.child for event in reader.events(server.run) if isinstance(event.facts, RunSpawn)]
        assert reader.run(child).steps == 1
