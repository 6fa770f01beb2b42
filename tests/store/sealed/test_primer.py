"""The primer: the bytes that the format names, made by the script that lies beside the vectors."""

import hashlib
from pathlib import Path

import zstandard

from store.sealed import frame, primer
from tests.vectors import primer as script

PAGE = Path(__file__).parents[3] / "docs" / "format.md"
PLACE = b"here"


def test_it_is_what_its_script_makes_and_what_the_format_names() -> None:
    content = script.FILE.read_bytes()
    assert content == script.made()
    assert hashlib.sha256(content).hexdigest() in PAGE.read_text()
    assert f"{len(content):,} bytes" in PAGE.read_text()


def test_what_it_says_already_is_not_stored() -> None:
    said = script.made()[-4000:]
    assert len(frame.pack(said, PLACE, primer.NEWEST)) < 60 < len(frame.pack(said, PLACE))


def test_a_block_of_before_is_read() -> None:
    assert frame.unpack(frame.pack(b"content" * 9, PLACE), PLACE) == (b"content" * 9, "")


def test_a_block_that_names_a_primer_that_is_not_known_is_damaged() -> None:
    packed = bytes([primer.NEWEST + 1]) + zstandard.compress(b"content")
    content, damage = frame.unpack(hashlib.sha256(PLACE + packed).digest()[:4] + packed, PLACE)
    assert (content, "no zstd frame" in damage) == (b"", True)


def test_a_primer_in_another_ones_place_gives_no_content() -> None:
    """The same frame without the primer that it needs."""
    packed = frame.pack(script.made()[-4000:], PLACE, primer.NEWEST)[5:]
    content, damage = frame.unpack(hashlib.sha256(PLACE + packed).digest()[:4] + packed, PLACE)
    assert content == b""
    assert damage
