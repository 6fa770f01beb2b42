"""An agent that puts secrets wherever an agent may: each follows from CANARY_SEED, so that each run has others."""

from __future__ import annotations

import base64
import gzip
import json
import os
import sys
from http.client import HTTPConnection
from urllib.parse import quote, urlencode, urlsplit

from tests.scenarios.canaries import canaries


def main() -> None:
    """Asks everything once, and prints what matters to it."""
    base = urlsplit(sys.argv[1])
    secret = canaries(os.environ["CANARY_SEED"])
    proxy = urlsplit(os.environ["HTTP_PROXY"])
    basic = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    connection = HTTPConnection(str(proxy.hostname), proxy.port, timeout=30)

    def ask(method: str, path: str, body: bytes = b"", /, **headers: str) -> tuple[bytes, str]:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        target = f"http://{base.netloc}{path}"
        connection.request(method, target, body or None, {"Proxy-Authorization": f"Basic {basic}", **fields})
        answer = connection.getresponse()
        content = answer.read()
        if answer.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        assert answer.status == 200, (answer.status, content)
        return content, answer.headers.get("Set-Cookie", "")

    def token(**form: str) -> tuple[str, str, str]:
        raw, cookie = ask(
            "POST", "/oauth2/token", urlencode(form).encode(), Content_Type="application/x-www-form-urlencoded"
        )
        tokens = json.loads(raw)
        assert tokens["token_type"] == "Bearer"
        return tokens["access_token"], tokens["refresh_token"], cookie.partition(";")[0]

    access, refresh, cookie = token(grant_type="client_credentials", client_secret=secret["form"])
    own = {"Authorization": f"Bearer {access}", "Cookie": f"{cookie}; theme={secret['cookie']}"}
    ask("GET", f"/data?api_key={secret['query']}&page=1", b"", X_Whatever=secret["odd-header"], **own)
    deeper = json.dumps({"client_secret": secret["deeper"]})
    message = {
        "api_key": secret["json"],
        "arguments": json.dumps({"password": secret["nested"], "deep": deeper}),
        "note": f"the token is {access}, in base64 {base64.b64encode(access.encode()).decode()}",
        "hidden": base64.b64encode(f'{{"a": "{secret["header"]}"}}'.encode()).decode(),
        "address": f"https://user:{secret['userinfo']}@host.example/x?u={quote(access, safe='')}",
        "said": f"use {secret['shape']} or {os.environ['MY_SERVICE_TOKEN']} and {sys.argv[-1]}",
    }
    raw = json.dumps(message).encode()
    ask("POST", "/json", raw, Content_Type="application/json", X_Api_Key=secret["header"])
    ask("POST", "/packed-up", gzip.compress(raw, mtime=0), Content_Type="application/json", Content_Encoding="gzip")
    part = '--cut\r\nContent-Disposition: form-data; name="password"\r\n\r\n{}\r\n--cut--\r\n'
    ask("POST", "/parts", part.format(secret["part"]).encode(), Content_Type="multipart/form-data; boundary=cut")
    ask("GET", f"/bot{secret['path']}/sendMessage?text=hi")
    said, _ = ask("GET", "/stream", X_Api_Key=secret["shape"])
    texts = [json.loads(line[6:])["choices"][0]["delta"]["content"] for line in said.splitlines() if b'"delta"' in line]
    packed, _ = ask("GET", "/packed", X_Api_Key=secret["header"])
    assert json.loads(packed)["n"] == 1
    token(grant_type="refresh_token", refresh_token=refresh)
    print("".join(texts).count(secret["shape"]), "keys quoted")


main()
