"""Which addresses are a cloud's own."""

from addons.metadata import is_metadata

THEIRS = """
169.254.169.254 169.254.170.2 fd00:ec2::254 [fd00:ec2::254] fe80::a9fe:a9fe%eth0 100.100.100.200 168.63.129.16
::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b:1::a9fe:a9fe ::a9fe:a9fe 2002:a9fe:a9fe::1 fd20:ce::254
metadata.google.internal Metadata.Google.Internal. metadata
"""
OTHERS = "127.0.0.1 10.0.0.1 8.8.8.8 ::1 fd00::1 64:ff9b::808:808 ::808:808 :: metadata.example 169.253.0.1"


def test_where_credentials_are_handed_out_is_known_however_it_is_spelled() -> None:
    assert [host for host in THEIRS.split() if not is_metadata(host)] == []


def test_other_addresses_are_nobody_s_business() -> None:
    assert [host for host in OTHERS.split() if is_metadata(host)] == []
