"""What those are told who look after a recorder."""

import asyncio
import re
from dataclasses import replace

import pytest

from proxy.service.admin import Admin, answer
from proxy.service.metrics import Metric, Snapshot, exposition

WELL = Snapshot(exchanges=3, started_s=12.5)
LINE = re.compile(r'(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"\})? [0-9.]+)')


@pytest.mark.parametrize(
    "line, now, status",
    [
        (b"GET /healthz HTTP/1.1", None, 200),
        (b"GET /readyz HTTP/1.1", None, 503),
        (b"GET /readyz?verbose HTTP/1.1", WELL, 200),
        (b"GET /readyz HTTP/1.1", replace(WELL, draining=True), 503),
        (b"GET /readyz HTTP/1.1", replace(WELL, failing=True), 503),
        (b"GET /healthz HTTP/1.1", replace(WELL, failing=True), 200),
        (b"POST /metrics HTTP/1.1", WELL, 405),
        (b"GET / HTTP/1.1", WELL, 404),
        (b"GET /metrics", WELL, 400),
    ],
)
def test_health_is_the_process_and_readiness_is_whether_it_can_record(
    line: bytes, now: Snapshot | None, status: int
) -> None:
    assert answer(line, now)[0] == status


def test_every_line_of_the_metrics_is_one_of_the_format() -> None:
    text = answer(b"GET /metrics HTTP/1.1", WELL)[2]
    assert [line for line in text.splitlines() if not LINE.fullmatch(line)] == []
    assert "edgetape_exchanges_total 3\n" in text
    assert "process_start_time_seconds 12.5\n" in text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names))


def test_a_label_cannot_break_its_line() -> None:
    assert exposition([Metric("m", "gauge", "h", 1, (("a", 'x"\\\n'),))]).endswith('m{a="x\\"\\\\\\n"} 1\n')


async def test_it_answers_one_request_a_connection() -> None:
    admin = Admin(lambda: WELL)
    host, port = await admin.start("127.0.0.1", 0)
    try:
        for asked, begins in (
            (b"HEAD /readyz HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n"),
            (b"\r\n\r\n", b"HTTP/1.1 400 "),
        ):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(asked + b"\r\n\r\n")
            assert (await reader.read()).startswith(begins)
            writer.close()
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"x" * 100_000)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()
    finally:
        await admin.stop()
