"""A small agent as users write them: asks a tool with requests and a model with the openai package, streaming.

It knows nothing of edgetape. Options make it behave as a changed, a shortened or a cheating agent does.
"""

import argparse
import os
import socket
import sys

import openai
import requests

CLAUSES = ("The law of Scotland governs this contract.", "Either side may end it with thirty days notice.")


def main() -> int:
    """Review a contract of two clauses, and print what was said of each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--system", default="You review contracts.")
    parser.add_argument("--no-lookup", action="store_true")
    parser.add_argument("--once-more", action="store_true")
    parser.add_argument("--socket", help="HOST:PORT to connect to past every proxy")
    parser.add_argument("--exit", type=int, default=0)
    given = parser.parse_args()
    client = openai.OpenAI(base_url=f"{given.url}/v1", api_key=os.environ["OPENAI_API_KEY"], max_retries=0)
    for clause in CLAUSES:
        print(ask(client, given.system, clause))
    if not given.no_lookup:
        rows = requests.get(f"{given.url}/rules.json", params={"jurisdiction": "GB-SCT"}, timeout=30)
        print(rows.status_code, rows.text)
    if given.once_more:
        print(requests.get(f"{given.url}/something-new", timeout=30).status_code)
    if given.socket:
        connect(given.socket)
    return int(given.exit)


def ask(client: openai.OpenAI, system: str, clause: str) -> str:
    """One streamed answer, put together."""
    stream = client.chat.completions.create(
        model="scripted-1",
        messages=[{"role": "system", "content": system}, {"role": "user", "content": clause}],
        stream=True,
    )
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def connect(place: str) -> None:
    """Try to leave without the proxy."""
    host, _, port = place.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
    except OSError as error:
        print("no way out:", type(error).__name__, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
