"""Writes the vectors of the format beside itself, for other implementations too: `python -m tests.vectors.make`."""

import json
from collections.abc import Mapping
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from store import storekey
from store.bundle.contents import annotation_line
from store.core import annotation, canonical, checkpoint, chunks, digest, draft, event, leaf, merkle, shape
from store.core.aead import KEY_BYTES, NONCE_BYTES, Aead
from store.core.annotation import Annotation, Kept, Place, Words
from store.core.checkpoint import Checkpoint
from store.core.chunks import Chunk
from store.core.veil import Veil
from store.splices.guard import Cipher
from store.splices.stream import Block, Span
from tests.vectors import blocks, refused, samples

FOLDER = Path(__file__).parent

type Vectors = list[dict[str, object]]


def made() -> Mapping[str, str]:
    """The text of every file of vectors, by its name."""
    vectors: dict[str, Vectors] = {
        "canonical.json": _canonical(),
        "hashes.json": _hashes(),
        "keys.json": _keys(),
        "events.json": _events(),
        "leaves.json": _leaves(),
        "annotations.json": _annotations(),
        "trees.json": _trees(),
        "chunks.json": _chunks(),
        "checkpoints.json": _checkpoints(),
        "blocks.json": _blocks(),
    }
    return {name: json.dumps(cases, indent=1, ensure_ascii=False) + "\n" for name, cases in vectors.items()}


def _canonical() -> Vectors:
    accepted: Vectors = [
        {"record": record, "canonical": canonical.encode(record).decode()} for record in samples.RECORDS
    ]
    short = {why: raw for why, raw in refused.SPELLINGS.items() if len(raw) < 1000}
    return accepted + [{"refused": why, "bytes": raw.hex()} for why, raw in short.items()]


def _hashes() -> Vectors:
    raw = b'{"a":1}'
    salt, body = samples.salts()(""), b"hello"
    return [
        {"label": "edgetape/event/v1", "event": raw.decode(), "hash": digest.event_hash(raw).hex()},
        {
            "label": "edgetape/genesis/v1",
            "origin": samples.ORIGIN,
            "run": samples.RUN,
            "hash": digest.genesis_prev(samples.ORIGIN, samples.RUN).hex(),
        },
        {
            "label": "edgetape/body/v1",
            "salt": salt.hex(),
            "body": body.decode(),
            "sha256": digest.body_digest(body).hex(),
            "length": len(body),
            "hash": digest.commitment(salt, digest.body_digest(body), len(body)).hex(),
        },
    ]


def _keys() -> Vectors:
    """What a store keeps with these keys, the nonce being what it never is."""
    store_key, payload, salt = (bytes([number]) * KEY_BYTES for number in (1, 2, 3))
    opener = Aead(store_key, lambda: bytes(NONCE_BYTES))
    wrapped: Vectors = [
        {
            "store_key": store_key.hex(),
            "origin": samples.ORIGIN,
            "run": run,
            "kind": kind,
            "key": key.hex(),
            "wrapped": opener.close(key, storekey.about(samples.ORIGIN, run, kind)).hex(),
        }
        for run, kind, key in (("", "store", b""), (samples.RUN, "payload", payload), (samples.RUN, "salt", salt))
    ]
    block = Block(Span(3, 100, 50, 2), b"a part of a frame")
    stored = Cipher(payload, samples.ORIGIN, samples.RUN, lambda: bytes(NONCE_BYTES)).close(block)
    blocks: Vectors = [
        {
            "payload_key": payload.hex(),
            "block": {"number": 3, "start": 100, "length": 50, "frame": 2},
            "content": block.content.hex(),
            "stored": stored.hex(),
        }
    ]
    digested = digest.body_digest(b"hello")
    masked = [Veil(salt).kept(7, "/body", own, digested) for own in (samples.salts()(""), Veil(salt).salt(7, "/body"))]
    openings: Vectors = [
        {
            "salt_key": salt.hex(),
            "seq": 7,
            "pointer": "/body",
            "kept_salt": kept.hex(),
            "kept_digest": hidden.hex(),
            "salt": Veil(salt).shown(7, "/body", kept, hidden)[0].hex(),
            "sha256": digested.hex(),
        }
        for kept, hidden in masked
    ]
    return [*wrapped, *blocks, *openings]


def _events() -> Vectors:
    vectors: Vectors = []
    prev = digest.genesis_prev(samples.ORIGIN, samples.RUN)
    for seq, (name, facts, contents) in enumerate(samples.events()):
        members, openings = draft.seal(*draft.weighed(draft.Draft(facts, contents)), samples.salts(seq))
        place = event.Place(samples.RUN, seq, prev.hex(), samples.TIME, seq * 1000)
        raw = event.encode(place, members)
        prev = digest.event_hash(raw)
        vectors.append(
            {
                "name": name,
                "type": shape.type_name(facts),
                "canonical": raw.decode(),
                "hash": prev.hex(),
                "openings": [
                    {
                        "pointer": opening.pointer,
                        "salt": opening.salt.hex(),
                        "sha256": opening.sha256.hex(),
                        "content": samples.held(opening).hex(),
                    }
                    for opening in openings
                ],
            }
        )
    return vectors


def _annotations() -> Vectors:
    """Two annotations of a run, the second one correcting the first, as they are hashed, stored and bundled."""
    opener = Aead(bytes([1]) * KEY_BYTES, lambda: bytes(NONCE_BYTES))
    vectors: Vectors = []
    prev = digest.genesis_prev(samples.ORIGIN, samples.RUN)
    for number, text in enumerate((b"looks right to me", "not in line 3: \u201e42\u201c\nsee OPS-17".encode())):
        words = Words(samples.salts(number)(""), text)
        said = Annotation(
            seq=4, event_hash=samples.HEX, by="a reviewer", kind="approval", text=words.body, supersedes=number - 1
        ) if number else Annotation(
            seq=4, event_hash=samples.HEX, by="a reviewer", kind="comment", text=words.body, redactions=[["bearer", 1]]
        )  # fmt: skip
        raw = annotation.encode(Place(samples.RUN, number, prev.hex(), samples.TIME), said)
        prev = digest.annotation_hash(raw)
        stored = opener.close(words.stored, storekey.about(samples.ORIGIN, samples.RUN, f"annotation/{number}"))
        vectors.append(
            {
                "canonical": raw.decode(),
                "hash": prev.hex(),
                "salt": words.salt.hex(),
                "text": text.decode(),
                "store_key": (bytes([1]) * KEY_BYTES).hex(),
                "stored": stored.hex(),
                "line": annotation_line(Kept(number, raw, words)).decode(),
            }
        )
    return vectors


def _leaves() -> Vectors:
    vectors: Vectors = []
    for facts in samples.leaves():
        raw = leaf.encode(samples.TIME, facts)
        vectors.append(
            {"type": shape.type_name(facts), "canonical": raw.decode(), "leaf_hash": merkle.leaf_hash(raw).hex()}
        )
    return vectors


def _trees() -> Vectors:
    # The leaves of the certificate-transparency project's own tests (RFC 6962).
    leaves = [bytes.fromhex(each) for each in samples.TREE_LEAVES]
    return [
        {"leaves": samples.TREE_LEAVES[:size], "root": merkle.Tree(leaves[:size]).root.hex()}
        for size in range(len(leaves) + 1)
    ]


def _chunks() -> Vectors:
    return [
        {
            "chunks": [[length, wait_us] for length, wait_us in pieces],
            "table": (table := chunks.encode(Chunk(*piece) for piece in pieces)).hex(),
            "read": [[chunk.length, chunk.wait_us] for chunk in chunks.decode(table)],
        }
        for pieces in samples.CHUNKS
    ]


def _checkpoints() -> Vectors:
    # The private key is the bytes 0 to 31.
    private = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    key = checkpoint.verifier_key(samples.ORIGIN, private)
    vectors: Vectors = []
    for size in samples.CHECKPOINT_SIZES:
        root = merkle.Tree(b"%d" % number for number in range(min(size, 9))).root
        note = checkpoint.sign(Checkpoint(samples.ORIGIN, size, root), key, private)
        vectors.append({"vkey": str(key), "size": size, "root": root.hex(), "note": note.decode()})
    return vectors


def _blocks() -> Vectors:
    events = [str(vector["canonical"]).encode() for vector in _events()]
    return [blocks.event_block(events[3:9]), blocks.opening_block()]


def main() -> None:
    """Writes every file."""
    for name, text in made().items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
