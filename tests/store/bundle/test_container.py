"""The ZIP form: any unzip reads it, and no other ZIP is taken for it."""

import io
import struct
import warnings
import zipfile
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.bundle import container
from store.bundle.container import FILE_BYTES_MAX, Member, TooLargeToPack, TooMuch, Unsafe, pack, unpack

MEMBERS = {"README.txt": b"read me\n", "events.ndjson": b"{}\n" * 9, "blobs/" + "0" * 64: b"", "vkey": b"k\n"}


def packed(members: dict[str, bytes]) -> bytes:
    return b"".join(pack([Member.of(name, content) for name, content in members.items()]))


def unpacked(raw: bytes) -> dict[str, bytes]:
    return {name: bytes(content) for name, content in unpack(raw)}


@given(
    st.dictionaries(st.from_regex(container.NAME, fullmatch=True).filter(lambda name: ".." not in name), st.binary())
)
def test_what_is_packed_is_unpacked_and_any_unzip_reads_it(members: dict[str, bytes]) -> None:
    raw = packed(members)
    assert unpacked(raw) == members
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == members


def test_every_flipped_bit_is_refused_or_changes_a_member() -> None:
    raw = packed(MEMBERS)
    for at in range(len(raw) * 8):
        changed = bytearray(raw)
        changed[at // 8] ^= 1 << at % 8
        with pytest.raises((Unsafe, TooMuch)):  # the checksum of a member holds its content too
            unpacked(bytes(changed))


def zipped(change: Callable[[zipfile.ZipFile], object], method: int = zipfile.ZIP_STORED) -> bytes:
    """A ZIP by another hand."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        change(archive)
    return file.getvalue()


def with_comment(archive: zipfile.ZipFile) -> None:
    archive.writestr(stamped("vkey"), b"k")
    archive.comment = b"hello"


def stamped(name: str) -> zipfile.ZipInfo:
    """An entry such as `pack` writes, as far as zipfile can."""
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o100644 << 16
    return info


def with_extra(archive: zipfile.ZipFile) -> None:
    info = stamped("vkey")
    info.extra = b"\x99\x99\x01\x00x"
    archive.writestr(info, b"k")


def twice(archive: zipfile.ZipFile) -> None:
    archive.writestr(stamped("vkey"), b"k")
    archive.writestr(stamped("vkey"), b"other")


def many(names: Sequence[str]) -> Callable[[zipfile.ZipFile], object]:
    def change(archive: zipfile.ZipFile) -> None:
        for name in names:
            archive.writestr(stamped(name), b"k")

    return change


def test_a_plain_zip_of_zipfile_is_the_one_form() -> None:
    assert zipped(many(["vkey"])) == packed({"vkey": b"k"})


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(zipped(with_comment), id="comment"),
        pytest.param(zipped(with_extra), id="extra field"),
        pytest.param(zipped(twice), id="t41 the same name twice"),
        pytest.param(zipped(many(["../vkey"])), id="t42 traversal"),
        pytest.param(zipped(many(["blobs/../vkey"])), id="t42 traversal inside"),
        pytest.param(zipped(many(["/etc/passwd"])), id="t42 absolute"),
        pytest.param(zipped(many(["c:\\x"])), id="t42 drive"),
        pytest.param(zipped(many(["blobs/"])), id="directory entry with content"),
        pytest.param(zipped(many(["vk\u00e9y"])), id="not ascii"),
        pytest.param(zipped(lambda each: each.writestr("vkey", b"0" * 10**6), zipfile.ZIP_DEFLATED), id="t36 bomb"),
        pytest.param(packed(MEMBERS) + b"\0", id="t37 trailing byte"),
        pytest.param(packed(MEMBERS) + packed(MEMBERS), id="t37 second archive"),
        pytest.param(b"#!/bin/sh\n" + packed(MEMBERS), id="something before it"),
        pytest.param(packed(MEMBERS)[:-1], id="cut"),
        pytest.param(packed(MEMBERS)[:50], id="cut in a member"),
        pytest.param(b"PK\x03\x04", id="cut in a header"),
        pytest.param(b"", id="empty"),
        pytest.param(b"not a zip", id="not a zip"),
    ],
)
def test_another_zip_is_refused(raw: bytes) -> None:
    with pytest.raises(Unsafe):
        unpacked(raw)


@pytest.mark.parametrize("raw", [b"", b"import this\n", b"PK", bytes(100)])
def test_what_is_no_zip_at_all_is_called_that(raw: bytes) -> None:
    with pytest.raises(Unsafe, match="this is no ZIP file"):
        unpacked(raw)


def test_a_header_that_claims_four_gigabytes_costs_nothing() -> None:
    raw = bytearray(packed({"vkey": b"k"}))
    raw[18:26] = struct.pack("<2I", 0xFFFFFFF0, 0xFFFFFFF0)
    with pytest.raises(Unsafe, match="beyond the file"):
        unpacked(bytes(raw))


def test_too_much_is_refused_before_anything_is_written() -> None:
    with pytest.raises(TooLargeToPack):
        pack([Member("vkey", FILE_BYTES_MAX, bytes)])
