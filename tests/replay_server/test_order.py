"""Conversations, their lanes, and what of the order has to be kept."""

import json
import random
from collections.abc import Callable, Iterator

import pytest

from replay_server.conversation import conversation
from replay_server.order import Lanes, Order
from replay_server.server import ReplayOptions
from replay_server.session import Session
from store.core.form import Form
from tests.replay_server.asking import chat, got, posted
from tests.replay_server.recording import CHAT, Place, Recording, encode
from tests.replay_server.recording import chat as asking_chat
from tests.replay_server.walking import ask
from tests.support.sample import Sample


def lanes(*forms: Form) -> Lanes:
    made = Lanes()
    for index, form in enumerate(forms):
        said = conversation(form)
        if said is not None:
            made.place(index, form.endpoint, said)
    return made


def test_a_tool_request_is_no_conversation() -> None:
    assert conversation(posted({"q": "a"})) is None
    assert conversation(got("/a")) is None
    assert conversation(posted({"input": "a"})) is None


def test_each_dialect_has_a_conversation() -> None:
    for body in (
        {"model": "m", "messages": [{"role": "user", "content": "a"}]},
        {"model": "m", "input": "a"},
        {"model": "m", "input": [{"role": "user", "content": "a"}]},
        {"contents": [{"parts": [{"text": "a"}]}]},
        {"model": "m", "prompt": "a"},
    ):
        said = conversation(posted(body))
        assert said is not None
        assert len(said.messages) == 1


def test_the_system_prompt_is_part_of_the_frame() -> None:
    one, other = (conversation(chat(("system", text), ("user", "a"))) for text in ("x", "y"))
    assert one is not None
    assert other is not None
    assert one.messages == other.messages
    assert one.frame["system"] != other.frame["system"]
    assert one.common_prefix(other) == 1


def test_a_request_belongs_to_the_lane_that_it_extends() -> None:
    a1, b1 = [("user", "a")], [("user", "b")]
    a2, b2 = [*a1, ("assistant", "1"), ("user", "2")], [*b1, ("assistant", "1"), ("user", "2")]
    made = lanes(chat(*a1), chat(*b1), chat(*b2), chat(*a2), chat(*a1), chat(*a2))
    assert [list(made.parents(index)) for index in range(6)] == [[], [], [1], [0], [], [0, 4]]
    assert [made.root(index) for index in range(6)] == [0, 1, 1, 0, 4, 0]


def test_a_marker_that_moves_along_keeps_the_lane() -> None:
    def turn(*texts: str) -> Form:
        said: list[object] = [{"role": "user", "content": text} for text in texts[:-1]]
        block = {"type": "text", "text": texts[-1], "cache_control": {"type": "ephemeral"}}
        return posted({"model": "m", "messages": [*said, {"role": "user", "content": [block]}]})

    made = lanes(turn("a"), turn("a", "b"), turn("a", "b", "c"))
    assert [list(made.parents(index)) for index in range(3)] == [[], [0], [1]]


def test_another_system_prompt_is_another_lane() -> None:
    made = lanes(chat(("system", "x"), ("user", "a")), chat(("system", "y"), ("user", "a"), ("assistant", "b")))
    assert not made.parents(1)


type Step = tuple[str, str, bytes, bytes]
"""Method, URL, body, answer."""


def call(name: str, id_: str, **arguments: object) -> dict[str, object]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def llm(talk: list[dict[str, object]], answer: dict[str, object]) -> Step:
    """An LLM exchange; `talk` grows by its answer."""
    asked = encode({"model": "m1", "messages": talk})
    message: dict[str, object] = {"role": "assistant", "content": None, **answer}
    talk.append(message)
    return "POST", CHAT, asked, encode({"id": "c", "choices": [{"index": 0, "message": message}]})


def agent(name: str, turns: int = 2) -> list[Step]:
    """An agent that looks something up in each turn, and says what it found."""
    talk: list[dict[str, object]] = [{"role": "user", "content": f"look after {name}"}]
    found: list[Step] = []
    for turn in range(turns):
        found.append(llm(talk, {"tool_calls": [call("look", f"call_{name}{turn}", of=name, turn=turn)]}))
        result = encode({"of": name, "turn": turn})
        found.append(("POST", "https://tools.example.com/look", encode({"of": name, "turn": turn}), result))
        talk.append({"role": "tool", "tool_call_id": f"call_{name}{turn}", "content": result.decode()})
    found.append(llm(talk, {"content": f"{name} is well"}))
    return found


def writer(*steps: Step) -> Callable[[Recording], None]:
    def tell(recording: Recording) -> None:
        for method, url, asked, answer in steps:
            headers = ((b"Content-Type", b"application/json"), (b"Accept", b"application/json")) if asked else ()
            recording.answer(recording.ask(method, url, asked, headers), answer)

    return tell


def walk(session: Session, steps: list[Step]) -> None:
    for method, url, asked, answer in steps:
        assert ask(session, method, url, asked)[2] == answer


async def reordered(place: Place, steps: list[Step], came: list[int], order: Order = "causal") -> list[tuple[int, int]]:
    async with place.replaying(place.record(writer(*steps)), ReplayOptions(order=order)) as server:
        walk(server.session, [steps[at] for at in came])
        report = await server.stop(0)
        assert report.counts["matched"] == len(came)
        return [(one.step, one.before) for one in server.session.findings.reordered]


GET = "GET"
HOST = "https://api.example.com"
NEW: Step = (GET, f"{HOST}/new", b"", b'{"id": "doc_48213"}')
FINE = b"the weather is fine and dry"
SCRIPTS: dict[str, tuple[list[Step], list[tuple[int, int]]]] = {
    "two reads": ([(GET, f"{HOST}/a", b"", b"1"), (GET, f"{HOST}/b", b"", b"2")], []),
    "two writes": ([("POST", f"{HOST}/a", b"{}", b"1"), ("POST", f"{HOST}/b", b"{}", b"2")], [(2, 1)]),
    "a write and a read": ([("PUT", f"{HOST}/a", b"{}", b"1"), (GET, f"{HOST}/b", b"", b"2")], [(2, 1)]),
    "two hosts": ([("POST", f"{HOST}/a", b"{}", b"1"), ("POST", "https://b.example.com/", b"{}", b"2")], []),
    "an id in a path": ([NEW, (GET, "http://c/doc_48213", b"", b"")], [(2, 1)]),
    "an id in a query": ([NEW, (GET, "http://c/?d=doc_48213", b"", b"")], [(2, 1)]),
    "a date": ([(GET, f"{HOST}/new", b"", b'{"at": "2026-11-29"}'), (GET, "http://c/?d=2026-11-29", b"", b"")], []),
    "a word": ([(GET, f"{HOST}/new", b"", b'{"at": "everything"}'), (GET, "http://c/?d=everything", b"", b"")], []),
    "a quotation": (
        [(GET, f"{HOST}/new", b"", FINE), ("POST", "http://c/", b'{"said": "' + FINE + b'"}', b"")],
        [(2, 1)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
async def test_only_a_dependency_is_order(place: Place, name: str) -> None:
    steps, found = SCRIPTS[name]
    assert await reordered(place, steps, [1, 0]) == found
    assert await reordered(place, steps, [0, 1]) == []
    assert await reordered(place, steps, [1, 0], order="any") == []
    assert await reordered(place, steps, [1, 0], order="strict") == [(2, 1)]


async def test_what_was_known_before_proves_nothing(place: Place) -> None:
    known = (GET, f"{HOST}/all", b"", b'["doc_48213"]')
    steps: list[Step] = [
        known,
        (GET, f"{HOST}/new", b"", b'{"id": "doc_48213"}'),
        (GET, "http://c/doc_48213", b"", b""),
    ]
    assert await reordered(place, steps, [0, 2, 1]) == []
    assert await reordered(place, steps, [2, 0, 1]) == [(3, 1)]


async def test_each_step_of_an_agent_needs_the_one_before(place: Place) -> None:
    steps = agent("robin")
    for at in range(len(steps) - 1):
        order = [*range(at), at + 1, at, *range(at + 2, len(steps))]
        assert await reordered(place, steps, order) == [(at + 2, at + 1)], at


def shuffled(rng: random.Random, agents: list[list[Step]]) -> Iterator[tuple[int, Step]]:
    """The steps of agents side by side, each agent's in their order."""
    order = [number for number, steps in enumerate(agents) for _ in steps]
    rng.shuffle(order)
    left = [iter(steps) for steps in agents]
    return ((number, next(left[number])) for number in order)


async def test_agents_side_by_side_may_come_in_any_order(place: Place, sample: Sample) -> None:
    agents = [agent(f"a{number:02}", turns=3) for number in range(64)]
    recorded = [step for _, step in shuffled(random.Random(1), agents)]
    run = place.record(writer(*recorded))
    rng, rounds = sample.source(), sample.count(2, 100)
    for _ in range(rounds):
        async with place.replaying(run) as server:
            walk(server.session, [step for _, step in shuffled(rng, agents)])
            report = await server.stop(0)
        assert (report.exit_code, report.counts["matched"]) == (0, len(recorded)), report.text()
    sample.measured(f"64 agents side by side, replayed in {rounds} other orders: 0 false drifts")


async def test_a_step_too_early_is_found_among_agents_side_by_side(place: Place, sample: Sample) -> None:
    agents = [agent(f"a{number:02}", turns=3) for number in range(64)]
    run = place.record(writer(*(step for _, step in shuffled(random.Random(2), agents))))
    rng, rounds = sample.source(), sample.count(2, 100)
    for _ in range(rounds):
        mine = agents[rng.randrange(64)]
        at = rng.randrange(len(mine) - 1)
        changed = [*mine[:at], mine[at + 1], mine[at], *mine[at + 2 :]]
        others = [steps for steps in agents if steps is not mine]
        async with place.replaying(run) as server:
            walk(server.session, [step for _, step in shuffled(rng, [*others, changed])])
            report = await server.stop(0)
        assert (report.exit_code, report.counts["reordered"]) == (40, 1), report.text()
    sample.measured(f"64 agents side by side, one of them with two steps changed about, {rounds} times: each found")


async def test_agents_that_ask_the_same_may_go_on_in_any_order(place: Place) -> None:
    first = asking_chat(("user", "q"))
    later = [asking_chat(("user", "q"), ("assistant", f"a{number}"), ("user", "more")) for number in range(3)]
    steps: list[Step] = [("POST", CHAT, encode(first), b"{}") for _ in range(3)]
    steps += [("POST", CHAT, encode(one), b"{}") for one in later]
    assert await reordered(place, steps, [0, 3, 1, 5, 2, 4]) == []
    assert await reordered(place, steps, [4, 0, 1, 2, 3, 5]) == [(5, 1)]
