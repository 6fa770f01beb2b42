"""Nothing that the wire or the agent brings makes a record invalid: it is appended, verifies, and reads back."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.core.model import RunOpen
from store.exchange import exchanges
from store.reader import Reader
from store.verify import verify
from tests.support.tape import Call, Tape

KIB = 1024
SQL = b"'; DROP TABLE events; --\"; DELETE FROM runs; /*"

HOSTILE: dict[str, Call] = {
    "a query of 100 KB": Call(query=b"q=" + b"x" * 100 * KIB),
    "a path of 70 KB": Call(b"/" + b"x" * 70 * KIB),
    "80 KB of headers, many short": Call(headers=[(b"x-%d" % number, b"v" * 10) for number in range(4600)]),
    "80 KB of headers, one huge": Call(headers=[(b"x-big", b"v" * 80 * KIB), (b"host", b"h")]),
    "80 KB of answer headers": Call(answer_headers=[(b"x-%d" % number, b"v" * 10) for number in range(4600)]),
    "a header name of 20 KB": Call(headers=[(b"n" * 20 * KIB, b"")]),
    "15 KB of headers that JSON escapes": Call(headers=[(b"\x01" * 20, b'"' * 100)] * 40),
    "bytes in the path": Call(b"/caf\xe9/\xff\xfe"),
    "bytes in the host": Call(host=b"\xc3\x28.example"),
    "bytes in the method": Call(method=b"\xff"),
    "bytes in header names": Call(headers=[(b"x-\xe9\x80", b"\xfe\x00\xff")]),
    "zero bytes": Call(b"/\0", headers=[(b"\0", b"\0")], query=b"\0", body=b"\0", answer=b"\0"),
    "nothing at all": Call(b"", method=b"", host=b"", headers=[(b"", b"")], answer_headers=[(b"", b"")]),
    "lone surrogates": Call("/\ud800".encode("utf-8", "surrogatepass")),
    "text in every script": Call("/é€😀\u202e\u2028".encode(), headers=[("ключ".encode(), "значение".encode())]),
    "SQL everywhere (T39)": Call(SQL, SQL, SQL, SQL, SQL, SQL, [(SQL, SQL)]),
    "marks of our own": Call(b"#0", headers=[(b"body", b"#0"), (b"#1", b'{"body":"#0"}')], body=b'{"body":"#0"}'),
    "a body of 3 MB": Call(body=bytes(range(256)) * 4 * 3 * KIB, answer=b"x"),
    "a million equal bytes": Call(body=b"a" * 10**6, answer=b"b" * 10**6),
    "an answer that is empty": Call(answer=b""),
}


def read_back(made: Tape, run: str) -> Sequence[Call]:
    """The exchanges of a run, as they are in the store."""
    calls = []
    with Reader.open(made.folder, made.keys) as reader:
        for exchange in exchanges(reader.events(run)):
            asked, answered, facts = exchange.request, exchange.outcome, exchange.facts
            assert answered is not None
            assert exchange.response is not None
            calls.append(
                Call(
                    path=reader.text(asked, facts.path),
                    body=reader.body(asked, facts.body),
                    answer=reader.body(answered, exchange.response.body),
                    method=reader.text(asked, facts.method),
                    host=reader.text(asked, facts.host),
                    query=reader.body(asked, facts.query),
                    headers=reader.pairs(asked, facts.headers),
                    answer_headers=reader.pairs(answered, exchange.response.headers),
                )
            )
    return calls


def plain(call: Call) -> Call:
    return replace(call, headers=list(call.headers), answer_headers=list(call.answer_headers))


@pytest.mark.parametrize("call", HOSTILE.values(), ids=HOSTILE)
def test_it_is_appended_verifies_and_reads_back(open_tape: Tape, call: Call) -> None:
    run = open_tape.run([call, Call(b"/next")])
    assert read_back(open_tape, run) == [plain(call), plain(Call(b"/next"))]
    assert verify(open_tape.folder, open_tape.keys, run).exit_code == 0


texts = st.binary(max_size=40) | st.text(max_size=20).map(lambda each: each.encode("utf-8", "surrogatepass"))
large = texts | st.tuples(st.binary(min_size=1, max_size=3), st.integers(0, 3000)).map(lambda each: each[0] * each[1])
contents = st.tuples(large, large)
fields = st.lists(st.tuples(texts.map(lambda each: b"x-" + each.hex().encode() + each), large), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=large, method=texts, host=texts, query=large, headers=fields, answer_headers=fields, content=contents)
def test_whatever_it_is_it_reads_back(
    open_tape: Tape,
    path: bytes,
    method: bytes,
    host: bytes,
    query: bytes,
    headers: list[tuple[bytes, bytes]],
    answer_headers: list[tuple[bytes, bytes]],
    content: tuple[bytes, bytes],
) -> None:
    call = Call(path, *content, method, host, b"" if b"=" in query else query, headers, 200, answer_headers)
    run = open_tape.run([call])
    assert read_back(open_tape, run) == [call]
    assert verify(open_tape.folder, open_tape.keys, run).exit_code == 0


@pytest.mark.parametrize("argv", [[b"x" * 200 * KIB], [b"\xff\xfe", b"\0", b"", b"caf\xe9"]], ids=["200 KB", "bytes"])
def test_any_command_line_reads_back(open_tape: Tape, argv: list[bytes]) -> None:
    run = open_tape.open(argv=argv)
    open_tape.writer.close_run(run, "normal").result(30)
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        opened = reader.event(run, 0)
        assert isinstance(opened.facts, RunOpen)
        assert reader.body(opened, opened.facts.agent.argv) == b"\0".join(argv)
    assert verify(open_tape.folder, open_tape.keys, run).exit_code == 0


@pytest.mark.parametrize("name", ["é", "' OR 1=1 --", "x" * 1000, "last", "%", "019"])
def test_any_run_name_is_found(open_tape: Tape, name: str) -> None:
    other, run = open_tape.run([], "other"), open_tape.run([], name)
    with Reader.open(open_tape.folder, open_tape.keys) as reader:
        assert reader.find(name).id == run
        assert reader.find(run).id == run
        assert reader.find("other").id == other
    assert verify(open_tape.folder, open_tape.keys).exit_code == 0
