"""An agent whose servers fail in every way, and that prints how each failure looked to it.

    python failing_agent.py URL TLS_URL UNTRUSTED_URL

URL is a plain server, TLS_URL one that is trusted, UNTRUSTED_URL one that is not.
"""

from __future__ import annotations

import http.client
import sys

import httpx
import openai
import requests


def failures(url: str, tls: str, untrusted: str) -> dict[str, str]:
    """What to ask for, by the name of what goes wrong."""
    half = "fault=reset-after%2F150"
    return {
        "reset before the answer": f"{url}/fault/reset",
        "reset before the answer, in TLS": f"{tls}/fault/reset",
        "closed before the answer": f"{tls}/fault/close",
        "reset in the middle": f"{url}/cut?{half}",
        "reset in the middle, in TLS": f"{tls}/cut?{half}",
        "reset in the middle of a stream": f"{tls}/cut?fault=chunks%2F30",
        "nobody listens": "http://127.0.0.1:9/nobody",
        "nobody listens, in TLS": "https://127.0.0.1:9/nobody",
        "no such host": "http://no-such-host.invalid/nobody",
        "no such host, in TLS": "https://no-such-host.invalid/nobody",
        "a certificate of nobody": f"{untrusted}/untrusted",
        "too many requests": f"{tls}/fault/429?retry_after=7",
        "nothing to say": f"{tls}/fault/204",
    }


def by_requests(url: str) -> str:
    """How it looks to requests: what came before the failure, then the failure."""
    come = b""
    try:
        with requests.get(url, stream=True, timeout=30) as answer:
            for piece in answer.iter_content(None):
                come += piece
            return f"{answer.status_code} {answer.headers.get('Retry-After')} {len(come)}"
    except (requests.RequestException, http.client.HTTPException) as error:
        return f"{type(error).__name__} after {len(come)} bytes"


def by_httpx(url: str) -> str:
    """How it looks to httpx."""
    come = b""
    try:
        with httpx.stream("GET", url, timeout=30) as answer:
            for piece in answer.iter_raw():
                come += piece
            return f"{answer.status_code} {answer.headers.get('Retry-After')} {len(come)}"
    except httpx.HTTPError as error:
        return f"{type(error).__name__} after {len(come)} bytes"


def after_a_429(url: str) -> str:
    """The openai package is told to wait, and asks once more."""
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="sk-test-4b1d9e7a60538f2c", max_retries=1)
    answer = client.chat.completions.create(model="scripted-1", messages=[{"role": "user", "content": "Is it fair?"}])
    return str(answer.choices[0].message.content)


def main(url: str, tls: str, untrusted: str) -> None:
    """Fail in every way, then succeed at the second try."""
    for name, place in failures(url, tls, untrusted).items():
        print(f"{name}: {by_requests(place)}; {by_httpx(place)}")
    print(after_a_429(tls))


if __name__ == "__main__":
    main(*sys.argv[1:])
