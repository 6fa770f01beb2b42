"""Node's clients go through HTTPS_PROXY, also before Node could do so by itself."""

import shutil
from pathlib import Path

import pytest

from tests.proxy.agent.preload.fetching import fetching

# The last but one is how WebSocket libraries connect: past every agent, with a createConnection of their own.
CLIENTS = """
import https, { get, Agent } from 'node:https';
import http from 'node:http';
import net from 'node:net';
import tls from 'node:tls';

const secure = 'https://model.example/';
const asked = (request) => new Promise((resolve, reject) => {
  request.on('response', (answer) => resolve(answer.resume().statusCode)).on('error', reject);
});
class Derived extends Agent {
  createConnection(options, done) { return super.createConnection(options, done); }
}
const headers = { Connection: 'Upgrade', Upgrade: 'websocket' };
const createConnection = (options) => tls.connect({ ...options, path: undefined, servername: options.host });

if (typeof fetch === 'function') {
  console.log((await fetch(secure + 'fetch')).status);
  console.log((await fetch('http://model.example/plain-fetch')).status);
}
console.log(await asked(get(secure + 'named-import')));
console.log(await asked(https.get({ host: 'model.example', path: '/default' })));
console.log(await asked(https.get(secure + 'own-agent', { agent: new Agent({ keepAlive: false }) })));
console.log(await asked(https.get(secure + 'derived-agent', { agent: new Derived() })));
console.log(await asked(http.get('http://model.example/plain')));
const socket = { host: 'model.example', port: 443, path: '/socket', headers, createConnection };
console.log(await asked(https.request(socket).end()));

const local = http.createServer((_, answer) => answer.end()).listen('./socket', async () => {
  console.log(await asked(http.get({ socketPath: './socket', path: '/unix' })));
  local.close();
});
"""


@pytest.mark.parametrize("switch", ["0", "1"])
def test_clients_that_ignore_the_proxy_obey(switch: str, tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    (tmp_path / "clients.mjs").write_text(CLIENTS)
    command = ["env", f"NODE_USE_ENV_PROXY={switch}", "node", "clients.mjs"]
    fetched = fetching(tmp_path, command, {"NODE_OPTIONS": "--no-deprecation"})
    secure = ("fetch", "named-import", "default", "own-agent", "derived-agent", "socket")
    plain = {line.replace("http://model.example", "").replace("model.example:80 ", "") for line in fetched.heads}
    assert plain == {
        *(f"model.example:443 GET /{client} HTTP/1.1" for client in secure),
        "GET /plain HTTP/1.1",
        "GET /plain-fetch HTTP/1.1",
    }, fetched.err
    assert fetched.out.splitlines() == ["200"] * 9
