"""How fast recorded answers are served, side by side with others that can, and what a replay costs by itself.

    python -m bench.replay [--tries N] [--write] [--only WORD]

Every program answers the same requests, each once: a chat request of 1.5 KB, an answer of 60 KB, the whole request
compared. edgetape and mitmdump are reached through CONNECT and TLS, mountebank by TLS, aimock in the clear; vcrpy is
no server. What is compared is the processor time of the server: the client and whatever else runs here is left out.
"""

import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click
import msgspec

from bench import page, rivals, size, span
from bench.asker import HOST, PATH
from bench.rivals import RIVALS, Missing, Pairs, Rival
from bench.together import answered, asked
from bench.traffic import Exchange
from bench.verify import spread
from store.core.draft import Draft
from store.core.model import Agent, Policies, RunOpen
from store.writer import Writer

SECTION = "replay"
CLIENTS = (1, 8, 64)
_COUNT = 256
_ANSWER_CHARS = 60_000
_ASKED_WORDS = 200
_MITMDUMP_GOAL, _TLS_GOAL, _PLAIN_GOAL = 6.0, 2.0, 1.0
_OURS, _VCRPY = "edgetape replay", "vcrpy, in process"
_LABELS = {"kind": "llm", "boundary": "decision", "effect": "read", "operation": "chat.completions"}
_GOALS = {
    "mitmdump --server-replay": _MITMDUMP_GOAL, "mountebank": _TLS_GOAL, "aimock, plain HTTP": _PLAIN_GOAL,
}  # fmt: skip

_WORDS = """\
`python -m bench.replay`, {tries} tries each, in turn. {machine} {count} different chat requests of 1.5 KB, each asked
once and answered with 60 KB, the whole request compared; {clients} clients at once, each on one connection. Of
edgetape it is the whole command: redaction, comparison, and a replay's own run, encrypted, linked and signed.

Requests a second of the server's processor time until that rests again, and in brackets those a second by the clock
beside a client on the same machine. All connections are open before the first request is sent: with {count} requests
and {many} clients there are {each} to a connection, and what a new one costs would tell more about TLS than about
replaying. That stands in a column of its own: milliseconds of processor time each, of {many} opened at once. "edgetape
is" says how many times as many requests edgetape serves in the same processor time; its goals are {mitmdump:.0f} times
mitmdump, {tls:.0f} times the next best that speaks TLS, and not less than aimock in the clear. Python's modules have
been compiled before, as pip does it when it installs a program.
"""


def pairs(count: int, answer_chars: int = _ANSWER_CHARS) -> Pairs:
    """Requests and answers."""
    source = random.Random(1)  # noqa: S311  # the same text each time
    words = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randrange(2, 10))) for _ in range(5000)]

    def pair(number: int) -> tuple[str, str]:
        question = f"question {number}: " + " ".join(source.choices(words, k=_ASKED_WORDS))
        said = " ".join(source.choices(words, k=answer_chars // 5))[:answer_chars]
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        answer = {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "choices": [choice]}
        usage = {"prompt_tokens": 250, "completion_tokens": 12_000}
        asked = {"model": "model-1", "messages": [{"role": "user", "content": question}]}
        return json.dumps(asked), json.dumps({**answer, "model": "model-1", "usage": usage})

    return [pair(number) for number in range(count)]


def record(folder: Path, said: Pairs) -> None:
    """A run of these exchanges in a store of its own, as a recorder writes it."""
    policies = Policies(redaction="none/1", classification="none/1")
    opening = RunOpen(origin="", mode="record", recorder="bench/1", clock="system", policies=policies, agent=Agent())
    writer = Writer.open(folder / "store", folder / "keys")
    run, ticket = writer.open_run(Draft(opening))
    for number, exchange in enumerate(_exchanges(said)):
        request, answer = asked(exchange), answered(exchange)
        request = msgspec.structs.replace(request, facts=msgspec.structs.replace(request.facts, **_LABELS))
        ticket = writer.append(run, answer, after=writer.append(run, request))
        if number % 200 == 0:
            ticket.result()
    writer.close_run(run, "normal").result()
    writer.close()


def _exchanges(said: Pairs) -> Iterator[Exchange]:
    headers = [("Host", HOST), ("Content-Type", "application/json"), ("Accept", "*/*")]
    answer = [("Content-Type", "application/json"), ("x-request-id", "req_0123456789abcdef")]
    for question, answer_body in said:
        yield Exchange(
            run="", conversation="", kind="llm", method="POST", url=f"https://{HOST}{PATH}", status=200, t=0.0,
            request_headers=headers, response_headers=answer, request_body=question, response_body=answer_body,
        )  # fmt: skip


def replayed(store: Path, words: Sequence[str]) -> None:
    """`edgetape replay last` with a command, in a store."""
    folders = ["--store", str(store / "store"), "--keys", str(store / "keys"), "--authority", str(store / "authority")]
    command = [sys.executable, "-m", "proxy", *folders, "-q", "replay", "last", "--", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=rivals.offline())
    assert done.returncode == 0, done.stderr[-2000:]


def _ours(said: Pairs, store: Path, place: Path, clients: int) -> dict[str, float]:
    client = [sys.executable, "-m", "bench.asker", str(place / "requests"), str(place / "result")]
    replayed(store, [*client, "--clients", str(clients)])
    return _figures(place)


def _theirs(rival: Rival, said: Pairs, place: Path, clients: int) -> dict[str, float]:
    with rivals.serving(rival, said, place) as (port, pid):
        client = [sys.executable, "-m", "bench.asker", str(place / "requests"), str(place / "result")]
        how = ["--clients", str(clients), "--port", str(port), "--way", rival.way, "--server", str(pid)]
        subprocess.run([*client, *how], check=True)
        return _figures(place)


def _vcrpy(said: Pairs, place: Path) -> dict[str, float]:
    environment = {**rivals.offline(), "PYTHONPATH": str(rivals.pip("vcrpy"))}
    (place / "pairs").write_text(json.dumps(said))
    command = [sys.executable, "-m", "bench.cassette", str(place / "pairs"), str(place / "result")]
    subprocess.run(command, check=True, env=environment)
    return _figures(place)


def _figures(place: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads((place / "result").read_text())
    return found


def contest(tries: int, names: Sequence[str]) -> tuple[dict[str, dict[int, list[dict[str, float]]]], dict[str, str]]:
    """The figures of each program by clients, and why some have none."""
    said = pairs(_COUNT)
    known = {rival.name: rival for rival in RIVALS}
    found: dict[str, dict[int, list[dict[str, float]]]] = {}
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder), said)
        for _, clients, name in _turns(tries, names):
            if name in missing or (name == _VCRPY and clients > 1):
                continue
            with tempfile.TemporaryDirectory(dir=folder) as inner:
                place = Path(inner)
                (place / "requests").write_text(json.dumps([question for question, _ in said]))
                try:
                    if name == _OURS:
                        figures = _ours(said, Path(folder), place, clients)
                    elif name == _VCRPY:
                        figures = _vcrpy(said, place)
                    else:
                        figures = _theirs(known[name], said, place, clients)
                except Missing as error:
                    missing[name] = str(error)
                    continue
            found.setdefault(name, {}).setdefault(clients, []).append(figures)
    return found, missing


def _turns(tries: int, names: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    for number in range(tries):
        for clients in CLIENTS:
            yield from ((number, clients, name) for name in names)


def table(tries: int, only: str) -> Iterator[str]:
    """The figures as a table in Markdown."""
    names = [name for name in (_OURS, *(rival.name for rival in RIVALS), _VCRPY) if only in name]
    found, missing = contest(tries, names)
    counts = [f"{clients} client{'s' * (clients > 1)}" for clients in CLIENTS]
    yield size.line(["program", *counts, "a connection", "edgetape is"])
    yield "|" + "---|" * (len(CLIENTS) + 3)
    for name in names:
        if name in missing:
            yield size.line([name, f"not here: {missing[name]}", *[""] * (len(CLIENTS) + 1)])
            continue
        cells = [_cell(found[name].get(clients, ())) for clients in CLIENTS]
        yield size.line([name, *cells, _connection(found[name].get(CLIENTS[-1], ())), _times(name, found)])


def _rates(figures: Sequence[dict[str, float]], of: str) -> list[float]:
    return [each["count"] / each[of] for each in figures]


def _cell(figures: Sequence[dict[str, float]]) -> str:
    if not figures:
        return ""
    return f"{spread(_rates(figures, 'cpu_s'))} [{statistics.median(_rates(figures, 'wall_s')):,.0f}]"


def _connection(figures: Sequence[dict[str, float]]) -> str:
    return spread([1000 * each["connecting_cpu_s"] / CLIENTS[-1] for each in figures], 1) if figures else ""


def _times(name: str, found: dict[str, dict[int, list[dict[str, float]]]]) -> str:
    """How many times as fast edgetape is at each number of clients."""
    if name == _OURS or _OURS not in found:
        return ""
    goal, said = _GOALS.get(name, 0.0), []
    for clients in CLIENTS:
        with suppress(KeyError):
            ours, theirs = (statistics.median(_rates(found[one][clients], "cpu_s")) for one in (_OURS, name))
            said.append(f"{ours / theirs:.1f}{'*' if ours / theirs < goal else ''}")
    return " / ".join(said)


@click.command()
@click.option("--tries", default=3, help="How often each is measured.")
@click.option("--write", is_flag=True, help="Write the section of docs/benchmarks.md.")
@click.option("--only", default="", help="Only the programs with this word in their name.")
def main(tries: int, write: bool, only: str) -> None:
    """Print the tables; a star marks a goal that is missed."""
    words = _WORDS.format(
        tries=tries, machine=page.machine(), count=_COUNT, clients=", ".join(map(str, CLIENTS)),
        mitmdump=_MITMDUMP_GOAL, tls=_TLS_GOAL, many=CLIENTS[-1], each=_COUNT // CLIENTS[-1],
    )  # fmt: skip
    lines = [words]
    for line in (*table(tries, only), "", *span.table(tries)):
        click.echo(line)
        lines.append(line)
    if write:
        page.write(SECTION, "\n".join(lines))


if __name__ == "__main__":
    main()
