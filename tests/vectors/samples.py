"""What the vectors are made of: records, every event type with little and with all it can say, every leaf type."""

import hashlib
from collections.abc import Callable, Iterator, Sequence

from store.core import leaf, model
from store.core.canonical import Record
from store.core.draft import Opening
from store.core.model import Facts
from store.core.text import Body, text

ORIGIN = "edgetape.local/aaaabbbbccccddddeeeeffff22"
RUN = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
CHILD = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c"
TIME = "2026-11-29T08:07:06.000005Z"
HEX = "00112233445566778899aabbccddeeff" * 2

RECORDS: Sequence[Record] = (
    {},
    {"a": 1, "b": [True, False, None], "c": {"d": "", "e": []}},
    {"z": 0, "a9": 1, "a": 2, "_": 3, "0": 4, "a_": 5},
    {"least": -(2**53) + 1, "most": 2**53 - 1},
    {"escaped": '"\\\b\f\n\r\t\x00\x1f/', "as_it_is": "\x7f\x80\u2028\u2029é€😀\ufffd\ufeff"},
    # The string of RFC 8785, section 3.2.2.
    {"string": '€$\u000f\nA\'B"\\\\"/'},
    {"deep": [[[[[[[[[[[[[[1]]]]]]]]]]]]]]},
)
TREE_LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
CHUNKS: Sequence[Sequence[tuple[int, int]]] = (
    (),
    ((0, 0),),
    ((1, 1), (127, 10), (128, 100), (16_383, 1000), (16_384, 1_000_000)),
    ((65_536, 3_600_000_000), (1, 10**12)),
)
CHECKPOINT_SIZES = (0, 1, 7, 20_852_163, 2**53 - 1)


def held(opening: Opening) -> bytes:
    """The content of an opening, which is in memory."""
    assert isinstance(opening.content, bytes)
    return opening.content


def salts(start: int = 0) -> Callable[[str], bytes]:
    """A source of salts that are anything but random."""
    drawn = iter(range(start * 100, start * 100 + 100))
    return lambda _: hashlib.sha256(b"salt %d" % next(drawn)).digest()


def events() -> Iterator[tuple[str, Facts, tuple[bytes, ...]]]:
    """(name, facts, contents of its bodies) of every event type, `#n` standing for contents[n]."""
    contents = tuple(b"body %d" % number for number in range(4))
    for number, facts in enumerate(_facts()):
        yield f"{number} {facts.__struct_config__.tag}", facts, contents


def leaves() -> Iterator[leaf.Leaf]:
    """One of every leaf type."""
    yield leaf.StoreCreated(origin=ORIGIN, vkey=f"{ORIGIN}+00000000+AQ==")
    yield leaf.RecorderStart(recorder="11111111-2222-4333-8444-555555555555", version="0.1.0")
    yield leaf.RunOpened(run=RUN, genesis=HEX, head=HEX)
    yield leaf.RunHead(run=RUN, n=7, head=HEX)
    yield leaf.RunClosed(run=RUN, n=9, head=HEX, root=HEX)
    yield leaf.RunImported(run=RUN, origin=ORIGIN, n=9, head=HEX, size=20, root=HEX)
    yield leaf.PayloadErased(run=RUN, by="operator", reason="asked for by the person concerned")
    yield leaf.HoldSet(run=RUN, by="operator", reason="a dispute")
    yield leaf.HoldReleased(run=RUN, by="operator", reason="it is settled")
    yield leaf.RunTagged(run=RUN, by="operator", key="reviewed", text="yes")
    yield leaf.RunTagged(run=RUN, by="operator", key="reviewed")
    yield leaf.AnnotationHead(run=RUN, n=2, head=HEX)
    yield leaf.RetentionPruned(run=RUN, by="operator", reason="its time is over")
    yield leaf.PolicyChanged(policy="retention", now="0" * 64)
    yield leaf.AccessExport(run=RUN, by="operator", sha256="1" * 64, size=9, bodies="withheld")
    yield leaf.RecorderStop(recorder="11111111-2222-4333-8444-555555555555")
    old, new = (f"{ORIGIN}+0000000{number}+AQ==" for number in range(2))
    yield leaf.KeyRotated(old=old, new=new, old_signature="AA", new_signature="AQ")
    yield leaf.KeyRevoked(key=old, reason="compromised", by=new, signature="AA")
    yield leaf.Anchored(kind="rfc3161", size=9, sha256=HEX, by="tsa.example")


def _body(number: int) -> Body:
    return Body(body=f"#{number}")


def _facts() -> Iterator[Facts]:
    yield from _run_events()
    yield from _requests()
    yield from _answers()
    yield from _messages()
    yield from _others()


def _run_events() -> Iterator[Facts]:
    policies = model.Policies(redaction="r/1", classification="c/1")
    yield model.RunOpen(
        origin=ORIGIN, mode="record", recorder="edgetape/0.1.0", clock="system", policies=policies, agent=model.Agent()
    )
    yield model.RunOpen(
        origin=ORIGIN,
        mode="fork",
        recorder="edgetape/0.1.0",
        clock="shim",
        policies=model.Policies(redaction="r/1", classification="c/1", policy="p/1"),
        agent=model.Agent(name="réviseur", version="1", argv=_body(0), cwd=_body(1), credential_names=_body(2)),
        name=text(b"\xff\x00"),
        principal="somebody",
        workflow="review",
        labels=[["team", "a"], ["", text(b"\x80")]],
        parent=model.Parent(run=CHILD, seq=8, event_hash=HEX),
        checkpoint=model.LogPoint(size=3, root=HEX),
        bases=["https://api.openai.com@9001"],
    )
    yield model.RunSpawn(child=CHILD, genesis=HEX)
    yield model.RunClose(n=2, head=HEX, root=HEX, reason="crash_recovered", counts=[["run.open", 1]])
    yield model.RunClose(
        n=2,
        head=HEX,
        root=HEX,
        reason="agent_exit",
        counts=[],
        dropped=1,
        partial=2,
        children=[CHILD],
        exit_code=-9,
        clock="resumed",
    )


def _requests() -> Iterator[Facts]:
    yield model.HttpRequest(
        method="GET", scheme="https", host="example.test", port=443, path="/", http_version="HTTP/1.1", headers=[]
    )
    yield model.HttpRequest(
        method=text(b"\xc3"),
        scheme="http",
        host="[::1]",
        port=65535,
        path=_body(0),
        http_version="HTTP/2.0",
        headers=[["host", "x"], ["x-empty", ""], [text(b"\xe9"), text(b"\xfe\xff")]],
        query=_body(1),
        body=_body(2),
        streaming=True,
        wire_bytes=9,
        exact=False,
        truncated=True,
        redactions=[["authorization", 1]],
        kind="llm",
        boundary="decision",
        effect="unknown",
        operation="chat",
        tool="lookup",
        model="scripted-1",
        settings=[["temperature", "0.7"]],
        idempotency_key="k",
        trace_id="0" * 32,
        span_id="0" * 16,
        rules="c/1",
    )
    yield model.HttpRequestEnd(req=1, ended="complete")
    yield model.HttpRequestEnd(
        req=1,
        ended="client_gone",
        body=_body(0),
        chunks=_body(1),
        trailers=_body(2),
        wire_bytes=1,
        exact=False,
        truncated=True,
        redactions=[["key", 2]],
    )


def _answers() -> Iterator[Facts]:
    yield model.HttpResponse(req=1, status=204, http_version="HTTP/1.1", headers=[], ended="complete", framing="none")
    yield model.HttpResponse(
        req=1,
        status=200,
        http_version="HTTP/1.0",
        headers=_body(0),
        ended="recorder_stopped",
        framing="close",
        reason="OK",
        trailers=[["checksum", "x"]],
        body=_body(1),
        chunks=_body(2),
        wire_bytes=4,
        exact=False,
        truncated=True,
        redactions=[["cookie", 1]],
        upstream="192.0.2.1:443",
        tls="TLSv1.3",
        first_byte_us=1,
        total_us=2,
        model="scripted-1-0613",
        usage=[["input_tokens", 3]],
        stop="end_turn",
        tools=["lookup", text(b"\xff")],
        provider_request_id="req_1",
        receipt=_body(3),
        rules="c/1",
    )
    yield model.HttpError(req=1, kind="dns")
    yield model.HttpError(req=1, kind="tls", detail=_body(0), total_us=7)


def _messages() -> Iterator[Facts]:
    yield model.WsMessage(req=1, direction="to_server", opcode="text", body=_body(0))
    yield model.WsClose(req=1, code=1000, by="client", reason=_body(0))
    yield model.RpcMessage(server="tools", direction="to_client", body=_body(0))
    yield model.RpcMessage(server="tools", direction="to_server", body=_body(0), method="tools/call", id="7")


def _others() -> Iterator[Facts]:
    yield model.TunnelOpen(host="pinned.test", port=443, reason="pinned")
    yield model.TunnelClose(open=4, sent_bytes=1, received_bytes=2, duration_us=3)
    yield model.Gap(since=TIME, until=TIME, reason="disk full")
    yield model.Value(kind="uuid", body=_body(0))
    yield model.Note(kind="approval", body=_body(0))
    yield model.Frozen(kind="seed", body=_body(0))
    yield model.Verdict(verdict="SAME", exit_code=0, counts=[["same", 3]], report=_body(0))
