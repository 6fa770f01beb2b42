"""What a verifier asks for, from his own file."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from store.core.checkpoint import VerifierKey
from store.core.cosignature import WitnessKey
from store.verify import policy
from store.verify.policy import Policy, UnusablePolicy
from tests.support.time_authority import TimeAuthority
from tests.support.witness import Witness

PIN = str(VerifierKey("edgetape.local/x", bytes(range(1, 33))))


def read(folder: Path, text: str) -> Policy:
    path = folder / "policy.toml"
    path.write_text(text)
    return policy.read(path)


def test_all_of_it_can_be_said(tmp_path: Path) -> None:
    authority, witness = TimeAuthority(tmp_path / "tsa"), Witness({})
    said = read(
        tmp_path,
        f"""
        pins = ["{PIN}"]
        forbid = ["OPEN_RUN", "GAPS"]

        [witnesses]
        keys = ["{witness.vkey}"]

        [[authority]]
        roots = "tsa/root.pem"
        certificate = "tsa/signer.pem"
        policy = "1.2.3.4.1"

        [time]
        not_before = 2026-11-30T00:00:00Z
        not_after = 2026-12-01T01:00:00+01:00
        skew_s = 5
        """,
    )
    assert said.pins == (VerifierKey.parse(PIN),)
    assert said.forbid == ("OPEN_RUN", "GAPS")
    assert (said.witnesses, said.quorum) == ((WitnessKey.parse(witness.vkey),), 1)
    (trusted,) = said.authorities
    assert (len(trusted.roots), trusted.policy) == (1, "1.2.3.4.1")
    assert trusted.certificate is not None
    assert (said.timed, said.skew_s) == (True, 5)
    assert said.not_before == datetime(2026, 11, 30, tzinfo=UTC)
    assert said.not_after == datetime(2026, 12, 1, tzinfo=UTC)
    assert authority.root.exists()


def test_an_empty_one_asks_for_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "") == Policy()


def test_times_can_be_welcome_without_being_asked_for(tmp_path: Path) -> None:
    TimeAuthority(tmp_path / "tsa")
    roots = '[[authority]]\nroots = "tsa/root.pem"\n'
    assert read(tmp_path, roots).timed
    assert not read(tmp_path, roots + "[time]\nrequired = false").timed


REFUSED = {
    "no toml": ("pins = [", "makes no sense"),
    "unknown member": ("pinned = []", "pinned"),
    "no key": ('pins = ["x"]', "malformed vkey"),
    "a log's key as a witness": (f'[witnesses]\nkeys = ["{PIN}"]', "of the kind 04"),
    "quorum above": ("[witnesses]\nkeys = []\nquorum = 1", "quorum"),
    "quorum below": ("[witnesses]\nkeys = []\nquorum = -1", "quorum"),
    "no such flag": ('forbid = ["OPEN"]', "no flag OPEN"),
    "no zone": ("[time]\nrequired = false\nnot_before = 2026-11-30T00:00:00", "zone"),
    "negative skew": ("[time]\nrequired = false\nskew_s = -1", "negative"),
    "times of nobody": ("[time]\nskew_s = 1", "no \\[\\[authority\\]\\]"),
    "no such file": ('[[authority]]\nroots = "gone.pem"', "gone.pem cannot be read"),
    "no certificate": ('[[authority]]\nroots = "policy.toml"', "no certificate"),
    "no text": ("\udcff", "makes no sense"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    text, sentence = REFUSED[name]
    (tmp_path / "policy.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UnusablePolicy, match=sentence):
        policy.read(tmp_path / "policy.toml")


def test_a_witness_counts_once(tmp_path: Path) -> None:
    key = Witness({}).vkey
    with pytest.raises(UnusablePolicy, match="twice"):
        read(tmp_path, f'[witnesses]\nkeys = ["{key}", "{key}"]')
