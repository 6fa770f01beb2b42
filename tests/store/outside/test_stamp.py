"""Asking for a time stamp: an honest authority, and one that answers with anything else."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from store.core.errors import EdgetapeError
from store.outside import token
from store.outside.post import Way
from store.outside.stamp import stamp
from store.outside.token import Authority
from tests.support.sample import Sample
from tests.support.time_authority import Behaviour, TimeAuthority

NOTE = b"origin\n1\nAAAA\n\nsigned\n"
REPLY = "application/timestamp-reply"


def trusting(root: Path) -> Authority:
    return Authority(token.certificates(root.read_bytes()))


def test_it_says_when_and_over_what(authority: TimeAuthority) -> None:
    made = stamp(authority.url, NOTE, [trusting(authority.root)], Way())
    assert made.token.is_of(NOTE)
    assert not made.token.is_of(NOTE + b"x")
    assert abs(made.token.time - datetime.now(UTC)) < timedelta(minutes=1)
    assert made.token.earliest < made.token.time < made.token.latest
    assert token.read(made.content).time == made.token.time


def other_data(authority: TimeAuthority, query: bytes) -> tuple[int, str, bytes]:
    return 200, REPLY, authority.stamp(b"other data")


def wrong_hash(authority: TimeAuthority, query: bytes) -> tuple[int, str, bytes]:
    return 200, REPLY, authority.stamp(NOTE, "sha512")


def old_nonce(authority: TimeAuthority, query: bytes) -> tuple[int, str, bytes]:
    return 200, REPLY, authority.stamp(NOTE)


def rejected(authority: TimeAuthority, query: bytes) -> tuple[int, str, bytes]:
    return 200, REPLY, authority.reply(b"junk")


def says(status: int, kind: str, body: bytes) -> Behaviour:
    return lambda authority, query: (status, kind, body)


HOSTILE: dict[str, tuple[Behaviour, str]] = {
    "other data": (other_data, "for other data"),
    "wrong hash": (wrong_hash, "for other data"),
    "other nonce": (old_nonce, "another nonce"),
    "rejected": (rejected, "gave no time stamp: 'Bad request"),
    "status 500": (says(500, "text/html", b"oops"), "answered with the status 500"),
    "a page": (says(200, "text/html", b"<html>"), "answered with text/html"),
    "garbage": (says(200, REPLY, b"junk"), "is not a time stamp"),
    "nothing": (says(200, REPLY, b""), "is not a time stamp"),
    "huge": (says(200, REPLY, b"0" * 70_000), "more than 65536 bytes"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_time_stamp_of_this_note_is_one_sentence(name: str, authority: TimeAuthority) -> None:
    authority.answer, sentence = HOSTILE[name]
    with pytest.raises(EdgetapeError, match=sentence) as failed:
        stamp(authority.url, NOTE, [], Way())
    assert "\n" not in str(failed.value)


def test_an_authority_that_is_not_trusted_is_refused(authority: TimeAuthority, tmp_path: Path) -> None:
    other = TimeAuthority(tmp_path / "tsa")
    with pytest.raises(token.Untrusted, match="certificate"):
        stamp(authority.url, NOTE, [trusting(other.root)], Way())
    # Its own certificate came with the token: that is no reason to trust it.
    with pytest.raises(token.Untrusted):
        token.read(authority.stamp(NOTE)).demand([])
    both = [trusting(other.root), trusting(authority.root)]
    assert stamp(authority.url, NOTE, both, Way()).token.is_of(NOTE)


def test_trust_can_be_narrowed_to_one_certificate_and_one_policy(authority: TimeAuthority, tmp_path: Path) -> None:
    made = token.read(authority.stamp(NOTE))
    roots = token.certificates(authority.root.read_bytes())
    (signer,) = token.certificates((authority.folder / "signer.pem").read_bytes())
    other = TimeAuthority(tmp_path / "tsa")
    (stranger,) = token.certificates((other.folder / "signer.pem").read_bytes())
    made.demand([Authority(roots, signer, "1.2.3.4.1")])
    refusals: list[Callable[[], None]] = [
        lambda: made.demand([Authority(roots, stranger)]),
        lambda: made.demand([Authority(roots, policy="1.2.3")]),
    ]
    for demand in refusals:
        with pytest.raises(token.Untrusted):
            demand()


def test_no_changed_byte_makes_another_time(authority: TimeAuthority) -> None:
    raw = authority.stamp(NOTE)
    trusted = [trusting(authority.root)]
    true = token.read(raw)
    for at in range(len(raw)):
        changed = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        try:
            read = token.read(changed)
            read.demand(trusted)
        except EdgetapeError:
            continue
        assert (read.time, read.imprint, read.accuracy) == (true.time, true.imprint, true.accuracy), at


def openssl_trusts(raw: bytes, content: bytes, root: Path, folder: Path) -> bool:
    """What `openssl ts` says of a time stamp."""
    (folder / "stamp.tsr").write_bytes(raw)
    (folder / "content").write_bytes(content)
    command = ["openssl", "ts", "-verify", "-in", "stamp.tsr", "-data", "content", "-CAfile", str(root)]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0


def we_trust(raw: bytes, content: bytes, root: Path) -> bool:
    try:
        read = token.read(raw)
        read.demand([trusting(root)])
    except EdgetapeError:
        return False
    return read.is_of(content)


def test_openssl_trusts_whatever_we_trust(authority: TimeAuthority, tmp_path: Path, sample: Sample) -> None:
    raw, other = authority.stamp(NOTE), TimeAuthority(tmp_path / "tsa")
    cases = [(raw, NOTE, authority.root), (raw, NOTE + b"x", authority.root), (raw, NOTE, other.root)]
    cases += [(authority.stamp(NOTE, "sha512"), NOTE, authority.root), (b"junk", NOTE, authority.root)]
    verdicts = [(we_trust(*each), openssl_trusts(*each, tmp_path)) for each in cases]
    assert verdicts == [(True, True), (False, False), (False, False), (True, True), (False, False)]
    source = sample.source()
    for _ in range(sample.count(40, 2000)):
        at = source.randrange(len(raw))
        changed = raw[:at] + bytes([raw[at] ^ 1 << source.randrange(8)]) + raw[at + 1 :]
        # The other way round it need not be: openssl reads over a few bytes that nobody signed, such as the letters'
        # case in a name and what stands for "no parameters", where we refuse what is not spelled as it has to be.
        assert not we_trust(changed, NOTE, authority.root) or openssl_trusts(changed, NOTE, authority.root, tmp_path)


def test_no_garbage_gets_past_the_reader_but_as_a_sentence(authority: TimeAuthority, sample: Sample) -> None:
    raw, source = authority.stamp(NOTE), sample.source()
    trusted = [trusting(authority.root)]
    for _ in range(sample.count(500, 50_000)):
        changed = bytearray(raw)
        for _ in range(source.choice((1, 2, 5, 20))):
            at = source.randrange(len(changed) or 1)
            match source.randrange(3):
                case 0:
                    changed[at : at + 1] = source.randbytes(1)
                case 1:
                    del changed[at : at + source.randrange(1, 9)]
                case _:
                    changed[at:at] = source.randbytes(source.randrange(1, 9))
        try:
            token.read(bytes(changed)).demand(trusted)
        except EdgetapeError:
            continue
