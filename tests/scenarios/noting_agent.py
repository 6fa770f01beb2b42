"""An agent that asks the control endpoint for time, chance and ids, and notes what it decides, from three languages."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request

HERE = "http://edgetape.internal"
NODE = """
const http = require('http');
const proxy = new URL(process.env.HTTP_PROXY);
const auth = 'Basic ' + Buffer.from(decodeURIComponent(proxy.username) + ':' + proxy.password).toString('base64');
const headers = {Host: 'edgetape.internal', ...(proxy.username ? {'Proxy-Authorization': auth} : {})};
http.get({host: proxy.hostname, port: proxy.port, path: 'http://edgetape.internal/v1/random?bytes=8', headers},
  (answer) => answer.pipe(process.stdout));
"""


def ask(path: str, said: object = None) -> str:
    body = None if said is None else json.dumps(said).encode()
    with urllib.request.urlopen(HERE + path, body) as answer:
        return str(answer.read().decode())


def main() -> None:
    verdict = os.environ.get("AGENT_VERDICT", "approved")
    print(ask("/v1/now"), end="")
    print(ask("/v1/random?bytes=32"), end="")
    print(ask("/v1/uuid"), end="")
    print(ask("/v1/notes", {"kind": "policy", "version": "7", "verdict": verdict}), end="")
    if shutil.which("curl"):
        subprocess.run(["curl", "-sS", f"{HERE}/v1/uuid"], check=True)
    if shutil.which("node"):
        subprocess.run(["node", "-e", NODE], check=True)
    sys.stdout.flush()


main()
