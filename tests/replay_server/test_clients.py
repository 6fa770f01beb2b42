"""Real clients, used as their makers intend, replay through the proxy and through a base URL."""

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping

import pytest

from replay_server.server import ReplayOptions, ReplayServer
from tests.replay_server.recording import CHAT, EVENTS, JSON, Place, Recording, chat, completion, encode

MESSAGES = "https://api.anthropic.com/v1/messages"
CHUNKS = [
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m1","choices":'
    b'[{"index":0,"delta":{"role":"assistant","content":"Edin"},"finish_reason":null}]}\n\n',
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m1","choices":'
    b'[{"index":0,"delta":{"content":"burgh"},"finish_reason":"stop"}]}\n\n',
    b"data: [DONE]\n\n",
]


def environment(server: ReplayServer, place: Place) -> dict[str, str]:
    proxy = f"http://run:token@127.0.0.1:{server.port}"
    names = ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")
    trust = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    keys = {"OPENAI_API_KEY": "sk-x", "ANTHROPIC_API_KEY": "sk-ant-x", "NO_PROXY": ""}
    return {**dict.fromkeys(names, proxy), **dict.fromkeys(trust, place.trusted), **keys, "PATH": os.environ["PATH"]}


async def run(command: list[str], variables: Mapping[str, str]) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *command, env=dict(variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def python(code: str, variables: Mapping[str, str]) -> tuple[int, str, str]:
    return await run([sys.executable, "-c", textwrap.dedent(code)], variables)


def both(recording: Recording) -> None:
    recording.get("https://api.example.com/a?x=1", b"secure")
    recording.get("http://api.example.com/b", b"plain")


CLIENTS = {
    "requests": """
        import requests
        with requests.Session() as session:
            print(session.get("https://api.example.com/a?x=1").text, session.get("http://api.example.com/b").text)
        """,
    "httpx": """
        import httpx
        with httpx.Client(timeout=60) as client:
            print(client.get("https://api.example.com/a?x=1").text, client.get("http://api.example.com/b").text)
        """,
    "urllib": """
        from urllib.request import urlopen
        print(*(urlopen(u).read().decode() for u in ("https://api.example.com/a?x=1", "http://api.example.com/b")))
        """,
    "aiohttp": """
        import aiohttp, asyncio
        async def main():
            async with aiohttp.ClientSession(trust_env=True) as session:
                print(*[await (await session.get(u)).text()
                        for u in ("https://api.example.com/a?x=1", "http://api.example.com/b")])
        asyncio.run(main())
        """,
}


@pytest.mark.parametrize("client", list(CLIENTS))
async def test_python_clients(place: Place, client: str) -> None:
    async with place.replaying(place.record(both)) as server:
        code, out, err = await python(CLIENTS[client], environment(server, place))
        assert (code, out) == (0, "secure plain\n"), err
        report = await server.stop(code)
        assert (report.exit_code, report.counts["matched"]) == (0, 2)


async def test_curl(place: Place) -> None:
    async with place.replaying(place.record(both)) as server:
        command = ["curl", "-sS", "https://api.example.com/a?x=1", "http://api.example.com/b"]
        code, out, err = await run(command, environment(server, place))
        assert (code, out) == (0, "secureplain"), err
        assert (await server.stop(code)).exit_code == 0


def conversation(recording: Recording) -> None:
    asked = chat(("system", "be terse"), ("user", "capital of Scotland?"))
    recording.post(CHAT, asked, completion("Edinburgh"))
    cuts = [(len(chunk), 1000) for chunk in CHUNKS]
    recording.post(CHAT, {**asked, "stream": True}, b"".join(CHUNKS), headers=EVENTS, framing="chunked", cuts=cuts)


OPENAI = """
    import openai
    client = openai.OpenAI({base})
    said = [{{"role": "system", "content": "{system}"}}, {{"role": "user", "content": "capital of Scotland?"}}]
    print(client.chat.completions.create(model="m1", messages=said).choices[0].message.content)
    for chunk in client.chat.completions.create(model="m1", messages=said, stream=True):
        print(chunk.choices[0].delta.content, end="|")
    """


@pytest.mark.parametrize("way", ["proxy", "base URL"])
async def test_openai(place: Place, way: str) -> None:
    async with place.replaying(place.record(conversation)) as server:
        variables = environment(server, place)
        base = ""
        if way == "base URL":
            base = f'base_url="http://127.0.0.1:{server.port}/v1"'
            variables = {name: value for name, value in variables.items() if "proxy" not in name.lower()}
        code, out, err = await python(OPENAI.format(base=base, system="be terse"), variables)
        assert (code, out) == (0, "Edinburgh\nEdin|burgh|"), err
        report = await server.stop(code)
        assert (report.exit_code, report.counts["matched"]) == (0, 2)


async def test_openai_shows_the_drift_and_does_not_retry(place: Place) -> None:
    async with place.replaying(place.record(conversation)) as server:
        code, _, err = await python(OPENAI.format(base="", system="be chatty"), environment(server, place))
        assert code == 1
        assert "422" in err
        assert "system prompt, body /messages/0/content" in err
        assert server.stopped.is_set()
        report = await server.stop(code)
        assert (report.counts["requests"], report.counts["drifted"], report.counts["after_stop"]) == (1, 1, 0)
        assert report.exit_code == 40
        assert "DRIFTED at step 1: system prompt, body /messages/0/content" in report.text().splitlines()[-1]


ANTHROPIC = """
    import anthropic
    client = anthropic.Anthropic(default_headers={"anthropic-version": "2023-06-01"})
    message = client.messages.create(model="m1", max_tokens=5, messages=[{"role": "user", "content": "hi"}])
    print(message.content[0].text)
    client.messages.create(model="m1", max_tokens=6, messages=[{"role": "user", "content": "hi"}])
    """


async def test_anthropic(place: Place) -> None:
    def tell(recording: Recording) -> None:
        answer = {"id": "m", "type": "message", "role": "assistant", "model": "m1", "stop_reason": "end_turn"}
        body = encode(
            {**answer, "content": [{"type": "text", "text": "ho"}], "usage": {"input_tokens": 1, "output_tokens": 1}}
        )
        headers = (*JSON, (b"Accept", b"application/json"), (b"anthropic-version", b"2023-06-01"))
        asked = {"model": "m1", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}
        for _ in range(2):
            recording.answer(recording.ask("POST", MESSAGES, encode(asked), headers), body)

    async with place.replaying(place.record(tell)) as server:
        code, out, err = await python(ANTHROPIC, environment(server, place))
        assert (code, out) == (1, "ho\n"), err
        assert "decoding setting, body /max_tokens" in err
        report = await server.stop(code)
        assert (report.counts["requests"], report.counts["matched"], report.counts["drifted"]) == (2, 1, 1)


async def test_a_client_that_distrusts_the_authority_is_named(place: Place) -> None:
    async with place.replaying(place.record(both)) as server:
        variables = environment(server, place) | {"CURL_CA_BUNDLE": "/etc/ssl/certs/ca-certificates.crt"}
        code, _, _ = await run(["curl", "-sS", "https://api.example.com/a?x=1"], variables)
        assert code == 60
        report = await server.stop(code)
        assert "a client does not trust edgetape's authority: api.example.com (1)" in report.text()
        assert report.exit_code == 42


async def test_what_was_tunnelled_when_it_was_recorded_is_told_to_be_missing(place: Place) -> None:
    def pinned(recording: Recording) -> None:
        recording.tunnel("Pinned.example", 443, "pinned")

    sentence = "tunnelled when this was recorded, so nothing of it can be answered"
    async with place.replaying(place.record(pinned)) as one:
        variables = environment(one, place)
        trusting = await run(["curl", "-sS", "https://pinned.example/a"], variables)
        distrusting = variables | {"CURL_CA_BUNDLE": "/etc/ssl/certs/ca-certificates.crt"}
        assert (await run(["curl", "-sS", "https://pinned.example/a"], distrusting))[0] == 60
        report = await one.stop(0)
    assert sentence in trusting[1]
    assert [line for line in report.text().splitlines() if "pinned.example" in line and sentence in line]
    assert f'"detail": "what was said there was {sentence}"' in report.json()
    assert report.exit_code == 41


async def test_a_client_that_insists_on_http2_is_named(place: Place) -> None:
    async with place.replaying(place.record(both)) as server:
        plain = ["curl", "-sS", "--http2-prior-knowledge", "--proxytunnel", "http://api.example.com/b"]
        assert (await run(plain, environment(server, place)))[0] != 0
        report = await server.stop(1)
        assert "HTTP/2, which a replay does not speak: api.example.com" in report.text()


NODE = """
const http = require('http'), tls = require('tls'), fs = require('fs'), u = new URL(process.env.HTTPS_PROXY);
const c = http.request({host: u.hostname, port: u.port, method: 'CONNECT', path: 'api.example.com:443'});
c.on('connect', (_, socket) => {
  const s = tls.connect({socket, servername: 'api.example.com', ca: fs.readFileSync(process.env.SSL_CERT_FILE)}, () => {
    s.write('GET /a?x=1 HTTP/1.1\\r\\nHost: api.example.com\\r\\nConnection: close\\r\\n\\r\\n');
    s.on('data', d => process.stdout.write(d)); });
}); c.end();
"""


async def test_node(place: Place) -> None:
    async with place.replaying(place.record(both)) as server:
        code, out, err = await run(["node", "-e", NODE], environment(server, place))
        assert (code, out[-6:]) == (0, "secure"), err
        assert (await server.stop(code)).counts["matched"] == 1


async def test_serve_goes_on_and_tells_one_cause_with_its_consequences(place: Place) -> None:
    def tell(recording: Recording) -> None:
        talk = [("system", "be terse"), ("user", "q")]
        for turn in range(6):
            recording.post(CHAT, chat(*talk), completion(f"answer {turn}"))
            talk += [("assistant", f"answer {turn}"), ("user", f"more {turn}")]

    agent = """
        import openai
        client, said = openai.OpenAI(), [{"role": "system", "content": "be chatty"}, {"role": "user", "content": "q"}]
        for turn in range(6):
            text = client.chat.completions.create(model="m1", messages=said).choices[0].message.content
            print(text)
            said += [{"role": "assistant", "content": text}, {"role": "user", "content": f"more {turn}"}]
        """
    async with place.replaying(place.record(tell), ReplayOptions(on_drift="serve")) as server:
        code, out, err = await python(agent, environment(server, place))
        assert (code, out.splitlines()) == (0, [f"answer {turn}" for turn in range(6)]), err
        report = await server.stop(code)
        assert report.exit_code == 40
        text = report.text()
        assert text.count("drifted at step") == 1
        assert "steps 2-6 follow from step 1" in text
        assert "--ignore 'body /messages/0/content'" in text
        assert report.counts["drifted"] == 6
    rules = ReplayOptions(ignore=("body /messages/0/content",))
    async with place.replaying(server.session.tape.run.id, rules) as again:
        code, _, err = await python(agent, environment(again, place))
        report = await again.stop(code)
        assert (report.exit_code, report.counts["matched"]) == (0, 6), err
        assert "ignored by rule: body /messages/0/content (6)" in report.text()
