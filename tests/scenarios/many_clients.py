"""An agent that asks with each client that people use, one after the other, and prints what each one got as JSON.

    python many_clients.py URL PLAIN_URL H2_URL GIT_URL FOLDER

URL is the provider over TLS, PLAIN_URL the same without, FOLDER a place to clone into. A client that is not
installed is left out.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import anthropic
import httpx
import openai
import requests
from anthropic.types import MessageParam

QUESTION = "Is the clause ordinary?"


def run(*command: str, given: str = "") -> str:
    """What a program prints."""
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)
    return f"{done.returncode} {done.stdout}{done.stderr if done.returncode else ''}"


def clone(url: str, folder: Path) -> str:
    """What a clone of the repository holds."""
    shutil.rmtree(folder, ignore_errors=True)
    cloned = run("git", "clone", "-q", f"{url}/contract.git", str(folder))
    log = run("git", "-C", str(folder), "log", "--format=%H %s")
    return f"{cloned}{log}{(folder / 'clause.txt').read_text()}"


def with_openai(url: str) -> str:
    """One answer as JSON, one as events."""
    client = openai.OpenAI(base_url=f"{url}/openai/v1", api_key="sk-openai-3c5e8a7f1b2d4960", max_retries=0)
    ask = client.chat.completions.create
    whole = ask(model="scripted-1", messages=[{"role": "user", "content": QUESTION}])
    stream = ask(model="scripted-1", messages=[{"role": "user", "content": QUESTION}], stream=True)
    return whole.model_dump_json() + "".join(chunk.model_dump_json() for chunk in stream)


def with_anthropic(url: str) -> str:
    """One answer as JSON, one as events."""
    client = anthropic.Anthropic(base_url=f"{url}/anthropic", api_key="sk-ant-5d8c2b7a9e4f1036", max_retries=0)
    asked: list[MessageParam] = [{"role": "user", "content": QUESTION}]
    whole = client.messages.create(model="scripted-1", max_tokens=50, messages=asked)
    with client.messages.stream(model="scripted-1", max_tokens=50, messages=asked) as stream:
        text = "".join(stream.text_stream)
        return f"{whole.model_dump_json()}{text}{stream.get_final_message().model_dump_json()}"


def over_h2(url: str) -> str:
    """The body of an answer by whichever HTTP the other side speaks."""
    with httpx.Client(http2=True, timeout=60) as client:
        return client.post(f"{url}/echo", json={"n": 1}, headers={"x-client": "httpx-h2"}).text


def clients(url: str, plain: str, h2: str, git: str, folder: Path) -> dict[str, Callable[[], str]]:
    """Each client by name, and how it asks."""
    programs: dict[str, Callable[[], str]] = {
        "curl": lambda: run("curl", "-sS", f"{url}/curl?q=%C3%A9&q=2", "-d", "a=1&b=2"),
        "curl-plain": lambda: run("curl", "-sS", f"{plain}/curl-plain", "-H", "X-Odd-Case: 1"),
        "curl-upload": lambda: run("curl", "-sS", f"{url}/curl-upload", "-T", "-", given="line\n" * 5000),
        "wget": lambda: run("wget", "-qO-", f"{url}/wget?fault=chunks%2F5,90"),
        "git": lambda: clone(git, folder / "clone"),
    }
    found = {name: ask for name, ask in programs.items() if shutil.which(name.partition("-")[0])}
    return found | {
        "requests": lambda: requests.post(f"{url}/requests?fault=gzip", json={"x": "é"}, timeout=60).text,
        "requests-plain": lambda: requests.get(f"{plain}/requests-plain?fault=chunked", timeout=60).text,
        "urllib": lambda: urllib.request.urlopen(f"{url}/urllib?fault=no-length", b"body", 60).read().decode(),
        "httpx": lambda: httpx.post(f"{url}/httpx?fault=br", content=b"\x00\xff", timeout=60).text,
        "httpx-h2": lambda: over_h2(h2),
        "openai": lambda: with_openai(url),
        "anthropic": lambda: with_anthropic(url),
    }


def main(url: str, plain: str, h2: str, git: str, folder: str) -> None:
    """Ask with all, and print {client: what it got}."""
    got: dict[str, str] = {}
    for name, ask in clients(url, plain, h2, git, Path(folder)).items():
        try:
            got[name] = ask()
        except Exception as error:  # noqa: BLE001  # what a client says when it fails is what it got
            got[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(got))


if __name__ == "__main__":
    main(*sys.argv[1:])
