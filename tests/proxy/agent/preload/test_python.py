"""Python's clients that ignore HTTPS_PROXY, or bring their own roots, go through it all the same."""

import subprocess
import sys
from pathlib import Path

from tests.proxy.agent.preload.fetching import fetching

PRELOAD = Path(__file__).parents[4] / "proxy" / "agent" / "preload" / "python"
CLIENTS = """
import asyncio, http.client, urllib3, requests, httpx, aiohttp

def client(path):
    connection = http.client.HTTPSConnection("model.example")
    connection.request("GET", path)
    print(connection.getresponse().status, connection.host)
    connection.close()

async def session(path):
    async with aiohttp.ClientSession("https://model.example") as session:
        async with session.get(path) as answer:
            print(answer.status)

client("/http.client")
print(urllib3.PoolManager().request("GET", "https://model.example/urllib3").status)
print(urllib3.PoolManager().request("GET", "http://model.example/plain").status)
with requests.Session() as untrusting:
    untrusting.trust_env = False
    print(untrusting.get("https://model.example/requests").status_code)
with httpx.Client(transport=httpx.HTTPTransport(retries=1)) as own:
    print(own.get("https://model.example/httpx").status_code)
asyncio.run(session("/aiohttp"))
"""


def test_clients_that_ignore_the_proxy_obey(tmp_path: Path) -> None:
    fetched = fetching(tmp_path, [sys.executable, "-c", CLIENTS])
    secure = ("http.client", "urllib3", "requests", "httpx", "aiohttp")
    assert fetched.heads == {
        *(f"model.example:443 GET /{client} HTTP/1.1" for client in secure),
        "model.example:80 GET /plain HTTP/1.1",
    }, fetched.err
    assert fetched.out.splitlines() == ["200 model.example", *["200"] * 5]


def test_a_host_that_the_user_excludes_is_reached_past_the_proxy(tmp_path: Path) -> None:
    program = "import http.client as h; h.HTTPSConnection('a.inner.invalid').request('GET', '/')"
    preloaded = {"PYTHONPATH": str(PRELOAD), "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "x, .inner.invalid"}
    done = subprocess.run([sys.executable, "-c", program], env=preloaded, capture_output=True, text=True, check=False)
    assert "gaierror" in done.stderr  # it looked the host up, instead of asking the proxy
    assert "ConnectionRefused" not in done.stderr


def test_the_users_own_customization_is_loaded_and_ours_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print(__name__, __file__)\n")
    program = "import sys; print(sys.modules['sitecustomize'].__file__, sys.path[1], 'edgetapepreload' in sys.modules)"
    fetched = fetching(tmp_path, [sys.executable, "-c", program], {"PYTHONPATH": str(tmp_path)})
    own = tmp_path / "sitecustomize.py"
    assert fetched.out.splitlines() == [f"sitecustomize {own}", f"{own} {tmp_path} False"], fetched.err


def test_a_broken_customization_of_the_user_is_reported_as_python_does(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import no_such_module\n")
    fetched = fetching(tmp_path, [sys.executable, "-c", "print('on')"], {"PYTHONPATH": str(tmp_path)})
    assert "Error in sitecustomize" in fetched.err
    assert "no_such_module" in fetched.err
    assert fetched.out == "on\n"


def test_a_client_of_another_shape_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "aiohttp").mkdir()
    (tmp_path / "aiohttp" / "__init__.py").touch()
    (tmp_path / "aiohttp" / "client.py").write_text("LEFT = True\n")
    fetched = fetching(
        tmp_path,
        [sys.executable, "-c", "import aiohttp.client as c; print(c.LEFT)"],
        {"PYTHONPATH": str(tmp_path)},
    )
    assert (fetched.out, fetched.err) == ("True\n", "")
