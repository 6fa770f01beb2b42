"""Real recorded exchanges: what is taken out of them is looked at kind by kind, and what must survive does.

The recordings lie outside this repository: EDGETAPE_TEST_DATA names the folder with http_cassettes.jsonl.zst and
agent_runs.jsonl.zst. They were scrubbed before they were published: whatever still goes is a mistake, or a password by
its name.
"""

import base64
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import zstandard

from store.core.redact import Content, Redactor
from store.core.redaction import bodies
from store.core.redaction.spans import drained, merged

FOLDER = Path(os.environ.get("EDGETAPE_TEST_DATA", ""))
NAMED = re.compile(rb'(password|authorization|ice-pwd)["\\:]+\s*\\*"?\Z')
SURVIVES = re.compile(
    rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?:call|toolu|msg|resp|rs|fc|chatcmpl)[_-][A-Za-z0-9]{10,}"
    rb"|\"(?:signature|encrypted_content|thoughtSignature|data)\"\s*:\s*\"[A-Za-z0-9+/=_-]{40,}"
)

pytestmark = pytest.mark.skipif(
    not (FOLDER / "http_cassettes.jsonl.zst").is_file(), reason="EDGETAPE_TEST_DATA names no recordings"
)


def lines(name: str) -> Iterator[dict[str, Any]]:
    """Every exchange of one of the files."""
    with (FOLDER / name).open("rb") as packed:
        unpacked = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(packed)
        for line in io.TextIOWrapper(unpacked, encoding="utf-8"):
            yield json.loads(line)


def messages(name: str) -> Iterator[tuple[bytes, Content]]:
    """Every body, with what is known of it; as the recordings keep it, its content coding undone."""
    for line in lines(name):
        fields = [(key.encode(), value.encode("utf-8", "replace")) for key, value in line["request_headers"]]
        address = urlsplit(line["url"])
        purpose = Redactor.endpoint(line["method"], address.hostname or "", address.path.encode(), fields)
        for side in ("request", "response"):
            raw = line.get(f"{side}_body")
            body = base64.b64decode(line[f"{side}_body_b64"]) if raw is None else raw.encode()
            fields = [(key.encode(), value.encode("utf-8", "replace")) for key, value in line[f"{side}_headers"]]
            yield body, Content(Content.of(fields).described, "", purpose)


def test_nothing_goes_from_real_traffic_but_what_is_named_a_secret() -> None:
    taken: Counter[str] = Counter()
    wrong = []
    survivors = 0
    for body, about in messages("http_cassettes.jsonl.zst"):
        found = merged(body, drained(bodies.spans(body, about, Redactor().secrets)))
        survivors += sum(1 for _ in SURVIVES.finditer(body))
        for span in found:
            taken[span.kind] += 1
            if not NAMED.search(body[max(0, span.start - 40) : span.start]):
                wrong.append((span.kind, body[max(0, span.start - 40) : span.start]))
    assert wrong == []
    assert taken["field"] < 50
    assert taken.keys() == {"field"}
    assert survivors > 10_000


def test_nothing_at_all_goes_from_real_agents_runs() -> None:
    redactor = Redactor(known=["sk-not-in-there-0123456789"])
    size = 0
    for at, (body, about) in enumerate(messages("agent_runs.jsonl.zst")):
        if at % 11 == 0:
            size += len(body)
            assert redactor.body(body, about).content == body
    assert size > 20_000_000
