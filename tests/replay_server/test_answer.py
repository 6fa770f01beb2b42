"""The bytes of an answer: what was recorded, framed anew."""

from dataclasses import replace

import pytest

from replay_server.answer import Answer, Live, Recorded, build, ending, failure
from store.core.chunks import Chunk
from store.core.model import Ended, ErrorKind

GET = Live("GET")
OK = Recorded(200, b"OK", ((b"A", b"1"),), "length", "complete", b"hello")


def lines(answer: Answer) -> list[bytes]:
    return answer.head.removesuffix(b"\r\n\r\n").split(b"\r\n")


def body(answer: Answer) -> bytes:
    return b"".join(piece.raw for piece in answer.pieces)


def test_c030_headers_keep_order_spelling_and_repeats() -> None:
    headers = ((b"sEt-CooKie", b"a=1"), (b"X", b""), (b"Set-Cookie", b"b=2; Expires=Wed, 01 Jan 2031 00:00:00 GMT"))
    said = lines(build(replace(OK, headers=headers), GET))
    assert said == [
        b"HTTP/1.1 200 OK",
        b"sEt-CooKie: a=1",
        b"X: ",
        b"Set-Cookie: b=2; Expires=Wed, 01 Jan 2031 00:00:00 GMT",
        b"Content-Length: 5",
    ]


def test_the_framing_header_keeps_its_place_and_spelling() -> None:
    said = lines(build(replace(OK, headers=((b"content-LENGTH", b"5"), (b"A", b"1"))), GET))
    assert said[1:] == [b"content-LENGTH: 5", b"A: 1"]


def test_c091_a_body_that_redaction_made_longer_gets_its_true_length() -> None:
    assert b"Content-Length: 5" in lines(build(replace(OK, headers=((b"Content-Length", b"3"),)), GET))


def test_c035_framing_is_never_twice() -> None:
    both = ((b"Transfer-Encoding", b"chunked"), (b"Content-Length", b"5"))
    said = lines(build(replace(OK, headers=both, framing="chunked"), GET))
    assert said[1:] == [b"Transfer-Encoding: chunked"]
    said = lines(build(replace(OK, headers=both, framing="length"), GET))
    assert said[1:] == [b"Content-Length: 5"]


def test_hop_by_hop_headers_are_never_copied() -> None:
    headers = (
        (b"Connection", b"keep-alive, X-Hop"),
        (b"Keep-Alive", b"timeout=5"),
        (b"X-Hop", b"1"),
        (b"Upgrade", b"h2c"),
        (b"Alt-Svc", b'h3=":443"'),
    )
    assert lines(build(replace(OK, headers=headers), GET))[1:] == [b"Content-Length: 5"]


def test_chunks_are_cut_where_they_were_and_the_trailers_follow() -> None:
    chunks = (Chunk(2, 10), Chunk(3, 20))
    answer = build(replace(OK, framing="chunked", chunks=chunks, trailers=((b"X-Sum", b"9"),)), GET)
    assert [piece.raw for piece in answer.pieces] == [b"2\r\nhe\r\n", b"3\r\nllo\r\n", b"0\r\nX-Sum: 9\r\n\r\n"]
    assert [piece.wait_us for piece in answer.pieces] == [10, 20, 0]
    assert answer.keep_alive


def test_a_chunk_table_that_does_not_fit_is_not_believed() -> None:
    answer = build(replace(OK, framing="chunked", chunks=(Chunk(2, 0),)), GET)
    assert body(answer) == b"5\r\nhello\r\n0\r\n\r\n"


def test_an_old_client_gets_no_chunks() -> None:
    answer = build(replace(OK, framing="chunked"), Live("GET", http10=True))
    assert body(answer) == b"hello"
    assert b"Connection: close" in lines(answer)
    assert not any(line.startswith(b"Transfer-Encoding") for line in lines(answer))


def test_http2_frames_become_length_or_chunks() -> None:
    assert body(build(replace(OK, framing="frames", headers=((b"content-length", b"5"),)), GET)) == b"hello"
    assert body(build(replace(OK, framing="frames", headers=()), GET)).endswith(b"0\r\n\r\n")


@pytest.mark.parametrize(
    "live, status, headers, expected",
    [
        (Live("HEAD"), 200, ((b"Content-Length", b"1234"),), [b"Content-Length: 1234"]),
        (GET, 304, ((b"Content-Length", b"99"), (b"ETag", b"x")), [b"Content-Length: 99", b"ETag: x"]),
        (GET, 204, ((b"Content-Length", b"0"),), []),
    ],
)
def test_head_204_and_304_carry_no_body(
    live: Live, status: int, headers: tuple[tuple[bytes, bytes], ...], expected: list[bytes]
) -> None:
    answer = build(Recorded(status, b"", headers, "none", "complete", b"ghost"), live)
    assert (body(answer), lines(answer)[1:], answer.keep_alive) == (b"", expected, True)


def test_the_end_by_close_closes() -> None:
    answer = build(replace(OK, framing="close"), GET)
    assert (body(answer), answer.keep_alive) == (b"hello", False)
    assert lines(answer)[-1] == b"Connection: close"


@pytest.mark.parametrize("how", ["reset", "timeout", "client_gone"])
def test_a_partial_body_promises_what_was_promised_and_never_ends_cleanly(how: Ended) -> None:
    cut = replace(OK, headers=((b"Content-Length", b"100"),), ended=how)
    answer = build(cut, GET)
    assert b"Content-Length: 100" in lines(answer)
    assert answer.ending == ("reset" if how == "reset" else "hold")
    assert not answer.keep_alive
    chunked = build(replace(cut, framing="chunked"), GET)
    assert not body(chunked).endswith(b"0\r\n\r\n")


def test_failures_without_an_answer_say_nothing() -> None:
    assert failure("reset", GET) == Answer(ending="reset")
    assert failure("timeout", GET) == Answer(ending="hold")


@pytest.mark.parametrize("kind", ["connect", "dns", "tls", "refused"])
def test_a_server_that_was_not_reached_is_a_bad_gateway_as_it_was(kind: ErrorKind) -> None:
    answer = failure(kind, GET)
    assert lines(answer)[0] == b"HTTP/1.1 502 Bad Gateway"
    assert kind.encode() in body(answer)
    assert not answer.keep_alive


def test_what_nobody_knows_the_end_of_has_none() -> None:
    assert ending("truncated") is None
    assert ending("recorder_stopped") is None


def test_an_unknown_status_goes_without_a_reason() -> None:
    assert lines(build(Recorded(599, b"", (), "length", "complete"), GET))[0] == b"HTTP/1.1 599 "
