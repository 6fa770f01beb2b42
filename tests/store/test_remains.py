"""What is erased cannot be read with any key that is left, nor guessed (docs/format.md, section 5)."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from store import database, erasure, payloads
from store.core import digest
from store.core.errors import Malformed
from store.core.veil import Veil
from store.database import FILE_NAME
from store.erasure import Erasure
from store.reader import Reader
from store.splices.guard import Cipher
from store.vault import Vault
from store.writer import Writer
from tests.store.erasing import Left, codes, erase, found, record
from tests.store.remains import files, wrapped_keys
from tests.support.tape import Call, Tape, tape


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Tape]:
    with tape(tmp_path) as opened:
        yield opened


def test_no_key_that_is_left_opens_what_was_stored_before(made: Tape) -> None:
    run = record(made)
    (old,) = Left(made).live
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        spans = payloads.spans(connection, run)
        blocks = payloads.fetching(connection, run)(0, spans[-1].number)
    erase(made, run, 3, 4)
    left = Left(made)
    assert old.payload not in left.keys
    for key in left.keys:
        guard = Cipher(key, old.origin, run, bytes)
        for span, block in zip(spans, blocks, strict=True):
            with pytest.raises(Malformed):
                guard.open(span, block)
    with closing(sqlite3.connect(made.folder / FILE_NAME)) as connection:
        store_key = Vault(made.keys, old.origin).store_key(connection)
    (new,) = left.live
    assert wrapped_keys(made.folder, store_key, old.origin, [run]) == {new.payload, new.veil.key}


def guesses(left: Left, run: str, named: str) -> list[bytes]:
    """The four digits that give a commitment of event 1, with a salt that somebody can still derive."""
    salts = [Veil(key).salt(1, "/body") for key in left.keys]
    digits = [b"%04d" % number for number in range(10_000)]
    return [
        word
        for word in digits
        for salt in salts
        if digest.commitment(salt, digest.body_digest(word), len(word)).hex() == named
    ]


def test_a_short_body_leaves_nothing_to_guess_it_by(made: Tape) -> None:
    """Its commitment stays, which tells nothing without the salt: that is nowhere, hidden or not, nor is the digest."""
    run = made.run([Call(body=b"4711"), Call(body=b"stays")])
    with Reader.open(made.folder, made.keys) as reader:
        named = str(reader.event(run, 1).facts.body.body)  # type: ignore[union-attr]
    (old,) = Left(made).live
    assert guesses(Left(made), run, named) == [b"4711"]
    secrets = old.veil.salt(1, "/body"), digest.body_digest(b"4711")
    erase(made, run, 1)
    left = Left(made)
    assert guesses(left, run, named) == []
    everything = b"".join(files(made.folder))
    hidden = [secret for key in left.keys for secret in Veil(key).kept(1, "/body", *secrets)]
    for value in (*secrets, *hidden):
        assert value not in everything
        assert value.hex().encode() not in everything


def test_an_erasure_that_was_cut_off_before_the_file_was_written_anew_is_ended_by_the_next_writer(made: Tape) -> None:
    run = record(made)
    (old,) = Left(made).live
    with closing(database.connect(made.folder / FILE_NAME)) as connection:
        with database.transaction(connection):
            erased = Erasure(run, (3, 4), "operator", "a person asked for it")
            erasure.erase(connection, erased, Vault(made.keys, old.origin), "2026-11-30T00:00:00.000000Z")
        assert any(old.wrapped["payload"] in raw for raw in files(made.folder))
    Writer.open(made.folder, made.keys).close()
    assert not any(old.wrapped["payload"] in raw for raw in files(made.folder))
    assert found(made) == {"argv", "note"}
    assert codes(made) == [[], []]
