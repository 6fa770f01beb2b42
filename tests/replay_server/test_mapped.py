"""Replays of agents that make up ids anew: what passes, what is put into answers, and what the report says of it."""

import json
from uuid import uuid4

from replay_server.server import ReplayOptions, ReplayServer
from store.core.model import HttpResponse
from store.exchange import exchanges
from store.reader import Reader
from tests.replay_server.recording import Place, Recording, encode
from tests.replay_server.walking import ask

MCP = "http://mcp.example.com/mcp"
PAY = "http://pay.example.com/charges"


def rpc(id_: object, tool: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": tool, "arguments": {}}}


def tools(recording: Recording) -> None:
    for number, tool in enumerate(("add", "sub")):
        recording.post(MCP, rpc(number, tool), encode({"jsonrpc": "2.0", "id": number, "result": tool}))


def told(server: ReplayServer, url: str, value: object) -> tuple[int, dict[str, object]]:
    status, _, body = ask(server.session, "POST", url, encode(value))
    return status, json.loads(body)


async def test_messages_in_another_order_get_their_own_ids_back(place: Place) -> None:
    async with place.replaying(place.record(tools), ReplayOptions(order="any")) as server:
        assert told(server, MCP, rpc(0, "sub")) == (200, {"jsonrpc": "2.0", "id": 0, "result": "sub"})
        assert told(server, MCP, rpc("one", "add")) == (200, {"jsonrpc": "2.0", "id": "one", "result": "add"})
        report = await server.stop(0)
    assert (report.exit_code, report.counts["mapped"], report.counts["matched"]) == (0, 2, 0)
    assert report.document["mapped"] == [{"step": 2, "pointer": "/body/id", "recorded": "1", "live": "0", "count": 2}]
    assert "REPLAYED: all 2 recorded exchanges" in report.verdict
    with Reader.open(place.store, place.keys) as reader:
        served = exchanges(reader.events(server.run))[0]
        assert isinstance(served.response, HttpResponse)
        assert served.response.redactions == [["mapped", 1]]
        assert not served.response.exact


async def test_without_the_map_every_new_id_is_a_drift(place: Place) -> None:
    async with place.replaying(place.record(tools), ReplayOptions(use_map=False)) as server:
        status, _ = told(server, MCP, rpc(7, "add"))
        assert status == 422
        assert (await server.stop(0)).exit_code == 40


async def test_a_new_idempotency_key_is_mapped_and_another_amount_is_a_drift(place: Place) -> None:
    key, new = str(uuid4()), str(uuid4())

    def tell(recording: Recording) -> None:
        recording.post(PAY, {"request_id": key, "amount": 5}, encode({"request_id": key, "ok": True}))
        recording.post(PAY, {"request_id": key, "amount": 6}, encode({"request_id": key, "ok": True}))

    run = place.record(tell)
    async with place.replaying(run) as server:
        assert told(server, PAY, {"request_id": new, "amount": 5}) == (200, {"request_id": new, "ok": True})
        assert told(server, PAY, {"request_id": new, "amount": 6}) == (200, {"request_id": new, "ok": True})
        report = await server.stop(0)
        assert (report.exit_code, report.counts["mapped"]) == (0, 2)
        assert f'made up anew: "{key}" is now "{new}" (2 times, first at step 1, /body/request_id)' in report.lines
    async with place.replaying(run) as server:
        assert told(server, PAY, {"request_id": new, "amount": 7})[0] == 422
        assert (await server.stop(0)).exit_code == 40


async def test_another_customer_is_a_drift_wherever_the_id_came_from(place: Place) -> None:
    one, other = str(uuid4()), str(uuid4())

    def tell(recording: Recording) -> None:
        recording.get(f"http://crm.example.com/notes?customer={one}", b"{}")
        recording.post("http://crm.example.com/notes", {"customer_id": one, "note": "x"}, b"{}")

    run = place.record(tell)
    async with place.replaying(run, ReplayOptions(on_drift="serve")) as server:
        ask(server.session, "GET", f"http://crm.example.com/notes?customer={other}")
        told(server, "http://crm.example.com/notes", {"customer_id": other, "note": "x"})
        report = await server.stop(0)
    assert (report.exit_code, report.counts["mapped"], report.counts["drifted"]) == (40, 0, 2)
