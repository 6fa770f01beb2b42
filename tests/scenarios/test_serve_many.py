"""One replay server for many agents at once: each is answered from its own recording, and from no other."""

import base64
import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from store.reader import Reader
from store.writer import Writer
from tests.proxy.tape import Folders, folders
from tests.replay_server.recording import Recording
from tests.scenarios.kept import kept
from tests.support.command import Command
from tests.support.processes import running
from tests.support.sample import Sample

PLAIN, SECURE = "http://tools.example/who", "https://api.example/who"


def recorded(place: Folders, sessions: int) -> list[str]:
    """Runs that ask for the same and were each answered something else: PLAIN twice, SECURE once."""
    writer = Writer.open(place.store, place.keys)
    try:
        runs = []
        for number in range(sessions):
            recording = Recording(writer, name=f"agent-{number}")
            for times in (1, 2):
                recording.get(PLAIN, b"%d plain %d" % (number, times))
            recording.get(SECURE, b"%d secure" % number)
            runs.append(recording.close())
        return runs
    finally:
        writer.close()


def agent(proxy: str, trust: ssl.SSLContext, urls: tuple[str, ...]) -> list[bytes]:
    """What a client hears that is told of nothing but its proxy."""
    through = urllib.request.ProxyHandler({"http": proxy, "https": proxy})
    opener = urllib.request.build_opener(through, urllib.request.HTTPSHandler(context=trust))
    return [opener.open(url, timeout=60).read() for url in urls]


def refused(proxy: str, *, after: str = "") -> int:
    """The status of a request with the credentials of `proxy`, on a connection of another agent (`after`) if any."""
    place = urlsplit(proxy)
    connection = http.client.HTTPConnection(place.hostname or "", place.port or 0, timeout=60)
    statuses = []
    for url in filter(None, (after, proxy)):
        said = base64.b64encode(urlsplit(url).netloc.rpartition("@")[0].encode()).decode()
        connection.request("GET", PLAIN, headers={"Proxy-Authorization": f"Basic {said}"})
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()
    return statuses[-1]


def test_many_agents_at_once_hear_their_own_recording_only(tmp_path: Path, sample: Sample) -> None:
    many = sample.count(8, 64)
    place, report, command = folders(tmp_path), tmp_path / "report.json", Command(tmp_path)
    runs = recorded(place, many)
    line = command.line("replay", *runs, "--serve", "--json", "--report", str(report))
    with running(line, command.environment) as server:
        sessions = server.ready["sessions"]
        assert isinstance(sessions, list)
        assert [each["replays"] for each in sessions] == runs
        assert len({urlsplit(each["proxy"]).port for each in sessions}) == 1
        trust = ssl.create_default_context(cafile=sessions[0]["environment"]["SSL_CERT_FILE"])
        assert refused(sessions[3]["proxy"].replace("@", "x@")) == 407
        first, other = sessions[-1]["proxy"], sessions[-2]["proxy"]
        assert refused(other, after=first) == 407

        def walk(session: Mapping[str, str]) -> list[bytes]:
            urls = (PLAIN, SECURE, PLAIN) if session["proxy"] != first else (PLAIN, SECURE)
            return agent(session["proxy"], trust, urls)

        with ThreadPoolExecutor(many) as pool:
            heard = list(pool.map(walk, sessions))
            assert server.process.stdout is not None
            pool.submit(server.process.stdout.read)  # the report is more than a pipe holds
            assert server.stop() == 0, server.stderr()
        assert f"{many} of {many} recordings passed" in server.stderr()
        assert "1 client brought the token of none" in server.stderr()
    for number, answers in enumerate(heard[:-1]):
        assert answers == [b"%d plain 1" % number, b"%d secure" % number, b"%d plain 2" % number]
    assert heard[-1] == [b"%d plain 2" % (many - 1), b"%d secure" % (many - 1)]
    told = json.loads(report.read_text())
    assert told["counts"] == {"passed": many, "failed": 0}
    assert all(run["report"]["counts"]["matched"] == 3 for run in told["runs"])
    assert sum(run["report"]["clients"]["strangers"] for run in told["runs"]) == 1
    with Reader.open(place.store, place.keys) as reader:
        replays = [info for info in reader.runs() if info.mode == "replay"]
    assert sorted(info.id for info in replays) == sorted(each["run"] for each in sessions)
    assert [one.body for one in kept(place.store, sessions[2]["run"])] == heard[2]
